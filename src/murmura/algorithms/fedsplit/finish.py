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
from murmura.core.disclosure import Disclosure
from murmura.core.federation import (
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
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import settings
from murmura.core.update import Arrays


@settings
class FedSplitFinish(FedSplitItemBias):
    """FedSPLIT with another way from the exchange to predictions, or without an exchange of factors."""

    finish: Literal["distil", "ridge", "local"] = "distil"
    ridge: Annotated[float, Field(gt=0)] = 6.0  # of the user factors, by `finish="ridge"`

    def phases(self, public: Public) -> tuple[Phase, ...]:
        """As published; groups alone stop after the means."""
        means, *letters = super().phases(public)
        return (replace(means, returns=True),) if self.finish == "local" else (means, *letters)

    def publishes(self, public: Public) -> Disclosure:
        """As published; groups alone need no more than the mean."""
        return Disclosure((MU,)) if self.finish == "local" else super().publishes(public)

    def server_init(self, public: Public, rng: Rng) -> ServerState:
        """Nothing is known."""
        return ServerState({"mu": np.zeros(1)}) if self.finish == "local" else super().server_init(public, rng)

    def server_step(
        self, phase: str, server: ServerState, inbox: Total | Letters
    ) -> tuple[ServerState, Answers]:
        """As published; for a ridge the patterns are turned to the axes of what was sent, without answers."""
        state, answers = super().server_step(phase, server, inbox)
        if phase == "means" or self.finish != "ridge":
            return state, answers
        assert isinstance(inbox, Letters)
        _, seen = self.biases(self.read_all(inbox).values(), len(state.model["b"]))
        axes = aligned(state.model["patterns"], {client: one["M"] for client, one in answers.items()}, seen)
        return ServerState({**state.model, "patterns": axes.astype(self.precision)}), {}

    def client_ready(self, call: Call, state: ClientState, history: History, rng: Rng) -> ClientState:
        """As published, or the ridge regression; groups alone factorise all their ratings."""
        if self.finish == "distil":
            return super().client_ready(call, state, history, rng)
        if self.finish == "ridge" or unable(history):
            return self.client_fold_in(call, history, rng)
        stream = rng.stream(Purpose.INIT)  # of the round in which others send: their model, to the bit
        local = self.factorise(call, history, stream)
        return {"W": local.W, "b": local.b_w, **local.everywhere(call.public.items)}

    def client_fold_in(self, call: Call, history: History, rng: Rng) -> ClientState:
        """As published, or the ridge regression; from groups alone a newcomer learns the mean."""
        if self.finish == "distil":
            return super().client_fold_in(call, history, rng)
        items, people = call.public.items, call.public.people
        if self.finish == "ridge":
            patterns, b, mu = self.predictors(call.model, {})
            W, b_w = solve_ridge(history, patterns, b + mu, self.ridge, self.ridge_bias, people)
            return {"W": W, "b": b_w}
        H, b_h = np.zeros((items, self.factors)), np.zeros(items)
        W, b_w = join(history, H, b_h, mu_of(call.model), self.rates, people)
        return {"W": W, "b": b_w, "H": H, "b_h": b_h}

    def predictors(self, model: Arrays, state: ClientState) -> tuple[Floats, Floats, float]:
        """The server's patterns and biases, or those a group alone keeps."""
        if "H" in state:
            return state["H"], state["b_h"], mu_of(model)
        return super().predictors(model, state)
