"""A hybrid of KGFlex and collaborative vectors, ours: w eq. (6.12) / spread + p_u . q_i - beta log(count).

The two parts are trained apart, in the same visits: trained together the personal feature vectors memorise the
positives and leave the item vectors little to learn. The collaborative part is FCF as its paper has it (p_u is
solved in closed form on the device, gradients of q_i are summed) with a prior from public features. w and the
discount of popular items act when a device ranks, so they are chosen after training, on validation rows and on
the coverage of final lists.

The prior of q_i is not 0 but c_i, the item's place among the leading directions of all items' TF-IDF vectors
over their features: lambda |q_i - c_i|^2. An item that nobody has yet stays at c_i. Only the server needs it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

from murmura.algorithms.fcf.fcf import SPREAD, FCFPaper, Values
from murmura.algorithms.kgflex.kgflex import TENTH, KGFlex
from murmura.algorithms.preset import Preset
from murmura.core.arrays import Bools, Floats
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
from murmura.core.features import ItemFeatures
from murmura.core.files import group, prefixed
from murmura.core.kernel import Kernel
from murmura.core.message import MessageSpec
from murmura.core.model import ScoreTerms
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.core.update import Update
from murmura.kernels.item_weights import item_vectors


@settings
class ContentVectors(FCFPaper):
    """FCF with a prior of the item vectors from their features."""

    name: ClassVar[str] = "content-vectors"
    uses_features: ClassVar[bool] = True

    content: NonNegative = 0.3  # how long c_i is; 0: the prior is 0

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Items on offer start around c_i, the others at it."""
        start = super().server_init(info, rng)
        assert info.features is not None
        C = (self.content * leading_directions(info.features, self.factors)).astype(self.precision)
        Q = C.copy()
        draws = SPREAD * rng.stream(Purpose.INIT).normals(info.items * self.factors)
        Q[info.listed] += draws.reshape(Q.shape).astype(self.precision)[info.listed]
        return ServerState({"Q": Q}, {**start.private, "prior": C})

    def _beyond_prior(self, server: ServerState) -> Values:
        """How far the item vectors have gone from c_i."""
        beyond: Values = server.model["Q"] - server.private["prior"]
        return beyond


@settings
class KGFlexHybrid(KGFlex):
    """KGFlex beside collaborative vectors: w / spread sum k (p_f . g_f + b_f) + p_u . q_i - beta log(count)."""

    name: ClassVar[str] = "kgflex-hybrid"

    weight: NonNegative = 0.04  # w
    discount: float = 0.0  # beta: of items by how often each is publicly known to occur; below 0 a bonus
    item_factors: Count = 128  # length of the collaborative vectors
    confidence: Positive = 60.0  # of an interaction: 1 + confidence
    item_reg: Positive = 150.0  # the ridge of the collaborative vectors
    content: NonNegative = 0.3  # the prior of item vectors, from features
    gamma: Positive = 0.01  # the learning rate of item vectors

    def vectors(self) -> ContentVectors:
        """The collaborative part."""
        return ContentVectors(
            factors=self.item_factors,
            alpha=self.confidence,
            reg=self.item_reg,
            gamma=self.gamma,
            content=self.content,
            precision=self.precision,
        )

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One repeating sum with a table of each part."""
        (features,), (items,) = super().phases(info), self.vectors().phases(info)
        return (replace(features, sends=MessageSpec((*features.sends.tables, *items.sends.tables))),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """G and b, and Q."""
        return MessageSpec((*super().publishes(info).tables, *self.vectors().publishes(info).tables))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Both models."""
        if self.discount and info.counts is None:
            raise SettingError(
                "kgflex-hybrid.discount needs public counts of the items, but there are none; set it to 0."
            )
        features, items = super().server_init(info, rng), self.vectors().server_init(info, rng)
        return ServerState(
            {**features.model, **items.model}, {**features.private, **prefixed(items=items.private)}
        )

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """Her features, and p_u."""
        return {**super().client_init(info, history, rng), **self.vectors().client_init(info, history, rng)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Both parts at the received model, neither knowing of the other."""
        after, features = super().client_step(context, state, history, rng)
        solved, items = self.vectors().client_step(context, {"p": state["p"]}, history, rng)
        return {**after, **solved}, Update({**features.tables, **items.tables})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Each part with its own table."""
        assert isinstance(received, Total)
        features, items = (
            replace(received, update=Update({name: received.update.tables[name]}))
            for name in ("features", "items")
        )
        own = {name: array for name, array in server.private.items() if not name.startswith("items.")}
        stepped, _ = super().server_step(phase, ServerState(server.model, own), features)
        vectors = ServerState({"Q": server.model["Q"]}, group(server.private, "items"))
        moved, _ = self.vectors().server_step(phase, vectors, items)
        private = {**stepped.private, **prefixed(items=moved.private)}
        return ServerState({**stepped.model, **moved.model}, private), {}

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Every shared row: the collaborative part tells of each."""
        return self.vectors().client_discloses(phase, update, history, rng)

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """p_u is solved once more, against the final vectors."""
        return {**state, **self.vectors().client_ready(context, {"p": state["p"]}, history, rng)}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """Both parts of someone unknown."""
        features = super().client_fold_in(context, history, rng)
        return {**features, **self.vectors().client_fold_in(context, history, rng)}

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Floats:
        """The blend."""
        features = super().client_score(context, state, history)
        return self.blend(context.info, features, self.vectors().client_score(context, state, history))

    def blend(self, info: FederationInfo, features: Any, vectors: Any) -> Floats:
        """w times the one in units of its spread, plus the other, less the discount: (people, items).

        How far the terms of a person's features lie apart grows with her visits; in units of their spread over
        the items the same w suits everyone.
        """
        scores: Floats = self.scale_of(features)[:, None] * features
        scores += np.asarray(vectors, np.float64)
        if self.discount:
            scores += self.popularity(info)
        return scores

    def scale_of(self, features: Floats) -> Floats:
        """w over the spread of each person's scores by features: (people,)."""
        spread = features.std(axis=1)
        scale: Floats = self.weight / np.where(spread > 0, spread, 1.0)
        return scale

    def popularity(self, info: FederationInfo) -> Floats:
        """What the discount adds to the score of every item."""
        counts = np.ones(info.items) if info.counts is None else info.counts
        return -self.discount * np.log(np.maximum(counts, 1))

    def client_terms(self, context: RoundContext, state: ClientState, history: History) -> ScoreTerms:
        """The features, what people with like vectors choose, and the discount."""
        part = super().client_terms(context, state, history)
        vectors = self.vectors().client_score(context, state, history)
        scale = self.scale_of(super().client_score(context, state, history))[0]
        names, values = [*part.names, "people like you"], [scale * part.values, vectors]
        if self.discount:
            names.append("popularity")
            values.append(self.popularity(context.info)[None])
        return ScoreTerms(tuple(names), part.gain, np.concatenate(values).astype(np.float64))

    def kernel(self) -> Kernel:
        """The compiled twin."""
        from murmura.algorithms.kgflex.kernel import HybridKernel

        return HybridKernel(self)


def leading_directions(features: ItemFeatures, width: int) -> Floats:
    """The items over the `width` directions that explain most of their TF-IDF vectors, 0 beyond their rank.

    From the smaller of the two tables of inner products, which has at most as many rows as there are items; one
    thread, so that every run of a machine finds the same bits.
    """
    padded: Floats = np.zeros((features.items, width))
    if not len(features):
        return padded
    weights = item_vectors(features, None, "content-vectors").weights
    M = sparse.csr_matrix((weights.value, weights.column, weights.start), shape=(features.items, len(features)))
    tall = features.items > len(features)
    with threadpool_limits(1, "blas"):
        gram = ((M.T @ M) if tall else (M @ M.T)).toarray()
        n = min(width, len(gram))
        values, vectors = linalg.eigh(gram, subset_by_index=(len(gram) - n, len(gram) - 1))
        found = M @ vectors if tall else vectors * np.sqrt(np.maximum(values, 0.0))
    padded[:, :n] = found[:, ::-1]
    return padded


KGFLEX_HYBRID = Preset(
    "kgflex-hybrid",
    KGFlexHybrid,
    "KGFlex beside collaborative vectors, ours: w times its score + p_u . q_i - beta log(count).",
    {**TENTH, "clients": 0.2, "epochs": 300, "negatives": 20, "first_limit": 200, "second_limit": 200},
)
