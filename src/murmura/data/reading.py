"""What can be said about how data is read: the same words on the command line, in YAML and in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from murmura.core.catalogue import Dataset
from murmura.core.errors import SettingError
from murmura.core.settings import as_dict, field_names, settings
from murmura.data.graphs.own_features import FeatureFiles, with_features
from murmura.data.item_names import with_names
from murmura.data.repeats import Repeats
from murmura.data.tables.interactions_file import TableOptions
from murmura.data.user_tables import attributes_of_file

# what only makes sense of a file of one's own
OF_A_TABLE = ("columns", "separator", "header", "repeats")


@settings
class Reading(FeatureFiles):
    """How a table is cut and understood, what counts as a like, and what is known beside the rows.

    Attributes:
        columns: Of a table: which column is the user, item, value, time, category; by name, or by place from 1.
        separator: Of a table in text: what stands between fields. None: it is found out.
        header: Of a table in text: whether its first line names the columns. None: it is found out.
        repeats: Of a table: what becomes of rows in which a user meets an item again. `keep` leaves them to the
            protocol, `latest` keeps the latest, `sum` adds up their values, `refuse` refuses them.
        positive_from: A row of at least this value is a like, in training and as relevant; None: every row is,
            but those of negative value where there are any.
        item_names: A table of items and their names.
        attributes: What users say of themselves: a table with a column `user` and columns of numbers from 0 to
            1, or true and false.
    """

    columns: dict[str, str] = Field(default_factory=dict)
    separator: str | None = Field(default=None, min_length=1)
    header: bool | None = None
    repeats: Repeats = "keep"
    positive_from: float | None = None
    item_names: Path | None = None
    attributes: Path | None = None

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
        catalogue, more = with_names(catalogue, how.item_names, how.skip_bad)
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
