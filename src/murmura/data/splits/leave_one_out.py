"""Leave one out: one row of every user is the test part."""

from __future__ import annotations

from typing import Literal

from murmura.core.arrays import Bools
from murmura.core.interactions import Interactions
from murmura.core.settings import settings
from murmura.core.split import Split
from murmura.data.ordering import place_in_history
from murmura.data.splits.random_holdout import random_place
from murmura.data.splits.rule import Seed, apply_rule, times


@settings
class LeaveOneOut:
    """One row per user is held out: the newest (of equal times the lower item id), or one at random.

    With `validation` one more by the same rule. A user's last row is never taken from training, so a user with
    a single row is not tested.
    """

    kind: Literal["leave-one-out"] = "leave-one-out"
    pick: Literal["newest", "random"] = "newest"
    validation: bool = False
    seed: Seed = 42

    def apply(self, data: Interactions) -> Split:
        """Take one row of every user who has two, then perhaps another."""
        told = f"pick={self.pick}, validation={str(self.validation).lower()}"
        seed = f", seed={self.seed}" if self.pick == "random" else ""
        return apply_rule(f"leave-one-out({told}{seed})", data, self._one, self.validation)

    def _one(self, data: Interactions, stage: int) -> Bools:
        if self.pick == "newest":
            place = place_in_history(data, -times(data, self.kind), data.item)
        else:
            place = random_place(data, self.seed, stage)
        first: Bools = place == 0
        return first & (data.user_counts[data.user] > 1)
