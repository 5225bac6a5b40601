"""Bias disparity: do the lists prefer a category more than the users did?

Tsintzou et al. and Mansoury et al., RMSE workshop at RecSys 2019; Ferrara's thesis, equations 2.13 to 2.15. The
bias towards a category C is its share among interactions, over its share among items:
B = (n of C / n) / (|C| / |I|). B_S (the thesis: B_T) reads the training rows, B_R the lists, and
BD = (B_R - B_S) / B_S. Items without a category take no part, neither among interactions nor in |I|. An item
with several categories counts fully in each; where categories are a partition this is the thesis's definition.
Groups of users are by how active they are, and by what they say they are.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.catalogue import Relation
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.evaluation.relevance import TopKView


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
    categories = _categories(cut, "BD")
    source, shown = (category_bias(times, categories) for times in (cut.truth.train.item_counts, cut.times))
    return dict(zip(categories.labels, disparity(source, shown).tolist()))


def bias_disparity_of_groups(cut: TopKView) -> dict[str, float]:
    """BD of each category within each group of people, "heavy/Food": their rows against their lists."""
    categories, train = _categories(cut, "BDu"), cut.truth.train
    found: dict[str, float] = {}
    for group, members in user_groups(train).items():
        lists = cut.item[members[cut.truth.users]]
        columns = train.item[members[train.user]], lists[lists >= 0]
        source, shown = (category_bias(np.bincount(c, minlength=train.n_items), categories) for c in columns)
        values = disparity(source, shown).tolist()
        found |= {f"{group}/{label}": value for label, value in zip(categories.labels, values)}
    return found


def _categories(cut: TopKView, metric: str) -> Relation:
    if cut.categories is None:
        raise SettingError(
            f"the metric {metric} needs item categories, but none were given; pass categories or drop {metric}."
        )
    return cut.categories


LIGHT, MIDDLE, HEAVY = "light", "middle", "heavy"


def user_groups(train: Interactions) -> dict[str, Bools]:
    """Every group by its name, a mask over all people each: those by activity, then two for each attribute."""
    said: dict[str, Bools] = {}
    for name, column in sorted(train.attributes.items()):
        said |= {name: column >= 0.5, f"not {name}": column < 0.5}  # in neither where nothing is known
    return {**activity_groups(train), **said}


def activity_groups(train: Interactions) -> dict[str, Bools]:
    """Light, middle and heavy users: up to the lower quartile of training rows, between, from the upper one on.

    People with equally many rows are in one group; where both quartiles are equal they are light.
    """
    rows = train.user_counts
    active: Bools = rows > 0
    if not active.any():
        return {name: np.zeros(len(rows), np.bool_) for name in (LIGHT, MIDDLE, HEAVY)}
    low = np.quantile(rows[active], 0.25, method="lower")
    high = np.quantile(rows[active], 0.75, method="higher")
    light = active & (rows <= low)
    heavy = active & (rows >= high) & ~light
    return {LIGHT: light, MIDDLE: active & ~light & ~heavy, HEAVY: heavy}
