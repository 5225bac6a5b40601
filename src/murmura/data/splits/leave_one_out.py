"""Leave one out: one row of every user is the test part."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import SerializerFunctionWrapHandler, model_serializer

from murmura.core.arrays import Bools
from murmura.core.interactions import Interactions
from murmura.core.settings import settings
from murmura.core.split import Split
from murmura.data.ordering import place_in_history
from murmura.data.splits.random_holdout import random_place
from murmura.data.splits.rule import Seed, apply_rule, times


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

    @model_serializer(mode="wrap")
    def _only_given(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A run folder says what decides between equal times only where it is not the usual."""
        written: dict[str, Any] = plain(self)
        return {key: value for key, value in written.items() if key != "ties" or value != "lower-id"}

    def apply(self, data: Interactions) -> Split:
        """Take one row of every user who has two, then perhaps another."""
        told = f"pick={self.pick}, validation={str(self.validation).lower()}"
        told += "" if self.ties == "lower-id" else f", ties={self.ties}"
        seed = f", seed={self.seed}" if self.pick == "random" else ""
        return apply_rule(f"leave-one-out({told}{seed})", data, self._one, self.validation)

    def _one(self, data: Interactions, stage: int) -> Bools:
        if self.pick == "newest":
            ties = data.item if self.ties == "lower-id" else np.arange(len(data))
            place = place_in_history(data, -times(data, self.kind), ties)
        else:
            place = random_place(data, self.seed, stage)
        first: Bools = place == 0
        return first & (data.user_counts[data.user] > 1)
