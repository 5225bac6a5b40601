"""How the clients of a round are weighted, as settings, and the weights that follow from their criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from murmura.aggregation import criterion, scores
from murmura.aggregation.client_criterion import Criterion
from murmura.aggregation.priority import MOST
from murmura.core.arrays import Floats
from murmura.core.errors import SettingError
from murmura.core.settings import settings

Score = Callable[[Floats], Floats]  # (clients, criteria), columns summing to 1 -> (clients,)


def _listed(value: Any) -> Any:
    """One after the other, separated by commas, as a command line writes it."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return (value,) if isinstance(value, int | float) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Numbers = Annotated[tuple[float, ...], BeforeValidator(_listed)]
Capacity = Mapping[str, Annotated[float, Field(ge=0, le=1)]]


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
            return partial(scores.choquet, capacity=scores.capacities(self.capacity, self.criteria))
        if self.score == "prioritised":
            return scores.prioritised
        made = scores.weighted_mean if self.score == "mean" else scores.ordered_weighted_average
        return partial(made, importance=scores.importances(self.importance, len(self.criteria)))


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
