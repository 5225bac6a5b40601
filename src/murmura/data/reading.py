"""What can be said about how data is read: the same words on the command line, in YAML and in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from murmura.core.catalogue import Dataset
from murmura.core.errors import SettingError
from murmura.core.settings import Flag, as_dict, field_names, settings
from murmura.data.graphs.feature_files import FeatureFiles, with_features, with_names
from murmura.data.tables.own_layout import TableReading
from murmura.data.user_tables import attributes_of_file


@settings
class Reading(TableReading, FeatureFiles):
    """How a table is cut and understood, what counts as a like, and what is known beside the rows."""

    # Rows of at least this value are likes.
    positive_from: Annotated[float | None, Flag(metavar="VALUE")] = None
    # A table of items and their names.
    item_names: Annotated[Path | None, Flag()] = None
    # What users say of themselves, from 0 to 1.
    attributes: Annotated[Path | None, Flag()] = None

    def refuse_for(self, name: str) -> None:
        """Refuse what only makes sense of a file."""
        defaults = Reading()
        given = [
            key
            for key in field_names(TableReading)
            if key != "skip_bad" and getattr(self, key) != getattr(defaults, key)
        ]
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
    defaults = as_dict(Reading())
    return {key: value for key, value in values.items() if key not in defaults or value != defaults[key]}


READING_KEYS = tuple(field_names(Reading))
