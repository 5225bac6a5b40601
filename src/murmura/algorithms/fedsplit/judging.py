"""FedSPLIT letters that say how well their group predicts ratings it held out itself. Ours.

weigh       a letter counts by the inverse of that error
leave-out   letters whose error is above `worst` are left out; their groups join after training
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from murmura.algorithms.fedsplit.fedsplit import FedSplit, mu_of
from murmura.algorithms.fedsplit.local import held_out_error, open_rows
from murmura.algorithms.fedsplit.server import SURE, Letter
from murmura.core.disclosure import Disclosure
from murmura.core.federation import Call, ClientState, History, Phase, Public
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import settings
from murmura.core.update import Update

JUDGING = Purpose.OWN + 2  # the stream of the ratings a group holds out to judge itself


@settings
class FedSplitJudge(FedSplit):
    """FedSPLIT whose letters are weighed or left out by the group's own error."""

    judge: Literal["no", "weigh", "leave-out"] = "no"
    worst: Annotated[float, Field(gt=0)] = 1.5  # the mean squared error beyond which a letter is left out

    def phases(self, public: Public) -> tuple[Phase, ...]:
        """As published; a letter also has its group's error."""
        means, *letters = super().phases(public)
        error = () if self.judge == "no" else ("error",)
        return means, *(replace(one, sends=Disclosure(one.sends.tables, error)) for one in letters)

    def client_step(
        self, call: Call, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        """As published; with the error of the group's own factorisation on a fifth of its shared ratings."""
        state, update = super().client_step(call, state, history, rng)
        if self.judge == "no" or call.phase == "means":
            return state, update
        rows, mu = history.rows(open_rows(history, rng)), mu_of(call.model)
        error = held_out_error(rows, mu, self.chosen(rows), call.public.people, rng.stream(JUDGING))
        return state, Update(update.tables, {"error": error})

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Also letters of groups that predict badly, or say what cannot be."""
        if self.judge != "no":
            error = update.scalars["error"]
            if self.judge == "leave-out" and error > self.worst:
                most = f"{self.worst:g}"
                return f"a group's own error must be at most {most}, but it is {error:.3g}; it joins later."
            if error < 0:
                return f"a group's own error must be 0 or above, but it is {error:g}."
        return super().server_refuses(phase, update)

    def read(self, update: Update) -> Letter:
        """A letter, with the weight its group's own error gives it."""
        letter = super().read(update)
        return (
            replace(letter, weight=1.0 / max(update.scalars["error"], SURE))
            if self.judge == "weigh"
            else letter
        )
