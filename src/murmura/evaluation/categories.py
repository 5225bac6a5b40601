"""Bias disparity: do the lists prefer a category more than the users did?

Tsintzou et al. and Mansoury et al., RMSE workshop at RecSys 2019; Ferrara's thesis, equations 2.13 to 2.15. The
bias towards a category C is its share among interactions, over its share among items:
B = (n of C / n) / (|C| / |I|). B_S (the thesis: B_T) reads the training rows, B_R the lists, and
BD = (B_R - B_S) / B_S. Items without a category take no part, neither among interactions nor in |I|. An item
with several categories counts fully in each; where categories are a partition this is the thesis's definition.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.core.catalogue import Relation
from murmura.core.errors import SettingError
from murmura.evaluation.cut import TopKView


def category_bias(times: Longs, categories: Relation) -> Floats:
    """The bias of each category when item i occurs `times[i]` times; NaN for a category without items."""
    n_items, n_labels = len(times), len(categories.labels)
    pairs = np.unique(categories.item.astype(np.int64) * n_labels + categories.label)
    item, label = pairs // n_labels, pairs % n_labels
    labelled = np.zeros(n_items, np.bool_)
    labelled[item] = True
    with np.errstate(invalid="ignore", divide="ignore"):
        among_rows = np.bincount(label, times[item], minlength=n_labels) / times[labelled].sum()
        among_items = np.bincount(label, minlength=n_labels) / np.count_nonzero(labelled)
        bias: Floats = among_rows / among_items
    return bias


def disparity(source: Floats, shown: Floats) -> Floats:
    """BD = (B_R - B_S) / B_S; NaN for a category the users never touched."""
    known = source > 0
    return np.where(known, (shown - source) / np.where(known, source, 1.0), np.nan)


def bias_disparity(cut: TopKView) -> dict[str, float]:
    """BD of each category: above 0 the lists push it, below 0 they hide it, 0 mirrors the training part."""
    if cut.categories is None:
        raise SettingError(
            "the metric BD needs item categories, but none were given; pass categories or drop BD."
        )
    source, shown = (category_bias(times, cut.categories) for times in (cut.truth.train.item_counts, cut.times))
    values = disparity(source, shown)
    return dict(zip(cut.categories.labels, values.tolist()))
