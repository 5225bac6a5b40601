"""What a message may hold, declared before it is sent and checked on both sides.

Counts and packed counters cross the channel untouched, so nothing cuts what is too large: it is refused, before
it leaves a device and again in the sum; a sum that cannot be asked for again is cut instead. Their bounds are
public and part of the declaration; a mark of 10**5 of them holds their SHA-256.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints, Longs
from murmura.core.errors import FederationError, SettingError
from murmura.core.update import SparseRows, Update

LARGEST = 2**32 - 1  # what a word holds


@dataclass(frozen=True, eq=False, repr=False)
class RowBounds:
    """The largest whole number in each row of a table: one for all rows, or one for each.

    of="device": no device sends more, so a sum of n devices has at most n times as much.
    of="sum": the sum itself has no more, however many devices it is of. For packed counters, whose counters'
    sums are known to be small from an earlier sum; only the devices counted there may send then.
    """

    most: int | NDArray[Any]
    of: Literal["device", "sum"] = "device"

    def __post_init__(self) -> None:
        given = np.asarray(self.most)
        whole = given.dtype.kind in "iu" and given.ndim <= 1 and given.size > 0
        if not whole or int(given.min()) < 0 or int(given.max()) > LARGEST:
            raise SettingError(
                "the bounds of exact rows must be whole numbers from 0 to 2**32 - 1, "
                f"but are {given.dtype} of shape {given.shape}; give one for all rows, or one for each."
            )
        kept = int(given) if given.ndim == 0 else given.astype(np.uint32)
        if isinstance(kept, np.ndarray):
            kept.flags.writeable = False
        object.__setattr__(self, "most", kept)

    @property
    def rows(self) -> int | None:
        """How many rows have a bound of their own; None: one bound for any number of rows."""
        return None if isinstance(self.most, int) else len(self.most)

    @cached_property
    def largest(self) -> int:
        """The largest of all bounds."""
        return int(np.max(self.most))

    def at(self, index: Ints) -> Longs:
        """The bounds of these rows."""
        if isinstance(self.most, int):
            return np.full(len(index), self.most, np.int64)
        return self.most[index].astype(np.int64)

    def in_sum(self, index: Ints, count: int) -> Longs:
        """The largest these rows can be in the sum of so many devices."""
        bounds = self.at(index)
        return bounds * count if self.of == "device" else bounds

    def nearest(self, values: Longs, index: Ints, count: int, ring: int) -> Longs:
        """(rows, width) a sum of so many devices, each number cut to the nearest one that is possible.

        Numbers have `ring` bits: what is nearer to 0 from below has become negative. Packed counters, which a
        bound of the sum is for, stay as they are.
        """
        if self.of == "sum":
            return values
        most = self.in_sum(index, count)[:, None]
        near = np.where(2.0**ring - values < values - most, 0, most)
        return np.where(values > most, near, values)

    @cached_property
    def _name(self) -> str:
        if isinstance(self.most, int):
            return str(self.most)
        return f"sha256:{hashlib.sha256(self.most.astype('<u4').tobytes()).hexdigest()}"

    def __repr__(self) -> str:  # goes into `MessageSpec.mark`: part of the wire format
        return f"Rows(most={self._name}, of={self.of!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowBounds) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


Space = Literal["item", "feature", "dense"]
Number = Literal["int8", "float16", "float32", "float64", "uint32", "uint64"]
HEADER_BYTES = 8
COUNT_BYTES = INDEX_BYTES = 4
SCALAR_BYTES = 8
HASH_BYTES = 32


def released_counts_bytes(items: int) -> int:
    """The length of the counts of so many items as they are published: an arrays message (docs/wire.md)."""
    return HEADER_BYTES + len(f'[["counts", "<u4", [{items}]]]') + COUNT_BYTES * items


@dataclass(frozen=True)
class TableSpec:
    """One table: whose rows they are, how many there can be, and what a row holds.

    A table of whole numbers that is declared `exact` crosses a channel untouched: no clip, no rounding, bounds.
    """

    name: str
    space: Space  # what a row number means; "dense" tables travel whole, without row numbers
    rows: int  # row numbers are below this
    width: int
    dtype: Number = "float32"
    bound: float | None = None  # no value is larger than this, in either direction
    exact: RowBounds | None = None  # of uint32 alone, in place of `bound`

    def __post_init__(self) -> None:
        if self.exact is None:
            return
        if self.dtype != "uint32" or self.bound is not None:
            raise SettingError(
                f"the exact table '{self.name}' must be of uint32 and have no other bound, but is of "
                f"{self.dtype} and has {self.bound}."
            )
        if self.exact.rows not in (None, self.rows):
            raise SettingError(
                f"the exact table '{self.name}' must have one bound or {self.rows}, one for each row, but has "
                f"{self.exact.rows}."
            )

    def __repr__(self) -> str:
        # `MessageSpec.mark` is taken of it: part of the wire format, whatever the class is called
        exact = "" if self.exact is None else f", exact={self.exact!r}"
        return (
            f"Table(name={self.name!r}, space={self.space!r}, rows={self.rows!r}, width={self.width!r}, "
            f"dtype={self.dtype!r}, bound={self.bound!r}{exact})"
        )

    @property
    def value_bytes(self) -> int:
        """The values of one row."""
        return self.width * np.dtype(self.dtype).itemsize

    @property
    def exponent_bytes(self) -> int:
        """What says of which power of two the whole numbers of an int8 table are multiples."""
        return 1 if self.dtype == "int8" else 0

    @property
    def row_bytes(self) -> int:
        """One row as it travels."""
        return self.value_bytes + (0 if self.space == "dense" else INDEX_BYTES)


@dataclass(frozen=True)
class MessageSpec:
    """Everything a message may hold: tables, and named scalars such as counts and metric sums."""

    tables: tuple[TableSpec, ...] = ()
    scalars: tuple[str, ...] = ()

    @property
    def mark(self) -> int:
        """32 bits that differ between different declarations; every message carries them."""
        return zlib.crc32(repr((self.tables, self.scalars)).encode())

    def message_bytes(self, rows: Mapping[str, int]) -> int:
        """The exact length of a message with so many rows of each table."""
        tables = sum(COUNT_BYTES + rows[t.name] * t.row_bytes for t in self.tables)
        return HEADER_BYTES + tables + SCALAR_BYTES * len(self.scalars)

    def model_bytes(self, listed: int) -> int:
        """The exact length of a public model with `listed` items on offer: every row, no row numbers."""
        return HEADER_BYTES + sum(
            COUNT_BYTES + t.exponent_bytes + (listed if t.space == "item" else t.rows) * t.value_bytes
            for t in self.tables
        )

    def changes_bytes(self, rows: Mapping[str, int]) -> int:
        """The exact length of what changed of a public model: so many rows of each table, and their numbers."""
        tables = (
            COUNT_BYTES + t.exponent_bytes + rows[t.name] * (INDEX_BYTES + t.value_bytes) for t in self.tables
        )
        return HEADER_BYTES + HASH_BYTES + sum(tables)

    def narrowed(self, dtype: Literal["int8", "float16"]) -> MessageSpec:
        """The same tables with shorter numbers: float16 has about three digits, int8 about two.

        Rows of items or features are many and alike; what is dense may be a sum or a mean, and keeps three.
        """
        kinds = {"item": dtype, "feature": dtype, "dense": "float16"}
        narrow = (
            t if t.dtype in ("uint32", "uint64") else replace(t, dtype=kinds[t.space]) for t in self.tables
        )
        return MessageSpec(tuple(narrow), self.scalars)

    def check(self, update: Update) -> None:
        """Refuse an update that holds anything else than what is declared here."""
        named = {t.name for t in self.tables}
        if set(update.tables) != named or set(update.scalars) != set(self.scalars):
            raise FederationError(
                f"an update must hold the tables {sorted(named)} and the scalars {sorted(self.scalars)}, "
                f"but holds {sorted(update.tables)} and {sorted(update.scalars)}."
            )
        for table in self.tables:
            check_rows(table, update.tables[table.name])
        for name, value in update.scalars.items():
            if not np.isfinite(value):
                raise FederationError(f"the scalar '{name}' must be a finite number, but is {value}.")

    def check_sum(self, total: Update, count: int) -> None:
        """Refuse a sum whose exact rows are larger than so many devices can make them."""
        for broken in self.beyond(total, count):
            raise FederationError(f"{broken}; discard the round.")

    def beyond(self, total: Update, count: int) -> list[str]:
        """For each exact table of a sum the first row that so many devices cannot make so large."""
        found = []
        for table in self.exact_tables:
            first = _beyond(table, total.tables[table.name], f" in a sum of {count} devices", count)
            found += [f"{first}: one device broke its bound"] if first else []
        return found

    def nearest(self, total: Update, count: int, ring: int) -> Update:
        """The sum with exact rows cut to what so many devices can add to each, in a ring of so many bits."""
        cut = {}
        for table in self.exact_tables:
            assert table.exact is not None
            rows = total.tables[table.name]
            values = table.exact.nearest(rows.values.astype(np.int64), rows.index, count, ring)
            cut[table.name] = SparseRows(rows.index, values.astype(np.uint32))
        return Update({**total.tables, **cut}, total.scalars)

    def check_room(self, ring: int, cohort: int) -> None:
        """Refuse exact tables whose largest possible sum does not fit a word of so many bits."""
        for table in self.exact_tables:
            assert table.exact is not None
            most = table.exact.largest * (cohort if table.exact.of == "device" else 1)
            if most >= 2**ring:
                remedy = "take fewer clients, smaller bounds" if table.exact.of == "device" else "pack less"
                raise SettingError(
                    f"the exact table '{table.name}' must fit words of {ring} bits, but a sum of {cohort} "
                    f"clients could reach {most}: {remedy}{' or ring 32' if ring < 32 else ''}."
                )

    @property
    def exact_tables(self) -> tuple[TableSpec, ...]:
        """The tables whose whole numbers are bounded and never changed."""
        return tuple(table for table in self.tables if table.exact is not None)


def check_rows(table: TableSpec, rows: SparseRows) -> None:
    """Refuse rows that are not rows of this table."""
    index, values = rows.index, rows.values
    if values.dtype != table.dtype or values.shape != (len(index), table.width) or index.dtype != np.int32:
        raise FederationError(
            f"the table '{table.name}' must hold {table.dtype} rows of {table.width} under int32 numbers, "
            f"but holds {values.dtype} of shape {values.shape} under {len(index)} {index.dtype} numbers."
        )
    if table.space == "dense" and len(index) not in (0, table.rows):
        raise FederationError(
            f"the dense table '{table.name}' must hold all {table.rows} rows or none, but holds {len(index)}."
        )
    if len(index) and (index[0] < 0 or index[-1] >= table.rows or (np.diff(index) <= 0).any()):
        raise FederationError(
            f"the row numbers of '{table.name}' must ascend from 0 and stay below {table.rows}, but go from "
            f"{index.min()} to {index.max()}{', in disorder' if (np.diff(index) <= 0).any() else ''}."
        )
    if not np.isfinite(values).all():
        raise FederationError(f"the values of '{table.name}' must be finite, but one is not.")
    if table.exact is not None:
        if broken := _beyond(table, rows):
            raise FederationError(f"{broken}.")
        return
    largest = np.abs(values).max() if len(values) else 0.0
    if table.bound is not None and largest > table.bound:
        raise FederationError(
            f"the values of '{table.name}' must be at most {table.bound:g}, but one is {largest:g}."
        )


def _beyond(table: TableSpec, rows: SparseRows, where: str = "", count: int = 1) -> str:
    """What is said of whole numbers above the bound of their row, or above what a sum of so many can reach."""
    assert table.exact is not None
    largest = rows.values.max(axis=1, initial=0).astype(np.int64)
    first = np.flatnonzero(largest > table.exact.in_sum(rows.index, count))[:1]
    if not len(first):
        return ""
    return (
        f"row {int(rows.index[first[0]])} of '{table.name}' must be at most "
        f"{int(table.exact.in_sum(rows.index[first], count)[0])}{where}, but is {int(largest[first[0]])}"
    )
