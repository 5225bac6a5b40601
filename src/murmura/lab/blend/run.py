"""Choosing how the two parts of a hybrid are blended, after both have been trained.

The weight and the discount act when a device ranks, so one training on the selection part and one on the whole
training part are enough for all of them. Accuracy is that of the validation rows; coverage is of the lists that
would be shown, which takes no label at all. Of the blends whose final lists cover enough items the most
accurate on validation is chosen; the test rows take no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field

from murmura.core.errors import SettingError
from murmura.core.flag_text import parse_settings
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import Flag, changed, settings
from murmura.engine.experiment import score
from murmura.engine.federated_model import FederatedModel
from murmura.engine.prepared import PreparedData
from murmura.runtimes.simulation import simulated
from murmura.studies.configuration import ProtocolConfig

MODEL = "kgflex-hybrid"
WEIGHTS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1)
DISCOUNTS = (0.0, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1)


def parse_numbers(flag: str, text: str) -> tuple[float, ...]:
    """Comma-separated numbers of a flag."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise SettingError(f"{flag} must be numbers between commas, but it is '{text}'.") from None


@settings
class BlendConfig(ProtocolConfig):
    """What `murmura blend` takes."""

    protocol: Annotated[str, Flag()] = "kgflex"
    # The final lists must cover so many items.
    coverage: Annotated[int, Field(ge=0), Flag()] = 0
    # The accuracy on validation rows.
    metric: Annotated[str, Flag()] = "nDCG@10"
    fixed: dict[str, Any] = Field(default_factory=dict)
    # The values to try, instead of the usual ones.
    weights: Annotated[tuple[float, ...], Flag(metavar="V,V", read=partial(parse_numbers, "--weights"))] = (
        WEIGHTS
    )
    # The values to try, instead of the usual ones.
    discounts: Annotated[tuple[float, ...], Flag(metavar="V,V", read=partial(parse_numbers, "--discounts"))] = (
        DISCOUNTS
    )
    # The first seed.
    seed: Annotated[int, Field(ge=0), Flag()] = 0

    def with_settings(self, given: list[str]) -> Self:
        """With what -S says."""
        return changed(self, fixed=parse_settings(given, [MODEL])[MODEL])


@dataclass(frozen=True)
class Blend:
    """One weight and discount: how accurate on validation rows, and how many items the final lists cover."""

    weight: float
    discount: float
    accuracy: float
    coverage: int


def blends(
    prepared: PreparedData,
    settings: dict[str, Any],
    metric: str,
    grid: tuple[Sequence[float], Sequence[float]] = (WEIGHTS, DISCOUNTS),
    seed: int = 0,
    progress: Progress = SILENT,
) -> Iterator[Blend]:
    """Every blend of a grid of weights and discounts, from two trainings."""
    selection = prepared.selection()
    method = simulated(MODEL, settings)
    chosen_on = method.fit(selection.split.train, seed, progress)
    final = method.fit(prepared.split.train, seed, progress)
    everyone = np.flatnonzero(prepared.split.train.user_counts).astype(np.int32)
    rules = prepared.protocol
    k = max(rules.cutoffs)
    progress.begin("blends", len(grid[0]) * len(grid[1]))
    for weight, discount in product(*grid):
        outcome = score(blended(chosen_on, weight, discount), selection.split, rules, 1, rules.cutoffs)
        shown = blended(final, weight, discount).recommend(everyone, k).item
        accuracy = outcome.evaluation.values[metric]
        yield Blend(weight, discount, round(float(accuracy), 6), len(np.unique(shown[shown >= 0])))
        progress.advance()
    progress.end()


def blended(model: FederatedModel, weight: float, discount: float) -> FederatedModel:
    """The same trained parts under another blend."""
    algorithm = changed(model.plan.algorithm, weight=weight, discount=discount)
    plan = replace(model.plan, algorithm=algorithm)
    made = replace(model, plan=plan, kernel=None if model.kernel is None else algorithm.kernel())
    made.__dict__["ready"] = model.ready  # what clients do before they rank does not depend on the blend
    return made


def choose(found: Sequence[Blend], coverage: int) -> Blend:
    """The most accurate of those that cover enough; of equals the wider."""
    enough = [blend for blend in found if blend.coverage >= coverage]
    if not enough:
        widest = max(blend.coverage for blend in found)
        raise SettingError(
            f"coverage must be reached by some blend, but {coverage} is above the widest, {widest}; lower it "
            "or try larger discounts."
        )
    return max(enough, key=lambda blend: (blend.accuracy, blend.coverage))
