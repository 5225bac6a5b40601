"""Eren, Richards, Bhattarai, Yus, Nicholas and Alexandrov: FedSPLIT: One-Shot Federated Recommendation System
Based on Non-negative Joint Matrix Factorization and Knowledge Distillation (arXiv 2205.02359, 2022).

A client is a group of people, a household or an organisation. Exchange 0: the groups' mean ratings in, their
mean mu out (equation 14). Exchange 1: each group factorises its own ratings by collaborative NMF and sends H
and the item biases b_H; the server factorises all H side by side, X ~ patterns M, and answers each group with
its own columns of M. The group's W M' then combines the global patterns into predictions (equations 15 to 19).

Algorithm 1 prints a Hadamard product in line 12 and b_W in line 10: shapes allow only equation 18 and b_H.
Groups tune their own settings, as in the paper. What we add, and what the paper leaves open, are subclasses in
`cover` and `extended`, which has all of them, and docs/papers/fedsplit.md what each changes, measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.fedsplit.groups import (
    GroupFactors,
    LocalModel,
    combine_biases,
    factorise_group,
    join,
    joint_patterns,
    mark,
    too_large,
    unable,
)
from murmura.core.arrays import Bools, Floats
from murmura.core.contract import (
    Algorithm,
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import DataError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng, Stream
from murmura.core.settings import PRIVATE, Count, settings
from murmura.core.update import Arrays, SparseRows, Update
from murmura.kernels.factorisation.cnmf_steps import CnmfSettings, Step, Weight

MU = TableSpec("mu", "dense", 1, 1, "float64")


@settings
class FedSplit(CnmfSettings, Algorithm):
    """One exchange of item factors between groups. The server reads every update."""

    name: ClassVar[str] = "fedsplit"

    factors: Count = 5  # k of a group, at most one less than it has people
    alpha: Weight = 0.08
    beta: Weight = 0.08
    gamma: Weight = 0.04
    delta: Weight = 0.04
    eta_w: Step = 0.009
    eta_h: Step = 0.009
    patterns: Count = 20  # K of the joint factorisation
    joint_epochs: Count = 1000  # updates of the joint factorisation at most
    # what groups chose, by `mark` of their rows
    tuned: dict[str, CnmfSettings] = field(default_factory=dict, metadata=PRIVATE)
    precision: Literal["float32", "float64"] = "float32"  # the numbers of the model and of updates

    @property
    def width(self) -> int:
        """Numbers of an item in an update: its factors and its bias."""
        return self.factors + 1

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of means, then updates of item factors and biases."""
        means = Phase("means", MessageSpec(scalars=("mean", "groups")), repeat=1, receives=MessageSpec())
        items = MessageSpec((TableSpec("items", "item", info.items, self.width, self.precision),))
        return means, Phase("factors", items, "each", 1, receives=MessageSpec((MU,)), returns=True)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The global patterns, the item biases and the mean."""
        patterns = TableSpec("patterns", "item", info.items, self.patterns, self.precision)
        return MessageSpec((patterns, TableSpec("b", "item", info.items, 1, self.precision), MU))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        patterns = np.zeros((info.items, self.patterns), self.precision)
        return ServerState({"patterns": patterns, "b": np.zeros(info.items, self.precision), "mu": np.zeros(1)})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """Nothing is known; everybody's rows have room for the largest group."""
        return {"W": np.zeros((info.people, self.factors)), "b": np.zeros(info.people)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """The mean rating of a group; then its item factors and biases. One that cannot take part sends 0.

        Nothing that leaves is made from a rating that is not shared.
        """
        rows = history.rows(history.open_rows(rng))
        if context.phase == "means":
            return state, self.means(context.info, rows)
        if why := unable(rows):
            raise DataError(why)
        local, sent = self.factorised(context, history, rows, rng)
        return {"W": local.W, "b": local.b_w}, Update({"items": self.sent_rows(sent, context.info)})

    def means(self, info: FederationInfo, rows: History) -> Update:
        """The mean rating of a group."""
        able = not unable(rows)
        return Update(scalars={"mean": float(rows.value.mean()) if able else 0.0, "groups": float(able)})

    def chosen(self, history: History) -> CnmfSettings:
        """The settings of this group: those it tuned, or everybody's."""
        return self.tuned.get(mark(history), self) if self.tuned else self

    def factorise(self, context: RoundContext, history: History, stream: Stream) -> LocalModel:
        """Collaborative NMF of a group's ratings (equations 5 to 13)."""
        return factorise_group(
            history, mu_of(context.model), self.chosen(history), context.info.people, stream, self.factors
        )

    def factorised(
        self, context: RoundContext, history: History, rows: History, rng: Rng
    ) -> tuple[LocalModel, LocalModel]:
        """What a group keeps, and what it sends: a factorisation of the shared `rows` of its history."""
        local = self.factorise(context, rows, rng.stream(Purpose.INIT))
        return local, local

    def columns(self, local: LocalModel) -> list[Floats]:
        """What an update says of every rated item: H and b_H."""
        return [local.H, local.b_h[:, None]]

    def sent_rows(self, local: LocalModel, info: FederationInfo) -> SparseRows:
        """What a group sends."""
        return SparseRows(local.items, np.hstack(self.columns(local)).astype(self.precision))

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Every rating that speaks in an update."""
        return history.open_rows(rng) & (phase.name == "factors")

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Updates with numbers beyond reason, without an item, or with a negative factor."""
        values = update.tables["items"].values
        H = values[:, : self.factors]
        if why := too_large(values):
            return why
        if not H.any():
            return "a group must send factors of at least one item it has rated, but sent none."
        if H.min() < 0:
            return f"the factors of a group must not be negative, but one is {H.min():g}."
        return None

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Equation 14; then the joint factorisation of all updates, and to each group its part."""
        if phase == "means":
            assert isinstance(received, Total)
            sums = received.update.scalars
            return ServerState({**server.model, "mu": np.array([sums["mean"] / max(1.0, sums["groups"])])}), {}
        assert isinstance(received, IndividualUpdates)
        updates, items = self.read_all(received), len(server.model["b"])
        b, _ = self.biases(updates.values(), items)
        patterns, parts = joint_patterns(updates, items, self.patterns, self.joint_epochs)
        model = {**server.model, "patterns": self._as_sent(patterns), "b": self._as_sent(b)}
        return ServerState(model), {client: {"M": part} for client, part in parts.items()}

    def read_all(self, received: IndividualUpdates) -> dict[int, GroupFactors]:
        """The updates by client, in order."""
        return {client: self.read(update) for client, update in sorted(received.updates.items())}

    def read(self, update: Update) -> GroupFactors:
        """one update."""
        return GroupFactors.of(update.tables["items"], self.factors, counted=False)

    def biases(self, updates: Iterable[GroupFactors], items: int) -> tuple[Floats, Floats]:
        """Equation 16: the bias of every item over all groups; and how many groups sent it."""
        return combine_biases(updates, items, over_all=True, shrink=0.0)

    def _as_sent(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(values, self.precision)

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """Equation 18; a group whose update was left out joins like someone who was not there."""
        if context.answer is None:
            return self.client_fold_in(context, history, rng)
        return {"W": state["W"] @ context.answer["M"].T.astype(np.float64), "b": state["b"]}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """Non-negative regression of the own ratings on the global patterns (section 5)."""
        W, b_w = join(history, *self.predictors(context.model, {}), self.rates, context.info.people)
        return {"W": W, "b": b_w}

    def predictors(self, model: Arrays, state: ClientState) -> tuple[Floats, Floats, float]:
        """Patterns and biases of items and the mean, in double precision."""
        return model["patterns"].astype(np.float64), model["b"].astype(np.float64).reshape(-1), mu_of(model)

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Floats:
        """Equation 19 for all items: (people, items)."""
        patterns, b, mu = self.predictors(context.model, state)
        scores: Floats = state["W"] @ patterns.T + (state["b"][:, None] + b + mu)
        return scores

    def client_predict(self, context: RoundContext, state: ClientState, queries: NDArray[Any]) -> Floats:
        """Equation 19 for pairs of a person of the group and an item."""
        person, item = queries.T
        patterns, b, mu = self.predictors(context.model, state)
        values: Floats = np.einsum("nf,nf->n", state["W"][person], patterns[item])
        values += state["b"][person] + b[item] + mu
        return values


def mu_of(model: Arrays) -> float:
    """The mean of the groups' means, from the public model."""
    return float(model["mu"].reshape(-1)[0])
