"""Federated averaging of the thesis's MNIST network (1,663,370 parameters), on made-up images of its shape.

round     one round through the engine beside the same clients' local training alone
sums      the same, weighted by dataset size in two exchanges of sums
values    the same, weighted by dataset size that the server reads of each client
vmap      the local training one client after the other beside torch.func.vmap over all of them
flower    rounds on one worker beside Flower's simulation on one CPU; flower-2: two of each

Flower runs in an environment of its own and trains its clients by the same function. Its best round counts, as
does ours: what starts Ray, its actors and their imports is in its first one or before it, so in none.
"""

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import environments
from benchmarks.clocked import Clocked
from benchmarks.sides import Benchmark, Side, Work
from murmura.aggregation.weighted import weighted
from murmura.aggregation.weighting import Weighting
from murmura.core.contract import Algorithm, FederationInfo
from murmura.core.interactions import Interactions, SampleTable, Vocabulary
from murmura.core.rng import Rng, server_secret
from murmura.core.schedule import Schedule
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.classification.classifier_layout import ClassifierLayout
from murmura.lab.classification.fedavg import FederatedAveraging
from murmura.runtimes.inprocess import InProcess

EQUAL = (100,) * 10  # images of each client
UNEQUAL = tuple(range(55, 155, 10))  # as many in all
METHOD = FederatedAveraging()
LIMIT = 1.15  # of the clients' own training
ROUNDS = 3  # beside Flower
FLWR, RAY = "1.41.0", "2.55.1"
TOLERANCE = 1e-6  # a few roundings of parameters below 1; a round moves them by 1e-3 and more

Tables = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Averaged:
    """The parameters after the last round, and what a round took."""

    model: Tables
    seconds: float
    moved: float = 0.0  # the largest step of a parameter


def images(sizes: tuple[int, ...]) -> Interactions:
    """Clients with so many images each, in which one bright row tells the class."""
    rng, n = np.random.default_rng(0), sum(sizes)
    label = rng.integers(0, 10, n)
    shown = rng.integers(0, 100, (n, 28, 28)).astype(np.uint8)
    shown[np.arange(n), 2 * label + 4] += 150
    owner, place = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32), np.arange(n, dtype=np.int32)
    ids = Vocabulary(np.arange(len(sizes))), Vocabulary(np.arange(n))
    return Interactions(*ids, owner, place, label.astype(np.float64), samples=SampleTable(10, shown, place))


def first_model(data: Interactions) -> Tables:
    return dict(METHOD.server_init(FederationInfo.of(data), Rng(server_secret(0))).model)


def layout_of(data: Interactions) -> ClassifierLayout:
    return METHOD.layout(FederationInfo.of(data))


def held(data: Interactions, client: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The images and the labels of one client."""
    assert data.samples is not None
    own = data.user == client
    return data.samples.inputs(data.item[own]), data.value[own].astype(np.int32)


def by_size(sent: str) -> Algorithm:
    return weighted(METHOD, Weighting(criteria=("dataset_size",), criteria_sent=sent))  # type: ignore[arg-type]


def federate(method: Algorithm, data: Interactions, runtime: Clocked, rounds: int) -> Tables:
    """Rounds with all clients; the network's parameters, without what weighting adds."""
    schedule = Schedule(clients="all", rounds_per_epoch=1, epochs=rounds)
    fitted = fit(Plan(method, data, schedule), runtime=runtime)
    return {name: fitted.model[name] for name in first_model(data)}


def moved(model: Tables, data: Interactions) -> float:
    first = first_model(data)
    return max(float(np.abs(table - first[name]).max()) for name, table in model.items())


def engine(method: Algorithm, sizes: tuple[int, ...]) -> Side:
    """One round through plan, fit and runtime; the CPU seconds of the round."""

    def side() -> Work:
        data = images(sizes)

        def work() -> Averaged:
            clock = Clocked(InProcess())
            model = federate(method, data, clock, 1)
            return Averaged(model, sum(clock.cpu), moved(model, data))

        return work

    return side


def alone(sizes: tuple[int, ...]) -> Side:
    """The clients' local training one after the other; their average is not timed."""

    def side() -> Work:
        data = images(sizes)
        first, clients = first_model(data), [held(data, client) for client in range(len(sizes))]

        def work() -> Averaged:
            start = time.process_time()
            results = one_by_one(layout_of(data), first, clients)
            seconds = time.process_time() - start
            share = np.array(sizes) / sum(sizes)
            model = {name: sum(g * r[name] for g, r in zip(share, results)) for name in first}
            return Averaged(model, seconds, moved(model, data))

        return work

    return side


def one_by_one(layout: ClassifierLayout, model: Tables, clients: list[Any]) -> list[Tables]:
    from murmura.lab.classification.classifier import descend

    epochs, rate = METHOD.local_epochs, METHOD.learning_rate
    return [descend(layout, model, x, y, [np.arange(len(y))] * epochs, rate) for x, y in clients]


def all_at_once() -> Work:
    """The same local training, every operation done for all clients together."""
    data = images(EQUAL)
    first, clients = first_model(data), [held(data, client) for client in range(len(EQUAL))]
    inputs, label = (np.stack(part) for part in zip(*clients))

    def work() -> Averaged:
        start = time.process_time()
        results = side_by_side(layout_of(data), first, inputs, label)
        seconds = time.process_time() - start
        model = {name: table.mean(axis=0) for name, table in results.items()}
        return Averaged(model, seconds, moved(model, data))

    return work


def side_by_side(layout: ClassifierLayout, model: Tables, inputs: NDArray[Any], label: NDArray[Any]) -> Tables:
    """The parameters of each client: (clients, rows, width)."""
    import torch
    from torch.func import grad, vmap

    from murmura.lab.classification.classifier import loss
    from murmura.lab.neural.training_loop import one_thread

    with one_thread():
        n, params = len(inputs), {}
        for layer in layout.layers:
            for part, shape in (("kernel", (layer.units, *layer.inputs)), ("bias", (layer.units,))):
                name = f"{layer.name}_{part}"
                params[name] = torch.from_numpy(model[name]).reshape(shape).expand(n, *shape).clone()
        height, width, channels = layout.image
        shown = torch.from_numpy(inputs.astype(np.float32) / 255).reshape(n, -1, channels, height, width)
        wanted = torch.from_numpy(label.astype(np.int64))
        gradient = vmap(grad(lambda p, x, y: loss(layout, p, x, y)))
        for _ in range(METHOD.local_epochs):
            for name, slope in gradient(params, shown, wanted).items():
                params[name].sub_(slope, alpha=METHOD.learning_rate)
        return {name: p.reshape(n, *model[name].shape).numpy() for name, p in params.items()}


def rounds_on(workers: int) -> Side:
    """FedAvg as its preset has it; the wall seconds of the best round."""

    def side() -> Work:
        data, method = images(EQUAL), by_size("sums")

        def work() -> Averaged:
            clock = Clocked(InProcess(workers=workers))
            model = federate(method, data, clock, ROUNDS)
            return Averaged(model, min(clock.seconds), moved(model, data))

        return work

    return side


def flower(workers: int) -> Side:
    """The same rounds in Flower's simulation; its best."""

    def side() -> Work:
        python = environments.interpreter("flower", f"flwr[simulation]=={FLWR}", f"ray=={RAY}")
        data = images(EQUAL)
        return lambda: in_flower(python, data, workers)

    return side


def in_flower(python: Path, data: Interactions, workers: int) -> Averaged:
    """Hand the world over in a folder, and read what came of it."""
    assert data.samples is not None
    first, layout = first_model(data), layout_of(data)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        inputs, label = data.samples.inputs(data.item), data.value.astype(np.int32)
        np.savez(folder / "clients.npz", inputs=inputs, label=label, owner=data.user)
        np.savez(folder / "model.npz", **first)  # type: ignore[arg-type]
        (folder / "settings.json").write_text(
            json.dumps(
                {
                    "layout": layout,
                    "clients": data.n_users,
                    "rounds": ROUNDS,
                    "local_epochs": METHOD.local_epochs,
                    "learning_rate": METHOD.learning_rate,
                }
            )
        )
        script = Path(__file__).parent / "rivals" / "flower.py"
        # Ray gives its workers a low priority by default: on a machine with other work they would hardly run
        quiet = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        environments.run([str(python), str(script), made, str(workers)], environment=quiet)
        seconds = json.loads((folder / "seconds.json").read_text())
        assert len(seconds) == ROUNDS
        with np.load(folder / "result.npz") as result:
            model = {name: result[name] for name in first}
    return Averaged(model, min(seconds), moved(model, data))


def judge_noisy(mine: Averaged, other: Averaged) -> tuple[str, str]:
    """Sums in another order differ by a rounding; a maximum of pooling that it tips leads elsewhere."""
    return judge(mine, other, mine.moved / 100)


def judge(mine: Averaged, other: Averaged, tolerance: float = TOLERANCE) -> tuple[str, str]:
    assert mine.model.keys() == other.model.keys()
    gap = max(float(np.abs(table - other.model[name]).max()) for name, table in mine.model.items())
    assert gap <= tolerance, f"both sides learn the same parameters: they differ by {gap:.1e}"
    assert mine.moved > 100 * TOLERANCE, f"a network that moves by {mine.moved:.1e} has learned nothing"
    parameters = sum(table.size for table in mine.model.values())
    return f"{parameters:,} parameters equal to {gap:.0e}, moved by up to {mine.moved:.2g}", ""


def beside_local(title: str, method: Algorithm, sizes: tuple[int, ...]) -> Benchmark:
    return Benchmark(
        title=f"FedAvg, a round of 10 clients, {title} (at most {LIMIT:g} times their local training)",
        ours=engine(method, sizes),
        theirs=alone(sizes),
        rival="the local training alone",
        goal=round(1 / LIMIT, 2),
        judge=judge,
        timed=lambda answer: float(answer.seconds),
        together=True,
    )


def beside_flower(workers: int) -> Benchmark:
    return Benchmark(
        title=f"FedAvg, a round of 10 clients, workers: {workers}; wall time of the best of {ROUNDS}",
        ours=rounds_on(workers),
        theirs=flower(workers),
        rival=f"Flower {FLWR} on Ray {RAY}, as many CPUs",
        goal=0.9,
        judge=judge_noisy,
        timed=lambda answer: float(answer.seconds),
        rounds=2,
    )


BENCHMARKS = {
    "round": beside_local("equal weights", METHOD, EQUAL),
    "sums": beside_local("by dataset size in sums", by_size("sums"), UNEQUAL),
    "values": beside_local("by dataset size read by the server", by_size("values"), UNEQUAL),
    "vmap": Benchmark(
        title="FedAvg, the local training of 10 clients one after the other",
        ours=alone(EQUAL),
        theirs=all_at_once,
        rival="torch.func.vmap over them",
        goal=1.0,
        judge=judge_noisy,
        timed=lambda answer: float(answer.seconds),
        together=True,
    ),
    "flower": beside_flower(1),
    "flower-2": beside_flower(2),
}
