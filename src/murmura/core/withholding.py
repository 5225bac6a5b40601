"""Which of their items people keep back, when they share a fraction pi of them: a policy each, by name.

Ferrara's thesis, 4.7, leaves open *what* people would hide. A policy ranks the rows of a person from the first
she would hide; at pi she hides the first n - floor(pi n) of her n rows: a smaller pi hides more of the same.

random      any of them
categories  one category after the other, in an order of her own: everything of it, then of the next
rarest      what the fewest people have; everyone knows how popular an item is
newest      what she had last
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Words, philox

Withheld = Literal["random", "categories", "rarest", "newest"]
Ranking = Callable[
    [Interactions, Words], Floats | Longs
]  # rows by user -> a number each, the lowest hidden first


def sticky_limit(pi: float | Floats, n: int | Longs) -> Any:
    """floor(pi * n), where 0.29 * 100 is 29 although the product of the doubles is a little less."""
    return np.floor(np.asarray(pi) * n + 1e-9).astype(np.int64)


def withheld_rows(policy: Withheld, data: Interactions, pi: Floats, secrets: Words) -> Bools:
    """The rows people keep back, in the order of `data.by_user`; `pi` and `secrets` are everyone's own."""
    rows = data.by_user
    counts = np.diff(rows.start)
    user = np.repeat(np.arange(data.n_users), counts)
    order = np.lexsort((_words(rows.start, secrets), RANKINGS[policy](data, secrets), user))
    place = np.empty(len(data), np.int64)
    place[order] = np.arange(len(data)) - np.repeat(rows.start[:-1], counts)
    hidden: Bools = place < (counts - sticky_limit(pi, counts))[user]
    return hidden


def _words(start: Longs, secrets: Words) -> Words:
    """A word for every row: word k of its owner's WITHHOLD stream for her row k."""
    counts = np.diff(start)
    counter = np.zeros((int(start[-1]), 4), np.uint32)
    counter[:, 0] = np.arange(start[-1]) - np.repeat(start[:-1], counts)
    counter[:, 2] = Purpose.WITHHOLD
    return philox(counter, np.repeat(secrets, counts, axis=0))[:, 0]


def _at_random(data: Interactions, secrets: Words) -> Longs:
    return np.zeros(len(data), np.int64)


def _rarest(data: Interactions, secrets: Words) -> Longs:
    return np.asarray(data.item_counts, np.int64)[data.by_user.index]


def _newest(data: Interactions, secrets: Words) -> Longs:
    if data.time is None:
        raise DataError(
            "hides must be another policy than 'newest' where rows have no times, as here; choose 'random'."
        )
    return -data.time[data.by_user.order]


def _by_category(data: Interactions, secrets: Words) -> Floats:
    """The place of an item's first category in its owner's order; after all of them where it has none.

    Of the features of items these are the labels of the last predicate, where `Catalogue` puts categories.
    """
    known = data.features
    if known is None or not len(known):
        raise DataError(
            "hides must be another policy than 'categories' where no item has one, as here; choose 'random'."
        )
    rows = data.by_user
    orders = _category_orders(len(known), secrets)  # (users, categories)
    user, counts = np.repeat(np.arange(data.n_users), np.diff(rows.start)), np.diff(known.start)
    owned = counts[rows.index]
    pair = np.repeat(np.arange(len(rows.index)), owned)
    within = np.arange(owned.sum()) - np.repeat(np.cumsum(owned) - owned, owned)
    label = known.feature[known.start[rows.index[pair]] + within]
    predicates = np.array([text.partition("=")[0] for text in known.labels])
    pair, label = (part[(predicates == predicates[-1])[label]] for part in (pair, label))
    first = np.full(len(rows.index), np.inf)
    np.minimum.at(first, pair, orders[user[pair], label])
    return first


def _category_orders(categories: int, secrets: Words) -> Words:
    """A word for every person and category: block 2**31 + k of her WITHHOLD stream for category k."""
    counter = np.zeros((len(secrets), categories, 4), np.uint32)
    counter[:, :, 0] = 2**31 + np.arange(categories)
    counter[:, :, 2] = Purpose.WITHHOLD
    return philox(counter, secrets[:, None, :])[:, :, 0]


RANKINGS: dict[Withheld, Ranking] = {
    "random": _at_random,
    "categories": _by_category,
    "rarest": _rarest,
    "newest": _newest,
}
