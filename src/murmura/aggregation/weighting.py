"""How the clients of a round are weighted, as settings, and the weights that follow from their criteria.

A score function makes one number of the criteria of each client, (clients, criteria), every column of which
sums to 1 over the round. Prioritised: da Costa Pereira, Dragoni and Pasi (2009), as Ferrara's thesis has it in
equation 5.5. OWA: Yager (1988). Choquet integral: Grabisch (1996).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import chain, combinations
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from murmura.aggregation import criterion
from murmura.aggregation.criteria import Criterion
from murmura.aggregation.priority import MOST
from murmura.core.arrays import Floats
from murmura.core.errors import SettingError
from murmura.core.settings import Fraction, settings

Score = Callable[[Floats], Floats]  # (clients, criteria), columns summing to 1 -> (clients,)
LARGEST = 12  # criteria of a capacity: it has a value for every set of them
BETWEEN = "+"  # the criteria of a set


def _listed(value: Any) -> Any:
    """One after the other, separated by commas, as a command line writes it."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return (value,) if isinstance(value, int | float) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Numbers = Annotated[tuple[float, ...], BeforeValidator(_listed)]
Capacity = Mapping[str, Fraction]


@settings
class Weighting:
    """Whose update counts how much; without criteria everyone's counts the same."""

    criteria: Names = ()  # in the order of their priority
    # how one number is made of a client's criteria
    score: Literal["prioritised", "mean", "owa", "choquet"] = "prioritised"
    importance: Numbers = ()  # mean: of each criterion; owa: of the largest, the next, ...; (): equal
    capacity: Capacity = field(
        default_factory=dict
    )  # choquet: "a": 0.3, "a+b": 0.5, ... of every set of criteria
    criteria_sent: Literal["sums", "values"] = "sums"  # values: the server reads every client's
    weight_cap: Annotated[float, Field(ge=1)] = 10.0  # of a client's score, in equal shares
    adapt_order: bool = False  # try all orders of the criteria, keep what helps; their own is the first tried

    def __post_init__(self) -> None:
        if not self.criteria:
            return
        again = {name for name in self.criteria if self.criteria.count(name) > 1}
        if again:
            raise SettingError(f"criteria must be named once each, but '{min(again)}' occurs again.")
        self.measures()
        self.score_function()
        if self.adapt_order and not (self.score == "prioritised" and 2 <= len(self.criteria) <= MOST):
            raise SettingError(
                f"adapt_order must have 2 to {MOST} criteria and score 'prioritised', but has "
                f"{len(self.criteria)} and '{self.score}'; leave it out."
            )

    def measures(self) -> tuple[Criterion, ...]:
        """The criteria; refuses a name that does not exist."""
        return tuple(map(criterion, self.criteria))

    def score_function(self) -> Score:
        """From the normalised criteria of a round to a score of each client."""
        if self.score == "choquet":
            return partial(choquet, capacity=capacities(self.capacity, self.criteria))
        if self.score == "prioritised":
            return prioritised
        made = weighted_mean if self.score == "mean" else ordered_weighted_average
        return partial(made, importance=importances(self.importance, len(self.criteria)))


def shares(score: Score, values: Floats, sums: Floats, clients: int, cap: float) -> Floats:
    """g = min(n f(c / S), cap) of clients with these criteria: 1 is what everyone has where all are alike.

    A criterion that is 0 for everyone says nothing: it counts 1 / n for everyone. Before any sums are known all
    count alike.
    """
    if not clients:
        return np.ones(len(values))
    x = np.where(sums > 0, values / np.where(sums > 0, sums, 1.0), 1.0 / clients)
    return np.minimum(clients * score(x), cap)


def total_share(shares: float, clients: int) -> float:
    """The sum of the shares of a round; that of normalised scores is n, whatever rounding makes of it."""
    return float(clients) if abs(shares - clients) <= 1e-12 * clients else shares


def prioritised(x: Floats) -> Floats:
    """f(x) = sum_i prod_{j <= i} x_j: what a criterion lacks, those after it cannot make up for."""
    scored: Floats = np.cumprod(x, axis=-1).sum(axis=-1)
    return scored


def weighted_mean(x: Floats, importance: Floats) -> Floats:
    """sum_i a_i x_i, the importance of each criterion summing to 1."""
    scored: Floats = x @ importance
    return scored


def ordered_weighted_average(x: Floats, importance: Floats) -> Floats:
    """sum_i a_i x_(i), x_(1) the largest: (1, 0, ...) is a client's best criterion, (..., 0, 1) its worst."""
    scored: Floats = -np.sort(-x, axis=-1) @ importance
    return scored


def choquet(x: Floats, capacity: Floats) -> Floats:
    """sum_i (x_(i) - x_(i-1)) mu(A_i), x_(1) the smallest, A_i the criteria with x_(i) or more.

    `capacity` is mu, (2^criteria,): the place of a set has bit i for criterion i.
    """
    order = np.argsort(x, axis=-1, kind="stable")
    rising = np.diff(np.take_along_axis(x, order, -1), axis=-1, prepend=0.0)
    bits = 1 << order
    above = np.cumsum(bits[..., ::-1], axis=-1)[..., ::-1]
    scored: Floats = (rising * capacity[above]).sum(axis=-1)
    return scored


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
    if len(criteria) > LARGEST:
        raise SettingError(
            f"score 'choquet' must have at most {LARGEST} criteria, as it needs a capacity of every set of "
            f"them, but has {len(criteria)}."
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
