"""The clients of a recommender as other engines call them, one by one; their training is Murmura's own step.

A folder holds world.npz (who holds which item) and settings.json; a rival writes result.npz, the last model,
and cost.json, the CPU seconds of its rounds after the first.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.fcf.fcf import FCFPaper
from murmura.core.arrays import Ints
from murmura.core.contract import FederationInfo, RoundContext, ServerState, Total
from murmura.core.interactions import Interactions
from murmura.core.population import Population
from murmura.core.rng import Rng, server_secret
from murmura.core.update import SparseRows, Update
from murmura.engine.plan import Plan

METHOD = FCFPaper(precision="float32")


@dataclass(frozen=True, eq=False)
class World:
    """Everything that every machine knows, and everybody's history."""

    info: FederationInfo
    people: Population
    rounds: int

    def update(self, Q: NDArray[Any], client: int, round: int) -> NDArray[Any]:
        """What a client sends: the gradients of all items on offer."""
        context = RoundContext(self.info, "train", round, {"Q": Q})
        history, rng = self.people.history(client, round), self.people.rng(client, round)
        state = METHOD.client_init(self.info, history, rng)
        _, sent = METHOD.client_step(context, state, history, rng)
        return sent.tables["items"].values

    def step(self, server: ServerState, summed: NDArray[Any]) -> ServerState:
        """The server's step on the sum of everybody's."""
        rows: Ints = np.arange(len(summed), dtype=np.int32)
        update = Update({"items": SparseRows(rows, summed.astype(np.float32))}, {})
        return METHOD.server_step("train", server, Total(update, self.info.clients))[0]

    def first(self) -> ServerState:
        """Before the first round."""
        return METHOD.server_init(self.info, Rng(server_secret(0)))


@cache
def read_world(folder: Path) -> World:
    settings = json.loads((folder / "settings.json").read_text())
    with np.load(folder / "world.npz") as held:
        plan = Plan(METHOD, Interactions.of(held["user"], held["item"]))
    return World(plan.info, plan.people, settings["rounds"])


def write_result(folder: Path, model: NDArray[Any], seconds: float) -> None:
    np.savez(folder / "result.npz", Q=model)
    (folder / "cost.json").write_text(json.dumps(seconds))
