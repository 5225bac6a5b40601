"""A population on disk: the histories of very many clients in files that are mapped, not read.

A folder holds `population.json` and, for each range of clients, one `.npy` file per column:

    <first client>.length.npy   (clients,) int32     how many rows each client of the range holds
    <first client>.item.npy     (rows,) int32        their items, ascending for each client
    <first client>.value.npy    (rows,) float64      only where one differs from 1
    <first client>.consent.npy  (rows,) float64      only where one differs from 1: `history.consent`
    <first client>.time.npy     (rows,) int64        seconds since 1970, only where known
    <first client>.person.npy   (rows,) int32        the owner's place in her group, where clients are groups
    <first client>.secret.npy   (clients, 2) uint32  only where they do not follow from the seed of a training
    <first client>.statistics.npy (clients,) bool    only where someone takes no part in sums about people
    counts.npy                  (items,) int64       how often each item occurs

A column that is 1 everywhere has no file. The manifest is written last, so a folder without one is unfinished.
The ranges are how the files are cut; who reads may cut the clients otherwise.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.errors import DataError
from murmura.core.files import whole_file, write_whole
from murmura.core.rng import Words

MANIFEST, COUNTS, FORMAT = "population.json", "counts.npy", 1
RANGE = 100_000  # clients in one range, as a writer should cut them
ROW_COLUMNS = {"value": np.float64, "consent": np.float64, "time": np.int64, "person": np.int32}
CLIENT_COLUMNS = {"secret": np.uint32, "statistics": np.bool_}
ONES = ("value", "consent", "statistics")  # columns that have no file where they are 1 everywhere


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of some clients: client k of them holds rows start[k] to start[k + 1]."""

    start: Longs  # (clients + 1,)
    item: Ints  # (rows,)
    value: Floats | None = None  # None: every value is 1
    consent: Floats | None = None  # None: every row is shared
    time: Longs | None = None  # None: unknown
    person: Ints | None = None  # None: every client is one person
    secret: Words | None = None  # (clients, 2); None: they follow from the seed of the training
    statistics: Bools | None = None  # (clients,) None: everyone takes part in sums about people

    @property
    def clients(self) -> int:
        """How many clients these are."""
        return len(self.start) - 1

    def cut(self, first: int, last: int) -> Rows:
        """Some of the clients, without a copy."""
        start = self.start[first : last + 1]
        columns = {
            name: column[start[0] : start[-1]] if name in ROW_COLUMNS else column[first:last]
            for name, column in self.columns.items()
        }
        return Rows(start - start[0], self.item[start[0] : start[-1]], **columns)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns there are beside the items."""
        found = {name: getattr(self, name) for name in (*ROW_COLUMNS, *CLIENT_COLUMNS)}
        return {name: column for name, column in found.items() if column is not None}


@dataclass(frozen=True)
class ClientRange:
    """The clients whose columns are in files of their own."""

    first: int
    last: int  # not one of them
    rows: int
    columns: tuple[str, ...]  # that have a file

    def path(self, folder: Path, column: str) -> Path:
        """The file of a column."""
        return folder / f"{self.first:010d}.{column}.npy"


@dataclass(frozen=True, eq=False)
class PopulationFiles:
    """A finished population, as its manifest describes it."""

    folder: Path
    clients: int
    rows: int
    items: int
    ranges: tuple[ClientRange, ...]
    fingerprint: str  # sha256 over the columns
    about: str = ""  # how it came about

    @staticmethod
    def open(folder: Path) -> PopulationFiles:
        """Read the manifest; refuses a folder that has none, or another one's."""
        try:
            read = json.loads((folder / MANIFEST).read_text())
            if read.pop("format") != FORMAT:
                raise ValueError("another format")
            ranges = tuple(
                ClientRange(**{**one, "columns": tuple(one["columns"])}) for one in read.pop("ranges")
            )
            return PopulationFiles(folder, ranges=ranges, **read)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{folder} must hold a finished population, but its {MANIFEST} cannot be read ({error}); "
                "make one with `murmura data synth OUT --population`."
            ) from None

    @property
    def counts(self) -> Longs:
        """(items,) how often each item occurs."""
        counts: Longs = np.load(self.folder / COUNTS)
        return counts

    def read(self, first: int, last: int) -> Rows:
        """The columns of clients first to last, mapped where they are in one range."""
        if not 0 <= first < last <= self.clients:
            raise DataError(f"clients must be 0 to {self.clients}, but {first} to {last} were asked for.")
        cuts = [(one, max(first, one.first), min(last, one.last)) for one in self.ranges]
        return joined([self._cut(one, a, b) for one, a, b in cuts if a < b])

    def _cut(self, one: ClientRange, first: int, last: int) -> Rows:
        columns: dict[str, NDArray[Any]] = {
            name: np.load(one.path(self.folder, name), mmap_mode="r") for name in one.columns
        }
        start: Longs = np.concatenate([[0], np.cumsum(columns.pop("length"), dtype=np.int64)])
        return Rows(start, **columns).cut(first - one.first, last - one.first)


class PopulationWriter:
    """Writes a population range by range, in constant memory; `close` makes it a finished one."""

    def __init__(self, folder: Path, items: int) -> None:
        if (folder / MANIFEST).exists():
            raise DataError(f"{folder} must be empty, but holds a population; choose another folder.")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._counts = folder, np.zeros(items, np.int64)
        self._ranges: list[ClientRange] = []
        columns = ("length", "item", *ROW_COLUMNS, *CLIENT_COLUMNS)
        self._digests = {name: hashlib.sha256() for name in columns}

    def add(self, rows: Rows) -> None:
        """The next clients, as one range; refuses rows that no client can hold."""
        length = np.diff(rows.start)
        _refuse_unfit(rows, len(self._counts))
        self._counts += np.bincount(rows.item, minlength=len(self._counts))
        columns: dict[str, Any] = {"length": length.astype(np.int32), "item": np.asarray(rows.item, np.int32)}
        for name, column in rows.columns.items():
            if name not in ONES or not (np.asarray(column) == 1).all():
                columns[name] = np.asarray(column, {**ROW_COLUMNS, **CLIENT_COLUMNS}[name])
        first = self._ranges[-1].last if self._ranges else 0
        one = ClientRange(first, first + rows.clients, len(rows.item), tuple(sorted(columns)))
        for name, column in columns.items():
            with whole_file(one.path(self.folder, name), DataError) as file:
                np.save(file, column)
            self._digests[name].update(column.astype(column.dtype.newbyteorder("<")).tobytes())
        self._ranges.append(one)

    def close(self, about: str = "") -> PopulationFiles:
        """Write the manifest; what it says is read back."""
        with whole_file(self.folder / COUNTS, DataError) as file:
            np.save(file, self._counts)
        said = json.dumps({name: digest.hexdigest() for name, digest in self._digests.items()})
        manifest = {
            "format": FORMAT,
            "clients": self._ranges[-1].last if self._ranges else 0,
            "rows": sum(one.rows for one in self._ranges),
            "items": len(self._counts),
            "fingerprint": hashlib.sha256(f"{len(self._counts)} {said}".encode()).hexdigest(),
            "about": about,
            "ranges": [asdict(one) for one in self._ranges],
        }
        write_whole(self.folder / MANIFEST, json.dumps(manifest, indent=1).encode(), DataError)
        return PopulationFiles.open(self.folder)


def write_population(folder: Path, rows: Rows, items: int, size: int = RANGE) -> PopulationFiles:
    """Write clients that are in memory, so many in a range."""
    writer = PopulationWriter(folder, items)
    for first in range(0, rows.clients, size):
        writer.add(rows.cut(first, min(first + size, rows.clients)))
    return writer.close()


def joined(parts: list[Rows]) -> Rows:
    """The clients of all parts, one after the other; of one part itself, without a copy."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(int(part.start[-1]) for part in parts)])
    start = np.concatenate([[0], *(part.start[1:] + begin for part, begin in zip(parts, starts))])
    found: dict[str, Any] = {"item": np.concatenate([part.item for part in parts])}
    for name in {name for part in parts for name in part.columns}:
        sizes = (len(part.item) if name in ROW_COLUMNS else part.clients for part in parts)
        # a column that other parts have is left out only where it is 1 everywhere
        columns = (part.columns.get(name, np.ones(size, np.bool_)) for part, size in zip(parts, sizes))
        found[name] = np.concatenate(list(columns))
    return Rows(start, **found)


def _refuse_unfit(rows: Rows, items: int) -> None:
    """Refuse items that there are not, and an item that a client holds twice."""
    if len(rows.item) and not 0 <= rows.item.min() <= rows.item.max() < items:
        raise DataError(
            f"items must be 0 to {items - 1}, but go from {rows.item.min()} to {rows.item.max()}; mend them."
        )
    if rows.person is not None:
        return  # several people of a client may hold the same
    rising = np.diff(rows.item) > 0
    begins = rows.start[1:-1]
    rising[begins[(begins > 0) & (begins < len(rows.item))] - 1] = True  # where another client begins
    if not rising.all():
        raise DataError("the items of a client must be ascending, each once, but are not; sort the rows.")
