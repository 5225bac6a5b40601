"""FedSPLIT as the presets run it: the paper's method with every option of ours, all off by default.

bias      what an item's bias is averaged over: the reading the paper leaves open, and ours
    all         all groups, as printed: one that never saw the item counts as a zero
    seen        the groups that sent the item
    counts      these, weighed by how many ratings of it each has; the update says how many
    means       as counts, of the mean residual of its ratings in place of b_H, shrunk by `ridge_bias` ratings
finish    how a group comes to its predictions
    distil      W M', as printed (equation 18)
    ridge       ours: everyone's factors and bias are solved anew against the patterns; nobody needs an answer
    local       the groups' own rows of table 3: only the mean is exchanged, everybody keeps her factorisation
judge     ours: updates say how well their group predicts ratings it held out itself
    weigh       an update counts by the inverse of that error
    leave-out   updates whose error is above `worst` are left out; their groups join after training
unrated   ours: what an update says of items its group has not rated; `cover` has the methods
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from murmura.algorithms.fedsplit.cover import (
    fill_unrated,
    prior_of,
    prior_sums,
    refit_user_factors,
    with_decoys,
)
from murmura.algorithms.fedsplit.fedsplit import MU, FedSplit, mu_of
from murmura.algorithms.fedsplit.groups import (
    SURE,
    GroupFactors,
    LocalModel,
    aligned,
    combine_biases,
    factorise_group,
    held_out_error,
    join,
    solve_ridge,
    unable,
)
from murmura.core.arrays import Bools, Floats
from murmura.core.contract import (
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
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Positive, settings
from murmura.core.update import Arrays, SparseRows, Update

Unrated = Literal["zero", "prior", "decoys"]
DECOYS = Purpose.OWN + 1  # the stream of made-up ratings
JUDGING = Purpose.OWN + 2  # the stream of the ratings a group holds out to judge itself


@settings
class FedSplitExtended(FedSplit):
    """FedSPLIT with another item bias, finish, cover of unrated items, or judgement of updates."""

    bias: Literal["all", "seen", "counts", "means"] = "all"  # how the item biases of groups are averaged
    ridge_bias: Positive = 5.0  # of item means, by `bias="means"`; of the user biases, by `finish="ridge"`
    finish: Literal["distil", "ridge", "local"] = "distil"  # how predictions are made of what was exchanged
    ridge: Positive = 6.0  # of the user factors, by `finish="ridge"`
    judge: Literal["no", "weigh", "leave-out"] = "no"  # whether updates count by how well their group predicts
    worst: Positive = 1.5  # the mean squared error beyond which an update is left out
    unrated: Unrated = "zero"  # what an update says of items the group has not rated
    clip: Annotated[float, Field(gt=0)] | None = None  # no sent factor or bias is larger; the server refuses it

    @property
    def counted(self) -> bool:
        """Whether updates say how many ratings of an item there are."""
        return self.bias in ("counts", "means")

    @property
    def covered(self) -> bool:
        """Whether updates have a row for every item on offer; groups alone send no update."""
        return self.unrated != "zero" and self.finish != "local"

    @property
    def width(self) -> int:
        """Factors, bias and perhaps the count."""
        return super().width + self.counted

    def _prior_table(self, info: FederationInfo, name: str) -> TableSpec:
        return TableSpec(name, "dense", info.items, 2, self.precision)

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """As published; an update may have its group's error, and a row for every item after a sum of priors.

        Groups alone stop after the means.
        """
        means, updates = super().phases(info)
        if self.finish == "local":
            return (replace(means, returns=True),)
        error = () if self.judge == "no" else ("error",)
        if not self.covered:
            return means, replace(updates, sends=MessageSpec(updates.sends.tables, error))
        sums = MessageSpec((self._prior_table(info, "sums"),), (*means.sends.scalars, "people"))
        (items,) = updates.sends.tables
        sends = MessageSpec((replace(items, space="dense"),), error)
        assert updates.receives is not None
        first = MessageSpec((self._prior_table(info, "prior"), *updates.receives.tables))
        return replace(means, sends=sums), replace(updates, sends=sends, receives=first)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """As published; covered updates need the prior, and groups alone no more than the mean."""
        if self.finish == "local":
            return MessageSpec((MU,))
        *tables, mu = super().publishes(info).tables
        prior = (self._prior_table(info, "prior"),) if self.covered else ()
        return MessageSpec((*tables, *prior, mu))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        if self.finish == "local":
            return ServerState({"mu": np.zeros(1)})
        prior = {"prior": np.zeros((info.items, 2), self.precision)} if self.covered else {}
        return ServerState({**super().server_init(info, rng).model, **prior})

    def means(self, info: FederationInfo, rows: History) -> Update:
        """The mean rating of a group; for a prior also what it adds to every item."""
        update = super().means(info, rows)
        if not self.covered:
            return update
        able = not unable(rows)
        sums = prior_sums(rows, info.items) if able else np.zeros((info.items, 2))
        every = SparseRows(np.arange(info.items, dtype=np.int32), sums.astype(self.precision))
        people = float(len(rows.people) if able else 0)
        return Update({"sums": every}, {**update.scalars, "people": people})

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """As published; with the error of the group's own factorisation on a fifth of its shared ratings."""
        state, update = super().client_step(context, state, history, rng)
        if self.judge == "no" or context.phase == "means":
            return state, update
        rows, mu = history.rows(history.open_rows(rng)), mu_of(context.model)
        error = held_out_error(rows, mu, self.chosen(rows), context.info.people, rng.stream(JUDGING))
        return state, Update(update.tables, {"error": error})

    def factorised(
        self, context: RoundContext, history: History, rows: History, rng: Rng
    ) -> tuple[LocalModel, LocalModel]:
        """What a group keeps, and what it sends of every item on offer."""
        if not self.covered:
            return super().factorised(context, history, rows, rng)
        info, mu, prior = context.info, mu_of(context.model), context.model["prior"].astype(np.float64)
        if self.unrated == "prior":
            local, _ = super().factorised(context, history, rows, rng)
            return local, fill_unrated(local, info, prior)
        made = with_decoys(rows, history.people, info, prior, mu, rng.stream(DECOYS))
        sent = factorise_group(made, mu, self, info.people, rng.stream(Purpose.INIT))
        return refit_user_factors(sent, history, mu, self, info.items), sent

    def columns(self, local: LocalModel) -> list[Floats]:
        """H and the bias of every rated item, within the bound, and perhaps the count."""
        H, bias = super().columns(local)
        if self.bias == "means":
            bias = local.mean_residual[:, None]
        if self.clip is not None:
            H, bias = np.clip(H, -self.clip, self.clip), np.clip(bias, -self.clip, self.clip)
        return [H, bias, local.counts[:, None]] if self.counted else [H, bias]

    def sent_rows(self, local: LocalModel, info: FederationInfo) -> SparseRows:
        """What a group sends; where unrated items are covered, of every item."""
        rows = super().sent_rows(local, info)
        if not self.covered:
            return rows
        every = np.zeros((info.items, rows.values.shape[1]), self.precision)
        every[rows.index] = rows.values
        return SparseRows(np.arange(info.items, dtype=np.int32), every)

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Every rating that speaks in an update or in the prior's sum, even where a cover hides which do."""
        return history.open_rows(rng) if self.covered else super().client_discloses(phase, update, history, rng)

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Also updates of groups that predict badly, with an item without a rating, or beyond the bound."""
        error = update.scalars["error"] if self.judge != "no" else 0.0
        if self.judge == "leave-out" and error > self.worst:
            most = f"{self.worst:g}"
            return f"a group's own error must be at most {most}, but it is {error:.3g}; it joins later."
        if error < 0:
            return f"a group's own error must be 0 or above, but it is {error:g}."
        if why := super().server_refuses(phase, update):
            return why
        values = update.tables["items"].values
        if self.counted and values[values.any(axis=1), -1].min() < 1:
            return f"an item must be sent with at least 1 rating, but one has {values[:, -1].min():g}."
        largest = np.abs(values[:, : self.factors + 1]).max()
        if self.clip is not None and largest > self.clip:
            return f"factors and biases must be at most {self.clip:g}, but one is {largest:g}."
        return None

    def read(self, update: Update) -> GroupFactors:
        """An update, perhaps with counts, and with the weight its group's own error gives it."""
        weight = 1.0 / max(update.scalars["error"], SURE) if self.judge == "weigh" else 1.0
        return GroupFactors.of(update.tables["items"], self.factors, self.counted, weight)

    def biases(self, updates: Iterable[GroupFactors], items: int) -> tuple[Floats, Floats]:
        """The bias of every item; and the ratings, or groups, each has."""
        shrink = self.ridge_bias if self.bias == "means" else 0.0
        return combine_biases(updates, items, self.bias == "all", shrink)

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """As published; after the means there may be a prior.

        For a ridge the patterns are turned to the axes of what was sent, without answers.
        """
        state, answers = super().server_step(phase, server, received)
        if phase == "means" and self.covered:
            assert isinstance(received, Total)
            total, people = received.update.tables["sums"].values, received.update.scalars["people"]
            prior = prior_of(total, mu_of(state.model), people).astype(self.precision)
            return ServerState({**state.model, "prior": prior}), answers
        if phase == "means" or self.finish != "ridge":
            return state, answers
        assert isinstance(received, IndividualUpdates)
        _, seen = self.biases(self.read_all(received).values(), len(state.model["b"]))
        axes = aligned(state.model["patterns"], {client: one["M"] for client, one in answers.items()}, seen)
        return ServerState({**state.model, "patterns": axes.astype(self.precision)}), {}

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """As published, or the ridge regression; groups alone factorise all their ratings."""
        if self.finish == "distil":
            return super().client_ready(context, state, history, rng)
        if self.finish == "ridge" or unable(history):
            return self.client_fold_in(context, history, rng)
        stream = rng.stream(Purpose.INIT)  # of the round in which others send: their model, to the bit
        local = self.factorise(context, history, stream)
        return {"W": local.W, "b": local.b_w, **local.everywhere(context.info.items)}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """As published, or the ridge regression; from groups alone a newcomer learns the mean."""
        if self.finish == "distil":
            return super().client_fold_in(context, history, rng)
        items, people = context.info.items, context.info.people
        if self.finish == "ridge":
            patterns, b, mu = self.predictors(context.model, {})
            W, b_w = solve_ridge(history, patterns, b + mu, self.ridge, self.ridge_bias, people)
            return {"W": W, "b": b_w}
        H, b_h = np.zeros((items, self.factors)), np.zeros(items)
        W, b_w = join(history, H, b_h, mu_of(context.model), self.rates, people)
        return {"W": W, "b": b_w, "H": H, "b_h": b_h}

    def predictors(self, model: Arrays, state: ClientState) -> tuple[Floats, Floats, float]:
        """The server's patterns and biases, or those a group alone keeps."""
        if "H" in state:
            return state["H"], state["b_h"], mu_of(model)
        return super().predictors(model, state)
