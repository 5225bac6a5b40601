"""Small sets of interactions for the kernels' tests."""

import numpy as np

from murmura.core.interactions import Interactions


def world(seed: int = 1, users: int = 30, items: int = 20, share: float = 0.3) -> Interactions:
    """Random likes; user 3 has nothing, user 5 has everything, the last item occurs once."""
    rng = np.random.default_rng(seed)
    likes = rng.random((users, items)) < share
    likes[:, -1] = False
    likes[3], likes[5] = False, True
    user, item = np.nonzero(likes)
    data = Interactions.of(np.append(user, 3), np.append(item, 0))
    return data.rows(np.arange(len(user)))
