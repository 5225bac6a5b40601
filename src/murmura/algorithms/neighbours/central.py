"""The formula of fed-neighbours from pooled data: all pairs of whole histories, nothing rounded."""

from __future__ import annotations

import numpy as np

from murmura.algorithms.neighbours.row_numbers import PersonWeights, Weight
from murmura.baselines.base import Baseline
from murmura.baselines.rp3beta import WalkModel, walk_rows
from murmura.core.interactions import Interactions
from murmura.core.progress import Progress
from murmura.core.settings import Count, Fraction, settings


@settings
class PooledNeighbours(Baseline):
    """The centralised equivalent of fed-neighbours."""

    name = "pooled-neighbours"
    model = WalkModel
    seeded = False

    weight: Weight = "inverse"  # of a person of n items: one, root (1 / sqrt n) or inverse (1 / n)
    own_power: Fraction = 0.6  # of the count of the item that she has
    other_power: Fraction = 0.4  # of the count of its neighbour
    k: Count = 200  # neighbours of an item
    least_pairs: Count = 3  # people that a pair is of at least

    def learn(self, train: Interactions, seed: int, progress: Progress) -> WalkModel:
        """All pairs."""
        weights = PersonWeights(self.weight, self.least_pairs)
        people = np.array([weights.of(n) for n in train.user_counts.tolist()], np.float64)
        powers = (self.own_power, self.other_power)
        votes = walk_rows(train, people, powers, self.k, self.least_pairs)
        return WalkModel(train, votes)
