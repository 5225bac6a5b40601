"""The first stage: which numbers of an update travel, and where each stands in the vector.

Word 0 counts devices; then come the scalars, then the tables, rows in the order of the block. The places depend
on the declaration, the items on offer and the round alone: neither row numbers nor lengths tell of a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase, Total
from murmura.core.errors import SettingError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng, Words
from murmura.core.update import SparseRows, Update

_PUBLIC: Words = np.zeros(2, np.uint32)  # the key of what everyone may draw: the blocks


@dataclass(frozen=True, eq=False)
class SparseVector:
    """The numbers of one vector that are not zero: where, ascending, and how much."""

    place: Longs
    value: Floats

    def parted(self, mask: Bools) -> tuple[SparseVector, SparseVector]:
        """What stands where the mask (words,) is true, and the rest."""
        there = mask[self.place]
        rest = SparseVector(self.place[~there], self.value[~there])
        return SparseVector(self.place[there], self.value[there]), rest


@dataclass(frozen=True, eq=False)
class VectorLayout:
    """Turns an update into places of a vector, and a summed vector into a total."""

    sends: MessageSpec
    items: Ints  # what item tables are a block of, ascending
    half: bool  # of them only the round's public half travels

    @staticmethod
    def of(settings: ChannelSettings, phase: Phase, info: FederationInfo) -> VectorLayout:
        """Blocks are for what repeats; an exchange before training travels whole."""
        items, repeats = info.listed, phase.repeat is None
        if settings.block == "core" and repeats:
            if info.counts is None:
                raise SettingError(
                    "block 'core' needs publicly known counts of the items, but there are none; "
                    "use 'dense' or 'half'."
                )
            items = items[info.counts[items] >= settings.core]
            if not len(items):
                raise SettingError(
                    f"core must leave at least one item, but none has {settings.core} interactions; lower it."
                )
        half = settings.block == "half" and repeats
        return VectorLayout(phase.sends, items, half)

    @property
    def _first(self) -> int:  # where the tables begin
        return 1 + len(self.sends.scalars)

    @property
    def words(self) -> int:
        """The length of the vector, the same for everyone in every round."""
        return self._first + sum(self.rows(table) * table.width for table in self.sends.tables)

    def rows(self, table: TableSpec) -> int:
        """How many rows of a table travel."""
        if table.space != "item":
            return table.rows
        return (len(self.items) + 1) // 2 if self.half else len(self.items)

    def slices(self) -> Iterator[tuple[TableSpec, slice]]:
        """Every table, and where it stands in the vector."""
        at = self._first
        for table in self.sends.tables:
            yield table, slice(at, at := at + self.rows(table) * table.width)

    def places(self, table: str, round: int) -> tuple[TableSpec, slice, Longs]:
        """A table, where it stands in the vector, and (rows,) where each row begins: -1, it does not travel."""
        one, here = next(found for found in self.slices() if found[0].name == table)
        place = np.full(one.rows, -1, np.int64)
        rows = self.block(round) if one.space == "item" else np.arange(one.rows)
        place[rows] = here.start + np.arange(len(rows)) * one.width
        return one, here, place

    def block(self, round: int) -> Ints:
        """The items of a round, ascending."""
        return self.items[_half(len(self.items), round)] if self.half else self.items

    def device(self, update: Update, round: int) -> SparseVector:
        """The numbers of the update that travel; rows outside the block are dropped."""
        inside = self.inside(update, round)
        scalars = np.array([update.scalars[name] for name in self.sends.scalars], np.float64)
        places, values = [np.arange(1, self._first)], [scalars]
        for table, here in self.slices():
            rows = inside.tables[table.name]
            row = np.searchsorted(self.block(round), rows.index) if table.space == "item" else rows.index
            start = here.start + row.astype(np.int64) * table.width
            places.append((start[:, None] + np.arange(table.width)).ravel())
            values.append(rows.values.astype(np.float64).ravel())
        place, value = np.concatenate(places), np.concatenate(values)
        there = value != 0
        return SparseVector(place[there], value[there])

    def inside(self, update: Update, round: int) -> Update:
        """The update without the rows outside the block."""
        tables = dict(update.tables)
        for name in (table.name for table in self.sends.tables if table.space == "item"):
            rows = tables[name]
            there = np.isin(rows.index, self.block(round), assume_unique=True)
            tables[name] = SparseRows(rows.index[there], rows.values[there])
        return replace(update, tables=tables)

    def server(self, vector: Floats, count: int, round: int) -> Total:
        """The total of a summed vector; a row of zeros is left out, as nobody sent it."""
        tables = {}
        for table, here in self.slices():
            n = self.rows(table)
            values = vector[here].reshape(n, table.width)
            index = self.block(round) if table.space == "item" else np.arange(n, dtype=np.int32)
            there = values.any(axis=1) if table.space != "dense" else np.ones(n, np.bool_)
            kind = np.dtype(table.dtype)
            values = np.rint(values[there]) if kind.kind == "u" else values[there]
            tables[table.name] = SparseRows(index[there], values.astype(kind))
        scalars = dict(zip(self.sends.scalars, vector[1 : self._first].tolist()))
        return Total(Update(tables, scalars), count)


@lru_cache(maxsize=4)
def _half(items: int, round: int) -> Ints:
    """Half of so many places, rounded up: a public function of the round."""
    return Rng(_PUBLIC, round).stream(Purpose.BLOCK).choose(items, (items + 1) // 2)
