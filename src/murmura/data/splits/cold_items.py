"""Items held out whole: nobody has met them in training, so only what is known of them can rank them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from murmura.core.arrays import Bools
from murmura.core.interactions import Interactions
from murmura.core.settings import settings
from murmura.core.split import Split
from murmura.data.splits.rule import Seed, SplitFraction, apply_rule, floor_fraction


@settings
class ColdItems:
    """Of the n items that occur floor(test * n), drawn at random, go to the test part with all their rows.

    The validation part is drawn from the remaining items by the same rule.
    """

    kind: Literal["cold-items"] = "cold-items"
    test: SplitFraction = 0.2
    validation: SplitFraction = 0.0
    seed: Seed = 42

    def apply(self, data: Interactions) -> Split:
        """Draw the items of the test part, then those of the validation part."""
        name = f"cold-items(test={self.test:g}, validation={self.validation:g}, seed={self.seed})"
        return apply_rule(name, data, self._drawn, self.validation > 0)

    def _drawn(self, data: Interactions, stage: int) -> Bools:
        items = np.flatnonzero(data.item_counts)
        wanted = int(floor_fraction((self.test, self.validation)[stage], np.array([len(items)]))[0])
        held: Bools = np.zeros(data.n_items, np.bool_)
        held[np.random.default_rng([self.seed, stage]).permutation(items)[:wanted]] = True
        return held[data.item]
