"""Splits by time: per user, at one moment for everybody, or one row of every user; and times cut to whole days.

The two rules per user differ by up to one row. Cutting times to days hides what came first inside a day.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from murmura.core.arrays import Bools, Longs
from murmura.core.catalogue import Split
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.settings import settings
from murmura.data.repeats import place_in_history
from murmura.data.splits.random_holdout import random_place
from murmura.data.splits.rule import (
    Holdout,
    Seed,
    apply_rule,
    floor_fraction,
    times,
    without_defaults,
)


@settings
class TemporalHoldout(Holdout):
    """Per user the newest floor(test * n) rows are the test part (FedeRank, ECIR 2021, and FPL), or the oldest.

    Rows are ordered by item id before the stable sort by time, newest or oldest first: of equal times the lower
    item id goes to the test part. The validation part is cut from the remaining rows by the same rule.
    """

    kind: Literal["temporal"] = "temporal"
    pick: Literal["newest", "oldest"] = "newest"
    _written = without_defaults(pick="newest")

    def said(self) -> list[str]:
        """The end of a history too, where it is not the usual one."""
        return super().said() + ([] if self.pick == "newest" else [f"pick={self.pick}"])

    def held(self, data: Interactions, stage: int) -> Bools:
        """The rows at one end of each history."""
        time = times(data, self.kind)
        place = place_in_history(data, -time if self.pick == "newest" else time, data.item)
        return place < floor_fraction(self.share(stage), data.user_counts)[data.user]


@settings
class ElliotTemporalHoldout(Holdout):
    """Per user the oldest floor((1 - test) * n) rows are the training part, as Elliot cuts (SIGIR 2021).

    Of equal times the earlier row of the source is the older one. The test part has up to one row per user more
    than that of `temporal`.
    """

    kind: Literal["temporal-elliot"] = "temporal-elliot"

    def held(self, data: Interactions, stage: int) -> Bools:
        """What is newer than the kept rows."""
        place = place_in_history(data, times(data, self.kind))
        return place >= floor_fraction(1 - self.share(stage), data.user_counts)[data.user]


@settings
class FixedTime(Holdout):
    """Everything from one moment on is the test part, for everybody; users may be in one part only.

    The moment is `at`, or the earliest one that leaves at most floor(test * rows) rows to the test part. The
    validation part is the newest share of the training rows, by the latter rule.
    """

    kind: Literal["fixed-time"] = "fixed-time"
    at: Annotated[int, Field(ge=0)] | None = None

    def said(self) -> list[str]:
        """The moment in place of the share, where it was given."""
        share, validation = super().said()
        return [share if self.at is None else f"at={self.at}", validation]

    def held(self, data: Interactions, stage: int) -> Bools:
        """What is from the moment on."""
        time = times(data, self.kind)
        if stage == 0 and self.at is not None:
            return time >= self.at
        most = int(floor_fraction(self.share(stage), np.array([len(data)]))[0])
        newest_train = np.sort(time)[len(data) - most - 1] if len(data) else 0
        return time > newest_train


@settings
class LeaveOneOut:
    """One row per user is held out: the newest, or one at random.

    Of equal times it is the lower item id, or with `ties=first-row` the row that comes first in the source.

    With `validation` one more by the same rule. A user's last row is never taken from training, so a user with
    a single row is not tested.
    """

    kind: Literal["leave-one-out"] = "leave-one-out"
    pick: Literal["newest", "random"] = "newest"
    ties: Literal["lower-id", "first-row"] = "lower-id"
    validation: bool = False
    seed: Seed = 42
    _written = without_defaults(ties="lower-id")

    def apply(self, data: Interactions) -> Split:
        """Take one row of every user who has two, then perhaps another."""
        arguments = f"pick={self.pick}, validation={str(self.validation).lower()}"
        arguments += "" if self.ties == "lower-id" else f", ties={self.ties}"
        seed = f", seed={self.seed}" if self.pick == "random" else ""
        return apply_rule(f"leave-one-out({arguments}{seed})", data, self._one, self.validation)

    def _one(self, data: Interactions, stage: int) -> Bools:
        if self.pick == "newest":
            ties = data.item if self.ties == "lower-id" else np.arange(len(data))
            place = place_in_history(data, -times(data, self.kind), ties)
        else:
            place = random_place(data, self.seed, stage)
        first: Bools = place == 0
        return first & (data.user_counts[data.user] > 1)


Order = Literal["real", "day"]  # of a person's rows, as methods see it
DAY = 86_400  # seconds


def begin_of_day(time: Longs) -> Longs:
    """When the day (UTC) of each time began."""
    begun: Longs = time - time % DAY
    return begun


def cut_to_days(split: Split) -> Split:
    """The same parts, every time that of its day's beginning (UTC), rows by user, item and day.

    Rows in the order of their source would tell what the times no longer do.
    """
    data = split.data
    if data.time is None:
        raise DataError(
            "order=day needs a time for every row, but this data has none; leave the order out (--order real)."
        )
    day = begin_of_day(data.time)
    order = np.lexsort((data.value, day, data.item, data.user))
    return Split(split.name, replace(data, time=day).rows(order), split.part[order])
