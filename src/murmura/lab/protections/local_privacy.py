"""Local differential privacy: every device adds noise to what it sends. For comparison; no preset has it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.core.arrays import Floats, Singles
from murmura.core.contract import (
    Algorithm,
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Positive, settings
from murmura.core.update import SparseRows, Update
from murmura.lab.protections.mechanisms import response_counts, truth_probability


@settings
class RandomizedSets(Algorithm):
    """The most popular items by what people say of their sets.

    S. Warner, "Randomized response", JASA 1965, of the set of items a person shares; told once, as in RAPPOR.

    The local mechanism of the thesis (3.4.1), for comparison with noise on sums: every device turns each bit of
    its own set around with probability 1 / (1 + e^epsilon) and never tells it again. Nobody has to be trusted,
    not with the sum either. The unit is one item of one person, far weaker than a person with everything she
    has: who has n items spends n epsilon. The server takes off what turned bits add on average, and shows the
    most popular items.

    An item that its owner never shares is not told at all: that it is missing tells nothing, as most are. Coins
    are from a training stream: a simulation, which protects nobody. No preset has it.
    """

    name: ClassVar[str] = "told-sets"

    item_epsilon: Positive = 4.0  # of one item of one person

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One sum of bits."""
        reported = TableSpec("told", "item", info.items, 1, "uint32", exact=RowBounds(1))
        return (Phase("told", MessageSpec((reported,)), repeat=1, receives=MessageSpec(), returns=True),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """How many have each item, estimated."""
        return MessageSpec((TableSpec("counts", "item", info.items, 1),))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known but what is on offer."""
        return ServerState({"counts": np.zeros((info.items, 1), np.float32)}, {"listed": info.listed})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """Nothing is kept."""
        return {}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Her set, some bits turned around."""
        listed = context.info.listed
        has = np.isin(listed, history.item[history.open_rows(rng)])
        coins = np.concatenate(
            [np.zeros(len(history)), np.full(len(listed), 1 - truth_probability(self.item_epsilon))]
        )
        turned = rng.stream(Purpose.COINS).coins(coins)[len(history) :]  # the first ones are those of consent
        reported = (has ^ turned) & ~np.isin(listed, history.item[history.consent == 0])
        ones = np.ones((int(reported.sum()), 1), np.uint32)
        return state, Update({"told": SparseRows(listed[reported], ones)})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """From how many say yes to how many have it: right on average."""
        assert isinstance(received, Total)
        table, listed = received.update.tables["told"], server.private["listed"]
        yes = np.zeros(len(server.model["counts"]))
        yes[table.index] = table.values[:, 0]
        counts = np.zeros_like(yes)
        counts[listed] = response_counts(yes[listed], received.count, self.item_epsilon)
        return ServerState({"counts": counts[:, None].astype(np.float32)}, server.private), {}

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Singles:
        """What most have."""
        counts = context.model["counts"][:, 0].astype(np.float32)
        return np.tile(counts, (int(history.owners.max(initial=0)) + 1, 1))


@settings
class NoisyUpdates(FedSplit):
    """FedSPLIT whose groups add noise to what they send.

    FedSPLIT's updates under differential privacy, the future work of its section 5. Ours, to show what it
    costs.

    The server reads every update, so each group adds Gaussian noise to its own before it leaves: local
    differential privacy, whose unit is a group with all its ratings. An update has rows of all items on offer,
    as those it leaves out would tell what the group has not rated; it is shortened to `update_clip` in L2, and
    any two updates are then at most twice that apart: noise of `update_noise` times that distance is mu-private
    with mu = 1 / update_noise (`epsilon_of` of the channel's accountant). What is negative after that becomes
    0, and a public number stands for the mean.

    Noise is drawn from a training stream: a simulation, which protects nobody. No preset has it.
    """

    name: ClassVar[str] = "fedsplit-noisy-letters"

    update_clip: Positive = 20.0  # C: no update is longer than this in L2
    update_noise: Positive = 1.0  # standard deviation over 2 C
    public_mean: Positive = 3.5  # of ratings: known without asking anybody

    def means(self, info: FederationInfo, rows: History) -> Update:
        """What everybody knows: nothing of a group."""
        return Update(scalars={"mean": self.public_mean, "groups": 1.0})

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """As printed; then the update of all items, shortened, with noise, without negative factors."""
        state, update = super().client_step(context, state, history, rng)
        if context.phase == "means":
            return state, update
        rows, listed = update.tables["items"], context.info.listed
        sent: Floats = np.zeros((len(listed), self.width))
        sent[np.searchsorted(listed, rows.index)] = rows.values
        sent = shortened(sent, self.update_clip)
        seed = rng.stream(Purpose.ROUNDING).words_at(np.arange(4))
        noise = np.random.default_rng(seed).normal(0.0, 2 * self.update_clip * self.update_noise, sent.shape)
        sent += noise
        sent[:, : self.factors] = np.maximum(sent[:, : self.factors], 0.0)
        return state, Update({"items": SparseRows(listed, sent.astype(self.precision))})


def shortened(update: Floats, clip: float) -> Floats:
    """No longer than the clip in L2."""
    length = float(np.sqrt((update**2).sum()))
    return update if length <= clip else update * (clip / length)
