"""Popular against rare: is the long tail shown, and found, as the short head is?

The short head holds the most popular training items, ties by the lower item id, until together they reach 80 %
of the training interactions, the item that crosses included; the other training items are the long tail. An
item without a training interaction is in neither group. (Abdollahpouri et al., FLAIRS 2019; Zhu et al., SIGIR
2020; Elliot.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.interactions import Interactions
from murmura.core.short_head import short_head
from murmura.evaluation.cut import TopKView


@dataclass(frozen=True, eq=False)
class PopularityGroups:
    """Which items are popular, which are rare; (items,) each, no item in both."""

    head: Bools
    tail: Bools


def popularity_groups(train: Interactions, ties: Longs | None = None) -> PopularityGroups:
    """The short head and the long tail; `ties` lists all items in the order that breaks equal popularity."""
    counts = train.item_counts
    head = short_head(counts, ties)
    return PopularityGroups(head, ~head & (counts > 0))


def long_tail_count(cut: TopKView, groups: PopularityGroups | None = None) -> Floats:
    """ACLT: how many items of the long tail each user is shown (thesis, equation 2.12), not which share."""
    groups = groups or popularity_groups(cut.truth.train)
    tail = np.append(groups.tail, False)  # the last place is for NO_ITEM
    return tail[cut.item].astype(np.float64) @ np.ones(cut.k)


def equal_opportunity(cut: TopKView, groups: PopularityGroups | None = None) -> float:
    """PopREO: |a - b| / (a + b) of the two groups' shares a, b of relevant test items that are shown."""
    groups = groups or popularity_groups(cut.truth.train)
    found = cut.truth.item[cut.entry[cut.entry >= 0]]
    head, tail = (
        _ratio(np.count_nonzero(group[found]), np.count_nonzero(group[cut.truth.item]))
        for group in (groups.head, groups.tail)
    )
    return _contrast(head, tail)


def statistical_parity(cut: TopKView, groups: PopularityGroups | None = None) -> float:
    """PopRSP: |a - b| / (a + b) of the two groups' shares of (user, unseen item) pairs that are shown."""
    groups = groups or popularity_groups(cut.truth.train)
    seen = _seen_items(cut)
    head, tail = (
        _ratio(
            np.count_nonzero(group[cut.shown]),
            len(cut.truth.users) * np.count_nonzero(group) - np.count_nonzero(group[seen]),
        )
        for group in (groups.head, groups.tail)
    )
    return _contrast(head, tail)


def _seen_items(cut: TopKView) -> Ints:
    """The training items of the evaluated users, one entry per distinct (user, item)."""
    rows = cut.truth.train.by_user
    owner = np.repeat(np.arange(cut.truth.train.n_users), np.diff(rows.start))
    evaluated = np.zeros(cut.truth.train.n_users, np.bool_)
    evaluated[cut.truth.users] = True
    keep = evaluated[owner]
    keep[1:] &= (rows.index[1:] != rows.index[:-1]) | (owner[1:] != owner[:-1])
    return rows.index[keep]


def _ratio(part: np.integer[Any] | int, whole: np.integer[Any] | int) -> float:
    return int(part) / int(whole) if whole else math.nan


def _contrast(a: float, b: float) -> float:
    """The population standard deviation of two numbers over their mean; NaN where neither group has any."""
    return abs(a - b) / (a + b) if a + b else math.nan
