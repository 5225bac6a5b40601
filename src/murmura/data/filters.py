"""Which rows of a data set take part: small steps, applied in the order a protocol states them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, get_args

import numpy as np
from pydantic import Field

from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.settings import Count, field_names, settings
from murmura.data.repeats import by_pair
from murmura.data.splits.rule import without_defaults


@settings
class LatestPerPair:
    """One row per (user, item), the latest; rows come out ordered by user, then item, or as in the source."""

    step: Literal["latest-per-pair"] = "latest-per-pair"
    order: Literal["item", "source"] = "item"
    _written = without_defaults(order="item")

    def apply(self, data: Interactions) -> Interactions:
        """Of equal times the later row of the source stays."""
        order, last = by_pair(data)
        return data.rows(np.sort(order[last]) if self.order == "source" else order[last])


@settings
class Binarise:
    """Every interaction counts 1, whatever its value."""

    step: Literal["binarise"] = "binarise"

    def apply(self, data: Interactions) -> Interactions:
        """All values become 1."""
        return replace(data, value=np.ones(len(data)))


@settings
class MinPerUser:
    """Users with at least `rows` rows."""

    step: Literal["min-per-user"] = "min-per-user"
    rows: Count = 20

    def apply(self, data: Interactions) -> Interactions:
        """Drop the rows of lighter users."""
        return data.rows(data.user_counts[data.user] >= self.rows)


@settings
class MinPerItem:
    """Items with at least `rows` rows."""

    step: Literal["min-per-item"] = "min-per-item"
    rows: Count = 20

    def apply(self, data: Interactions) -> Interactions:
        """Drop the rows of rarer items."""
        return data.rows(data.item_counts[data.item] >= self.rows)


@settings
class KCore:
    """Users with at least k rows, then items with at least k, again and again until nothing changes."""

    step: Literal["k-core"] = "k-core"
    k: Count = 10

    def apply(self, data: Interactions) -> Interactions:
        """Iterate to the fixed point."""
        while True:
            before = len(data)
            data = MinPerItem(rows=self.k).apply(MinPerUser(rows=self.k).apply(data))
            if len(data) == before:
                return data


@settings
class MinValue:
    """Rows whose value is at least `value`."""

    step: Literal["min-value"] = "min-value"
    value: float

    def apply(self, data: Interactions) -> Interactions:
        """Drop the rows below."""
        return data.rows(data.value >= self.value)


@settings
class RaiseTo:
    """Every row, a value below `value` raised to it (FedSPLIT: half a star becomes one)."""

    step: Literal["raise-to"] = "raise-to"
    value: float = 1.0

    def apply(self, data: Interactions) -> Interactions:
        """Raise the values below."""
        return replace(data, value=np.maximum(data.value, self.value))


Filter = Annotated[
    LatestPerPair | Binarise | MinPerUser | MinPerItem | KCore | MinValue | RaiseTo, Field(discriminator="step")
]


# name on the command line -> the class, and the one number it may take
FILTERS: dict[str, tuple[type, str | None]] = {
    one.step: (one, next((name for name in field_names(one) if name not in ("step", "order")), None))
    for one in get_args(get_args(Filter)[0])
}


def filter_named(name: str, number: float | None = None) -> Filter:
    """The filter behind a name, with its number or its default."""
    if name not in FILTERS:
        raise SettingError(f"there is no filter '{name}'; it is one of {', '.join(FILTERS)}.")
    cls, field = FILTERS[name]
    if number is None:
        made: Filter = cls()
    elif field is None:
        raise SettingError(f"the filter '{name}' takes no number, but got {number:g}; leave it out.")
    else:
        made = cls(**{field: number})
    return made


def apply_filters(data: Interactions, filters: Sequence[Filter]) -> Interactions:
    """All steps in order, then vocabularies without the users and items that have no row left."""
    for step in filters:
        data = step.apply(data)
    if not len(data):
        raise DataError(
            f"the filters {', '.join(f.step for f in filters)} must leave at least one row, but left none; "
            "loosen them or check the data."
        )
    return data.compact()
