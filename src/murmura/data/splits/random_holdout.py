"""Splits at random: those of the published tables, bit for bit, and those of a modern generator.

Cold items are held out whole.
"""

from __future__ import annotations

from math import floor
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from murmura.core.arrays import Bools, Bytes, Longs
from murmura.core.catalogue import TEST, VALIDATION, Split
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.settings import settings
from murmura.data.repeats import place_in_history
from murmura.data.splits.rule import Holdout, Seed, apply_rule, floor_fraction


@settings
class DrawnHoldout(Holdout):
    """One whose rows are drawn at random."""

    seed: Seed = 42

    def said(self) -> list[str]:
        """The seed as well."""
        return [*super().said(), f"seed={self.seed}"]


@settings
class LegacyRandomHoldout(DrawnHoldout):
    """Per user floor((1 - test) * n) rows stay in training, drawn as Elliot and KGFlex drew them (RecSys 2021).

    Users in ascending id; for each a list of that many zeros, then ones, shuffled by numpy's old RandomState,
    seeded once; the flags go to the user's rows in the order of the source. The validation part is drawn from
    the rest by the same rule, further along the same stream, so it does not change the test part.
    """

    kind: Literal["random-legacy"] = "random-legacy"

    def apply(self, data: Interactions) -> Split:
        """Draw the test part, then the validation part from the rest."""
        stream = np.random.RandomState(self.seed)

        def drawn(data: Interactions, stage: int) -> Bools:
            held: Bools = np.zeros(len(data), np.bool_)
            rows_of = np.split(np.argsort(data.user, kind="stable"), np.cumsum(data.user_counts)[:-1])
            for rows in rows_of:
                flags: Bools = np.zeros(len(rows), np.bool_)
                flags[floor(len(rows) * (1 - self.share(stage))) :] = True
                stream.shuffle(flags)
                held[rows] = flags
            return held

        return apply_rule(self.title, data, drawn, self.validation > 0)


@settings
class RandomHoldout(DrawnHoldout):
    """Per user floor(test * n) rows, drawn at random by a modern generator, are the test part."""

    kind: Literal["random"] = "random"

    def held(self, data: Interactions, stage: int) -> Bools:
        """Of each user's rows the first ones in a random order."""
        most = floor_fraction(self.share(stage), data.user_counts)
        return random_place(data, self.seed, stage) < most[data.user]


def random_place(data: Interactions, seed: int, stage: int) -> Longs:
    """The place of each row in a random order of its user's rows."""
    draws = np.random.default_rng([seed, stage]).permutation(len(data))
    return place_in_history(data, draws)


@settings
class CoveredRandomHoldout(DrawnHoldout):
    """Of all rows floor(test * n) are the test part, every user and item keeping a training row (FedSPLIT).

    Rows are visited in a random order and held out one by one, except a row that is the last of its user or of
    its item. Where too many rows are, the test part is smaller than asked.
    """

    kind: Literal["random-covered"] = "random-covered"

    def held(self, data: Interactions, stage: int) -> Bools:
        """The first rows of a random order that may be held out."""
        order = np.random.default_rng([self.seed, stage]).permutation(len(data))
        wanted = int(np.floor(self.share(stage) * len(data) + 1e-9))
        held: Bools = np.zeros(len(data), np.bool_)
        held[order[:wanted]] = True
        # counts only fall, so a selection that leaves nobody bare is the one the visit would have made
        return held if _covered(data, ~held) else _visit(data, order, wanted)


def _covered(data: Interactions, kept: Bools) -> bool:
    """Whether every user and item with a row has one among `kept`."""
    for codes, counts in ((data.user, data.user_counts), (data.item, data.item_counts)):
        if ((counts > 0) & (np.bincount(codes[kept], minlength=len(counts)) == 0)).any():
            return False
    return True


def _visit(data: Interactions, order: Longs, wanted: int) -> Bools:
    held: Bools = np.zeros(len(data), np.bool_)
    of_user, of_item = data.user_counts.tolist(), data.item_counts.tolist()
    users, items = data.user.tolist(), data.item.tolist()
    for row in order.tolist():
        if not wanted:
            break
        user, item = users[row], items[row]
        if of_user[user] > 1 and of_item[item] > 1:
            of_user[user] -= 1
            of_item[item] -= 1
            held[row] = True
            wanted -= 1
    return held


@settings
class KFold:
    """Every row is in the test part of one of k splits; a user's rows are dealt to the folds in turn, shuffled.

    `apply` gives the split whose test part is fold number `fold`; with `validation` the next fold in the circle
    is the validation part.
    """

    kind: Literal["k-fold"] = "k-fold"
    k: Annotated[int, Field(ge=2)] = 5
    fold: Annotated[int, Field(ge=0)] = 0
    validation: bool = False
    seed: Seed = 42

    @model_validator(mode="after")
    def _fold_exists(self) -> Self:
        if self.fold >= self.k or (self.validation and self.k < 3):
            raise SettingError(
                f"k-fold: fold must be below k (validation needs k >= 3), but they are {self.fold}, {self.k}."
            )
        return self

    def apply(self, data: Interactions) -> Split:
        """The split of one fold."""
        start = np.random.default_rng([self.seed, 1]).integers(self.k, size=data.n_users)
        fold_of = (random_place(data, self.seed, 0) + start[data.user]) % self.k
        part: Bytes = np.zeros(len(data), np.uint8)
        if self.validation:
            part[fold_of == (self.fold + 1) % self.k] = VALIDATION
        part[fold_of == self.fold] = TEST
        validation = str(self.validation).lower()
        return Split(f"k-fold(k={self.k}, fold={self.fold}, {validation=!s}, seed={self.seed})", data, part)


@settings
class ColdItems(DrawnHoldout):
    """Of the n items that occur floor(test * n), drawn at random, go to the test part with all their rows.

    The validation part is drawn from the remaining items by the same rule.
    """

    kind: Literal["cold-items"] = "cold-items"

    def held(self, data: Interactions, stage: int) -> Bools:
        """The rows of the drawn items."""
        items = np.flatnonzero(data.item_counts)
        wanted = int(floor_fraction(self.share(stage), np.array([len(items)]))[0])
        held: Bools = np.zeros(data.n_items, np.bool_)
        held[np.random.default_rng([self.seed, stage]).permutation(items)[:wanted]] = True
        return held[data.item]
