"""Anelli, Deldjoo, Di Noia, Ferrara, Narducci: FedeRank: User Controlled Feedback (ECIR 2021).

The same method as FPL, Federated Pair-wise Learning, in How to Put Users in Control of their Data in Federated
Top-N Recommendation with Learning to Rank (SAC 2021) and in chapter 4 of A. Ferrara's thesis.

The server holds item vectors Q and biases b, a client its own vector p_u; the score is b_i + p_u . q_i. A
visited client draws T triples (u, i, j) of an own item i and an item j it has not, climbs ln sigma(x_ui - x_uj)
and sends the gradients of the item rows; which positives it may send `history.consent` decides alone.

Where text and authors' code differ the code is followed (docs/papers/fpl.md): p_u moves after every triple
while the received model stays frozen (`version="B"`); the papers' equations (1)-(3) keep p_u frozen as well.

With the settings from `optimiser` on at their defaults this is the published method, to the bit. They are ours,
for cohorts of a real federation: the server may feed another optimiser with the same sum, p_u may take local
passes over a model before a step and before ranking, and the biases may start from one summed vector of counts:
all from sums alone. By the same counts `trust_region` bounds what liars can make of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms import optimisers
from murmura.algorithms.fpl.trust_region import project, region, undirected_rows
from murmura.algorithms.optimisers import join, split
from murmura.algorithms.preset import Preset
from murmura.core.arrays import Floats, Ints, Longs
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
from murmura.core.errors import SettingError
from murmura.core.kernel import Kernel
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng, Stream, Words, philox
from murmura.core.settings import Count, NonNegative, Positive, Times, settings
from murmura.core.update import Arrays, SparseRows, Update

Values = NDArray[Any]
ROUNDS = "rounds"  # what the server counts where the learning rate falls
SPREAD = 0.1  # p, q and also b start as N(0, 0.1^2), as in the authors' code
PRIOR_BUDGET = 0.1  # of what noise lets a training reveal: the counts' part
WORK, HELD = "work", "held"  # what rows of a sum are bounded by: triples of a visit, and who holds each item


@settings
class FPL(Algorithm):
    """Federated pair-wise learning of b_i + p_u . q_i."""

    name: ClassVar[str] = "fpl"
    bears_noise: ClassVar[bool] = True

    factors: Count = 20  # length of the vectors
    alpha: Positive = 0.05  # learning rate, of clients and server
    # T: a number, floor(X+ / |U|), the client's own |I_u|, or what people choose: {1: 0.5, 10: 0.5}
    triples: Count | Literal["mean", "own"] | dict[Count, Positive] = 1
    # what a triple is as likely to be of: any client, or any interaction ("as in Rendle")
    sampling: Literal["clients", "interactions"] = "clients"
    rate_decay: NonNegative = 0.0  # the learning rate of round t is alpha / (1 + rate_decay t)
    version: Literal["B", "equations"] = "B"  # the authors' code, or the papers' equations
    fold_in: Times = 20  # local passes of someone unknown in training
    precision: Literal["float32", "float64"] = "float32"  # the numbers of the model and of updates
    optimiser: optimisers.Optimiser = "sum"  # how the server steps
    server_alpha: Positive | None = None  # the server's learning rate; None: alpha
    warm: Times = 0  # local passes of p_u over the received model before a step; nothing leaves
    refresh: Times = 0  # local passes over the final model before ranking
    prior: bool = False  # start b from one summed vector of the counts of shared positives
    trust_region: bool = False  # rows of a sum and the model stay within what the counts of the prior allow

    def __post_init__(self) -> None:
        if self.sampling == "interactions" and self.triples == "own":
            raise SettingError(
                "triples must be a number, choices or 'mean' for sampling 'interactions', but it is 'own', "
                "which weighs by interactions already; change one of them."
            )
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

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """Q and b."""
        Q = TableSpec("Q", "item", info.items, self.factors, self.precision)
        return MessageSpec((Q, TableSpec("b", "item", info.items, 1, self.precision)))

    def visit_examples(self, info: FederationInfo) -> float:
        """T; X+ / |U| when it depends on the clients."""
        if isinstance(self.triples, dict):
            return sum(T * share for T, share in self.triples.items()) / sum(self.triples.values())
        return self.triples if isinstance(self.triples, int) else info.interactions / info.clients

    def mean_triples(self, info: FederationInfo, rows: Longs, secrets: Words) -> Floats:
        """How many triples a visit makes on average, of clients with so many rows and these secrets.

        In proportion to interactions it is T |I_u| |U| / X+: the client draws the work of a visit, the server
        draws whom to visit as ever and has not to be told how many interactions she has.
        """
        T = self._chosen_triples(info, rows, secrets).astype(np.float64)
        return T * rows * info.clients / info.interactions if self.sampling == "interactions" else T

    def _chosen_triples(self, info: FederationInfo, rows: Longs, secrets: Words) -> Longs:
        """T of each of these clients."""
        if self.triples == "own":
            return rows
        if isinstance(self.triples, dict):
            values, shares = (np.array(part) for part in zip(*sorted(self.triples.items())))
            words = philox(np.array([0, 0, Purpose.CHOICE, 0]), secrets)[:, 2]
            return values[np.searchsorted(np.cumsum(shares)[:-1] / shares.sum(), (words + 0.5) / 2.0**32)]
        T = max(1, info.interactions // info.clients) if self.triples == "mean" else self.triples
        return np.full(len(rows), T)

    def visit_triples(self, info: FederationInfo, rows: int, rng: Rng) -> int:
        """How many triples this visit of a client with so many rows makes: the mean, rounded by a coin."""
        mean = float(self.mean_triples(info, np.array([rows]), rng.secret[None])[0])
        return int(mean) + int(rng.stream(Purpose.WORK).coins(mean - int(mean))[0])

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Q and b from N(0, 0.1^2), and what the optimiser remembers of them."""
        draws = SPREAD * rng.stream(Purpose.INIT).normals(info.items * (self.factors + 1))
        theta = draws.reshape(info.items, -1).astype(self.precision)
        memory = optimisers.begin(self.optimiser, theta)
        if self._bounds_rows:
            T = self.visit_examples(info)
            memory[WORK] = np.array([1.0 if self.triples == "own" else T, T / len(info.listed)])
            memory[HELD] = np.ones(info.items)
        if self.rate_decay:
            memory[ROUNDS] = np.zeros(1, np.int64)
        return ServerState(split(theta), memory)

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """p_u from N(0, 0.1^2)."""
        p = SPREAD * rng.stream(Purpose.INIT).normals(self.factors)
        return {"p": p.astype(self.precision)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """A one for every shared positive; or p_u learns from T triples, after `warm` passes.

        The rows of the negatives and of the shared positives leave.
        """
        if context.phase == "prior":
            shared = history.item[rng.stream(Purpose.COINS).coins(history.consent)]
            ones = np.ones((len(shared), 1), self.precision)
            return state, Update({"counts": SparseRows(shared, ones)})
        p = self.local_passes(context, state["p"], history, rng.stream(Purpose.WARM), self.warm)
        T = self.visit_triples(context.info, len(history), rng)
        triples = draw_triples(context.info.listed, history.item, T, rng.stream(Purpose.TRIPLES))
        send = rng.stream(Purpose.COINS).coins(history.consent[triples[:, 0]])
        positives, negatives = history.item[triples[:, 0]], triples[:, 1]
        rate = self.rate_at(self.alpha, context.round)
        p, rows, gradients = self._climb(context.model, rate, p, positives, negatives, send)
        sent = SparseRows.of(rows, gradients)
        if self.optimiser == "per-contributor":
            sent = SparseRows(sent.index, np.pad(sent.values, ((0, 0), (0, 1)), constant_values=1.0))
        return {"p": p}, Update({"items": sent})

    def _climb(
        self,
        model: Arrays,
        alpha: float,
        p: Values,
        positives: Ints,
        negatives: Ints,
        shared: NDArray[np.bool_],
    ) -> tuple[Values, Ints, Values]:
        """Eq. (1)-(5): p_u after all triples, and the rows that leave with their gradients, one by one."""
        Q, b = model["Q"], model["b"]
        _, lambda_u, lambda_i, lambda_j = self.rates()
        p_new = p
        rows, gradients = [], []
        for i, j, send in zip(positives, negatives, shared):
            g = _sigmoid_of_minus(b[i] + p @ Q[i] - b[j] - p @ Q[j])
            # d ln sigma(x_ui - x_uj) - lambda |theta|^2, all at the p_u before this triple
            if send:
                rows.append(i)
                gradients.append(np.append(g * p - lambda_i * Q[i], g))
            rows.append(j)
            gradients.append(np.append(-g * p - lambda_j * Q[j], -g))
            p_new = p_new + alpha * (g * (Q[i] - Q[j]) - lambda_u * p)
            p = p_new if self.version == "B" else p
        values = np.array(gradients, self.precision).reshape(len(rows), self.factors + 1)
        return p_new, np.array(rows, np.int32), values

    def client_negatives(self, info: FederationInfo, history: History, rng: Rng) -> Ints:
        """The negatives of one visit, as `client_step` draws them: for the check for leaks; nothing leaves."""
        T = self.visit_triples(info, len(history), rng)
        return draw_triples(info.listed, history.item, T, rng.stream(Purpose.TRIPLES))[:, 1]

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The biases that counts give; then eq. (6), theta + alpha times the sum, or another optimiser."""
        assert isinstance(received, Total)
        if phase == "prior":
            counts = self._counts(server, received.update)
            held = {HELD: (counts + 5.0) / received.count} if HELD in server.private else {}
            b = self._prior(counts)
            known = region(counts, b) if self.trust_region else {}
            return ServerState({**server.model, "b": b}, self.counted({**server.private, **held, **known})), {}
        rate = self.server_alpha or self.alpha
        if self.rate_decay:
            rate = self.rate_at(rate, int(server.private[ROUNDS][0]))
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
        return np.asarray(positives * server.private[HELD][index] + negatives, np.float64)

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

    def rate_at(self, rate: float, round: int) -> float:
        """A learning rate in a round."""
        return rate / (1.0 + self.rate_decay * round)

    def counted(self, private: Arrays, rounds: int = 1) -> Arrays:
        """What the server keeps to itself after so many more rounds."""
        return {**private, ROUNDS: private[ROUNDS] + rounds} if self.rate_decay else private

    def reveals(self) -> Mapping[str, str]:
        """The size of an update, where it follows the size of a history."""
        if self.triples != "own" and self.sampling != "interactions":
            return {}
        return {"rows of an update": "how many interactions the client has; a sum over a cohort hides it"}

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """`refresh` passes over the final model."""
        stream = rng.stream(Purpose.REFRESH)
        return {"p": self.local_passes(context, state["p"], history, stream, self.refresh)}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """A new p_u, climbed over the frozen model; without any item zero, which leaves the biases."""
        if not len(history):
            return {"p": np.zeros(self.factors, self.precision)}
        start = self.client_init(context.info, history, rng)["p"]
        return {"p": self.local_passes(context, start, history, rng.stream(Purpose.FOLD_IN), self.fold_in)}

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Values:
        """b_i + p_u . q_i of every item."""
        model = context.model
        scores: Values = state["p"][None, :] @ model["Q"].T + model["b"]
        return scores

    def rates(self) -> tuple[float, float, float, float]:
        """alpha, and the regularisation of p_u, q_i and q_j: alpha / 20, alpha / 20 and alpha / 200."""
        return self.alpha, self.alpha / 20, self.alpha / 20, self.alpha / 200

    def local_passes(
        self, context: RoundContext, p: Values, history: History, stream: Stream, passes: int
    ) -> Values:
        """p_u after `passes` times |I_u| triples over a model that stays as it is."""
        alpha, lambda_u, _, _ = self.rates()
        Q, b = context.model["Q"], context.model["b"]
        for k, j in draw_triples(context.info.listed, history.item, passes * len(history), stream):
            i = history.item[k]
            g = _sigmoid_of_minus(b[i] + p @ Q[i] - b[j] - p @ Q[j])
            p = p + alpha * (g * (Q[i] - Q[j]) - lambda_u * p)
        return p

    def kernel(self) -> Kernel:
        """The compiled twin."""
        from murmura.algorithms.fpl.kernel import FPLKernel

        return FPLKernel(self)


def draw_triples(listed: Ints, own: Ints, n: int, stream: Stream) -> Ints:
    """n draws with replacement of (place among the own items, an item on offer that is not own): (n, 2).

    Nothing for someone who has no item, or every item.
    """
    mine = set(own.tolist())
    if not mine or mine.issuperset(listed.tolist()):
        n = 0
    triples = np.empty((n, 2), np.int32)
    for t in range(n):
        triples[t, 0] = stream.below(len(own))
        triples[t, 1] = listed[stream.below(len(listed))]
        while triples[t, 1] in mine:
            triples[t, 1] = listed[stream.below(len(listed))]
    return triples


def _sigmoid_of_minus(x: Any) -> Any:
    with np.errstate(over="ignore"):  # exp of a large margin is inf, and the gradient 0
        return 1.0 / (1.0 + np.exp(x))


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
