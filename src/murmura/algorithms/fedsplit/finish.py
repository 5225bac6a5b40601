"""How a group of FedSPLIT comes to its predictions.

distil   W M', as printed (equation 18)
ridge    ours: everyone's factors and bias are solved anew against the patterns; nobody needs an answer
local    the groups' own rows of table 3: only the mean is exchanged, everybody keeps her own factorisation
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from murmura.algorithms.fedsplit.fedsplit import MU, mu_of
from murmura.algorithms.fedsplit.item_bias import FedSplitItemBias
from murmura.algorithms.fedsplit.local import join, solve_ridge, unable
from murmura.algorithms.fedsplit.server import aligned
from murmura.core.arrays import Floats
from murmura.core.contract import (
    Answers,
    ClientState,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    RoundContext,
    ServerState,
    Total,
)
from murmura.core.message import MessageSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import settings
from murmura.core.update import Arrays


@settings
class FedSplitFinish(FedSplitItemBias):
    """FedSPLIT with another way from the exchange to predictions, or without an exchange of factors."""

    finish: Literal["distil", "ridge", "local"] = "distil"
    ridge: Annotated[float, Field(gt=0)] = 6.0  # of the user factors, by `finish="ridge"`

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

    def server_step(
        self, phase: str, server: ServerState, received: Total | IndividualUpdates
    ) -> tuple[ServerState, Answers]:
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
