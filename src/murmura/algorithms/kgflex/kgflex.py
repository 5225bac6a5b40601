"""KGFlex: Anelli, Di Noia, Di Sciascio, Ferrara, Mancino: Sparse feature factorization for recommender systems
with knowledge graphs (RecSys 2021); chapter 6 of A. Ferrara's thesis.

The server holds a vector g_f and a bias b_f of every feature, a client its own view p_f of the features its
owner decides by, each with its information gain k_uf. The score of an item is a sum over the features it shares
with her, eq. (6.12): sum of k_uf (p_f . g_f + b_f). It is trained by BPR on pairs of an own and another item.

Where text and authors' code differ the code is followed (docs/papers/kgflex.md): every visit draws |I_u| pairs,
takes all gradients at the received model, and leaves out pairs in which an item shares no feature with her.
What leaves is of features that her shared items have, and of pairs whose own item is shared, alone: which
features a person has is her taste.

Section 6.4.4 follows eqs. (4.3) and (4.4) "plus a regularization term"; their code has none. With `reg` every
pair pulls p_f, g_f and b_f of the features in it towards 0, as BPR does: - reg theta beside each gradient.

With the settings from `measure` on at their defaults this is the published method, to the bit. They are ours: a
person's features may be chosen by other measures, above a threshold and against several negatives for each of
her items; the server may feed another optimiser with the same sum, and what a visit sends may be scaled or
clipped, so that no learning rate diverges for those who have many items.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.algorithms import optimisers
from murmura.algorithms.fpl.fpl import draw_triples
from murmura.algorithms.kgflex.gain import Measure, draw_negatives, gain, select
from murmura.algorithms.kgflex.loop_arrays import LARGEST, SPREAD, entropy_table
from murmura.algorithms.optimisers import join, split
from murmura.algorithms.preset import Preset
from murmura.core.arrays import Bools, Floats, Ints
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
from murmura.core.errors import DivergenceError
from murmura.core.features import ItemFeatures
from murmura.core.kernel import Kernel
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.model import ScoreTerms
from murmura.core.rng import Purpose, Rng, Stream
from murmura.core.settings import Count, NonNegative, Positive, Times, settings
from murmura.core.update import Arrays, SparseRows, Update

Values = NDArray[Any]


@settings
class KGFlex(Algorithm):
    """Federated pair-wise learning of feature vectors; the features of a person by their information gain."""

    name: ClassVar[str] = "kgflex"
    uses_features: ClassVar[bool] = True

    factors: Count = 10  # length of a feature's vector
    alpha: Positive = 0.1  # learning rate, of clients and server
    first_limit: Times = 100  # of a person's features one hop away the most informative so many
    second_limit: Times = 100  # and of those further away
    unshared: Literal["drop", "keep"] = "drop"  # pairs of which an item shares no feature with her
    fold_in: Times = 10  # local visits of someone unknown in training
    precision: Literal["float32", "float64"] = "float32"  # the numbers of the model and of updates
    measure: Measure = "information-gain"  # how much a feature says about what a person has
    least: Annotated[float, Field(ge=0, lt=1)] = 0.0  # only features with a gain above this
    negatives: Count = 1  # others for each of her items, in the gain of a feature
    drawn: Literal["uniform", "popular"] = "uniform"  # how they are drawn; popular: by public counts
    visit: Literal["sum", "root", "mean"] = "sum"  # the gradients of n pairs: added, over sqrt(n), over n
    clip_update: Positive | None = None  # the largest L2 norm of what one visit adds
    optimiser: optimisers.Optimiser = "sum"  # how the server steps
    server_alpha: Positive | None = None  # the server's learning rate; None: alpha
    reg: NonNegative = 0.0  # lambda of eqs. (4.3) and (4.4), of which the authors' code has none

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One repeating sum of gradient rows: of g_f and of b_f, and of their senders for some optimisers."""
        width = self.factors + 1 + (self.optimiser == "per-contributor")
        table = TableSpec("features", "feature", info.feature_count, width, self.precision)
        return (Phase("train", MessageSpec((table,))),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """G and b."""
        G = TableSpec("G", "feature", info.feature_count, self.factors, self.precision)
        return MessageSpec((G, TableSpec("b", "feature", info.feature_count, 1, self.precision)))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """G and b from N(0, 0.1^2), and what the optimiser remembers of them."""
        draws = SPREAD * rng.stream(Purpose.INIT).normals(info.feature_count * (self.factors + 1))
        theta = draws.reshape(-1, self.factors + 1).astype(self.precision)
        return ServerState(split(theta, "G"), optimisers.begin(self.optimiser, theta))

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """Her features with their gains, and p_f from N(0, 0.1^2); nothing leaves."""
        capacity = self.capacity(info)
        feature, k = np.full(capacity, -1, np.int32), np.zeros(capacity, self.precision)
        chosen, gains = self.informative(info, history, rng.stream(Purpose.GAIN))
        feature[: len(chosen)], k[: len(chosen)] = chosen, gains
        P = SPREAD * rng.stream(Purpose.INIT).normals(capacity * self.factors)
        return {
            "feature": feature,
            "k": k,
            "P": P.reshape(capacity, self.factors).astype(self.precision),
            "sent": np.zeros(capacity, np.uint8),  # which of her features have ever left
        }

    def informative(self, info: FederationInfo, history: History, stream: Stream) -> tuple[Ints, Floats]:
        """F_u and k_uf: the features of her items that tell most about her choices."""
        features, own = known(info), history.item
        negatives = self.gain_negatives(info, own, stream)
        if not len(negatives):
            return np.empty(0, np.int32), np.empty(0)
        half = len(negatives)
        p = np.bincount(features.of_each(own), minlength=len(features))
        n = np.bincount(features.of_each(negatives), minlength=len(features))
        candidates = np.flatnonzero(p).astype(np.int32)
        positives = self.negatives * p[candidates]
        found = gain(self.measure, positives, n[candidates], half, entropy_table(2 * half))
        return select(features, self.limits(), found, candidates, self.least)

    def gain_negatives(self, info: FederationInfo, own: Ints, stream: Stream) -> Ints:
        """So many for each of her items, of those on offer that are not hers."""
        return draw_negatives(info, own, self.negatives * len(own), self.drawn == "popular", stream)

    def limits(self) -> tuple[int, int]:
        """How many features one hop away, and further."""
        return self.first_limit, self.second_limit

    def capacity(self, info: FederationInfo) -> int:
        """How many features a client can have."""
        near = int((known(info).hops == 1).sum())
        return min(self.first_limit, near) + min(self.second_limit, len(known(info)) - near)

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """P_u takes one step over |I_u| pairs; what leaves is of features her shared items have."""
        features, m = known(context.info), int((state["feature"] >= 0).sum())
        shared = rng.stream(Purpose.COINS).coins(history.consent)
        leaving = np.isin(state["feature"][:m], features.of_items(history.item[shared]))
        pairs = draw_triples(context.info.listed, history.item, len(history), rng.stream(Purpose.TRIPLES))
        c, sent, pulls, pulled = self.climb(context, state, history.item, pairs, shared)
        P, f = state["P"], state["feature"][:m]
        rows = np.flatnonzero(leaving & (pulled > 0))
        rows = rows[np.argsort(f[rows])]
        gradients = np.column_stack([sent[rows, None] * P[rows], sent[rows]])  # eq. (6.14): k p_f and k
        if self.reg:
            gradients -= self.reg * pulled[rows, None] * join(context.model, "G")[f[rows]]
        values = self._clipped(gradients.astype(self.precision))
        if self.optimiser == "per-contributor":
            values = np.pad(values, ((0, 0), (0, 1)), constant_values=1.0)
        moved = self._moved(P, c, pulls, context.model["G"][f])
        flags = state["sent"].copy()
        flags[rows] = 1
        return {**state, "P": moved, "sent": flags}, Update({"features": SparseRows(f[rows], values)})

    def _moved(self, P: Values, c: Floats, pulls: Floats, G: Values) -> Values:
        """P after a step of eq. (4.4): k g_f, and the pull towards 0."""
        moved, step = P.copy(), self.alpha * c[:, None] * G  # k g_f
        if self.reg:
            step -= self.alpha * self.reg * pulls[:, None] * P[: len(c)].astype(np.float64)
        moved[: len(c)] += step
        return moved

    def _clipped(self, values: Values) -> Values:
        """What one visit adds, no longer than `clip_update` in L2."""
        if self.clip_update is None or not len(values):
            return values
        norm = float(np.sqrt((values.astype(np.float64) ** 2).sum()))
        clipped: Values = (values * min(1.0, self.clip_update / max(norm, 1e-300))).astype(self.precision)
        return clipped

    def climb(
        self, context: RoundContext, state: ClientState, own: Ints, pairs: Ints, shared: Bools
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Over all pairs the sum of g k_uf, + for features of i, - for those of j; then of shared pairs alone.

        The third and fourth: in how many items of pairs each of her features is, and of shared pairs alone. g
        is 1 - sigma(x_ui - x_uj), all at the model as it was received: d ln sigma / d theta of eq. (6.13) is g
        times a sum over features. `visit` scales all four.
        """
        features, slots = known(context.info), self.slots(context.info, state)
        value = self.terms(context, state)
        m = len(value)
        k = state["k"][:m].astype(np.float64)
        c, sent, pulls, pulled = np.zeros((4, m))
        for row, j in pairs:
            mine, other = (slots[features.of_item(item)] for item in (int(own[row]), int(j)))
            mine, other = mine[mine >= 0], other[other >= 0]
            if self.unshared == "drop" and not (len(mine) and len(other)):
                continue
            g = 1.0 / (1.0 + np.exp(min(value[mine].sum() - value[other].sum(), 700.0)))
            for places, sign in ((mine, g), (other, -g)):
                c[places] += sign * k[places]
                pulls[places] += 1
                if shared[row]:
                    sent[places] += sign * k[places]
                    pulled[places] += 1
        scale = float(max(len(pairs), 1) ** -self.power())
        return c * scale, sent * scale, pulls * scale, pulled * scale

    def power(self) -> float:
        """Gradients of n pairs are divided by n to this."""
        return {"sum": 0.0, "root": 0.5, "mean": 1.0}[self.visit]

    def terms(self, context: RoundContext, state: ClientState) -> Floats:
        """k_uf (p_f . g_f + b_f) of each of her features."""
        f = state["feature"][state["feature"] >= 0]
        P, k = state["P"][: len(f)].astype(np.float64), state["k"][: len(f)].astype(np.float64)
        value: Floats = k * ((P * context.model["G"][f]).sum(axis=1) + context.model["b"].reshape(-1)[f])
        return value

    def slots(self, info: FederationInfo, state: ClientState) -> Ints:
        """(features,) the place of each feature in her state, -1 for those that are not hers."""
        places = np.full(len(known(info)), -1, np.int32)
        own = state["feature"][state["feature"] >= 0]
        places[own] = np.arange(len(own), dtype=np.int32)
        return places

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Every shared row, as soon as anything leaves: their features decide what may."""
        shared = rng.stream(Purpose.COINS).coins(history.consent)
        return shared if len(update.tables["features"]) else np.zeros(len(history), np.bool_)

    def disclosed_features(self, states: Arrays) -> Floats:
        """From the flags of what ever left."""
        held = (states["feature"] >= 0).sum(axis=1)
        return np.where(held > 0, states["sent"].sum(axis=1) / np.maximum(held, 1), np.nan)

    def client_negatives(self, info: FederationInfo, history: History, rng: Rng) -> Ints:
        """The other items of the pairs of a visit."""
        return draw_triples(info.listed, history.item, len(history), rng.stream(Purpose.TRIPLES))[:, 1]

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The optimiser, fed with the sum; ends a training that diverges."""
        assert isinstance(received, Total)
        rate, sent = self.server_alpha or self.alpha, received.update.tables["features"]
        theta, memory = optimisers.move(self.optimiser, rate, join(server.model, "G"), server.private, sent)
        largest = float(np.abs(theta).max(initial=0.0))
        if not largest < LARGEST:
            raise DivergenceError(
                f"{self.name}.alpha must be small enough for the sum of a round, but at {self.alpha:g} the "
                f"model diverged (one number is {largest:.3g}); lower alpha."
            )
        return ServerState(split(theta, "G"), memory), {}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """Her features, and p_f after some visits of which nothing leaves."""
        state = self.client_init(context.info, history, rng)
        nothing = np.zeros(len(history), np.bool_)
        stream = rng.stream(Purpose.FOLD_IN)
        f = state["feature"][state["feature"] >= 0]
        for _ in range(self.fold_in):
            pairs = draw_triples(context.info.listed, history.item, len(history), stream)
            c, _, pulls, _ = self.climb(context, state, history.item, pairs, nothing)
            state = {**state, "P": self._moved(state["P"], c, pulls, context.model["G"][f])}
        return state

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Values:
        """Equation (6.12) for every item; 0 where nothing is shared."""
        scores = np.zeros((1, context.info.items))
        start, item = known(context.info).by_feature
        for f, value in zip(state["feature"].tolist(), self.terms(context, state).tolist()):
            scores[0, item[start[f] : start[f + 1]]] += value
        return scores

    def client_terms(self, context: RoundContext, state: ClientState, history: History) -> ScoreTerms:
        """Equation (6.12) feature by feature."""
        features, value = known(context.info), self.terms(context, state)
        own, (start, item) = state["feature"][: len(value)].tolist(), features.by_feature
        values = np.zeros((len(own), context.info.items))
        for row, f in enumerate(own):
            values[row, item[start[f] : start[f + 1]]] = value[row]
        names = tuple(features.name(f) for f in own)
        return ScoreTerms(names, state["k"][: len(own)].astype(np.float64), values)

    def kernel(self) -> Kernel:
        """The compiled twin."""
        from murmura.algorithms.kgflex.kernel import KGFlexKernel

        return KGFlexKernel(self)


def known(info: FederationInfo) -> ItemFeatures:
    """The features of the items, which every machine knows."""
    assert info.features is not None
    return info.features


TENTH = {"clients": 0.1, "rounds_per_epoch": 1, "epochs": 100}  # the authors' epoch is one round

KGFLEX = Preset(
    "kgflex", KGFlex, "KGFlex: features of items by information gain, a tenth of the clients a round.", TENTH
)
CKGFLEX = Preset(
    "ckgflex",
    KGFlex,
    "cKGFlex, ours: cohorts of 500, several negatives in the gain, AdaGrad on the server, mean steps.",
    {
        "clients": 500,
        "rounds_per_epoch": 1,
        "epochs": 100,
        "negatives": 10,
        "visit": "root",
        "optimiser": "adagrad",
        "server_alpha": 0.1,
    },
)
