"""The plan of one machine in a federation of organisations: a silo with its people, or the server."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from murmura.core.channel import ChannelSettings
from murmura.core.contract import Algorithm, FederationInfo
from murmura.core.population import Population
from murmura.core.schedule import Schedule
from murmura.core.update import Arrays
from murmura.engine.round_plan import RoundPlan
from murmura.runtimes.flower.silo_terms import SiloTerms


@dataclass(frozen=True, eq=False)
class SiloPlan(RoundPlan):
    """What decides the rounds, with the people who are here; client numbers here begin at 0."""

    terms: SiloTerms
    algorithm: Algorithm
    info: FederationInfo
    people: Population
    schedule: Schedule
    channel: ChannelSettings
    seed: int = 0  # the server's own; no silo draws with it

    @staticmethod
    def of(terms: SiloTerms, people: Population | None = None, seed: int = 0) -> SiloPlan:
        """The plan of a silo with these people, or of the server."""
        preset = terms.preset
        parts = preset.schedule(), preset.channel_settings()
        plan = SiloPlan(terms, preset.algorithm(), terms.info, people or nobody(), *parts, seed)
        plan.channel.check_cohort(plan.itinerary.cohort_size, plan.info.clients)
        _ = plan.chains  # refuses what could overflow
        return plan

    def after(self, model: Arrays) -> SiloPlan:
        """The same training once this public model is known: perhaps it tells how often items occur."""
        counts = self.algorithm.public_counts(model)
        return self if counts is None else replace(self, info=replace(self.info, counts=counts))

    def config(self) -> dict[str, Any]:
        """What makes two trainings the same one, as plain values."""
        own = self.people
        held = b"".join(
            column.tobytes() for column in (own.start, own.item, own.value, own.consent, own.secrets)
        )
        return {"federation": self.terms.name, "seed": self.seed, "people": hashlib.sha256(held).hexdigest()}


def nobody() -> Population:
    """The people of a machine that has none."""
    none = np.zeros(0)
    rows = np.zeros(0, np.int32)
    return Population(np.zeros(1, np.int64), rows, none, none, np.zeros((0, 2), np.uint32))
