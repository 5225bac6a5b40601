"""What every registered baseline is tried on: settings that finish at once, and data with known answers."""

from dataclasses import replace
from typing import Any

import numpy as np

from murmura.baselines import BASELINES, baseline
from murmura.baselines.base import Baseline
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions

# settings small enough for the data below; a baseline without a row here is tried with its defaults
QUICK: dict[str, dict[str, Any]] = {
    "item-knn": {"k": 20},
    "user-knn": {"k": 10},
    "v-sknn": {"k": 10},
    "ease": {"reg": 10.0},
    "ials": {"factors": 4, "epochs": 5, "reg": 1.0},
    "bpr-mf": {"factors": 4, "epochs": 30},
    "mf": {"factors": 4, "epochs": 30, "alpha": 0.05},
    "kahfm": {"epochs": 10},
    "kgflex-central": {"epochs": 30, "unshared": "keep"},
    "cnmf": {"factors": 3, "epochs": 30},
    "user-knn-ratings": {"k": 10, "shrink": 2.0},
    "item-knn-ratings": {"k": 20, "shrink": 2.0},
    "biased-mf": {"factors": 4, "epochs": 30},
    "svd++": {"factors": 4, "epochs": 30},
    "pooled-ease": {"reg": 10.0, "least": 1},
    "pooled-item-knn": {"k": 20, "least": 1},
    "pooled-neighbours": {"k": 20, "least_pairs": 1},
    "pooled-order": {"rank": 4, "least": 1},
}
RATERS = ["cnmf", "user-knn-ratings", "item-knn-ratings", "biased-mf", "svd++"]
NAMES = [name for name in BASELINES if baseline(name).extra is None]  # extras are tried by `make test-neural`
# where all ratings are alike, raters predict the same for everything; a board has no order to learn from
IMPERSONAL = {"random", "mostpop", "mostpop-by-feature", "pooled-order", *RATERS}
PERSONAL = [name for name in NAMES if name not in IMPERSONAL]


def quick(name: str) -> Baseline:
    return baseline(name)(**QUICK.get(name, {}))


def featured(data: Interactions, *features: list[int]) -> Interactions:
    """The same rows, with the features of each item by number: feature n is called "of=n"."""
    item = np.repeat(np.arange(data.n_items), [len(own) for own in features])
    pairs = np.concatenate([np.array(own, np.int32) for own in features])
    labels = tuple(f"of={n}" for n in range(pairs.max() + 1))
    return replace(data, features=ItemFeatures.of(labels, data.n_items, item.astype(np.int32), pairs))


def scattered() -> Interactions:
    """40 users, 25 items, ids of text, values 1 to 5; user 'u07' and item 'i24' have no row.

    The items have up to 4 of 6 features; 'i03' has none.
    """
    rng = np.random.default_rng(3)
    likes = rng.random((40, 25)) < 0.25
    likes[:, 24] = likes[7] = False
    likes[7, 24] = True
    user, item = np.nonzero(likes)
    values = rng.integers(1, 6, len(user)).astype(float)
    times = np.random.default_rng(4).integers(0, 10**6, len(user))
    data = Interactions.of(np.char.mod("u%02d", user), np.char.mod("i%02d", item), values, times)
    has = rng.random((25, 6)) < 0.4
    has[3], has[24] = False, [True, True, False, False, False, False]
    data = featured(data, *(np.flatnonzero(row).tolist() for row in has))
    return data.rows((data.user != 7) & (data.item != 24))


def checkerboard(groups: int = 2, users: int = 20, items: int = 8) -> tuple[Interactions, dict[int, int]]:
    """Users like exactly the items of their own group, and one of those is withheld: user -> withheld item.

    An item's features are its group and its own number.
    """
    rows, withheld = [], {}
    for u in range(groups * users):
        group = u % groups  # the groups take turns, so do their items
        liked = [i for i in range(groups * items) if i % groups == group]
        withheld[u] = liked[(u // groups) % items]
        rows += [(u, i) for i in liked if i != withheld[u]]
    user, item = np.array(rows).T
    features = ([i % groups, groups + i] for i in range(groups * items))
    met = np.random.default_rng(5).permutation(len(user))
    return featured(Interactions.of(user, item, time=met), *features), withheld
