"""How much noisy sums reveal, in closed form: Gaussian differential privacy.

Balle and Wang: Improving the Gaussian mechanism for differential privacy (ICML 2018), theorem 8. Dong, Roth and
Su: Gaussian differential privacy (JRSS-B 2022): releases add up as mu^2 = sum of (longest contribution /
sigma)^2.

The unit is one person with everything she has: her upload against one that says nothing. Neither sampling nor
shuffling is claimed to hide anything: devices come when they like.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from murmura.core.errors import SettingError

UNIT = "one person with everything she shares: her upload against one that says nothing"
AGAINST = "the coordinator, all other devices together and one curious aggregator"
_TOLERANCE = 1e-12
_LEAST = 1e-12  # of the longest contribution: less noise hides nothing, and its square might not fit


def delta_of(mu: float, epsilon: float) -> float:
    """delta of a Gaussian mechanism: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
    from scipy.special import log_ndtr

    if mu == 0:
        return 0.0
    above, below = log_ndtr(mu / 2 - epsilon / mu), log_ndtr(-mu / 2 - epsilon / mu)
    return float(math.exp(above) - math.exp(epsilon + below))


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon that holds at this delta; infinite where there is no noise."""
    _check_delta(delta)
    if math.isinf(mu):
        return math.inf
    if mu == 0 or delta_of(mu, 0.0) <= delta:
        return 0.0
    most = 1.0
    while delta_of(mu, most) > delta:
        most *= 2
    return _root(lambda epsilon: delta_of(mu, epsilon) - delta, 0.0, most)


def mu_of(epsilon: float, delta: float) -> float:
    """The most a mechanism may tell, as mu, to be (epsilon, delta)-private."""
    _check_delta(delta)
    if not 0 < epsilon < math.inf:
        raise SettingError(f"epsilon must be a number above 0, but is {epsilon}.")
    least, most = _TOLERANCE, 1.0
    while delta_of(most, epsilon) < delta:
        most *= 2
    return _root(lambda mu: delta_of(mu, epsilon) - delta, least, most)


def composed(multipliers: Iterable[float]) -> float:
    """mu of several releases whose noise has these multiples of the longest contribution; 0: without noise."""
    squares = 0.0
    for one in multipliers:
        if one < _LEAST:
            return math.inf
        squares += one**-2
    return math.sqrt(squares)


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise SettingError(f"delta must be above 0 and below 1, but is {delta}.")


def _root(of, low: float, high: float) -> float:  # type: ignore[no-untyped-def]
    from scipy.optimize import brentq

    return float(brentq(of, low, high, xtol=_TOLERANCE, rtol=1e-12))
