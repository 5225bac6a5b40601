"""How often items come, against how popular they are: the curves of figures 4.4 and 4.5 of Ferrara's thesis."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from murmura.core.arrays import Floats, Longs

HEAD = 0.01  # the most popular part of the items that a summary looks at


def ranked_shares(times: Longs, most: int) -> Floats:
    """The shares of the `most` most frequent items among all, largest first: a curve of figure 4.4 or 4.5."""
    total = max(1, int(times.sum()))
    shares: Floats = np.sort(times)[::-1][:most] / total
    return shares


def concentration(times: Longs, popularity: Longs) -> Floats:
    """(items + 1,): the share of `times` that falls on the n most popular items, n = 0, 1, ...

    Items that are equally popular share what falls on them, so their order does not matter.
    """
    order = np.argsort(-popularity, kind="stable")
    level = np.cumsum(np.concatenate(([True], np.diff(popularity[order]) != 0))) - 1
    each = np.bincount(level, times[order]) / np.bincount(level)
    total = max(1, int(times.sum()))
    return np.concatenate(([0.0], np.cumsum(each[level]) / total))


def head_share(times: Longs, popularity: Longs) -> float:
    """The share of `times` on the most popular HEAD of the items that occur in training, at least one item."""
    head = max(1, round(HEAD * int((popularity > 0).sum())))
    return float(concentration(times, popularity)[head])


def rank_correlation(times: Longs, popularity: Longs) -> float:
    """Spearman's rho between how often an item comes and how popular it is, over the items seen in training.

    NaN where one of the two never varies.
    """
    known = popularity > 0
    a, b = rankdata(times[known]), rankdata(popularity[known])
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else float("nan")
