"""Are the relevant items in the list, and how high? (Ferrara's thesis, section 2.2.4.1; Elliot's definitions.)

Each function gives one number per evaluated user; `L` is her list cut at k, `T` her relevant test items. They
are averaged over the users with at least one relevant item. A list shorter than k is not forgiven: the missing
places are misses.

Discounted cumulative gain (Järvelin and Kekäläinen, TOIS 2002) in the three forms the papers' tables need:
the place i = 1..k is discounted by log2(i + 1).
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.relevance import TopKView, discounts


def precision(cut: TopKView) -> Floats:
    """|L ∩ T| / k (thesis, equation 2.5): always over k, however short the list."""
    return cut.hits / cut.k


def recall(cut: TopKView) -> Floats:
    """|L ∩ T| / |T| (thesis, equation 2.6)."""
    return cut.hits / np.maximum(cut.truth.size, 1)


def f1_of_means(cut: TopKView) -> float:
    """2 P R / (P + R) of the averaged P and R (thesis, equation 2.7); 0 where both are 0."""
    p, r = cut.mean(precision(cut)), cut.mean(recall(cut))
    return 2 * p * r / (p + r) if p + r else 0.0


def f1_per_user(cut: TopKView) -> Floats:
    """2 P R / (P + R) of the user's own P and R, which is 2 |L ∩ T| / (k + |T|)."""
    return 2 * cut.hits / (cut.k + cut.truth.size)


def hit_rate(cut: TopKView) -> Floats:
    """1 where L holds a relevant item, otherwise 0."""
    return (cut.hits > 0).astype(np.float64)


def reciprocal_rank(cut: TopKView) -> Floats:
    """1 / the place of the first relevant item, 0 where L holds none (Voorhees, TREC-8, 1999)."""
    first = cut.hit.argmax(axis=1)
    return np.where(cut.hits > 0, 1.0 / (first + 1), 0.0)


def average_precision(cut: TopKView) -> Floats:
    """Sum over the relevant places i of precision at i, divided by min(k, |T|)."""
    at_place = np.cumsum(cut.hit, axis=1) / np.arange(1, cut.k + 1)
    best = np.maximum(np.minimum(cut.truth.size, cut.k), 1)
    total: Floats = np.einsum("ui,ui->u", cut.hit, at_place)
    return total / best


def ndcg(cut: TopKView) -> Floats:
    """Binary: the sum of hit_i / log2(i + 1), over that sum for min(k, |T|) hits in the first places."""
    return thesis_ndcg(cut) / cut.truth.ideal(cut.k)


def graded_ndcg(cut: TopKView) -> Floats:
    """The same with gain 2^(r - threshold + 1) - 1 for a relevant item rated r, the ideal order by gain."""
    gain = np.where(cut.entry >= 0, cut.truth.gain[cut.entry], 0.0)
    return gain @ discounts(cut.k) / cut.truth.graded_ideal(cut.k)


def thesis_ndcg(cut: TopKView) -> Floats:
    """Sum of (2^hit_i - 1) / log2(i + 1): equation 2.8 of Ferrara's thesis as printed, not normalised.

    Despite its name there it is a DCG: at k = 10 its largest value is 4.54, not 1.
    """
    return cut.hit @ discounts(cut.k)
