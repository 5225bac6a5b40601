"""Small data sets for the studies."""

from dataclasses import replace

import numpy as np

from murmura.core.catalogue import Catalogue, Dataset, Relation
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


def rated_world() -> Dataset:
    """The same with ratings from 1 to 5, and two features of every item."""
    world = small_world()
    rows = world.interactions
    items = np.arange(rows.n_items, dtype=np.int32)
    label = np.column_stack([items % 3, 3 + items % 4]).ravel().astype(np.int32)
    features = Relation(tuple(f"p{n}={n}" for n in range(7)), np.repeat(items, 2), label)
    rated = replace(rows, value=((rows.user + rows.item) % 5 + 1).astype(np.float64))
    return Dataset("rated-world", rated, Catalogue(rows.items, features=features))
