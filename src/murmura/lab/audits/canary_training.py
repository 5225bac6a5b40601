"""Canaries in a training: uploads of full length that are in its sums, or not, by a coin each.

A canary is somebody who answers every phase as often as the noise allows for, each time with the longest upload
there is, in numbers that are hers alone. Who guesses knows all other uploads and the noise of one aggregator:
the claim is that even then the noise of the other one hides her.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from murmura.channel.chain import ROLES, Chain, chain
from murmura.channel.layout import SparseVector
from murmura.channel.noise import simulated_noise
from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.contract import Total
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng, client_secrets, server_secret
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.audits.sums.canaries import CanaryScores, guess_coins
from murmura.runtimes.simulation import FederatedMethod

CANARIES = 5000
COINS, PLACES = Purpose.OWN + 8, Purpose.OWN + 9
GUESTS = 2**63  # added to a seed: the secrets of canaries are nobody else's


class Canaries:
    """Their coins, their places in the uploads of every phase, and what was seen of them."""

    def __init__(self, n: int, seed: int) -> None:
        self._rng, self._secrets = Rng(server_secret(seed)), client_secrets(GUESTS + seed, n)
        self.coins: Bools = self._rng.stream(COINS).words(n) % 2 == 1
        self.scores: Floats = np.zeros(n)
        self._places: dict[str, Longs] = {}
        self._answered: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.coins)

    def places(self, chain: Chain) -> Longs:
        """(canaries, numbers) which numbers of an upload are whose: drawn, all different."""
        if chain.phase not in self._places:
            width, numbers = (chain.words - 1) // len(self), chain.words - 1
            keys = self._rng.stream(PLACES + len(self._places)).words(numbers)
            mine = np.argsort(keys, kind="stable")[: width * len(self)]
            self._places[chain.phase] = 1 + mine.reshape(-1, width)
        return self._places[chain.phase]

    def answer(self, chain: Chain, round: int, answers: int) -> Longs | None:
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

    def see(self, chain: Chain, released: Longs) -> None:
        """Add how much of each canary is in what a round released, in units of its noise."""
        places = self.places(chain)
        spread = np.maximum(chain.sigma[places], 1).astype(np.float64)
        steps = chain.steps[places]
        self.scores += (released[places] * (self._size(chain) / steps) / spread**2).sum(axis=1)

    def _size(self, chain: Chain) -> Floats:
        """The numbers of one canary: together as long as the clip lets them be."""
        width = self.places(chain).shape[1]
        return np.full(width, chain.settings.clip / np.sqrt(width))


@dataclass(frozen=True, eq=False)
class CanaryChain(Chain):
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
            one = chain(self.channel, phase, self.info, called + len(self.canaries), *noise)
            inner = {field.name: getattr(one, field.name) for field in fields(Chain)}
            made[phase.name] = CanaryChain(**inner, canaries=self.canaries, answers=answers[phase.name])
        return made


def canary_scores(ready: FederatedMethod, train: Interactions, seed: int) -> CanaryScores:
    """Train with canaries and guess their coins; refuses what has no channel, or borrows its noise."""
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
