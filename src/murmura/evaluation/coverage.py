"""How widely the lists draw from the catalogue (Ferrara's thesis, 2.2.4.2), over all evaluated users."""

from __future__ import annotations

import math

import numpy as np

from murmura.core.arrays import Longs
from murmura.evaluation.cut import TopKView


def item_coverage(cut: TopKView) -> float:
    """How many distinct items are shown: a count, as in the papers' tables; equation 2.9 divides it by |I|."""
    return float(np.count_nonzero(cut.times))


def gini(cut: TopKView) -> float:
    """Sum over j of (2j - N - 1) c_j / ((N - 1) sum of c), c_j ascending (thesis, equation 2.10; Elliot).

    0 = every item is shown equally often, 1 = one item is shown to everyone. N is the catalogue and an item
    never shown counts as c = 0, as in the papers' tables; the equation as printed sums over shown items only.
    """
    return gini_index(cut.times, _catalogue_size(cut))


def gini_diversity(cut: TopKView) -> float:
    """1 - Gini: the papers' G, higher is better."""
    return 1.0 - gini(cut)


def shannon_entropy(cut: TopKView) -> float:
    """- sum of p log2 p, p = the item's share of all shown places (thesis, equation 2.11), in bits."""
    counts = cut.times[cut.times > 0]
    if not len(counts):
        return math.nan
    share = counts / counts.sum()
    return float(np.log2(1 / share) @ share)


def gini_index(counts: Longs, n: int) -> float:
    """The Gini index of the non-zero `counts` among n items, all others counting zero; NaN of nothing."""
    shown = np.sort(counts[counts > 0])
    if not len(shown):
        return math.nan
    if n == 1:
        return 0.0
    j = np.arange(n - len(shown) + 1, n + 1)
    return float((2 * j - n - 1) @ shown / (shown.sum() * (n - 1)))


def _catalogue_size(cut: TopKView) -> int:
    if cut.gini_catalogue == "all":
        return cut.truth.n_items
    # an item shown from outside the training part joins the catalogue, or the index could leave [0, 1]
    return int(np.count_nonzero((cut.truth.train.item_counts > 0) | (cut.times > 0)))
