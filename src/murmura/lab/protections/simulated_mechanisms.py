"""Other ways to add noise than two aggregators' discrete Gaussians, in simulations, each with its accountant.

    laplace          central: whoever has the sum adds Laplace noise (thesis definition 3.5). Contributions are
                     measured in L1, `clip` is an L1 length, budgets add up (theorem 3.2), and delta is 0.
    local-gaussian   every device adds Gaussian noise to its own upload before anybody sees it. Any two uploads
                     must look alike, so they differ by up to 2 C; the sum has the noise of all devices.

Both are for comparison: noise is in floating point and drawn on the sum, which for independent Gaussian noise
of devices is the same distribution as drawing it on each. No real federation takes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from murmura.channel.accountant import UNIT, mu_of
from murmura.channel.chain import Chain, chain
from murmura.channel.layout import SparseVector
from murmura.channel.noise import NoiseSource
from murmura.channel.noise_terms import NoiseTerms, delta_among, refuse_unbearable
from murmura.core.arrays import Floats, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase, Total
from murmura.core.rng import Rng
from murmura.lab.protections.mechanisms import add_gaussian, add_laplace

AGAINST = {
    "laplace": "everybody but the server that adds the noise",
    "local-gaussian": "everybody else, the servers included",
}
_TWO = math.sqrt(2.0)  # a multiplier is stated for one of two equal noises, as two aggregators add them


@dataclass(frozen=True)
class MechanismTerms(NoiseTerms):
    """What such noise bounds. `multipliers` are of the noise in a sum, `own` of what the guarantee is about."""

    mechanism: str = "laplace"
    own: Mapping[str, float] = field(default_factory=dict)

    def spent(self, answered: Mapping[str, int]) -> float:
        """epsilon after so many answers to each phase: Laplace budgets add up, Gaussian ones as squares."""
        if self.mechanism == "laplace":
            return sum(n / self.own[name] for name, n in answered.items())
        return self.epsilon_with((self.own[name], n) for name, n in answered.items())


def mechanism_terms(
    settings: ChannelSettings,
    phases: tuple[Phase, ...],
    answers: Mapping[str, int],
    clients: int,
    cohorts: Mapping[str, int],
) -> MechanismTerms:
    """The noise that makes a training private; a device answers so often, sums are of so many devices."""
    assert settings.epsilon is not None
    refuse_unbearable(phases)
    whole = sum(phase.budget for phase in phases)
    told = float(settings.epsilon), UNIT, AGAINST[settings.channel]
    if settings.channel == "laplace":
        own = {p.name: answers[p.name] * whole / (p.budget * settings.epsilon) for p in phases}
        return MechanismTerms(told[0], 0.0, own, dict(answers), *told[1:], "laplace", own)
    delta = delta_among(settings, clients)
    mu = mu_of(settings.epsilon, delta)
    own = {p.name: math.sqrt(answers[p.name] * whole / p.budget) / mu for p in phases}
    summed = {name: one * 2 * math.sqrt(cohorts[name]) / _TWO for name, one in own.items()}
    return MechanismTerms(told[0], delta, summed, dict(answers), *told[1:], settings.channel, own)


@dataclass(frozen=True, eq=False)
class MechanismChain(Chain):
    """The channel of one phase whose noise is added to the decoded sum."""

    multiplier: float = 0.0

    def shortened(self, values: Floats) -> Floats:
        """Under Laplace noise in L1: a vector whose numbers add up to more is shortened to the clip."""
        if self.settings.channel != "laplace":
            return super().shortened(values)
        size, most = float(np.abs(values).sum()), self.settings.clip
        return values if size <= most else values * (most / size)

    def rounded(self, sent: SparseVector, rng: Rng) -> Floats:
        """Under Laplace noise towards zero: no vector becomes longer, in L1 neither."""
        if self.settings.channel != "laplace":
            return super().rounded(sent, rng)
        return np.trunc(sent.value / self.steps[sent.place])

    @property
    def noisy(self) -> bool:
        """It always is: no rounding may lengthen a vector."""
        return True

    @property
    def spread(self) -> float:
        """Standard deviation of the noise in every number of a sum."""
        return _TWO * self.multiplier * self.settings.clip

    def sum_up(self, sums: Longs, round: int) -> Total:
        """What is known of a sum: its numbers, and noise in each."""
        vector: Floats = self.ring.server(self.ring.wrap(sums)).astype(np.float64) * self.steps
        assert self.source is not None
        seed = self.source("server", self.phase, round)(16)
        rng, spread = np.random.default_rng(np.frombuffer(seed, "<u4")), self.spread
        add = add_laplace if self.settings.channel == "laplace" else add_gaussian
        vector[1:] = add(vector[1:], spread / _TWO if add is add_laplace else spread, rng)
        return replace(self.layout.server(vector, int(sums[0]), round), noise=spread)


def mechanism_chain(
    settings: ChannelSettings,
    phase: Phase,
    info: FederationInfo,
    cohort: int,
    multiplier: float,
    source: NoiseSource,
) -> MechanismChain:
    """The channel of a phase with the mechanism that the settings name."""
    made = chain(settings, phase, info, cohort)
    base = {one.name: getattr(made, one.name) for one in fields(made)}
    told = {"source": source, "longest_rounded": made.settings.clip}
    return MechanismChain(**{**base, **told}, multiplier=multiplier)
