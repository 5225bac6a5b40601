"""FPL as the presets run it: FedeRank, and what is ours for cohorts of a real federation.

With every setting of its own at its default it is the published method, to the bit; `federank` has the paper.
The server may feed another optimiser with the same sum, p_u may take local passes over a model before a step
and before ranking, and the biases may start from one summed vector of counts: all from sums alone. By the same
counts `trust_region` bounds what liars can make of the model.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.algorithms import optimisers
from murmura.algorithms.fpl.federank import FedeRank, Times, Values, join, split
from murmura.algorithms.fpl.trust_region import project, region, undirected_rows
from murmura.algorithms.preset import Preset
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import (
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
from murmura.core.errors import SettingError
from murmura.core.kernel import Kernel
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Positive, settings
from murmura.core.update import SparseRows, Update

PRIOR_BUDGET = 0.1  # of what noise lets a training reveal: the counts' part
WORK, HELD = "work", "held"  # what rows of a sum are bounded by: triples of a visit, and who holds each item


@settings
class FPL(FedeRank):
    """FedeRank with an optimiser on the server, local passes, and biases from counts of shared positives."""

    name: ClassVar[str] = "fpl"

    optimiser: optimisers.Optimiser = "sum"  # how the server steps
    server_alpha: Positive | None = None  # the server's learning rate; None: alpha
    warm: Times = 0  # local passes of p_u over the received model before a step; nothing leaves
    refresh: Times = 0  # local passes over the final model before ranking
    prior: bool = False  # start b from one summed vector of the counts of shared positives
    trust_region: bool = False  # rows of a sum and the model stay within what the counts of the prior allow

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trust_region and not self.prior:
            raise SettingError(
                "trust_region must go with prior, whose counts it is drawn by, but prior is False; set both."
            )

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One repeating sum of gradient rows; before it, with a prior, one sum of counts."""
        width = self.factors + 1 + (self.optimiser == "per-contributor")
        items = TableSpec("items", "item", info.items, width, self.precision)
        train = Phase("train", MessageSpec((items,)), budget=1 - PRIOR_BUDGET)
        counts = TableSpec("counts", "item", info.items, 1, self.precision, bound=1.0)
        prior = Phase(
            "prior",
            MessageSpec((counts,)),
            repeat=1,
            receives=MessageSpec(),
            asks="statistics",
            budget=PRIOR_BUDGET,
        )
        return (prior, train) if self.prior else (train,)

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Q and b from N(0, 0.1^2), and what the optimiser remembers of them."""
        model = super().server_init(info, rng).model
        memory = optimisers.begin(self.optimiser, join(model))
        if self._bounds_rows:
            T = self.visit_examples(info)
            memory[WORK] = np.array([1.0 if self.triples == "own" else T, T / len(info.listed)])
            memory[HELD] = np.ones(info.items)
        return ServerState(model, {**memory, **self.first_count()})

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """A one for every shared positive; then the published step, after `warm` passes."""
        if context.phase == "prior":
            shared = history.item[rng.stream(Purpose.COINS).coins(history.consent)]
            ones = np.ones((len(shared), 1), self.precision)
            return state, Update({"counts": SparseRows(shared, ones)})
        p = self.local_passes(context, state["p"], history, rng.stream(Purpose.WARM), self.warm)
        state, update = super().client_step(context, {"p": p}, history, rng)
        if self.optimiser == "per-contributor":
            sent = update.tables["items"]
            counted = np.pad(sent.values, ((0, 0), (0, 1)), constant_values=1.0)
            update = Update({"items": SparseRows(sent.index, counted)})
        return state, update

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The biases that counts give; then the optimiser, fed with the sum."""
        assert isinstance(received, Total)
        if phase == "prior":
            counts = self._counts(server, received.update)
            held = {HELD: (counts + 5.0) / received.count} if HELD in server.private else {}
            b = self._prior(counts)
            known = region(counts, b) if self.trust_region else {}
            return ServerState({**server.model, "b": b}, self.counted({**server.private, **held, **known})), {}
        rate = self.server_rate(self.server_alpha or self.alpha, server)
        sent = received.update.tables["items"]
        if self._bounds_rows:
            touches = received.count * self._touches(server, sent.index)
            most = undirected_rows(touches) if self.trust_region else optimisers.longest_rows(touches)
            sent = optimisers.shorten_rows(sent, most, self.factors + 1)
        theta, memory = optimisers.move(self.optimiser, rate, join(server.model), server.private, sent)
        if self.trust_region:
            theta = project(theta, memory)
        return ServerState(split(theta), self.counted(memory)), {}

    @property
    def _bounds_rows(self) -> bool:
        """Whether no row of a sum may be longer than public numbers say: AdaGrad never forgets a square."""
        return self.trust_region or self.optimiser.startswith("adagrad")

    def _touches(self, server: ServerState, index: Ints) -> Floats:
        """How many triples of a visit touch each of these rows on average, by public numbers.

        As a positive once a visit, or up to T times, if the client holds the item: a share of the clients that
        the prior counts, otherwise any client; as a negative T / |I| times.
        """
        positives, negatives = server.private[WORK]
        touches: Floats = positives * server.private[HELD][index] + negatives
        return touches

    def _counts(self, server: ServerState, counted: Update) -> Floats:
        """The summed counts of all items; noise makes none of them negative."""
        counts = np.zeros(len(server.model["b"]))
        counts[counted.tables["counts"].index] = np.maximum(counted.tables["counts"].values[:, 0], 0)
        return counts

    def _prior(self, counts: Floats) -> Values:
        """b = (log(count + 5) - mean) / 2."""
        logs = np.log(counts + 5.0)
        b: Values = (0.5 * (logs - logs.mean())).astype(self.precision)
        return b

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """`refresh` passes over the final model."""
        stream = rng.stream(Purpose.REFRESH)
        return {"p": self.local_passes(context, state["p"], history, stream, self.refresh)}

    def kernel(self) -> Kernel:
        """The compiled twin."""
        from murmura.algorithms.fpl.kernel import FPLKernel

        return FPLKernel(self)


ONE_CLIENT = {"clients": 1, "rounds_per_epoch": "visits", "epochs": 20}
EVERYONE = {**ONE_CLIENT, "clients": "all"}

SFPL = Preset(
    "sfpl",
    FPL,
    "sFPL: one client a round, one triple: sequential training, as of a centralised BPR.",
    ONE_CLIENT,
)
SFPL_PLUS = Preset(
    "sfpl+", FPL, "sFPL+: one client a round, T = floor(X+ / |U|) triples.", {**ONE_CLIENT, "triples": "mean"}
)
PFPL = Preset("pfpl", FPL, "pFPL: all clients in every round, one triple each.", EVERYONE)
PFPL_PLUS = Preset(
    "pfpl+",
    FPL,
    "pFPL+: all clients in every round, T = floor(X+ / |U|) triples each.",
    {**EVERYONE, "triples": "mean"},
)
CFPL = Preset(
    "cfpl",
    FPL,
    "cFPL, ours: cohorts of 500, T = |I_u|, AdaGrad on the server, local passes, biases from shared counts.",
    {
        "clients": 500,
        "rounds_per_epoch": "triples",  # an epoch visits everyone once on average
        "epochs": 20,
        "triples": "own",
        "optimiser": "adagrad",
        "server_alpha": 0.1,
        "warm": 2,
        "refresh": 2,
        "prior": True,
    },
)
DP_CFPL = Preset(
    "dp-cfpl",
    FPL,
    "dp-cfpl, ours: cFPL for noise (epsilon): everyone in few rounds, few factors, one state of AdaGrad.",
    {
        **CFPL.defaults,
        "clients": "all",
        "rounds_per_epoch": 1,
        "epochs": 5,
        "factors": 4,
        "optimiser": "adagrad-norm",
        "server_alpha": 0.3,
        "warm": 5,
        "refresh": 5,
        "channel": "secure-sum",
        "clip": 1.0,
    },
)
