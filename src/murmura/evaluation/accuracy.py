"""Are the relevant items in the list, and how high? (Ferrara's thesis, section 2.2.4.1; Elliot's definitions.)

Each function gives one number per evaluated user; `L` is her list cut at k, `T` her relevant test items. They
are averaged over the users with at least one relevant item. A list shorter than k is not forgiven: the missing
places are misses.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.cut import TopKView


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
