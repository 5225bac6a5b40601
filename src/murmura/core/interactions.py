"""Who did what to which item, and when: immutable columns over two vocabularies.

A sample with a label is an item that shows something; the short head are the items everybody knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ids, Ints, Longs
from murmura.core.errors import DataError, did_you_mean
from murmura.core.features import ItemFeatures

# who holds samples that are dealt to clients by a split: a source's training file and its test file
TRAIN_FILE, TEST_FILE = "train", "test"


class Classification(NamedTuple):
    """What a classifier is asked: inputs of this shape, labels from 0 and below `classes`."""

    shape: tuple[int, ...]
    classes: int


@dataclass(frozen=True, eq=False)
class SampleTable:
    """What every sample of a data set shows, and how good it is where that is known.

    In `Interactions` a sample is an item, whoever holds it a user, and its label the value of the row.
    """

    classes: int
    stored: NDArray[Any]  # (stored, *shape) uint8: 0 to 255, or float32
    place: Ints  # (samples,) where each sample is stored
    quality: Floats | None = None  # (stored,) in [0, 1]: the share of what makes a sample good, e.g. sharpness

    def __post_init__(self) -> None:
        if self.stored.dtype not in (np.uint8, np.float32):
            raise DataError(f"samples must be uint8 or float32, but are {self.stored.dtype}; convert them.")
        if self.classes < 2:
            raise DataError(f"samples must have labels of at least two classes, but have {self.classes}.")

    def __len__(self) -> int:
        return len(self.place)

    @property
    def task(self) -> Classification:
        """What a classifier of these samples is asked."""
        return Classification(self.stored.shape[1:], self.classes)

    def restrict(self, samples: Ints) -> SampleTable:
        """The table of exactly these samples, in this order."""
        return SampleTable(self.classes, self.stored, self.place[samples], self.quality)

    def inputs(self, samples: Ints) -> NDArray[Any]:
        """What these samples show: (samples, *shape)."""
        shown: NDArray[Any] = self.stored[self.place[samples]]
        return shown

    def qualities(self, samples: Ints) -> Floats | None:
        """How good these samples are; None: not known."""
        return None if self.quality is None else self.quality[self.place[samples]]

    @cached_property
    def fingerprint(self) -> str:
        """A sha256 over what the samples show, in their order."""
        digest = hashlib.sha256(repr((self.stored.dtype.str, self.stored.shape[1:], self.classes)).encode())
        for first in range(0, len(self), 4096):
            digest.update(np.ascontiguousarray(self.stored[self.place[first : first + 4096]]).tobytes())
        return digest.hexdigest()


MEANT = 10_000  # ids among which a mistyped one is looked for
Attributes = Mapping[str, Floats]  # name -> (users,) in [0, 1]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The owner's own ids, ascending (numbers as numbers, text by code point); the position is the code."""

    labels: Ids  # (n,) int64 or text, unique, ascending

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _frozen(np.asarray(self.labels)))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_text(self) -> bool:
        """Whether the ids are text rather than whole numbers."""
        return self.labels.dtype.kind not in "iu"

    def find(self, ids: Iterable[Any] | Ids) -> Ints:
        """The code of each id, and -1 for an id that is not here."""
        wanted = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids))
        if not len(self.labels) or not len(wanted):
            return np.full(len(wanted), -1, np.int32)
        if self.is_text:
            wanted = wanted.astype(np.str_)
        elif wanted.dtype.kind not in "iu":
            wanted = np.array([_whole_number(x) for x in wanted.tolist()], np.int64)
        place = np.minimum(np.searchsorted(self.labels, wanted), len(self.labels) - 1)
        return np.where(self.labels[place] == wanted, place, -1).astype(np.int32)

    def index(self, ids: Iterable[Any] | Ids, what: str = "id") -> Ints:
        """The code of each id; refuses an id that is not here."""
        wanted = list(ids)
        codes = self.find(wanted)
        if (codes < 0).any():
            missing = wanted[int(np.argmax(codes < 0))]
            some = map(str, self.labels[:MEANT].tolist())
            hint = did_you_mean(str(missing), some, "check its spelling.", like=0.8)
            raise DataError(f"{what} {missing!r} is not among the {len(self)} known ones; {hint}")
        return codes

    @staticmethod
    def of(ids: Ids) -> tuple[Vocabulary, Ints]:
        """The vocabulary of a column, and the column as codes."""
        labels, codes = np.unique(ids, return_inverse=True)
        return Vocabulary(labels), codes.astype(np.int32)


@dataclass(frozen=True, eq=False)
class Interactions:
    """Rows of (user, item, value, time) as codes into `users` and `items`, in the order of the source."""

    users: Vocabulary
    items: Vocabulary
    user: Ints  # (rows,)
    item: Ints  # (rows,)
    value: Floats  # (rows,) 1.0 where the source has no values
    time: Longs | None = None  # (rows,) seconds since 1970
    features: ItemFeatures | None = None  # what is publicly known of the items; no part of the fingerprint
    samples: SampleTable | None = None  # what the items show, where they are samples and `value` their label
    attributes: Attributes = field(default_factory=dict)  # what users say of themselves; not in the fingerprint

    def __post_init__(self) -> None:
        for name, kind in (("user", np.int32), ("item", np.int32), ("value", np.float64), ("time", np.int64)):
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, _frozen(np.ascontiguousarray(column, kind)))
        lengths = {len(c) for c in (self.user, self.item, self.value, self.time) if c is not None}
        if len(lengths) != 1:
            raise DataError(
                f"the columns of interactions must be equally long, but have {sorted(lengths)} rows."
            )

    @staticmethod
    def of(user: Ids, item: Ids, value: Floats | None = None, time: Longs | None = None) -> Interactions:
        """From columns of own ids."""
        users, u = Vocabulary.of(np.asarray(user))
        items, i = Vocabulary.of(np.asarray(item))
        return Interactions(users, items, u, i, np.ones(len(u)) if value is None else value, time)

    def __len__(self) -> int:
        return len(self.user)

    @property
    def n_users(self) -> int:
        """How many users the vocabulary has, with or without rows."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """How many items the vocabulary has, with or without rows."""
        return len(self.items)

    def rows(self, keep: Bools | Longs) -> Interactions:
        """Some of the rows (a mask or positions), over the same vocabularies."""
        time = None if self.time is None else self.time[keep]
        return replace(self, user=self.user[keep], item=self.item[keep], value=self.value[keep], time=time)

    def compact(self) -> Interactions:
        """The same rows over vocabularies that hold only the users and items that occur."""
        users, u = _shrink(self.users, self.user)
        items, i = _shrink(self.items, self.item)
        samples = self.samples and self.samples.restrict(np.flatnonzero(self.item_counts).astype(np.int32))
        attributes = {name: column[self.user_counts > 0] for name, column in self.attributes.items()}
        return Interactions(users, items, u, i, self.value, self.time, None, samples, attributes)

    @cached_property
    def by_user(self) -> RowIndex:
        """The rows of each user, items ascending: a compressed row index."""
        return self._rows_of(self.user, self.n_users, self.item)

    @cached_property
    def by_item(self) -> RowIndex:
        """The rows of each item, users ascending."""
        return self._rows_of(self.item, self.n_items, self.user)

    def _rows_of(self, owner: Ints, n: int, other: Ints) -> RowIndex:
        order = np.lexsort((other, owner))
        start: Longs = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n))))
        return RowIndex(_frozen(start), _frozen(other[order]), _frozen(self.value[order]), order)

    @cached_property
    def item_counts(self) -> Longs:
        """How many rows each item has."""
        return _frozen(np.bincount(self.item, minlength=self.n_items))

    @cached_property
    def user_counts(self) -> Longs:
        """How many rows each user has."""
        return _frozen(np.bincount(self.user, minlength=self.n_users))

    @cached_property
    def fingerprint(self) -> str:
        """A sha256 over ids and columns: equal for equal data in equal row order, on every machine."""
        digest = hashlib.sha256()
        for vocabulary in (self.users, self.items):
            digest.update("\n".join(map(str, vocabulary.labels.tolist())).encode())
            digest.update(b"\0")
        for column in (self.user, self.item, self.value, self.time):
            digest.update(b"-" if column is None else column.astype(column.dtype.newbyteorder("<")).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class RowIndex:
    """A compressed row index: row r holds `index[start[r]:start[r + 1]]`, ascending, with `value` beside it."""

    start: Longs  # (rows + 1,)
    index: Ints  # (entries,)
    value: Floats  # (entries,)
    order: Longs  # (entries,) the row of the interactions each entry came from

    def of(self, row: int) -> Ints:
        """The entries of one row."""
        return self.index[self.start[row] : self.start[row + 1]]


def latest_each(items: Ints, time: Longs | None = None) -> tuple[Longs, Longs | None]:
    """Each item of a history once, ascending, and the latest time it has there, where times are known."""
    given = np.asarray(items, np.int64)
    if time is None:
        return np.unique(given), None
    if len(time) != len(given):
        raise DataError(
            f"there must be one time for each of the {len(given)} items, but there are {len(time)}."
        )
    latest = np.argsort(-np.asarray(time, np.int64), kind="stable")
    own, first = np.unique(given[latest], return_index=True)
    return own, np.asarray(time, np.int64)[latest[first]]


def _shrink(vocabulary: Vocabulary, codes: Ints) -> tuple[Vocabulary, Ints]:
    present = np.zeros(len(vocabulary), np.bool_)
    present[codes] = True
    new = (np.cumsum(present) - 1).astype(np.int32)
    return Vocabulary(vocabulary.labels[present]), new[codes]


A = TypeVar("A", bound=NDArray[Any])


def _frozen(array: A) -> A:
    """The same memory, read-only."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def _whole_number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return -(2**63)


HEAD_PERCENT = 80


def short_head(counts: Longs, ties: Longs | None = None) -> Bools:
    """Which items are popular, (items,): `ties` lists all items in the order that breaks equal popularity.

    The most popular ones, ties by the lower item id, until together they reach 80 % of all interactions, the
    item that crosses included; an item without an interaction is not among them.
    """
    order = np.arange(len(counts)) if ties is None else ties
    order = order[np.argsort(-counts[order], kind="stable")]
    before = np.cumsum(counts[order]) - counts[order]
    head: Bools = np.zeros(len(counts), np.bool_)
    # an item belongs to the head while the ones before it hold less than 80 %; in whole numbers, so exactly
    head[order[100 * before < HEAD_PERCENT * counts.sum()]] = True
    return head & (counts > 0)
