"""What leaves a client: sparse rows of declared tables and named scalars, which can be added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Some rows of a table: which ones, ascending and each once, and what they hold."""

    index: Ints  # (rows,)
    values: NDArray[Any]  # (rows, width)

    def __len__(self) -> int:
        return len(self.index)

    @staticmethod
    def of(index: NDArray[Any], values: NDArray[Any]) -> SparseRows:
        """From rows in any order, a row that occurs again added to itself in that order."""
        rows, place = np.unique(np.asarray(index, np.int32), return_inverse=True)
        total = np.zeros((len(rows), *values.shape[1:]), values.dtype)
        np.add.at(total, place, values)
        return SparseRows(rows, total)

    @staticmethod
    def empty(width: int, dtype: Any = np.float32) -> SparseRows:
        """No rows of a table that wide."""
        return SparseRows(np.empty(0, np.int32), np.empty((0, width), dtype))

    def dense(self, rows: int, dtype: Any = np.float64) -> NDArray[Any]:
        """The whole table of so many rows, zero where nothing is said."""
        whole = np.zeros((rows, *self.values.shape[1:]), dtype)
        whole[self.index] = self.values
        return whole

    def __add__(self, other: SparseRows) -> SparseRows:
        index, place = np.unique(np.concatenate([self.index, other.index]), return_inverse=True)
        total = np.zeros((len(index), *self.values.shape[1:]), self.values.dtype)
        total[place[: len(self)]] = self.values
        total[place[len(self) :]] += other.values
        return SparseRows(index.astype(np.int32), total)


@dataclass(frozen=True, eq=False)
class Update:
    """The one thing that leaves a client in a round."""

    tables: Mapping[str, SparseRows] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    own: tuple[Ints, ...] = ()  # the items of each person, where a phase proves a claim; they leave as shares

    def __add__(self, other: Update) -> Update:
        tables = {name: rows + other.tables[name] for name, rows in self.tables.items()}
        return Update(tables, {name: x + other.scalars[name] for name, x in self.scalars.items()})


@dataclass(frozen=True, eq=False)
class SentUpdate:
    """One update of one client, with the public model it answered, as whoever reads it on its way sees it."""

    phase: str
    round: int
    client: int
    model: Arrays  # the same for everyone in the round
    update: Update


UpdateObserver = Callable[[SentUpdate], None]  # a simulation can be asked to show every update to one


class RunningSum:
    """Updates added up one after the other, in the memory of one: equal bits for an equal order."""

    def __init__(self) -> None:
        self.count = 0
        self._tables: dict[str, _TableSum] = {}
        self._scalars: dict[str, float] = {}

    def add(self, update: Update) -> None:
        """Add one more."""
        self.count += 1
        for name, rows in update.tables.items():
            self._tables.setdefault(name, _TableSum(rows)).add(rows)
        for name, value in update.scalars.items():
            self._scalars[name] = self._scalars.get(name, 0) + value

    def update(self) -> Update:
        """The sum so far."""
        return Update({name: table.rows() for name, table in self._tables.items()}, dict(self._scalars))


class _TableSum:
    """Dense inside: adding n sparse parts one to the next would sort n times."""

    def __init__(self, like: SparseRows) -> None:
        self._total = np.zeros((0, *like.values.shape[1:]), like.values.dtype)
        self._touched = np.zeros(0, np.bool_)

    def add(self, rows: SparseRows) -> None:
        size = int(rows.index[-1]) + 1 if len(rows) else 0
        if size > len(self._total):
            more = max(size, 2 * len(self._total)) - len(self._total)
            self._total = np.concatenate(
                [self._total, np.zeros((more, *self._total.shape[1:]), self._total.dtype)]
            )
            self._touched = np.concatenate([self._touched, np.zeros(more, np.bool_)])
        self._total[rows.index] += rows.values
        self._touched[rows.index] = True

    def rows(self) -> SparseRows:
        index = np.flatnonzero(self._touched).astype(np.int32)
        return SparseRows(index, self._total[index])


def add_up(updates: Iterable[Update]) -> Update:
    """The sum of at least one update, in the order given: equal bits for an equal order."""
    total = RunningSum()
    for update in updates:
        total.add(update)
    return total.update()
