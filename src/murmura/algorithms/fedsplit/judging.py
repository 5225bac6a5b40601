"""FedSPLIT updates that say how well their group predicts ratings it held out itself. Ours.

weigh       an update counts by the inverse of that error
leave-out   updates whose error is above `worst` are left out; their groups join after training
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from murmura.algorithms.fedsplit.fedsplit import FedSplit, mu_of
from murmura.algorithms.fedsplit.local import held_out_error, open_rows
from murmura.algorithms.fedsplit.server import SURE, GroupFactors
from murmura.core.contract import ClientState, FederationInfo, History, Phase, RoundContext
from murmura.core.message import MessageSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import settings
from murmura.core.update import Update

JUDGING = Purpose.OWN + 2  # the stream of the ratings a group holds out to judge itself


@settings
class FedSplitJudge(FedSplit):
    """FedSPLIT whose updates are weighed or left out by the group's own error."""

    judge: Literal["no", "weigh", "leave-out"] = "no"
    worst: Annotated[float, Field(gt=0)] = 1.5  # the mean squared error beyond which an update is left out

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """As published; an update also has its group's error."""
        means, *updates = super().phases(info)
        error = () if self.judge == "no" else ("error",)
        return means, *(replace(one, sends=MessageSpec(one.sends.tables, error)) for one in updates)

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        """As published; with the error of the group's own factorisation on a fifth of its shared ratings."""
        state, update = super().client_step(context, state, history, rng)
        if self.judge == "no" or context.phase == "means":
            return state, update
        rows, mu = history.rows(open_rows(history, rng)), mu_of(context.model)
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
