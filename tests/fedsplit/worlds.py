"""Small worlds of people who rate, in groups."""

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.interactions import Interactions, Vocabulary


def raters(people: int = 24, items: int = 18, seed: int = 0, share: float = 0.6) -> Interactions:
    """Two tastes, noise, and about `share` of all ratings, from 1 to 5."""
    rng = np.random.default_rng(seed)
    taste = np.where(np.arange(people)[:, None] % 2 == np.arange(items)[None, :] % 2, 4.2, 2.2)
    values = np.clip(taste + 0.5 * rng.standard_normal(taste.shape) + rng.uniform(-0.4, 0.4, (1, items)), 1, 5)
    known = rng.random(taste.shape) < share
    known[np.arange(people), rng.integers(0, items, people)] = True
    user, item = (place.astype(np.int32) for place in np.nonzero(known))
    return Interactions(
        Vocabulary(np.arange(people)), Vocabulary(np.arange(items)), user, item, values[user, item]
    )


def fours(data: Interactions) -> Ints:
    """Neighbours share a group of four."""
    return (np.arange(data.n_users) // 4).astype(np.int32)
