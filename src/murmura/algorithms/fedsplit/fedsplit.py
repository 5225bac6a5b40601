"""Eren, Richards, Bhattarai, Yus, Nicholas and Alexandrov: FedSPLIT: One-Shot Federated Recommendation System
Based on Non-negative Joint Matrix Factorization and Knowledge Distillation (arXiv 2205.02359, 2022).

A client is a group of people, a household or an organisation. Exchange 0: the groups' mean ratings in, their
mean mu out (equation 14). Exchange 1: each group factorises its own ratings by collaborative NMF and sends H
and the item biases b_H; the server factorises all H side by side, X ~ patterns M, and answers each group with
its own columns of M. The group's W M' then combines the global patterns into predictions (equations 15 to 19).

Algorithm 1 prints a Hadamard product in line 12 and b_W in line 10: shapes allow only equation 18 and b_H.
Groups tune their own settings, as in the paper. What we add, and what the paper leaves open, are subclasses in
the files beside this one; `extended` has all of them, and docs/papers/fedsplit.md what each changes, measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.algorithms.fedsplit.local import LocalModel, factorise_group, join, mark, open_rows, unable
from murmura.algorithms.fedsplit.server import Letter, combine_biases, joint_patterns, too_large
from murmura.core.arrays import Bools, Floats
from murmura.core.disclosure import Disclosure, Table
from murmura.core.errors import DataError
from murmura.core.federation import (
    Algorithm,
    Answers,
    Call,
    ClientState,
    History,
    Letters,
    Phase,
    Public,
    ServerState,
    Total,
)
from murmura.core.rng import Purpose, Rng, Stream
from murmura.core.settings import PRIVATE, settings
from murmura.core.update import Arrays, SparseRows, Update
from murmura.kernels.cnmf import CnmfSettings, Step, Weight

Count = Annotated[int, Field(ge=1)]
MU = Table("mu", "dense", 1, 1, "float64")


@settings
class FedSplit(CnmfSettings, Algorithm):
    """One exchange of item factors between groups. The server reads every letter."""

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
    precision: Literal["float32", "float64"] = "float32"

    @property
    def width(self) -> int:
        """Numbers of an item in a letter: its factors and its bias."""
        return self.factors + 1

    def phases(self, public: Public) -> tuple[Phase, ...]:
        """A sum of means, then letters of item factors and biases."""
        means = Phase("means", Disclosure(scalars=("mean", "groups")), repeat=1, receives=Disclosure())
        items = Disclosure((Table("items", "item", public.items, self.width, self.precision),))
        return means, Phase("factors", items, "each", 1, receives=Disclosure((MU,)), returns=True)

    def publishes(self, public: Public) -> Disclosure:
        """The global patterns, the item biases and the mean."""
        patterns = Table("patterns", "item", public.items, self.patterns, self.precision)
        return Disclosure((patterns, Table("b", "item", public.items, 1, self.precision), MU))

    def server_init(self, public: Public, rng: Rng) -> ServerState:
        """Nothing is known."""
        patterns = np.zeros((public.items, self.patterns), self.precision)
        return ServerState(
            {"patterns": patterns, "b": np.zeros(public.items, self.precision), "mu": np.zeros(1)}
        )

    def client_init(self, public: Public, history: History, rng: Rng) -> ClientState:
        """Nothing is known; everybody's rows have room for the largest group."""
        return {"W": np.zeros((public.people, self.factors)), "b": np.zeros(public.people)}

    def client_step(
        self, call: Call, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        """The mean rating of a group; then its item factors and biases. One that cannot take part sends 0.

        Nothing that leaves is made from a rating that is not shared.
        """
        rows = history.rows(open_rows(history, rng))
        if call.phase == "means":
            return state, self.means(call.public, rows)
        if why := unable(rows):
            raise DataError(why)
        local, sent = self.factorised(call, history, rows, rng)
        return {"W": local.W, "b": local.b_w}, Update({"items": self.letter(sent, call.public)})

    def means(self, public: Public, rows: History) -> Update:
        """The mean rating of a group."""
        able = not unable(rows)
        return Update(scalars={"mean": float(rows.value.mean()) if able else 0.0, "groups": float(able)})

    def chosen(self, history: History) -> CnmfSettings:
        """The settings of this group: those it tuned, or everybody's."""
        return self.tuned.get(mark(history), self) if self.tuned else self

    def factorise(self, call: Call, history: History, stream: Stream) -> LocalModel:
        """Collaborative NMF of a group's ratings (equations 5 to 13)."""
        return factorise_group(
            history, mu_of(call.model), self.chosen(history), call.public.people, stream, self.factors
        )

    def factorised(
        self, call: Call, history: History, rows: History, rng: Rng
    ) -> tuple[LocalModel, LocalModel]:
        """What a group keeps, and what it sends: a factorisation of the shared `rows` of its history."""
        local = self.factorise(call, rows, rng.stream(Purpose.INIT))
        return local, local

    def columns(self, local: LocalModel) -> list[Floats]:
        """What a letter says of every rated item: H and b_H."""
        return [local.H, local.b_h[:, None]]

    def letter(self, local: LocalModel, public: Public) -> SparseRows:
        """What a group sends."""
        return SparseRows(local.items, np.hstack(self.columns(local)).astype(self.precision))

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Every rating that speaks in a letter."""
        return open_rows(history, rng) & (phase.name == "factors")

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Letters with numbers beyond reason, without an item, or with a negative factor."""
        values = update.tables["items"].values
        H = values[:, : self.factors]
        if why := too_large(values):
            return why
        if not H.any():
            return "a group must send factors of at least one item it has rated, but sent none."
        if H.min() < 0:
            return f"the factors of a group must not be negative, but one is {H.min():g}."
        return None

    def server_step(
        self, phase: str, server: ServerState, inbox: Total | Letters
    ) -> tuple[ServerState, Answers]:
        """Equation 14; then the joint factorisation of all letters, and to each group its part."""
        if phase == "means":
            assert isinstance(inbox, Total)
            sums = inbox.update.scalars
            return ServerState({**server.model, "mu": np.array([sums["mean"] / max(1.0, sums["groups"])])}), {}
        assert isinstance(inbox, Letters)
        letters, items = self.read_all(inbox), len(server.model["b"])
        b, _ = self.biases(letters.values(), items)
        patterns, parts = joint_patterns(letters, items, self.patterns, self.joint_epochs)
        model = {**server.model, "patterns": self._as_sent(patterns), "b": self._as_sent(b)}
        return ServerState(model), {client: {"M": part} for client, part in parts.items()}

    def read_all(self, inbox: Letters) -> dict[int, Letter]:
        """The letters by client, in order."""
        return {client: self.read(update) for client, update in sorted(inbox.updates.items())}

    def read(self, update: Update) -> Letter:
        """One letter."""
        return Letter.of(update.tables["items"], self.factors, counted=False)

    def biases(self, letters: Iterable[Letter], items: int) -> tuple[Floats, Floats]:
        """Equation 16: the bias of every item over all groups; and how many groups sent it."""
        return combine_biases(letters, items, over_all=True, shrink=0.0)

    def _as_sent(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(values, self.precision)

    def client_ready(self, call: Call, state: ClientState, history: History, rng: Rng) -> ClientState:
        """Equation 18; a group whose letter was left out joins like someone who was not there."""
        if call.answer is None:
            return self.client_fold_in(call, history, rng)
        return {"W": state["W"] @ call.answer["M"].T.astype(np.float64), "b": state["b"]}

    def client_fold_in(self, call: Call, history: History, rng: Rng) -> ClientState:
        """Non-negative regression of the own ratings on the global patterns (section 5)."""
        W, b_w = join(history, *self.predictors(call.model, {}), self.rates, call.public.people)
        return {"W": W, "b": b_w}

    def predictors(self, model: Arrays, state: ClientState) -> tuple[Floats, Floats, float]:
        """Patterns and biases of items and the mean, in double precision."""
        return model["patterns"].astype(np.float64), model["b"].astype(np.float64).reshape(-1), mu_of(model)

    def client_score(self, model: Arrays, state: ClientState, history: History) -> Floats:
        """Equation 19 for all items: (people, items)."""
        patterns, b, mu = self.predictors(model, state)
        scores: Floats = state["W"] @ patterns.T + (state["b"][:, None] + b + mu)
        return scores

    def client_predict(self, model: Arrays, state: ClientState, queries: NDArray[Any]) -> Floats:
        """Equation 19 for pairs of a person of the group and an item."""
        person, item = queries.T
        patterns, b, mu = self.predictors(model, state)
        values: Floats = np.einsum("nf,nf->n", state["W"][person], patterns[item])
        values += state["b"][person] + b[item] + mu
        return values


def mu_of(model: Arrays) -> float:
    """The mean of the groups' means, from the public model."""
    return float(model["mu"].reshape(-1)[0])
