"""How unlikely a count is: a bound that holds for every number of draws, without a normal approximation.

Chernoff (1952): for a sum S of independent coins, P(S >= s) <= exp(Σ log(1 - p + p e^t) - t s) for every
t >= 0, and P(S <= s) likewise for every t <= 0; the best t is looked for, and any t gives a true bound.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from murmura.core.arrays import Floats, Longs

STEEPEST = 60.0  # |t| at most: e^-60 stands for "never"


def chance_of(hits: int, n: Longs, p: Floats) -> float:
    """An upper bound of the chance that Σ Binomial(n_u, p_u) is as far from its mean as `hits`: two-sided."""
    n, p = np.asarray(n, np.float64), np.asarray(p, np.float64)
    mean = float(n @ p)
    if hits == mean:
        return 1.0

    def exponent(t: float) -> float:
        return float(n @ np.log1p(p * np.expm1(t))) - t * hits

    side = (0.0, STEEPEST) if hits > mean else (-STEEPEST, 0.0)
    found = minimize_scalar(exponent, bounds=side, method="bounded", options={"xatol": 1e-9})
    one_sided = min(0.0, float(found.fun), exponent(side[0]), exponent(side[1]))
    return min(1.0, 2.0 * float(np.exp(one_sided)))
