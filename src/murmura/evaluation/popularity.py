"""Popular against rare: is the long tail shown, and found, as the short head is?

The short head holds the most popular training items, ties by the lower item id, until together they reach 80 %
of the training interactions, the item that crosses included; the other training items are the long tail. An
item without a training interaction is in neither group. (Abdollahpouri et al., FLAIRS 2019; Zhu et al., SIGIR
2020; Elliot.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints
from murmura.core.interactions import Interactions
from murmura.evaluation.cut import Cut

HEAD_PERCENT = 80


def short_head(train: Interactions) -> Bools:
    """Which items are in the short head."""
    counts = train.item_counts
    order = np.argsort(-counts, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    head: Bools = np.zeros(train.n_items, np.bool_)
    # an item belongs to the head while the ones before it hold less than 80 %; in whole numbers, so exactly
    head[order[100 * before < HEAD_PERCENT * counts.sum()]] = True
    return head & (counts > 0)


def long_tail(train: Interactions) -> Bools:
    """Which items are in the long tail."""
    return (train.item_counts > 0) & ~short_head(train)


def long_tail_count(cut: Cut) -> Floats:
    """ACLT: how many items of the long tail each user is shown (thesis, equation 2.12), not which share."""
    tail = np.append(long_tail(cut.truth.train), False)  # the last place is for NO_ITEM
    return tail[cut.item].astype(np.float64) @ np.ones(cut.k)


def equal_opportunity(cut: Cut) -> float:
    """PopREO: |a - b| / (a + b) of the two groups' shares a, b of relevant test items that are shown."""
    head, tail = short_head(cut.truth.train), long_tail(cut.truth.train)
    found = cut.truth.item[cut.entry[cut.entry >= 0]]
    return _contrast(
        _ratio(np.count_nonzero(head[found]), np.count_nonzero(head[cut.truth.item])),
        _ratio(np.count_nonzero(tail[found]), np.count_nonzero(tail[cut.truth.item])),
    )


def statistical_parity(cut: Cut) -> float:
    """PopRSP: |a - b| / (a + b) of the two groups' shares of (user, unseen item) pairs that are shown."""
    train = cut.truth.train
    seen = _seen_items(cut)
    shares = [
        _ratio(
            np.count_nonzero(group[cut.shown]),
            len(cut.truth.users) * np.count_nonzero(group) - np.count_nonzero(group[seen]),
        )
        for group in (short_head(train), long_tail(train))
    ]
    return _contrast(*shares)


def _seen_items(cut: Cut) -> Ints:
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
