"""Eren, Richards, Bhattarai, Yus, Nicholas and Alexandrov: FedSPLIT: One-Shot Federated Recommendation System
Based on Non-negative Joint Matrix Factorization and Knowledge Distillation (arXiv 2205.02359, 2022).

A client is a group of people, a household or an organisation. Exchange 0: the groups' mean ratings in, their
mean mu out (equation 14). Exchange 1: each group factorises its own ratings by collaborative NMF and sends H
and the item biases b_H; the server factorises all H side by side, X ~ patterns M, and answers each group with
its own columns of M. The group's W M' then combines the global patterns into predictions (equations 15 to 19).

Algorithm 1 prints a Hadamard product in line 12 and b_W in line 10: shapes allow only equation 18 and b_H.
`bias` names what the paper leaves open or we add: what an item's bias is averaged over. `finish="ridge"` is
ours; `finish="local"` stops after exchange 0, as the groups' own rows of table 3. docs/papers/fedsplit.md has
what each of them changes, measured.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.algorithms.fedsplit.cover import filled, prior_of, refitted, summed, with_decoys
from murmura.algorithms.fedsplit.local import (
    LocalModel,
    factorise_group,
    held_out_error,
    join,
    mark,
    open_rows,
    people_of,
    solve_ridge,
    unable,
)
from murmura.algorithms.fedsplit.server import (
    SURE,
    Letter,
    aligned,
    combine_biases,
    joint_patterns,
    too_large,
)
from murmura.core.arrays import Bools, Floats
from murmura.core.disclosure import Disclosure, Space, Table
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
Positive = Annotated[float, Field(gt=0)]
Bias = Literal["all", "seen", "counts", "means"]
Finish = Literal["distil", "ridge", "local"]
Judge = Literal["no", "weigh", "leave-out"]
Unrated = Literal["zero", "prior", "decoys"]
DECOYS = Purpose.OWN + 1  # the stream of made-up ratings
JUDGING = Purpose.OWN + 2  # of the ratings a group holds out to judge itself
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
    bias: Bias = "all"
    finish: Finish = "distil"
    ridge: Positive = 6.0  # of the user factors, by `finish="ridge"`
    ridge_bias: Positive = 5.0  # of the user biases, by `finish="ridge"`; of item means, by `bias="means"`
    unrated: Unrated = "zero"  # what a letter says of items the group has not rated; see fedsplit_cover
    clip: Positive | None = None  # no sent factor or bias is larger; the server refuses what is
    judge: Judge = "no"  # whether a letter says how well its group predicts ratings it held out itself
    worst: Positive = 1.5  # the mean squared error beyond which a letter is left out, by `judge="leave-out"`
    # what groups chose, by `mark` of their rows
    tuned: dict[str, CnmfSettings] = field(default_factory=dict, metadata=PRIVATE)
    precision: Literal["float32", "float64"] = "float32"

    @property
    def counted(self) -> bool:
        """Whether letters say how many ratings of an item there are."""
        return self.bias in ("counts", "means")

    def phases(self, public: Public) -> tuple[Phase, ...]:
        """A sum of means, then letters of item factors and biases."""
        alone = self.finish == "local"
        space: Space = "dense" if self.covered else "item"
        sums = Disclosure(self._prior_tables(public, "sums"), ("mean", "groups", *(("people",) * self.covered)))
        means = Phase("means", sums, repeat=1, receives=Disclosure(), returns=alone)
        width = self.factors + 1 + self.counted
        error = () if self.judge == "no" else ("error",)
        items = Disclosure((Table("items", space, public.items, width, self.precision),), error)
        first = Disclosure((*self._prior_tables(public, "prior"), MU))
        return (means,) if alone else (means, Phase("factors", items, "each", 1, receives=first, returns=True))

    @property
    def covered(self) -> bool:
        """Whether letters have a row for every item on offer."""
        return self.unrated != "zero" and self.finish != "local"

    def _prior_tables(self, public: Public, name: str) -> tuple[Table, ...]:
        return (Table(name, "dense", public.items, 2, self.precision),) if self.covered else ()

    def publishes(self, public: Public) -> Disclosure:
        """The global patterns, the item biases and the mean; groups alone need no more than the mean."""
        if self.finish == "local":
            return Disclosure((MU,))
        patterns = Table("patterns", "item", public.items, self.patterns, self.precision)
        b = Table("b", "item", public.items, 1, self.precision)
        return Disclosure((patterns, b, *self._prior_tables(public, "prior"), MU))

    def server_init(self, public: Public, rng: Rng) -> ServerState:
        """Nothing is known."""
        if self.finish == "local":
            return ServerState({"mu": np.zeros(1)})
        patterns = np.zeros((public.items, self.patterns), self.precision)
        prior = {"prior": np.zeros((public.items, 2), self.precision)} if self.covered else {}
        b = np.zeros(public.items, self.precision)
        return ServerState({"patterns": patterns, "b": b, **prior, "mu": np.zeros(1)})

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
            return state, self._means(call.public, rows)
        if why := unable(rows):
            raise DataError(why)
        local, sent = self._factorised(call, history, rows, rng)
        judged = {} if self.judge == "no" else {"error": self._own_error(call, rows, rng)}
        return {"W": local.W, "b": local.b_w}, Update({"items": self._letter(sent, call.public)}, judged)

    def _own_error(self, call: Call, history: History, rng: Rng) -> float:
        """What the group's own factorisation makes of a fifth of its ratings, held out."""
        chosen, stream = self._chosen(history), rng.stream(JUDGING)
        return held_out_error(history, _mu(call.model), chosen, call.public.people, stream)

    def _chosen(self, history: History) -> CnmfSettings:
        """The settings of this group: those it tuned, or everybody's."""
        return self.tuned.get(mark(history), self) if self.tuned else self

    def _factorise(self, history: History, call: Call, stream: Stream) -> LocalModel:
        chosen, mu = self._chosen(history), _mu(call.model)
        return factorise_group(history, mu, chosen, call.public.people, stream, self.factors)

    def _means(self, public: Public, rows: History) -> Update:
        """The mean rating of a group; for a prior also what it adds to every item."""
        able = not unable(rows)
        scalars = {"mean": float(rows.value.mean()) if able else 0.0, "groups": float(able)}
        if not self.covered:
            return Update(scalars=scalars)
        sums = summed(rows, public.items) if able else np.zeros((public.items, 2))
        every = SparseRows(np.arange(public.items, dtype=np.int32), sums.astype(self.precision))
        return Update({"sums": every}, {**scalars, "people": float(len(people_of(rows)) if able else 0)})

    def _factorised(
        self, call: Call, history: History, rows: History, rng: Rng
    ) -> tuple[LocalModel, LocalModel]:
        """What a group keeps, and what it sends: a factorisation of the shared `rows` of its history."""
        public, mu, stream = call.public, _mu(call.model), rng.stream(Purpose.INIT)
        if self.unrated == "decoys":
            prior = call.model["prior"].astype(np.float64)
            made = with_decoys(rows, people_of(history), public, prior, mu, rng.stream(DECOYS))
            sent = factorise_group(made, mu, self, public.people, stream)
            return refitted(sent, history, mu, self, public.items), sent
        local = self._factorise(rows, call, stream)
        if self.unrated == "prior":
            return local, filled(local, public, call.model["prior"].astype(np.float64))
        return local, local

    def _letter(self, local: LocalModel, public: Public) -> SparseRows:
        """H, an item's bias and perhaps its count; where unrated items are covered, of every item."""
        bias = local.mean_residual if self.bias == "means" else local.b_h
        columns = [local.H, bias[:, None]]
        if self.clip is not None:
            columns = [np.clip(column, -self.clip, self.clip) for column in columns]
        if self.counted:
            columns.append(local.counts[:, None])
        values = np.hstack(columns).astype(self.precision)
        if not self.covered:
            return SparseRows(local.items, values)
        every = np.zeros((public.items, values.shape[1]), self.precision)
        every[local.items] = values
        return SparseRows(np.arange(public.items, dtype=np.int32), every)

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Every rating that speaks in a letter or in the prior's sum, even where a cover hides which do."""
        return open_rows(history, rng) & (phase.name == "factors" or self.covered)

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Letters without an item, with a negative factor or count, or beyond the bound."""
        values = update.tables["items"].values
        H = values[:, : self.factors]
        if self.judge == "leave-out" and update.scalars["error"] > self.worst:
            error = update.scalars["error"]
            return f"a group's own error must be at most {self.worst:g}, but it is {error:.3g}; it joins later."
        if self.judge != "no" and update.scalars["error"] < 0:
            return f"a group's own error must be 0 or above, but it is {update.scalars['error']:g}."
        if why := too_large(values):
            return why
        if not H.any():
            return "a group must send factors of at least one item it has rated, but sent none."
        if H.min() < 0:
            return f"the factors of a group must not be negative, but one is {H.min():g}."
        if self.clip is not None and np.abs(values[:, : self.factors + 1]).max() > self.clip:
            largest = np.abs(values[:, : self.factors + 1]).max()
            return f"factors and biases must be at most {self.clip:g}, but one is {largest:g}."
        if self.counted and values[values.any(axis=1), -1].min() < 1:
            return f"an item must be sent with at least 1 rating, but one has {values[:, -1].min():g}."
        return None

    def server_step(
        self, phase: str, server: ServerState, inbox: Total | Letters
    ) -> tuple[ServerState, Answers]:
        """Equation 14; then the joint factorisation of all letters, and to each group its part."""
        if phase == "means":
            assert isinstance(inbox, Total)
            sums = inbox.update.scalars
            model = {**server.model, "mu": np.array([sums["mean"] / max(1.0, sums["groups"])])}
            if self.covered:
                total = inbox.update.tables["sums"].values
                model["prior"] = prior_of(total, _mu(model), sums["people"]).astype(self.precision)
            return ServerState(model), {}
        assert isinstance(inbox, Letters)
        letters = {client: self._read(update) for client, update in sorted(inbox.updates.items())}
        items = len(server.model["b"])
        shrink = self.ridge_bias if self.bias == "means" else 0.0
        b, seen = combine_biases(letters.values(), items, self.bias == "all", shrink)
        patterns, parts = joint_patterns(letters, items, self.patterns, self.joint_epochs)
        answers: Answers = {client: {"M": part} for client, part in parts.items()}
        if self.finish == "ridge":
            patterns, answers = aligned(patterns, parts, seen), {}
        model = {**server.model, "patterns": patterns, "b": b}
        return ServerState(
            {name: _as(values, server.model[name].dtype) for name, values in model.items()}
        ), answers

    def _read(self, update: Update) -> Letter:
        """A letter, with the weight its group's own error gives it."""
        weight = 1.0 / max(update.scalars["error"], SURE) if self.judge == "weigh" else 1.0
        return Letter.of(update.tables["items"], self.factors, self.counted, weight)

    def client_ready(self, call: Call, state: ClientState, history: History, rng: Rng) -> ClientState:
        """Equation 18; a group whose letter was left out joins like someone who was not there."""
        if self.finish == "local" and not unable(history):
            stream = rng.stream(Purpose.INIT)  # of the round in which others send: their model, to the bit
            local = self._factorise(history, call, stream)
            return {"W": local.W, "b": local.b_w, **local.everywhere(call.public.items)}
        if self.finish == "distil" and call.answer is not None:
            return {"W": state["W"] @ call.answer["M"].T.astype(np.float64), "b": state["b"]}
        return self.client_fold_in(call, history, rng)

    def client_fold_in(self, call: Call, history: History, rng: Rng) -> ClientState:
        """Non-negative regression of the own ratings on the global patterns (section 5), or the ridge one."""
        items, people = call.public.items, call.public.people
        nothing = {"H": np.zeros((items, self.factors)), "b_h": np.zeros(items)}
        kept = nothing if self.finish == "local" else {}
        patterns, b, mu = _predictors(call.model, kept)
        if self.finish == "ridge":
            W, b_w = solve_ridge(history, patterns, b + mu, self.ridge, self.ridge_bias, people)
        else:
            W, b_w = join(history, patterns, b, mu, self.rates, people)
        return {"W": W, "b": b_w, **kept}

    def client_score(self, model: Arrays, state: ClientState, history: History) -> Floats:
        """Equation 19 for all items: (people, items)."""
        patterns, b, mu = _predictors(model, state)
        scores: Floats = state["W"] @ patterns.T + (state["b"][:, None] + b + mu)
        return scores

    def client_predict(self, model: Arrays, state: ClientState, queries: NDArray[Any]) -> Floats:
        """Equation 19 for pairs of a person of the group and an item."""
        person, item = queries.T
        patterns, b, mu = _predictors(model, state)
        values: Floats = np.einsum("nf,nf->n", state["W"][person], patterns[item])
        values += state["b"][person] + b[item] + mu
        return values


def _mu(model: Arrays) -> float:
    return float(model["mu"].reshape(-1)[0])


def _predictors(model: Arrays, state: ClientState) -> tuple[Floats, Floats, float]:
    """Item patterns, biases and mean in double precision: the server's, or those a group alone keeps."""
    if "H" in state:
        return state["H"], state["b_h"], _mu(model)
    return model["patterns"].astype(np.float64), model["b"].astype(np.float64).reshape(-1), _mu(model)


def _as(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    return np.ascontiguousarray(values, dtype)
