"""Small data sets with lists, drawn by hypothesis: every odd case the metrics must survive occurs in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from murmura.core.catalogue import TEST, TRAIN, Relation, Split
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.model import NO_ITEM, RankedLists

VALUES = (-2.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
LABELS = ("drama", "comedy", "never used")


@dataclass(frozen=True)
class World:
    """The same small world twice: as Murmura's own words, and as plain Python."""

    n_users: int
    n_items: int
    train: dict[int, set[int]]
    test: dict[int, dict[int, float]]
    shown: dict[int, list[int]]  # may name users outside the data
    labels: dict[int, set[str]]  # item -> its categories
    relevant_from: float | None
    k: int

    @property
    def split(self) -> Split:
        rows = [(u, i, 1.0, TRAIN) for u, items in self.train.items() for i in items]
        rows += [(u, i, v, TEST) for u, items in self.test.items() for i, v in items.items()]
        user, item, value, part = (np.array(column) for column in zip(*rows))
        users, items = Vocabulary(np.arange(self.n_users)), Vocabulary(np.arange(self.n_items))
        return Split("drawn", Interactions(users, items, user, item, value), part.astype(np.uint8))

    @property
    def lists(self) -> RankedLists:
        return lists_of(self.shown, self.k)

    @property
    def categories(self) -> Relation:
        pairs = [(i, LABELS.index(name)) for i, names in self.labels.items() for name in sorted(names)]
        item, label = (
            (np.array(column, np.int32) for column in zip(*pairs)) if pairs else (np.empty(0, int),) * 2
        )
        return Relation(LABELS, item.astype(np.int32), label.astype(np.int32))


def lists_of(shown: dict[int, list[int]], k: int) -> RankedLists:
    """Lists padded to k."""
    item = np.full((len(shown), k), NO_ITEM, np.int32)
    for row, items in enumerate(shown.values()):
        item[row, : len(items)] = items
    return RankedLists(np.array(list(shown), np.int32), item, np.zeros(item.shape, np.float32))


def split_of(train: dict[int, set[int]], test: dict[int, dict[int, float]], n_items: int) -> Split:
    """A split from plain Python."""
    n_users = 1 + max([*train, *test])
    return World(n_users, n_items, train, test, {}, {}, None, 1).split


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Users with and without test rows, relevant items and lists; short, empty and superfluous lists."""
    n_users, n_items = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    cells = draw(
        st.lists(
            st.sampled_from(["", "", "train", "train", "test"]),
            min_size=n_users * n_items,
            max_size=n_users * n_items,
        )
    )
    values = draw(st.lists(st.sampled_from(VALUES), min_size=n_users * n_items, max_size=n_users * n_items))
    where = {(n // n_items, n % n_items): (cell, values[n]) for n, cell in enumerate(cells)}
    where[0, draw(st.integers(0, n_items - 1))] = ("test", 5.0)  # somebody has something relevant
    train: dict[int, set[int]] = {}
    test: dict[int, dict[int, float]] = {}
    for (user, item), (cell, value) in where.items():
        if cell == "train":
            train.setdefault(user, set()).add(item)
        elif cell == "test":
            test.setdefault(user, {})[item] = value
    k = draw(st.integers(1, n_items + 2))
    listed = draw(st.lists(st.integers(0, n_users + 2), unique=True, max_size=n_users + 3))
    shown = {user: draw(st.lists(st.integers(0, n_items - 1), unique=True, max_size=k)) for user in listed}
    labels = {item: draw(st.sets(st.sampled_from(LABELS[:2]), max_size=2)) for item in range(n_items)}
    relevant_from = draw(st.sampled_from([None, 1.0, 3.0, 5.0]))
    return World(n_users, n_items, train, test, shown, labels, relevant_from, k)
