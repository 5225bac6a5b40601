"""Popularity-matched pairs: an item somebody has beside the nearest items in popularity she has not.

Whoever ranks by popularity alone tells most people's items from others: on MovieLens with an AUC around .85. A
pair of neighbours in popularity takes that away, so that .5 means: nothing beyond what is popular anyway.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs


def matched_auc(scores: Floats, has: Bools, popularity: Longs) -> tuple[float, int]:
    """How often an own item scores above its neighbours in popularity, and how many own items have them.

    The items stand in a row by popularity. An own item meets the nearest other ones on both sides, each
    counting half; where one of the two is exactly as popular, it meets that one alone. Equal scores are half a
    win, so whoever scores by popularity gets .5 exactly. An own item without a rival as popular and with
    others on one side only (all more popular ones are hers too) has no fair rival, and is left out.
    """
    order = np.argsort(-popularity, kind="stable")
    own, others = np.flatnonzero(has[order]), np.flatnonzero(~has[order])
    if not len(own) or not len(others):
        return float("nan"), 0
    after = np.searchsorted(others, own)
    inside = (after > 0) & (after < len(others))
    more, less = others[np.maximum(after - 1, 0)], others[np.minimum(after, len(others) - 1)]
    crowd = popularity[order]
    even_more, even_less = crowd[more] == crowd[own], crowd[less] == crowd[own]
    fair = inside | even_more | even_less
    if not fair.any():
        return float("nan"), 0
    first = np.where(even_less & ~even_more, less, more)[fair]
    second = np.where(even_more & ~even_less, more, less)[fair]
    ranked = scores[order]
    mine, rivals = ranked[own[fair]], ranked[np.stack([first, second])]
    wins = (mine > rivals) + 0.5 * (mine == rivals)
    return float(wins.mean()), int(fair.sum())
