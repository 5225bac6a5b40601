"""Small worlds of people who rate, in groups."""

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.contract import FederationInfo, History
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.rng import Rng, Stream, client_secrets
from murmura.core.update import SparseRows, Update


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


def public(items: int, people: int = 2) -> FederationInfo:
    return FederationInfo(items, np.arange(items, dtype=np.int32), 2, 20, people=people)


def rows(*ratings: tuple[int, int, float], share: float = 1.0) -> History:
    """A history of (person, item, value)."""
    person, item = (np.array([row[n] for row in ratings], np.int32) for n in (0, 1))
    return History(item, np.array([row[2] for row in ratings]), np.full(len(item), share), person)


def stream(n: int = 0) -> Stream:
    return Rng(client_secrets(5, 1)[0], 1).stream(2000 + n)


def people(seed: int = 0) -> History:
    """Three people with about half of ten items each."""
    random = np.random.default_rng(seed)
    found = [(p, i, float(random.integers(1, 6))) for p in range(3) for i in range(10) if random.random() < 0.6]
    return rows(*found)


def sent(rows: list[list[float]], **scalars: float) -> Update:
    """An update about items 0, 1, ..."""
    return Update(
        {"items": SparseRows(np.arange(len(rows), dtype=np.int32), np.array(rows, np.float64))}, scalars
    )
