"""The random split of rating prediction: a share of all rows, everyone and everything known in training."""

from __future__ import annotations

from typing import Literal

import numpy as np

from murmura.core.arrays import Bools, Longs
from murmura.core.interactions import Interactions
from murmura.core.settings import settings
from murmura.core.split import Split
from murmura.data.splits.rule import Seed, SplitFraction, apply_rule


@settings
class CoveredRandomHoldout:
    """Of all rows floor(test * n) are the test part, every user and item keeping a training row (FedSPLIT).

    Rows are visited in a random order and held out one by one, except a row that is the last of its user or of
    its item. Where too many rows are, the test part is smaller than asked.
    """

    kind: Literal["random-covered"] = "random-covered"
    test: SplitFraction = 0.2
    validation: SplitFraction = 0.0
    seed: Seed = 42

    def apply(self, data: Interactions) -> Split:
        """Draw the test part, then the validation part from the rest."""
        name = f"random-covered(test={self.test:g}, validation={self.validation:g}, seed={self.seed})"
        return apply_rule(name, data, self._drawn, self.validation > 0)

    def _drawn(self, data: Interactions, stage: int) -> Bools:
        order = np.random.default_rng([self.seed, stage]).permutation(len(data))
        wanted = int(np.floor((self.test, self.validation)[stage] * len(data) + 1e-9))
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
