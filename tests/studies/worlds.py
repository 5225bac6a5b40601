"""Small data sets for the studies."""

import numpy as np

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.interactions import Interactions


def small_world(users: int = 60, items: int = 40, per_user: int = 12) -> Dataset:
    """Two taste groups, each with its own half of the items."""
    rng = np.random.default_rng(7)
    user, item = [], []
    for who in range(users):
        half = (who % 2) * items // 2
        liked = rng.choice(items // 2, per_user, replace=False) + half
        user += [who] * per_user
        item += liked.tolist()
    n = len(user)
    data = Interactions.of(np.array(user), np.array(item), np.ones(n), np.arange(n))
    return Dataset("small-world", data, Catalogue(data.items))
