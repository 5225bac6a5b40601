"""Attacks that train again: canaries and what guesses about them prove; members and others told apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from murmura.channel.chain import ROLES, Chain
from murmura.channel.layout import SparseVector
from murmura.channel.noise import simulated_noise
from murmura.channel.rounded_chain import RoundedChain, rounded_chain
from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.contract import Algorithm, History, Total
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng, client_secrets, server_secret
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.audits.attack import Attack
from murmura.lab.audits.judge import AttackScores, judge_traces
from murmura.lab.audits.sums.sum_attack import SUMS, VICTIMS, tiny_phases
from murmura.runtimes.simulation import FederatedMethod

LEVEL = 0.95
SHARES = (0.02, 0.1, 1.0)  # of the canaries guesses are made about: the surest; all of them are paid for
_STEPS = 40  # halvings of an interval


@dataclass(frozen=True)
class CanaryScores:
    """What guesses about the canaries of one training, or of several, prove."""

    canaries: int
    guesses: tuple[int, ...]  # for each of SHARES
    right: tuple[int, ...]
    delta: float
    claimed: float | None  # the epsilon that is promised; None: none is

    @property
    def at_least(self) -> float:
        """epsilon is no smaller than this, at LEVEL: the best of the shares, each at its part of the chance."""
        chance = (1 - LEVEL) / len(SHARES)
        each = (
            least_epsilon(self.canaries, n, right, self.delta, chance)
            for n, right in zip(self.guesses, self.right)
        )
        return max(each)

    def __add__(self, other: CanaryScores) -> CanaryScores:
        """Of independent trainings together."""
        return CanaryScores(
            self.canaries + other.canaries,
            tuple(a + b for a, b in zip(self.guesses, other.guesses)),
            tuple(a + b for a, b in zip(self.right, other.right)),
            self.delta,
            self.claimed,
        )


@dataclass(frozen=True, eq=False)
class TrainingAttack(Attack):
    """Trains again, with the same people or some of them and a seed, and tells what came of it."""

    of: str  # whom it is about
    verdict: Callable[[FederatedMethod, Interactions, int], AttackScores | CanaryScores]
    reads: ClassVar[Literal["updates", "sums"]] = "sums"


def sends_sums_of_numbers(algorithm: Algorithm) -> bool:
    """Whether an algorithm sends nothing but sums of real numbers."""
    phases = tiny_phases(algorithm)
    return bool(phases) and all(p.combine == "sum" and not p.sends.exact_tables for p in phases)


def ranks_by_sums(algorithm: Algorithm) -> bool:
    """Whether an algorithm ranks items and reads no single update."""
    phases = tiny_phases(algorithm)
    ranks = type(algorithm).client_score is not Algorithm.client_score
    return ranks and bool(phases) and all(phase.combine == "sum" for phase in phases)


def membership_scores(ready: FederatedMethod, train: Interactions, seed: int) -> AttackScores:
    """Leave each victim out of the training or not, by a fair coin, and tell them apart by what came of it.

    The final model alone: was somebody in its training at all? A control: it should tell nearly nothing.

    Yeom, Giacomelli, Fredrikson and Jha: Privacy risk in machine learning (CSF 2018): members fit a model
    better. A person is folded into the public model with all her items, as anybody can who knows them, and
    scored by how far her own items then stand above the mean of all, in standard deviations. Some people fit
    any model better: the same in a model without any of the victims is taken off (Watson, Guo, Cormode and
    Sablayrolles: On the importance of difficulty calibration in membership inference attacks, ICLR 2022).
    """
    stream = Rng(server_secret(seed)).stream(SUMS)
    having = np.flatnonzero(train.user_counts).astype(np.int32)
    victims = having[stream.choose(len(having), min(VICTIMS, len(having) // 2))]
    inside = stream.coins(np.full(len(victims), 0.5))
    if inside.all() or not inside.any():
        raise DataError(
            f"people in and out of a training are told apart, but {len(victims)} coins gave one kind alone; "
            "take more people or another seed."
        )
    people, fits = [History.of(train, victim) for victim in victims.tolist()], []
    for left_out in (victims[~inside], victims):
        fitted = ready.fit(train.rows(~np.isin(train.user, left_out)), seed)
        scored = ((fitted.score_history(own.item, own.time), own.item) for own in people)
        fits.append([_above(*one, fitted.plan.info.listed) for one in scored])
    found = np.array(fits[0]) - np.array(fits[1])
    return judge_traces(found[:, None], inside[:, None], victims, train.n_users)


def _above(scores: Floats | Singles, own: Ints, listed: Ints) -> float:
    """How far own items stand above the mean of all, in standard deviations."""
    offered = scores[listed].astype(np.float64)
    spread = float(offered.std())
    return float((scores[own].mean() - offered.mean()) / spread) if spread > 0 else 0.0


def guess_coins(scores: Floats, coins: Bools, delta: float, claimed: float | None) -> CanaryScores:
    """Guesses by scores, higher: rather in; in for the highest half of a share, out for the lowest."""
    if scores.shape != coins.shape or scores.ndim != 1 or len(scores) < 2:
        raise DataError(
            f"guesses must be about two or more canaries with a score each, but there are {scores.shape} "
            f"scores for {coins.shape} coins."
        )
    order, guesses, right = np.argsort(scores, kind="stable"), [], []
    for share in SHARES:
        half = max(1, int(share * len(scores) / 2))
        guesses.append(2 * half)
        right.append(int(coins[order[-half:]].sum() + (~coins[order[:half]]).sum()))
    return CanaryScores(len(scores), tuple(guesses), tuple(right), delta, claimed)


def surprise(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The chance of so many right guesses, at most, if a training is (epsilon, delta)-private."""
    from scipy.stats import binom

    q = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, q))
    below = binom.pmf(np.arange(right - 1, -1, -1), guesses, q)
    steepest = float((np.cumsum(below) / np.arange(1, right + 1)).max()) if right else 0.0
    return min(1.0, tail + 2 * canaries * delta * steepest)


def least_epsilon(canaries: int, guesses: int, right: int, delta: float, chance: float) -> float:
    """The largest epsilon under which so many right guesses have less than this chance; 0: none has."""
    if not 0 <= right <= guesses <= canaries or not 0 <= delta < 1 or not 0 < chance < 1:
        raise DataError(
            f"of {canaries} canaries {guesses} guesses with {right} right, delta {delta} and chance {chance} "
            "cannot be; guesses are of canaries, delta and chance below 1."
        )
    if surprise(canaries, guesses, right, 0.0, delta) >= chance:
        return 0.0
    low, high = 0.0, 1.0
    while surprise(canaries, guesses, right, high, delta) < chance:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if surprise(canaries, guesses, right, middle, delta) < chance:
            low = middle
        else:
            high = middle
    return low


CANARIES = 5000
COINS, PLACES = Purpose.OWN + 8, Purpose.OWN + 9
GUESTS = 2**63  # added to a seed: the secrets of canaries are nobody else's


class Canaries:
    """Their coins, their places in the uploads of every phase, and what was seen of them.

    Canaries in a training: uploads of full length that are in its sums, or not, by a coin each.

    A canary is somebody who answers every phase as often as the noise allows for, each time with the longest
    upload there is, in numbers that are hers alone. Who guesses knows all other uploads and the noise of one
    aggregator: the claim is that even then the noise of the other one hides her.
    """

    def __init__(self, n: int, seed: int) -> None:
        self._rng, self._secrets = Rng(server_secret(seed)), client_secrets(GUESTS + seed, n)
        self.coins: Bools = self._rng.stream(COINS).words(n) % 2 == 1
        self.scores: Floats = np.zeros(n)
        self._places: dict[str, Longs] = {}
        self._answered: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.coins)

    def places(self, chain: RoundedChain) -> Longs:
        """(canaries, numbers) which numbers of an upload are whose: drawn, all different."""
        if chain.phase not in self._places:
            width, numbers = (chain.words - 1) // len(self), chain.words - 1
            keys = self._rng.stream(PLACES + len(self._places)).words(numbers)
            mine = np.argsort(keys, kind="stable")[: width * len(self)]
            self._places[chain.phase] = 1 + mine.reshape(-1, width)
        return self._places[chain.phase]

    def answer(self, chain: RoundedChain, round: int, answers: int) -> Longs | None:
        """The sum of what the canaries that are in send; None once they have answered as often as they may."""
        self._answered[chain.phase] = self._answered.get(chain.phase, 0) + 1
        if self._answered[chain.phase] > answers:
            return None
        total, places = np.zeros(chain.words, np.int64), self.places(chain)
        for canary in np.flatnonzero(self.coins).tolist():
            sent = SparseVector(np.sort(places[canary]), self._size(chain))
            sent = chain.whole_numbers(sent, Rng(self._secrets[canary], round))
            total[sent.place] += sent.value.astype(np.int64)
            total[0] += 1
        return total

    def see(self, chain: RoundedChain, released: Longs) -> None:
        """Add how much of each canary is in what a round released, in units of its noise."""
        places = self.places(chain)
        spread = np.maximum(chain.sigma[places], 1).astype(np.float64)
        steps = chain.steps[places]
        self.scores += (released[places] * (self._size(chain) / steps) / spread**2).sum(axis=1)

    def _size(self, chain: RoundedChain) -> Floats:
        """The numbers of one canary: together as long as the clip lets them be."""
        width = self.places(chain).shape[1]
        return np.full(width, chain.settings.clip / np.sqrt(width))


@dataclass(frozen=True, eq=False)
class CanaryChain(RoundedChain):
    """A channel whose sums have canaries in them."""

    canaries: Canaries | None = None
    answers: int = 1

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The sum with canaries; what is seen of them is with the noise of one aggregator alone."""
        assert self.canaries is not None
        added = self.canaries.answer(self, round, self.answers)
        if added is None:
            return super().sum_up(sums, round)
        noise = np.zeros(self.words, np.int64)
        if self.noisy and self.source is not None:
            noise = self.noise(self.source(ROLES[1], self.phase, round))
        self.canaries.see(self, added + noise)
        return super().sum_up(sums + added, round)


@dataclass(frozen=True, eq=False)
class CanaryPlan(Plan):
    """A training with canaries in all its sums."""

    canaries: Canaries | None = None

    @cached_property
    def chains(self) -> dict[str, Chain]:
        """Every channel with room for the canaries."""
        assert self.canaries is not None
        answers, made = self.itinerary.answers(self.server_secret, self.itinerary.rounds), dict[str, Chain]()
        for phase in self.algorithm.phases(self.info):
            called = self.itinerary.cohort_size if phase.repeat is None else self.info.clients
            noise = self.noise.of_phase(phase.name), simulated_noise(self.seed)
            one = rounded_chain(self.channel, phase, self.info, called + len(self.canaries), *noise)
            inner = {field.name: getattr(one, field.name) for field in fields(RoundedChain)}
            made[phase.name] = CanaryChain(**inner, canaries=self.canaries, answers=answers[phase.name])
        return made


def canary_scores(ready: FederatedMethod, train: Interactions, seed: int) -> CanaryScores:
    """Train with canaries and guess their coins; refuses what has no channel, or borrows its noise.

    Steinke, Nasr and Jagielski: Privacy auditing with one (1) training run (NeurIPS 2023).

    Canaries are put in, or left out, by a fair coin each; who sees only what is released guesses the coins, or
    says nothing about some. Under (epsilon, delta)-differential privacy so many right guesses are that unlikely
    (theorem 5.2 of the paper, and its appendix D); the largest epsilon under which they would be a surprise is
    a lower bound on what was really revealed, from one training alone.
    """
    plan = ready.plan(train, seed, ready.groups(train, seed))
    if not plan.chains or plan.channel.as_if is not None:
        why = "as_if is set; leave it out" if plan.chains else "the channel is 'none'; set channel=secure-sum"
        raise SettingError(f"canaries need sums that go through a channel with its own noise, but {why}.")
    fewest = min(one.words - 1 for one in plan.chains.values())
    canaries = Canaries(min(CANARIES, fewest), seed)
    given = (plan.algorithm, train, plan.schedule, plan.consent, seed, plan.groups, plan.channel)
    fit(CanaryPlan(*given, canaries=canaries), runtime=ready.runtime)
    noise = plan.noise
    claimed = float(noise.epsilon) if noise else None
    return guess_coins(canaries.scores, canaries.coins, float(noise.delta), claimed)


MEMBER_TITLE = "was she in the training? Her history and the final model known, nothing else"
CANARIES_TITLE = "uploads put in by coins; all others and one aggregator's noise are known"
CANARIES_IN_SUMS = TrainingAttack(
    "canaries", CANARIES_TITLE, "canary", canary_scores, suits=sends_sums_of_numbers
)
ATTACKS = (
    TrainingAttack("model-membership", MEMBER_TITLE, "member", membership_scores, suits=ranks_by_sums),
    CANARIES_IN_SUMS,
)
