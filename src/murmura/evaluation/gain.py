"""Discounted cumulative gain (Järvelin and Kekäläinen, TOIS 2002), in the three forms the papers' tables need.

The place i = 1..k is discounted by log2(i + 1). Averaged over the users with at least one relevant item.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.cut import TopKView
from murmura.evaluation.relevance import discounts


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
