"""Whether the items a network learns against are drawn as chance says: what the check for leaks counts."""

from __future__ import annotations

import numpy as np

from murmura.baselines.base import Baseline
from murmura.lab.leaks.check import chance_of
from tests.engine.test_sealed import ready


def drawn_as_chance_says(method: Baseline) -> list[float]:
    """Held-out items come as often as others the user has not met, her own never; draws per row, by epoch."""
    prepared = ready()
    train = prepared.split.train
    own = set(zip(train.user.tolist(), train.item.tolist()))
    hits, total, p = 0, np.zeros(train.n_users, np.int64), np.zeros(train.n_users)
    each = []
    for epoch in range(1, 9):
        pairs = method.drawn_negatives(train, 5, epoch)
        assert pairs is not None
        who, drawn = pairs
        assert not own & set(zip(who.tolist(), drawn.tolist()))
        found, n, p = prepared.sealed.count(who, drawn)
        hits, total = hits + found, total + n
        each.append(len(who) / len(train))
    assert chance_of(hits, total, p) > 1e-3
    assert chance_of(0, total, p) < 1e-12
    return each
