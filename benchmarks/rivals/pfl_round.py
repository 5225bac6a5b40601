"""Rounds of a recommender in pfl-research's simulation; run by the interpreter of its own environment.

    python pfl_round.py FOLDER

One process, numpy statistics, no postprocessors: the least its SimulatedBackend can take.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import FederatedAlgorithm
from pfl.common_types import Population
from pfl.context import CentralContext
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.metrics import Metrics
from pfl.stats import MappedVectorStatistics

from benchmarks.rivals.recommender_clients import World, read_world, write_result


class ItemVectors:
    """The public model; it is handed to every user as it is."""

    def __init__(self, world: World) -> None:
        self.server = world.first()


class Recommender(FederatedAlgorithm):  # type: ignore[misc]
    """A user's own step, and the server's."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def get_next_central_contexts(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError

    def process_aggregated_statistics(self, context: Any, metrics: Any, model: Any, statistics: Any) -> Any:
        model.server = self.world.step(model.server, statistics["items"])
        return model, metrics

    def simulate_one_user(self, model: Any, user_dataset: Any, central_context: Any) -> Any:
        client, round = int(user_dataset.user_id), central_context.current_central_iteration
        sent = self.world.update(model.server.model["Q"], client, round)
        return MappedVectorStatistics({"items": sent}, weight=1), Metrics()


def main(folder: Path) -> None:
    world = read_world(folder)
    clients = world.info.clients
    turn = iter(range(clients * world.rounds))
    users = FederatedDataset(
        lambda user: Dataset((world.people.history(user, 0).item,), user_id=str(user)),
        lambda: next(turn) % clients,
    )
    backend, algorithm, model = SimulatedBackend(users, users), Recommender(world), ItemVectors(world)
    before = 0.0
    for round in range(world.rounds):
        if round == 1:
            before = time.process_time()
        context = CentralContext(round, False, clients, Population.TRAIN, None, None, seed=0)
        statistics, metrics = backend.gather_results(model, algorithm, central_context=context)
        algorithm.process_aggregated_statistics(context, metrics, model, statistics)
    write_result(folder, np.asarray(model.server.model["Q"]), time.process_time() - before)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
