"""Freshness against accuracy: how often clients get a new model, and what that is worth.

FPL, long version, 3.3: freshness is the number of updated models delivered in an epoch, the rounds per epoch;
its normalised form divides by the X+ models of sequential training (eq. 11). The more clients in a round, the
fewer rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from murmura.engine.run import Run
from murmura.studies.sweep import Point, points

FRESHNESS, NORMALISED = "freshness", "normalised freshness"


@dataclass(frozen=True)
class Fresh:
    """One entry of a comparison: how fresh its models were, and what it scored."""

    point: Point
    freshness: float  # updated models in an epoch
    normalised: float  # over those of sequential training
    clients: str  # in a round, as it was set: a number, or all


def freshness(folder: Path) -> list[Fresh]:
    """The federated entries of a comparison that have a finished seed; those of one curve freshest first."""
    settings = Run.open(folder).config.get("models", {})
    found = [point for point in points(folder) if NORMALISED in point.found]
    curves = list(dict.fromkeys(point.curve for point in found))
    found.sort(key=lambda point: (curves.index(point.curve), -point.found[FRESHNESS]))
    return [
        Fresh(
            point,
            point.found[FRESHNESS],
            point.found[NORMALISED],
            str(settings[point.label].get("clients", "")),
        )
        for point in found
    ]
