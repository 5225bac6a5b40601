"""Freshness against accuracy: how often clients get a new model, and what that is worth.

FPL, long version, 3.3: freshness is the number of updated models delivered in an epoch, the rounds per epoch;
its normalised form divides by the X+ models of sequential training (eq. 11). The more clients in a round, the
fewer rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from murmura.studies.sweep import SweepPoint

FRESHNESS, NORMALISED = "freshness", "normalised freshness"


@dataclass(frozen=True)
class EntryFreshness:
    """One entry of a comparison: how fresh its models were, and what it scored."""

    point: SweepPoint
    freshness: float  # updated models in an epoch
    normalised: float  # over those of sequential training
    clients: str  # in a round, as it was set: a number, or all


def freshness(found: Sequence[SweepPoint]) -> list[EntryFreshness]:
    """The federated ones of the points of a comparison; those of one curve freshest first."""
    curves = list(dict.fromkeys(point.curve for point in found))
    known = [point for point in found if NORMALISED in point.found]
    known.sort(key=lambda point: (curves.index(point.curve), -point.found[FRESHNESS]))
    return [
        EntryFreshness(
            point,
            point.found[FRESHNESS],
            point.found[NORMALISED],
            str(point.settings.get("clients", "")),
        )
        for point in known
    ]
