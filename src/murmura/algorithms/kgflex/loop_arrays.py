"""What the compiled loops of KGFlex read and where they work, in flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from murmura.core.arrays import Bytes, Floats, Ints, Longs
from murmura.core.features import ItemFeatures
from murmura.kernels.client_blocks import FlatPopulation, Values
from murmura.kernels.fpl.triples import Draws
from murmura.kernels.philox import Word

SPREAD = 0.1  # g, b and p start as N(0, 0.1^2), as in the authors' code
LARGEST = 1e3  # of one number of the model: beyond it training has diverged
LEAST = 1e-9  # below it a gain is the rounding of zero


def entropy_table(largest: int) -> Floats:
    """x log2 x of the whole numbers up to `largest`: entropies of counts are sums of these."""
    x = np.arange(largest + 1, dtype=np.float64)
    return x * np.log2(np.maximum(x, 1.0))


class FeatureRows(NamedTuple):
    """The features of every item, and the items of every feature."""

    start: Longs  # (items + 1,)
    feature: Ints
    hops: Bytes  # (features,)
    items_start: Longs  # (features + 1,)
    item: Ints

    @staticmethod
    def of(features: ItemFeatures) -> FeatureRows:
        """The features of the items as compiled loops take them."""
        return FeatureRows(features.start, features.feature, features.hops, *features.by_feature)


class GainRules(NamedTuple):
    """How a person's features are chosen."""

    measure: int  # 0 information gain, 1 gain ratio, 2 Gini
    negatives: int  # for each of her items
    first_limit: int
    second_limit: int
    least: float
    edges: Longs  # (listed,) where each item's part of the wheel ends
    table: Floats  # x log2 x

    @staticmethod
    def of(
        measure: int, negatives: int, limits: tuple[int, int], least: float, edges: Longs, most: int
    ) -> GainRules:
        """The same with the table that people with at most `most` items need."""
        return GainRules(measure, negatives, *limits, least, edges, entropy_table(2 * negatives * most))


class ClientRows(NamedTuple):
    """What clients keep, stacked: a row for each of their features, the most informative first."""

    feature: Ints  # (clients, capacity), -1: none
    k: Values  # (clients, capacity)
    P: Values  # (clients, capacity, factors)
    sent: Bytes  # (clients, capacity)

    @staticmethod
    def empty(clients: int, capacity: int, factors: int, precision: Any) -> ClientRows:
        """Room for the features of so many clients, who have none yet."""
        feature, k = np.full((clients, capacity), -1, np.int32), np.zeros((clients, capacity), precision)
        P = np.empty((clients, capacity, factors), precision)
        return ClientRows(feature, k, P, np.zeros((clients, capacity), np.uint8))


class FeatureVisitRules(NamedTuple):
    """The round, and how a visit in it steps."""

    round: Word
    alpha: float
    drop: bool  # pairs of which an item shares no feature with her
    power: float  # gradients of n pairs are divided by n ** power
    clip: float  # the largest L2 norm of what leaves; 0: any
    reg: float  # of what is in a pair, for each of its items


class FeatureScratch(NamedTuple):
    """What one worker reads, and where it works."""

    people: FlatPopulation
    features: FeatureRows
    draws: Draws  # its `send` is of the rows of a client, not of pairs
    slot: Ints  # (features,) the place of a feature in the client's rows, -1
    value: Floats  # (capacity,) the term of a score
    step: Floats  # (capacity,) the sum over all pairs
    out: Floats  # (capacity,) the sum over shared pairs
    pulls: Floats  # (capacity,) in how many items of pairs
    pulled: Floats  # (capacity,) of shared pairs
    allowed: Bytes  # (capacity,) a feature of a shared item
    rows: Ints  # (capacity,) the features that leave
    gradients: Values  # (capacity, factors + 1), one column more where contributors are counted

    @staticmethod
    def of(
        people: FlatPopulation,
        features: FeatureRows,
        capacity: int,
        factors: int,
        precision: Any,
        counted: bool = False,
    ) -> FeatureScratch:
        """A place for clients with at most `capacity` features."""
        most = int(np.diff(people.start).max(initial=1))
        return FeatureScratch(
            people,
            features,
            Draws.of_size(most),
            slot=np.full(len(features.hops), -1, np.int32),
            value=np.empty(capacity),
            step=np.empty(capacity),
            out=np.empty(capacity),
            pulls=np.empty(capacity),
            pulled=np.empty(capacity),
            allowed=np.empty(capacity, np.uint8),
            rows=np.empty(capacity, np.int32),
            gradients=np.empty((capacity, factors + 1 + counted), precision),
        )
