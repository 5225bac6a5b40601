"""Rounds of a recommender in Flower's simulation; run by the interpreter of its own environment.

    python flower_round.py FOLDER WORKERS

The server asks and adds by Flower's messages, without a strategy on top: the least Flower can take.
"""

import sys
import time
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MessageType, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

from benchmarks.rivals.process_tree import cpu_seconds
from benchmarks.rivals.recommender_clients import read_world, write_result


def client_app(folder: Path) -> ClientApp:
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        world, client = read_world(folder), int(context.node_config["partition-id"])
        content, round = message.content["model"], int(message.metadata.group_id)
        sent = world.update(content["Q"].numpy(), client, round)
        return Message(RecordDict({"sent": ArrayRecord({"items": Array(sent)})}), reply_to=message)

    return app


def server_app(folder: Path) -> ServerApp:
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        world = read_world(folder)
        server, before = world.first(), 0.0
        while len(list(grid.get_node_ids())) < world.info.clients:
            time.sleep(0.1)
        for round in range(world.rounds):
            if round == 1:
                before = cpu_seconds()
            content = RecordDict({"model": ArrayRecord({"Q": Array(server.model["Q"])})})
            asked = [
                Message(content, node, MessageType.TRAIN, group_id=str(round)) for node in grid.get_node_ids()
            ]
            replies = list(grid.send_and_receive(asked))
            assert len(replies) == world.info.clients
            total = np.sum([reply.content["sent"]["items"].numpy() for reply in replies], axis=0)
            server = world.step(server, total)
        write_result(folder, server.model["Q"], cpu_seconds() - before)

    return app


def main(folder: Path, workers: int) -> None:
    run_simulation(
        server_app(folder),
        client_app(folder),
        read_world(folder).info.clients,
        backend_config={"init_args": {"num_cpus": workers}, "client_resources": {"num_cpus": 1}},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
