"""The formulas of all metrics: accuracy, popularity, novelty, coverage, bias towards categories.

Accuracy: are the relevant items in the list, and how high? One number per evaluated user; `L` is her list cut
at k, `T` her relevant test items. They are averaged over the users with at least one relevant item. A list
shorter than k is not forgiven: the missing places are misses. (Ferrara's thesis, section 2.2.4.1; Elliot.)
Discounted cumulative gain (Järvelin and Kekäläinen, TOIS 2002) in the three forms the papers' tables need: the
place i = 1..k is discounted by log2(i + 1).

Popularity: is the long tail shown, and found, as the short head is? The short head holds the most popular
training items, ties by the lower item id, until together they reach 80 % of the training interactions, the item
that crosses included; the other training items are the long tail. An item without a training interaction is in
neither group. (Abdollahpouri et al., FLAIRS 2019; Zhu et al., SIGIR 2020; Elliot.)

Novelty: are the relevant items shown ones that few people have? With a logarithmic discount of places and
binary relevance; n_i is the number of people with item i in the training part, |U| the number of people with a
training row. (S. Vargas, P. Castells: Rank and Relevance in Novelty and Diversity Metrics, RecSys 2011.)

Coverage: how widely the lists draw from the catalogue, over all evaluated users (Ferrara's thesis, 2.2.4.2).

Bias disparity: do the lists prefer a category more than the users did?
(Tsintzou et al. and Mansoury et al., RMSE workshop at RecSys 2019; Ferrara's thesis, equations 2.13 to 2.15.)
The bias towards a category C is its share among interactions, over its share among items:
B = (n of C / n) / (|C| / |I|). B_S (the thesis: B_T) reads the training rows, B_R the lists, and
BD = (B_R - B_S) / B_S. Items without a category take no part, neither among interactions nor in |I|. An item
with several categories counts fully in each; where categories are a partition this is the thesis's definition.
Groups of users are by how active they are, and by what they say they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.catalogue import Relation
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions, short_head
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
        return gini_index(cut.times, cut.truth.train.n_items)
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
