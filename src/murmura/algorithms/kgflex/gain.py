"""How much a feature tells about what a person chooses: equations 6.4 to 6.9 of A. Ferrara's thesis.

A person's data set D_u has her items and as many others, drawn at random; p_uf of her items and n_uf of the
others have the feature f. Two other measures of decision trees stand beside the information gain: Quinlan's
gain ratio, and the decrease of Gini's impurity (times two, so that both end at 1).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from murmura.algorithms.kgflex.loop_arrays import LEAST
from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.contract import FederationInfo
from murmura.core.features import ItemFeatures
from murmura.core.rng import Stream

Measure = Literal["information-gain", "gain-ratio", "gini"]
MEASURES: tuple[Measure, ...] = ("information-gain", "gain-ratio", "gini")


def gain(measure: Measure, p: Longs, n: Longs, half: int, table: Floats) -> Floats:
    """The gain of features that p of `half` positives and n of as many negatives have; `table` as above.

    Eq. (6.7): IG = 1 - H(D|f=1) - H(D|f=0), each entropy weighted by the share of its samples.
    """
    size, t = 2 * half, p + n
    absent_p, absent_n, absent_t = half - p, half - n, size - t
    if measure == "gini":
        impurity = 2.0 * (p * n / np.maximum(t, 1) + absent_p * absent_n / np.maximum(absent_t, 1)) / size
        decrease: Floats = 1.0 - 2.0 * impurity
        return decrease
    present = table[t] - table[p] - table[n]  # |D| H(D|f=1), eq. (6.8)
    absent = table[absent_t] - table[absent_p] - table[absent_n]  # |D| H(D|f=0), eq. (6.9)
    found: Floats = 1.0 - (present + absent) / size
    if measure == "gain-ratio":
        about = (table[size] - table[t] - table[absent_t]) / size  # the entropy of having the feature
        found = np.where(about > LEAST, found / np.maximum(about, LEAST), 0.0)
    return found


def draw_negatives(info: FederationInfo, own: Ints, n: int, popular: bool, stream: Stream) -> Ints:
    """n items on offer that are not own, with replacement: each alike, or as often as each is publicly known.

    Nothing for someone who has no item, or every item.
    """
    mine = set(own.tolist())
    if not mine or mine.issuperset(info.listed.tolist()):
        return np.empty(0, np.int32)
    edges = offer_edges(info, popular)
    drawn = np.empty(n, np.int32)
    for t in range(n):
        item = _draw(info, edges, stream)
        while item in mine:
            item = _draw(info, edges, stream)
        drawn[t] = item
    return drawn


def offer_edges(info: FederationInfo, popular: bool) -> Longs:
    """Where each listed item's part of the wheel ends: one each, or its public count."""
    if not popular or info.counts is None:
        return np.arange(1, len(info.listed) + 1, dtype=np.int64)
    return np.cumsum(np.maximum(info.counts[info.listed], 1))


def _draw(info: FederationInfo, edges: Longs, stream: Stream) -> int:
    return int(info.listed[np.searchsorted(edges, stream.below(int(edges[-1])), side="right")])


def select(
    features: ItemFeatures, limits: tuple[int, int], found: Floats, candidates: Ints, least: float
) -> tuple[Ints, Floats]:
    """Of the candidates those above `least`, at most so many of one hop and so many of more, the best first."""
    far: Bools = features.hops[candidates] > 1
    chosen = []
    for limit, group in zip(limits, (~far, far)):
        places = np.flatnonzero(group & (found > least + LEAST))
        order = np.lexsort((candidates[places], -found[places]))
        chosen.append(places[order[:limit]])
    kept = np.concatenate(chosen)
    return candidates[kept].astype(np.int32), found[kept]
