"""What the noise of a federation is and what it bounds: agreed before the first sum, for a whole training.

How much noisy sums reveal has a closed form, Gaussian differential privacy. Balle and Wang: Improving the
Gaussian mechanism for differential privacy (ICML 2018), theorem 8. Dong, Roth and Su: Gaussian differential
privacy (JRSS-B 2022): releases add up as mu^2 = sum of (longest contribution / sigma)^2.

The unit is one person with everything she has: her upload against one that says nothing. Neither sampling nor
shuffling is claimed to hide anything: devices come when they like.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from murmura.core.channel import WITHOUT_NOISE, ChannelSettings
from murmura.core.contract import Phase
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


Share = Annotated[int | float, Field(ge=0, lt=2**40, allow_inf_nan=False)]
Often = Annotated[int, Field(strict=True, ge=1, lt=2**32)]
PER_PERSON = 10  # delta is 1 / (10 people) where none is given: far less than one person's chance to be exposed
_ROUNDING = 1e-9


@dataclass(frozen=True)
class NoiseTerms:
    """The noise each aggregator adds whole to its half of a sum, and what it bounds; all empty: none is added.

    A multiplier is the standard deviation over the longest contribution of one device, C. Who answers a phase
    no more often than `answers` says is protected to (epsilon, delta) in all of it.
    """

    epsilon: Share = 0
    delta: Share = 0
    multipliers: Mapping[str, Share] = field(default_factory=dict)  # by phase
    answers: Mapping[str, Often] = field(default_factory=dict)  # by phase: of one device at most
    unit: str = ""  # what epsilon is about
    against: str = ""  # whom it holds against

    def __bool__(self) -> bool:
        return bool(self.multipliers)

    @staticmethod
    def of(
        settings: ChannelSettings, phases: tuple[Phase, ...], answers: Mapping[str, int], clients: int
    ) -> NoiseTerms:
        """The noise that makes a training (epsilon, delta)-private in which a device answers so often."""
        if settings.epsilon is None:
            return NoiseTerms()
        refuse_unbearable(phases)
        delta = delta_among(settings, settings.as_if or clients)
        mu, whole = mu_of(settings.epsilon, delta), sum(phase.budget for phase in phases)
        multipliers = {
            phase.name: math.sqrt(answers[phase.name] * whole / phase.budget) / mu for phase in phases
        }
        return NoiseTerms(float(settings.epsilon), delta, multipliers, dict(answers), UNIT, AGAINST)

    def of_phase(self, phase: str) -> float:
        """The multiplier of a phase; 0: no noise."""
        return float(self.multipliers.get(phase, 0.0))

    def spent(self, answered: Mapping[str, int]) -> float:
        """epsilon after so many answers to each phase."""
        return self.epsilon_with((self.of_phase(name), n) for name, n in answered.items())

    def epsilon_with(self, releases: Iterable[tuple[float, int]]) -> float:
        """epsilon, at this delta, of releases whose noise has these multipliers, each so often."""
        # n equal ones tell as much as one with sqrt(n) times less noise; terms may say four billion
        return epsilon_of(composed(one / math.sqrt(n) for one, n in releases if n), self.delta)

    def check(self) -> None:
        """Refuse terms whose noise does not bound what they say, or bounds it for someone else."""
        if not self:
            if self != NoiseTerms():
                raise SettingError("terms without noise must claim no epsilon, but do.")
            return
        if set(self.multipliers) != set(self.answers) or not 0 < self.delta < 1:
            raise SettingError(
                "noise must have a multiplier and a number of answers for each phase, and a delta."
            )
        if (self.unit, self.against) != (UNIT, AGAINST):
            raise SettingError(
                "noise must be stated for the unit and against whom this version knows it to hold."
            )
        found = self.spent(self.answers)
        if found > self.epsilon * (1 + _ROUNDING):
            raise SettingError(
                f"the noise of the terms must bound what is revealed to epsilon {self.epsilon:g}, but bounds "
                f"it to {found:.3g}; take no part."
            )

    def check_phase(self, phase: Phase, people: int) -> None:
        """Refuse a phase that these terms do not bound: without noise, with more answers, of exact counters."""
        if not self:
            return
        refuse_large(self.delta, people)
        if phase.name not in self.multipliers or (phase.repeat or 0) > self.answers[phase.name]:
            raise SettingError(
                f"the noise of the terms must be for every answer to phase '{phase.name}', but is not; take no "
                "part."
            )
        refuse_unbearable((phase,))

    def statement(self) -> dict[str, Any]:
        """What holds, for ledgers and reports."""
        noise = {name: float(one) for name, one in self.multipliers.items()}
        return {"delta": float(self.delta), "unit": self.unit, "against": self.against, "noise": noise}

    def sentence(self) -> str:
        """For people: what holds, for whom, against whom."""
        if not self:
            return f"{WITHOUT_NOISE}: nothing bounds what they reveal"
        return f"epsilon {self.epsilon:g} at delta {self.delta:.2g}, for {self.unit}; against {self.against}"


def delta_among(settings: ChannelSettings, people: int) -> float:
    """The delta of the settings, or that of so many people where none is given."""
    delta = settings.delta if settings.delta is not None else 1 / (PER_PERSON * people)
    refuse_large(delta, people)
    return delta


def refuse_large(delta: float, people: int) -> None:
    """Refuse a delta at which noise would be allowed to expose somebody, whatever epsilon says."""
    if delta * people > 1:
        raise SettingError(
            f"delta must be at most 1 in {people}, the number of people, but is {delta:g}: epsilon would say "
            "nothing; lower it."
        )


def refuse_unbearable(phases: tuple[Phase, ...]) -> None:
    """Refuse noise where an exchange is no sum, or a sum of exact counters that noise would run together."""
    for phase in phases:
        if phase.combine != "sum":
            raise SettingError(
                f"epsilon must be left out where each update is read, but phase '{phase.name}' needs each one; "
                "noise is added to sums alone."
            )
        if phase.sends.exact_tables:
            raise SettingError(
                f"epsilon must be left out where exact counters are summed, as in phase '{phase.name}', "
                "because noise would carry from one into the next; take a method of real numbers, such as "
                "fed-ease, fcf or cfpl."
            )
