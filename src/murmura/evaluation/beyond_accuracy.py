"""Beyond accuracy: popularity bias, novelty, coverage and concentration of what the lists show.

Popularity: is the long tail shown, and found, as the short head is? The short head holds the most popular
training items, ties by the lower item id, until together they reach 80 % of the training interactions, the item
that crosses included; the other training items are the long tail. An item without a training interaction is in
neither group. (Abdollahpouri et al., FLAIRS 2019; Zhu et al., SIGIR 2020; Elliot.)

Novelty: are the relevant items shown ones that few people have? With a logarithmic discount of places and
binary relevance; n_i is the number of people with item i in the training part, |U| the number of people with a
training row. (S. Vargas, P. Castells: Rank and Relevance in Novelty and Diversity Metrics, RecSys 2011.)

Coverage: how widely the lists draw from the catalogue, over all evaluated users (Ferrara's thesis, 2.2.4.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.interactions import Interactions, short_head
from murmura.evaluation.relevance import TopKView, discounts


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
    return _contrast(
        (np.count_nonzero(group[found]), np.count_nonzero(group[cut.truth.item]))
        for group in (groups.head, groups.tail)
    )


def statistical_parity(cut: TopKView, groups: PopularityGroups | None = None) -> float:
    """PopRSP: |a - b| / (a + b) of the two groups' shares of (user, unseen item) pairs that are shown."""
    groups = groups or popularity_groups(cut.truth.train)
    seen = _seen_items(cut)
    people = len(cut.truth.users)
    return _contrast(
        (np.count_nonzero(group[cut.shown]), people * np.count_nonzero(group) - np.count_nonzero(group[seen]))
        for group in (groups.head, groups.tail)
    )


def _seen_items(cut: TopKView) -> Ints:
    """The training items of the evaluated users, one entry per distinct (user, item)."""
    rows = cut.truth.train.by_user
    owner = np.repeat(np.arange(cut.truth.train.n_users), np.diff(rows.start))
    evaluated = np.zeros(cut.truth.train.n_users, np.bool_)
    evaluated[cut.truth.users] = True
    keep = evaluated[owner]
    keep[1:] &= (rows.index[1:] != rows.index[:-1]) | (owner[1:] != owner[:-1])
    return rows.index[keep]


def _contrast(groups: Iterable[tuple[Any, Any]]) -> float:
    """The population standard deviation of two shares over their mean; NaN where neither group has any."""
    a, b = (int(part) / int(whole) if whole else math.nan for part, whole in groups)
    return abs(a - b) / (a + b) if a + b else math.nan


def popularity_complement(cut: TopKView) -> Floats:
    """EPC: novelty of an item is 1 - n_i / |U|, the chance that someone does not have it."""
    people = users_with_item(cut.truth.train)
    everyone = max(1, int(np.count_nonzero(cut.truth.train.user_counts)))
    return _of_hits(cut, 1 - people / everyone)


def free_discovery(cut: TopKView) -> Floats:
    """EFD: novelty of an item is -log2(n_i / sum of n), in bits; what nobody has counts as n_i = 1."""
    people = users_with_item(cut.truth.train)
    return _of_hits(cut, np.log2(max(1, int(people.sum())) / np.maximum(people, 1)))


def users_with_item(train: Interactions) -> Longs:
    """How many people have each item; who has it several times counts once: (items,)."""
    pairs = np.unique(train.user.astype(np.int64) * train.n_items + train.item)
    return np.bincount(pairs % train.n_items, minlength=train.n_items)


def _of_hits(cut: TopKView, novelty: Floats) -> Floats:
    """Sum over places of disc(i) * hit_i * novelty, over the sum of disc(i): (users,)."""
    discount = discounts(cut.k)
    of_item = np.append(novelty, 0.0)[cut.item]  # the last place is for NO_ITEM
    found: Floats = (cut.hit * of_item) @ discount / discount.sum()
    return found


def item_coverage(cut: TopKView) -> float:
    """How many distinct items are shown: a count, as in the papers' tables; equation 2.9 divides it by |I|."""
    return float(np.count_nonzero(cut.times))


def gini(cut: TopKView) -> float:
    """Sum over j of (2j - N - 1) c_j / ((N - 1) sum of c), c_j ascending (thesis, equation 2.10; Elliot).

    0 = every item is shown equally often, 1 = one item is shown to everyone. N is the catalogue and an item
    never shown counts as c = 0, as in the papers' tables; the equation as printed sums over shown items only.
    """
    if cut.gini_catalogue == "all":
        return gini_index(cut.times, cut.truth.n_items)
    # an item shown from outside the training part joins the catalogue, or the index could leave [0, 1]
    known = (cut.truth.train.item_counts > 0) | (cut.times > 0)
    return gini_index(cut.times, int(np.count_nonzero(known)))


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
