"""What can be said about how data is read: the same words on the command line, in YAML and in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from murmura.core.catalogue import Dataset
from murmura.core.errors import SettingError
from murmura.core.settings import Flag, as_dict, field_names, settings
from murmura.data.graphs.feature_table import with_names
from murmura.data.graphs.own_features import FeatureFiles, with_features
from murmura.data.repeats import Repeats
from murmura.data.tables.interactions_file import TableOptions
from murmura.data.user_tables import attributes_of_file

# what only makes sense of a file of one's own
OF_A_TABLE = ("columns", "separator", "header", "repeats")


def parse_columns(text: str) -> dict[str, str]:
    """`user=a,item=b`: parts of a table to the names of its columns."""
    return dict(_part_and_name(one) for one in text.split(",") if one)


def _part_and_name(text: str) -> tuple[str, str]:
    part, equals, name = text.partition("=")
    if not equals or not name.strip():
        raise SettingError(f"--columns must be PART=NAME, but has '{text}'; write for example user=customer.")
    return part.strip(), name.strip()


@settings
class Reading(FeatureFiles):
    """How a table is cut and understood, what counts as a like, and what is known beside the rows."""

    # For a file: user=a,item=b,value=c,time=d; or places from 1.
    columns: Annotated[dict[str, str], Flag(metavar="PART=NAME[,..]", read=parse_columns)] = Field(
        default_factory=dict
    )
    # For a text file: what separates fields; default: found out.
    separator: Annotated[str | None, Flag()] = Field(default=None, min_length=1)
    # For a text file: its first line names columns, or not.
    header: Annotated[bool | None, Flag()] = None
    # For a file: rows of a pair met again; default keep, for the protocol's rule.
    repeats: Annotated[Repeats, Flag()] = "keep"
    # Rows of at least this value are likes.
    positive_from: Annotated[float | None, Flag(metavar="VALUE")] = None
    # A table of items and their names.
    item_names: Annotated[Path | None, Flag()] = None
    # What users say of themselves, from 0 to 1.
    attributes: Annotated[Path | None, Flag()] = None

    @model_validator(mode="before")
    @classmethod
    def _places_are_text(cls, given: Any) -> Any:
        """A place may be written as a number: `columns: {user: 1}`."""
        values = getattr(given, "kwargs", given)
        columns = values.get("columns") if isinstance(values, dict) else None
        if isinstance(columns, dict):
            values["columns"] = {key: str(name) for key, name in columns.items()}
        return given

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        self.table()
        return self

    def table(self) -> TableOptions:
        """What concerns a table alone."""
        return TableOptions(self.columns, self.separator, self.header, self.repeats, self.skip_bad)

    def refuse_for(self, name: str) -> None:
        """Refuse what only makes sense of a file."""
        usual = Reading()
        given = [key for key in OF_A_TABLE if getattr(self, key) != getattr(usual, key)]
        if given:
            raise SettingError(
                f"{', '.join(given)} must be left out, as it is for a file, but '{name}' is none."
            )


def described(found: Dataset, how: Reading) -> Dataset:
    """A data set with what is known beside its rows: features, names, attributes, what is a like."""
    catalogue, notes = with_features(found.catalogue, how)
    if how.item_names is not None:
        catalogue, more = with_names(catalogue, how.item_names)
        notes += more
    if how.attributes is not None:
        said = attributes_of_file(how.attributes, found.interactions.users)
        found = replace(found, interactions=replace(found.interactions, attributes=said))
    return replace(found, catalogue=catalogue, notes=(*found.notes, *notes), positive_from=how.positive_from)


def given_only(values: dict[str, Any]) -> dict[str, Any]:
    """Of plain values of a `Reading` those that are not at their defaults."""
    usual = as_dict(Reading())
    return {key: value for key, value in values.items() if key not in usual or value != usual[key]}


READING_KEYS = tuple(field_names(Reading))
