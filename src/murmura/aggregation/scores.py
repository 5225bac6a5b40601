"""Score functions: from the criteria of each client of a round, (clients, criteria), to one number each.

Every column sums to 1 over the round. Prioritised: da Costa Pereira, Dragoni and Pasi (2009), as Ferrara's
thesis has it in equation 5.5. OWA: Yager (1988). Choquet integral: Grabisch (1996).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.errors import SettingError

MOST = 12  # criteria of a capacity: it has a value for every set of them
BETWEEN = "+"  # the criteria of a set


def prioritised(x: Floats) -> Floats:
    """f(x) = sum_i prod_{j <= i} x_j: what a criterion lacks, those after it cannot make up for."""
    scores: Floats = np.cumprod(x, axis=-1).sum(axis=-1)
    return scores


def weighted_mean(x: Floats, importance: Floats) -> Floats:
    """sum_i a_i x_i, the importance of each criterion summing to 1."""
    scores: Floats = x @ importance
    return scores


def ordered_weighted_average(x: Floats, importance: Floats) -> Floats:
    """sum_i a_i x_(i), x_(1) the largest: (1, 0, ...) is a client's best criterion, (..., 0, 1) its worst."""
    scores: Floats = -np.sort(-x, axis=-1) @ importance
    return scores


def choquet(x: Floats, capacity: Floats) -> Floats:
    """sum_i (x_(i) - x_(i-1)) mu(A_i), x_(1) the smallest, A_i the criteria with x_(i) or more.

    `capacity` is mu, (2^criteria,): the place of a set has bit i for criterion i.
    """
    order = np.argsort(x, axis=-1, kind="stable")
    rising = np.diff(np.take_along_axis(x, order, -1), axis=-1, prepend=0.0)
    bits = 1 << order
    above = np.cumsum(bits[..., ::-1], axis=-1)[..., ::-1]
    scores: Floats = (rising * capacity[above]).sum(axis=-1)
    return scores


def importances(given: Sequence[float], criteria: int) -> Floats:
    """The importance of each criterion, or of each place in their order, summing to 1; by default equal."""
    if not given:
        return np.full(criteria, 1.0 / criteria)
    if len(given) != criteria or min(given) < 0 or sum(given) <= 0:
        raise SettingError(
            f"importance must have one number from 0 for each of the {criteria} criteria, not all of them 0, "
            f"but it is {', '.join(f'{one:g}' for one in given)}."
        )
    return np.asarray(given, np.float64) / sum(given)


def capacities(given: Mapping[str, float], criteria: Sequence[str]) -> Floats:
    """mu of every set of criteria: 0 of none, 1 of all, never less for a larger set."""
    if len(criteria) > MOST:
        raise SettingError(
            f"score 'choquet' must have at most {MOST} criteria, as it needs a capacity of every set of them, "
            f"but has {len(criteria)}."
        )
    mu = np.full(1 << len(criteria), np.nan)
    mu[0], mu[-1] = 0.0, 1.0
    for name, value in given.items():
        mu[_place(name, criteria)] = value
    if np.isnan(mu).any():
        missing = _name(int(np.flatnonzero(np.isnan(mu))[0]), criteria)
        raise SettingError(
            f"capacity must have a number for every set of the criteria, but none for '{missing}'; all of them "
            "together have 1."
        )
    _check_monotone(mu, criteria)
    return mu


def _check_monotone(mu: Floats, criteria: Sequence[str]) -> None:
    if mu[-1] != 1:
        raise SettingError(f"capacity must be 1 for all criteria together, but is {mu[-1]:g}.")
    for place, one in ((p, 1 << i) for p in range(len(mu)) for i in range(len(criteria)) if not p >> i & 1):
        if not 0 <= mu[place] <= mu[place | one]:
            raise SettingError(
                f"capacity must not fall when a criterion joins, but '{_name(place | one, criteria)}' has "
                f"{mu[place | one]:g} and '{_name(place, criteria) or 'none'}' has {mu[place]:g}."
            )


def _place(name: str, criteria: Sequence[str]) -> int:
    members = [part.strip() for part in name.split(BETWEEN)]
    if len(set(members)) < len(members) or not set(members) <= set(criteria):
        sets = chain.from_iterable(combinations(criteria, n) for n in range(1, len(criteria) + 1))
        known = ", ".join(BETWEEN.join(one) for one in sets)
        raise SettingError(f"capacity must have sets of the criteria as keys ({known}), but has '{name}'.")
    return sum(1 << criteria.index(member) for member in members)


def _name(place: int, criteria: Sequence[str]) -> str:
    return BETWEEN.join(name for i, name in enumerate(criteria) if place >> i & 1)
