"""The mechanisms of differential privacy of Ferrara's thesis, section 3.4.1, each with its accountant.

C. Dwork, A. Roth, "The algorithmic foundations of differential privacy", 2014: Laplace (definition 3.5),
exponential (definition 3.6), the classical Gaussian, basic (theorem 3.2) and advanced composition. B. Balle,
Y.-X. Wang, ICML 2018: the analytic Gaussian. S. Warner, 1965: randomised response, the local mechanism.

A guarantee is (epsilon, delta) for two neighbouring inputs; `sensitivity` is how far apart answers can be,
in L1 for Laplace, in L2 for Gaussian noise. Who the neighbours are is for the caller to say: in Murmura one
person with everything she shares, and for randomised response one item of one person.

Pure functions: randomness is passed in. They are for comparison in simulations: floating-point noise has holes
that tell (I. Mironov, CCS 2012), and a real federation adds discrete noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np

from murmura.channel.layout import SparseVector
from murmura.channel.noise import NoiseSource
from murmura.channel.noise_terms import UNIT, NoiseTerms, delta_among, mu_of, refuse_unbearable
from murmura.channel.rounded_chain import RoundedChain, rounded_chain
from murmura.core.arrays import Floats, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase, Total
from murmura.core.errors import SettingError
from murmura.core.rng import Rng


class Guarantee(NamedTuple):
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float = 0.0


def laplace_scale(sensitivity: float, epsilon: float) -> float:
    """b of the noise that makes an answer epsilon-private: sensitivity / epsilon, in L1."""
    return _positive("sensitivity", sensitivity) / _positive("epsilon", epsilon)


def add_laplace(values: Floats, scale: float, rng: np.random.Generator) -> Floats:
    """Definition 3.5: independent noise in every number."""
    noisy: Floats = values + rng.laplace(0.0, _positive("scale", scale), np.shape(values))
    return noisy


def classical_sigma(sensitivity: float, guarantee: Guarantee) -> float:
    """Gaussian noise by Dwork and Roth, theorem A.1: proven for epsilon below 1 alone, and refused above."""
    epsilon, delta = guarantee
    if not 0 < _positive("epsilon", epsilon) < 1:
        raise SettingError(
            f"the classical Gaussian mechanism needs an epsilon below 1, but it is {epsilon:g}; take the "
            "analytic one."
        )
    return _positive("sensitivity", sensitivity) * math.sqrt(2 * math.log(1.25 / _delta(delta))) / epsilon


def analytic_sigma(sensitivity: float, guarantee: Guarantee) -> float:
    """Gaussian noise by Balle and Wang: the smallest that guarantees as much, for any epsilon."""
    return _positive("sensitivity", sensitivity) / mu_of(guarantee.epsilon, guarantee.delta)


def add_gaussian(values: Floats, sigma: float, rng: np.random.Generator) -> Floats:
    """Independent noise in every number."""
    noisy: Floats = values + rng.normal(0.0, _positive("sigma", sigma), np.shape(values))
    return noisy


def exponential_probabilities(utilities: Floats, sensitivity: float, epsilon: float) -> Floats:
    """Definition 3.6: how likely each answer is, e^(epsilon u / (2 sensitivity)) over their sum."""
    scores = np.asarray(utilities, np.float64) * (_positive("epsilon", epsilon) / 2)
    scores = scores / _positive("sensitivity", sensitivity)
    weights = np.exp(scores - scores.max())
    chances: Floats = weights / weights.sum()
    return chances


def exponential_choice(utilities: Floats, sensitivity: float, epsilon: float, rng: np.random.Generator) -> int:
    """One answer, epsilon-privately."""
    chances = exponential_probabilities(utilities, sensitivity, epsilon)
    return int(rng.choice(len(chances), p=chances))


def composed(parts: Iterable[Guarantee]) -> Guarantee:
    """Theorem 3.2: what several answers guarantee together."""
    known = list(parts)
    return Guarantee(sum(one.epsilon for one in known), sum(one.delta for one in known))


def advanced(part: Guarantee, times: int, delta: float) -> Guarantee:
    """Dwork and Roth, theorem 3.20: the same mechanism many times, for a delta more.

    epsilon sqrt(2 k ln(1/delta)) + k epsilon (e^epsilon - 1); worse than the sum where there are few.
    """
    epsilon = part.epsilon * math.sqrt(2 * times * math.log(1 / _delta(delta)))
    return Guarantee(epsilon + times * part.epsilon * math.expm1(part.epsilon), times * part.delta + delta)


def truth_probability(epsilon: float) -> float:
    """Randomised response: how often a bit is told as it is, e^epsilon / (1 + e^epsilon)."""
    return 1 / (1 + math.exp(-_positive("epsilon", epsilon)))


def response_counts(reported: Floats, people: int, epsilon: float) -> Floats:
    """From how many say yes to how many are: right on average, with the noise of everyone's coins."""
    truth = truth_probability(epsilon)
    counts: Floats = (np.asarray(reported, np.float64) - people * (1 - truth)) / (2 * truth - 1)
    return counts


def _positive(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise SettingError(f"{name} must be above 0 and finite, but is {value:g}.")
    return float(value)


def _delta(value: float) -> float:
    if not 0 < value < 1:
        raise SettingError(f"delta must be above 0 and below 1, but is {value:g}.")
    return float(value)


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
    stated = float(settings.epsilon), UNIT, AGAINST[settings.channel]
    if settings.channel == "laplace":
        own = {p.name: answers[p.name] * whole / (p.budget * settings.epsilon) for p in phases}
        return MechanismTerms(stated[0], 0.0, own, dict(answers), *stated[1:], "laplace", own)
    delta = delta_among(settings, clients)
    mu = mu_of(settings.epsilon, delta)
    own = {p.name: math.sqrt(answers[p.name] * whole / p.budget) / mu for p in phases}
    summed = {name: one * 2 * math.sqrt(cohorts[name]) / _TWO for name, one in own.items()}
    return MechanismTerms(stated[0], delta, summed, dict(answers), *stated[1:], settings.channel, own)


@dataclass(frozen=True, eq=False)
class MechanismChain(RoundedChain):
    """The channel of one phase whose noise is added to the decoded sum.

    Other ways to add noise than two aggregators' discrete Gaussians, in simulations, each with its accountant.

        laplace          central: whoever has the sum adds Laplace noise (thesis definition 3.5). Contributions
                         are measured in L1, `clip` is an L1 length, budgets add up (theorem 3.2), and delta is
                         0.
        local-gaussian   every device adds Gaussian noise to its own upload before anybody sees it. Any two
                         uploads must look alike, so they differ by up to 2 C; the sum has the noise of all
                         devices.

    Both are for comparison: noise is in floating point and drawn on the sum, which for independent Gaussian
    noise of devices is the same distribution as drawing it on each. No real federation takes them.
    """

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
    made = rounded_chain(settings, phase, info, cohort)
    base = {one.name: getattr(made, one.name) for one in fields(made)}
    details = {"source": source, "longest_rounded": made.settings.clip}
    return MechanismChain(**{**base, **details}, multiplier=multiplier)
