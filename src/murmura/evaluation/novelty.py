"""Novelty: are the relevant items shown ones that few people have?

S. Vargas, P. Castells: Rank and Relevance in Novelty and Diversity Metrics for Recommender Systems, RecSys
2011, with a logarithmic discount of places and binary relevance. n_i is the number of people with item i in the
training part, |U| the number of people with a training row.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.core.interactions import Interactions
from murmura.evaluation.cut import TopKView
from murmura.evaluation.relevance import discounts


def popularity_complement(cut: TopKView) -> Floats:
    """EPC: novelty of an item is 1 - n_i / |U|, the chance that someone does not have it."""
    people = people_with_item(cut.truth.train)
    everyone = max(1, int(np.count_nonzero(cut.truth.train.user_counts)))
    return _of_hits(cut, 1 - people / everyone)


def free_discovery(cut: TopKView) -> Floats:
    """EFD: novelty of an item is -log2(n_i / sum of n), in bits; what nobody has counts as n_i = 1."""
    people = people_with_item(cut.truth.train)
    return _of_hits(cut, np.log2(max(1, int(people.sum())) / np.maximum(people, 1)))


def people_with_item(train: Interactions) -> Longs:
    """How many people have each item; who has it several times counts once: (items,)."""
    pairs = np.unique(train.user.astype(np.int64) * train.n_items + train.item)
    return np.bincount(pairs % train.n_items, minlength=train.n_items)


def _of_hits(cut: TopKView, novelty: Floats) -> Floats:
    """Sum over places of disc(i) * hit_i * novelty, over the sum of disc(i): (users,)."""
    discount = discounts(cut.k)
    of_item = np.append(novelty, 0.0)[cut.item]  # the last place is for NO_ITEM
    found: Floats = (cut.hit * of_item) @ discount / discount.sum()
    return found
