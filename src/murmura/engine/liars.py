"""Liars of a simulation: what they make up goes through the real channel, into the same sum as the others'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.channel.chain import Chain
from murmura.core.arrays import Ints, Longs
from murmura.core.contract import Phase, RoundContext, Total
from murmura.core.errors import SettingError
from murmura.core.kernel import CompiledChannel, VectorSlice
from murmura.core.population import Liars, Lie
from murmura.core.rng import Rng
from murmura.engine.round_plan import RoundPlan


@dataclass(frozen=True, eq=False)
class SumWithLies(CompiledChannel):
    """The channel of one exchange, whose sums have the liars' vectors in them before the server half."""

    chain: Chain
    lies: Longs  # (words,) not yet modulo anything

    @property
    def words(self) -> int:
        """The length of a vector."""
        return self.chain.words

    def block(self, round: int) -> Ints:
        """The items whose rows travel."""
        return self.chain.block(round)

    def vector_slice(self, table: str, round: int) -> VectorSlice:
        """Where and how a table travels."""
        return self.chain.vector_slice(table, round)

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half of everybody's sum, with every check of it."""
        return self.chain.sum_up(sums + self.lies, round)


def require_channel(plan: RoundPlan) -> None:
    """Refuse liars where nothing bounds them."""
    if not plan.chains:
        raise SettingError(
            "lies need a channel whose bounds they keep to, but there is none; set channel=secure-sum."
        )


def lying(
    liars: Liars, plan: RoundPlan, phase: Phase, context: RoundContext, clients: Ints
) -> tuple[Ints, SumWithLies | None]:
    """Who of the clients called lies in this exchange, and the channel their lies are in; None: nobody does."""
    nobody, chain = clients[:0], plan.chains.get(phase.name)
    wicked = clients[liars.among(phase, context.round, clients)]
    if chain is None or not len(wicked) or len(wicked) == len(clients):
        return nobody, None
    lie = liars.lie(phase, context)
    if lie is None:
        return nobody, None
    total = np.zeros(chain.words, np.int64)
    for client in wicked.tolist():
        total += vector_of(lie, chain, plan.people.rng(client, context.round), len(clients))
    return wicked, SumWithLies(chain, total)


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
