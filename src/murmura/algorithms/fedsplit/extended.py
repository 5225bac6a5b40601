"""FedSPLIT as the presets run it: the paper's method with every option of ours, all off by default.

Each option is a subclass of the paper's method: what an item's bias is averaged over, how a group comes to its
predictions, which updates count; `cover` has what an update says of items its group has not rated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np

from murmura.algorithms.fedsplit.cover import FedSplitCover
from murmura.algorithms.fedsplit.fedsplit import MU, FedSplit, mu_of
from murmura.algorithms.fedsplit.local import LocalModel, held_out_error, join, solve_ridge, unable
from murmura.algorithms.fedsplit.server_side import SURE, GroupFactors, aligned, combine_biases
from murmura.core.arrays import Floats
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
)
from murmura.core.message import MessageSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Positive, settings
from murmura.core.update import Arrays, Update

JUDGING = Purpose.OWN + 2  # the stream of the ratings a group holds out to judge itself


@settings
class FedSplitItemBias(FedSplit):
    """FedSPLIT with another average of the item biases: the reading the paper leaves open, and ours.

    all      all groups, as printed: one that never saw the item counts as a zero
    seen     the groups that sent the item
    counts   these, weighed by how many ratings of it each has; the update says how many
    means    as counts, of the mean residual of its ratings in place of b_H, shrunk by `ridge_bias` ratings
    """

    bias: Literal["all", "seen", "counts", "means"] = "all"  # how the item biases of groups are averaged
    ridge_bias: Positive = 5.0  # of item means, by `bias="means"`; of the user biases, by `finish="ridge"`

    @property
    def counted(self) -> bool:
        """Whether updates say how many ratings of an item there are."""
        return self.bias in ("counts", "means")

    @property
    def width(self) -> int:
        """Factors, bias and perhaps the count."""
        return super().width + self.counted

    def columns(self, local: LocalModel) -> list[Floats]:
        """H, the bias and perhaps the count of every rated item."""
        H, bias = super().columns(local)
        if self.bias == "means":
            bias = local.mean_residual[:, None]
        return [H, bias, local.counts[:, None]] if self.counted else [H, bias]

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Also updates with an item without a rating."""
        if why := super().server_refuses(phase, update):
            return why
        values = update.tables["items"].values
        if self.counted and values[values.any(axis=1), -1].min() < 1:
            return f"an item must be sent with at least 1 rating, but one has {values[:, -1].min():g}."
        return None

    def read(self, update: Update) -> GroupFactors:
        """one update, perhaps with counts."""
        return GroupFactors.of(update.tables["items"], self.factors, self.counted)

    def biases(self, updates: Iterable[GroupFactors], items: int) -> tuple[Floats, Floats]:
        """The bias of every item; and the ratings, or groups, each has."""
        shrink = self.ridge_bias if self.bias == "means" else 0.0
        return combine_biases(updates, items, self.bias == "all", shrink)


@settings
class FedSplitFinish(FedSplitItemBias):
    """FedSPLIT with another way from the exchange to predictions, or without an exchange of factors.

    distil   W M', as printed (equation 18)
    ridge    ours: everyone's factors and bias are solved anew against the patterns; nobody needs an answer
    local    the groups' own rows of table 3: only the mean is exchanged, everybody keeps her own factorisation
    """

    finish: Literal["distil", "ridge", "local"] = "distil"  # how predictions are made of what was exchanged
    ridge: Positive = 6.0  # of the user factors, by `finish="ridge"`

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """As published; groups alone stop after the means."""
        means, *updates = super().phases(info)
        return (replace(means, returns=True),) if self.finish == "local" else (means, *updates)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """As published; groups alone need no more than the mean."""
        return MessageSpec((MU,)) if self.finish == "local" else super().publishes(info)

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        return ServerState({"mu": np.zeros(1)}) if self.finish == "local" else super().server_init(info, rng)

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """As published; for a ridge the patterns are turned to the axes of what was sent, without answers."""
        state, answers = super().server_step(phase, server, received)
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


@settings
class FedSplitJudge(FedSplit):
    """FedSPLIT whose updates say how well their group predicts ratings it held out itself. Ours.

    weigh       an update counts by the inverse of that error
    leave-out   updates whose error is above `worst` are left out; their groups join after training
    """

    judge: Literal["no", "weigh", "leave-out"] = "no"  # whether updates count by how well their group predicts
    worst: Positive = 1.5  # the mean squared error beyond which an update is left out

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """As published; an update also has its group's error."""
        means, *updates = super().phases(info)
        error = () if self.judge == "no" else ("error",)
        return means, *(replace(one, sends=MessageSpec(one.sends.tables, error)) for one in updates)

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """As published; with the error of the group's own factorisation on a fifth of its shared ratings."""
        state, update = super().client_step(context, state, history, rng)
        if self.judge == "no" or context.phase == "means":
            return state, update
        rows, mu = history.rows(history.open_rows(rng)), mu_of(context.model)
        error = held_out_error(rows, mu, self.chosen(rows), context.info.people, rng.stream(JUDGING))
        return state, Update(update.tables, {"error": error})

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Also updates of groups that predict badly, or say what cannot be."""
        if self.judge != "no":
            error = update.scalars["error"]
            if self.judge == "leave-out" and error > self.worst:
                most = f"{self.worst:g}"
                return f"a group's own error must be at most {most}, but it is {error:.3g}; it joins later."
            if error < 0:
                return f"a group's own error must be 0 or above, but it is {error:g}."
        return super().server_refuses(phase, update)

    def read(self, update: Update) -> GroupFactors:
        """An update, with the weight its group's own error gives it."""
        factors = super().read(update)
        return (
            replace(factors, weight=1.0 / max(update.scalars["error"], SURE))
            if self.judge == "weigh"
            else factors
        )


@settings
class FedSplitExtended(FedSplitCover, FedSplitJudge, FedSplitFinish):
    """FedSPLIT with another item bias, finish, cover of unrated items, or judgement of updates."""

    @property
    def covered(self) -> bool:
        """Groups alone send no update that could be covered."""
        return super().covered and self.finish != "local"
