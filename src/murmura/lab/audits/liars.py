"""Malicious clients of a simulation: what they make up goes through the real channel, into the same sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from murmura.channel.chain import Chain, ChainOfSum
from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.contract import Phase, RoundContext, Total
from murmura.core.errors import SettingError
from murmura.core.rng import Rng
from murmura.core.update import Update
from murmura.engine.plan import RoundPlan


@dataclass(frozen=True, eq=False)
class Lie:
    """What each liar of a round sends: clipped and rounded like every update, or as long as the sum may be."""

    update: Update
    beyond: float | None = None  # without the clip: a share of what the sum may be long


class Liars(ABC):
    """Clients who work together against a federation."""

    @abstractmethod
    def among(self, phase: Phase, round: int, clients: Ints) -> Bools:
        """Which of the clients called lie in this exchange."""

    @abstractmethod
    def lie(self, phase: Phase, context: RoundContext) -> Lie | None:
        """What each of them sends; None: this time they are honest."""

    def check(self, plan: RoundPlan) -> None:
        """Refuse a training in which nothing bounds them."""
        if not plan.chains:
            raise SettingError(
                "lies need a channel whose bounds they keep to, but there is none; set channel=secure-sum."
            )

    def called(
        self, plan: RoundPlan, phase: Phase, context: RoundContext, clients: Ints
    ) -> tuple[Ints, SumWithLies | None]:
        """Who of the clients called lies in this exchange, and the channel their lies are in; None: nobody."""
        chain, lying = plan.chains.get(phase.name), clients[self.among(phase, context.round, clients)]
        if chain is None or not len(lying) or len(lying) == len(clients):
            return clients[:0], None
        lie = self.lie(phase, context)
        if lie is None:
            return clients[:0], None
        total = np.zeros(chain.words, np.int64)
        for client in lying.tolist():
            total += vector_of(lie, chain, plan.people.rng(client, context.round), len(clients))
        return lying, SumWithLies(chain, total)


@dataclass(frozen=True, eq=False)
class SumWithLies(ChainOfSum):
    """The channel of one exchange, whose sums have the liars' vectors in them before the server half."""

    lies: Longs  # (words,) not yet modulo anything

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half of everybody's sum, with every check of it."""
        return self.chain.sum_up(sums + self.lies, round)


def vector_of(lie: Lie, chain: Chain, rng: Rng, count: int) -> Longs:
    """The whole numbers that one liar of a sum of `count` devices sends."""
    if lie.beyond is None:
        return chain.ring.server(chain.device(lie.update, rng, rng.round))
    exact, sent = chain.layout.device(lie.update, rng.round).parted(chain.exact)
    length = float(np.sqrt((sent.value**2).sum()))
    vector = np.zeros(chain.words)
    vector[sent.place] = sent.value * (lie.beyond * chain.longest(count) / max(length, 1e-300))
    steps, most = chain.steps, lie.beyond * count * chain.limits
    whole: Longs = np.rint(np.clip(vector / steps, -most, most)).astype(np.int64)
    whole[exact.place] = exact.value.astype(np.int64) * int(lie.beyond * count)  # as if so many had said it
    whole[0] = 1
    return whole
