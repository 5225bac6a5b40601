"""Flower's simulation of FedAvg; run by the interpreter of its own environment, which has flwr and ray.

    python flower.py FOLDER WORKERS

FOLDER holds settings.json, clients.npz (images, labels and who holds them) and model.npz, the first parameters;
result.npz, the last parameters, and seconds.json, the wall seconds of every round, are written beside them.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

from murmura.core.interactions import Classification
from murmura.lab.classification.classifier import descend
from murmura.lab.classification.classifier_layout import ClassifierLayout


def client_app(folder: Path, settings: dict[str, Any]) -> ClientApp:
    """Clients that train as Murmura's do, so that engines are compared and nothing else."""
    app = ClientApp()
    (shape, classes), filters, *others = settings["layout"]
    layout = ClassifierLayout(Classification(tuple(shape), classes), tuple(filters), *others)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        with np.load(folder / "clients.npz") as held:
            own = held["owner"] == context.node_config["partition-id"]
            inputs, label = held["inputs"][own], held["label"][own]
        model = {name: array.numpy() for name, array in message.content["arrays"].items()}
        batches = [np.arange(len(label))] * settings["local_epochs"]
        moved = descend(layout, model, inputs, label, batches, settings["learning_rate"])
        arrays = ArrayRecord({name: torch.from_numpy(table) for name, table in moved.items()})
        metrics = MetricRecord({"num-examples": len(label)})
        return Message(content=RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return app


def server_app(folder: Path, settings: dict[str, Any]) -> ServerApp:
    """FedAvg with all clients in every round."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        with np.load(folder / "model.npz") as first:
            model = ArrayRecord({name: torch.from_numpy(first[name]) for name in first.files})
        times: list[float] = []
        strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=settings["clients"])
        # the server is asked for a metric before the first round and after each: this one is the time
        result = strategy.start(
            grid, model, settings["rounds"], evaluate_fn=lambda *_: times.append(time.perf_counter())
        )
        np.savez(folder / "result.npz", **{name: array.numpy() for name, array in result.arrays.items()})
        (folder / "seconds.json").write_text(json.dumps(np.diff(times).tolist()))

    return app


def main(folder: Path, workers: int) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    run_simulation(
        server_app(folder, settings),
        client_app(folder, settings),
        settings["clients"],
        backend_config={"init_args": {"num_cpus": workers}, "client_resources": {"num_cpus": 1}},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
