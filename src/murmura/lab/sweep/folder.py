"""A sweep: the setting, its values, which entries of a comparison make a curve, and the points on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from murmura.engine.run_folder import Run
from murmura.evaluation.significance import Interval, seed_interval
from murmura.studies.compare.folder import ComparisonFolder, mean

FRESHNESS, NORMALISED = "freshness", "normalised freshness"


def entry_label(label: str, key: str, value: Any) -> str:
    """The label of one entry: `sfpl+ pi=0.3`."""
    return f"{label} {key}={value_text(value)}"


def value_text(value: Any) -> str:
    """A value as it is shown: 0.3, 500, all."""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class SweepPoint:
    """One entry of a comparison: the means over its finished seeds."""

    curve: str
    value: Any  # of the swept setting; None for a model beside the curves
    label: str
    seeds: int
    found: dict[str, float]  # metrics, F1@k, costs, and the numbers of the ledger (TCC, bytes_up, ...)
    settings: dict[str, Any] = field(default_factory=dict)
    each: tuple[dict[str, float | None], ...] = ()  # `found`, seed by seed

    def over_seeds(self, key: str) -> Interval:
        """The mean of a metric with its interval over seeds."""
        values = [value for found in self.each if (value := found.get(key)) is not None]
        return replace(seed_interval(values), mean=self.found.get(key, math.nan))

    @property
    def clients(self) -> str:
        """The clients in a round, as they were set: a number, at most that of those there are, or all."""
        wanted, there = self.settings.get("clients", ""), self.found.get("clients")
        cut = isinstance(wanted, int) and there is not None and wanted > there
        return f"{there:.0f}" if cut else str(wanted)


def entry_points(comparison: ComparisonFolder) -> list[SweepPoint]:
    """The entries of a comparison that have a finished seed; of a sweep with their curve and value."""
    made = []
    for model in comparison.models:
        if each := [_numbers(part) for part in model.done]:
            curve, value = comparison.sweep.place(model.label) if comparison.sweep else (model.label, None)
            known = {key: found for key, found in mean(each).items() if found is not None}
            made.append(SweepPoint(curve, value, model.label, len(each), known, model.settings, tuple(each)))
    return made


def freshness(found: Sequence[SweepPoint]) -> list[SweepPoint]:
    """The federated ones of the points of a comparison; those of one curve freshest first.

    FPL, long version, 3.3: freshness is the number of updated models delivered in an epoch, the rounds per
    epoch; its normalised form divides by the X+ models of sequential training (eq. 11). The more clients in a
    round, the fewer rounds.
    """
    curves = list(dict.fromkeys(point.curve for point in found))
    known = [point for point in found if NORMALISED in point.found]
    return sorted(known, key=lambda point: (curves.index(point.curve), -point.found[FRESHNESS]))


def _numbers(part: Run) -> dict[str, float | None]:
    """Metrics with F1 = 2PR / (P + R) of the means (thesis, figure 4.2), and what the ledger adds up."""
    found: dict[str, float | None] = dict(part.metrics)
    for key in [key for key in part.metrics if key.startswith("P@")]:
        P, R = part.metrics[key], part.metrics.get(f"R@{key[2:]}")
        if R is not None:
            found[f"F1@{key[2:]}"] = 2 * P * R / (P + R) if P + R else 0.0
    ledger = part.ledger or {}
    return found | {key: value for key, value in ledger.items() if isinstance(value, int | float)}
