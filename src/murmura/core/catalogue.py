"""A data set: what is publicly known about its items, and how its rows are split into parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np

from murmura.core.arrays import Bytes, Ids, Ints
from murmura.core.errors import DataError, RunError
from murmura.core.features import ItemFeatures, predicate_of
from murmura.core.interactions import Interactions, Vocabulary


@dataclass(frozen=True, eq=False)
class Relation:
    """Which items carry which labels (genres, venue categories, graph features): pairs, many to many."""

    labels: tuple[str, ...]
    item: Ints  # (pairs,)
    label: Ints  # (pairs,)

    def prefixed(self, text: str) -> Relation:
        """The same pairs, every label after `text`."""
        return Relation(tuple(text + label for label in self.labels), self.item, self.label)

    def restrict(self, places: Ints) -> Relation:
        """The same relation over items re-coded by `places` (old code -> new code, -1 = gone)."""
        moved = places[self.item]
        kept = moved >= 0
        return Relation(self.labels, moved[kept], self.label[kept])


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The items of a data set with what is known about them; absent knowledge is None."""

    items: Vocabulary
    names: Ids | None = None  # (items,) text, "" where unknown
    categories: Relation | None = None
    features: Relation | None = None
    links: Ids | None = None  # (items,) text: an address in a knowledge graph, "" where unknown
    category: str = "category"  # what a category is called: genre, kind of shop

    def restrict(self, items: Vocabulary) -> Catalogue:
        """The catalogue of exactly these items; an item unknown here has no name, category or feature."""
        here = self.items.find(items.labels)  # new code -> old code
        places = np.full(len(self.items), -1, np.int32)
        places[here[here >= 0]] = np.flatnonzero(here >= 0)
        return Catalogue(
            items,
            _take(self.names, here),
            self.categories and self.categories.restrict(places),
            self.features and self.features.restrict(places),
            _take(self.links, here),
            self.category,
        )

    def item_features(self, least: int = 1) -> ItemFeatures | None:
        """Graph features and categories together, those of at least `least` items; None: nothing is known."""
        categories = self.categories and self.categories.prefixed(f"{predicate_of(self.category)}=")
        known = [one for one in (self.features, categories) if one is not None and len(one.item)]
        if not known:
            return None
        labels = tuple(label for one in known for label in one.labels)
        item = np.concatenate([one.item for one in known])
        first = np.cumsum([0, *(len(one.labels) for one in known)])
        label = np.concatenate([one.label + at for one, at in zip(known, first)])
        frequent = np.bincount(label, minlength=len(labels))[label] >= least
        return ItemFeatures.of(labels, len(self.items), item[frequent], label[frequent])

    def name(self, code: int) -> str:
        """What to call an item on screen: its name, or its id where it has none."""
        known = "" if self.names is None else str(self.names[code])
        return known or str(self.items.labels[code])


@dataclass(frozen=True, eq=False)
class Dataset:
    """A named data set: the interactions as the source has them, and its catalogue."""

    name: str
    interactions: Interactions
    catalogue: Catalogue
    notes: tuple[str, ...] = field(default=())
    positive_from: float | None = None  # a row of at least this value is a like; None: nobody said
    folder: Path | None = None  # where its files lie, which may hold a split as well


def _take(column: Ids | None, codes: Ints) -> Ids | None:
    if column is None:
        return None
    taken = column[np.maximum(codes, 0)].copy() if len(column) else np.full(len(codes), "", "<U1")
    taken[codes < 0] = ""
    return taken


TRAIN, VALIDATION, TEST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Split:
    """Every row of `data` is in one part. `train` is the whole training part, validation rows included.

    Selecting a setting uses `selection()`: a split of the training rows alone, in which the validation rows
    play the test part. The test rows cannot be reached from it.
    """

    name: str
    data: Interactions
    part: Bytes  # (rows,) TRAIN, VALIDATION or TEST

    @cached_property
    def train(self) -> Interactions:
        """The whole training part: what the chosen setting is refitted on."""
        return self.data.rows(self.part != TEST)

    @cached_property
    def test(self) -> Interactions:
        """The test part: opened once, after every choice has been made."""
        return self.data.rows(self.part == TEST)

    @property
    def has_validation(self) -> bool:
        """Whether settings can be chosen on it."""
        return bool((self.part == VALIDATION).any())

    def selection(self) -> Split:
        """The split to choose settings on: training minus validation, scored on validation."""
        inside = self.part != TEST
        parts = np.where(self.part[inside] == VALIDATION, TEST, TRAIN).astype(np.uint8)
        if not self.has_validation:
            raise DataError(
                f"choosing settings needs a validation part, but the split '{self.name}' has none; "
                "give the split a validation share above 0."
            )
        return Split(f"{self.name}/selection", self.data.rows(inside), parts)

    def sealed(self) -> SealedSplit:
        """The same cut without its test rows: what is fitted and chosen on."""
        inside = self.part != TEST
        return SealedSplit(self.name, self.data.rows(inside), self.part[inside])


class SealedSplit(Split):
    """A split whose test rows are elsewhere: `data` has the training part alone, over all users and items."""

    @property
    def test(self) -> NoReturn:
        """Not here."""
        raise RunError(
            "the test part must be opened for a choice, but this split is sealed; choose on `selection()`, "
            "then open it once with `prepared.open(run, choice)`."
        )
