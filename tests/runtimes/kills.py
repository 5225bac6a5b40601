"""Tasks that are killed in the middle, and the small training they are tasks of."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.core.contract import FederationInfo
from murmura.data.populations import PopulationFiles, Rows, write_population
from murmura.engine.plan import federation_info
from murmura.runtimes.dask import DaskTasks, dask_client
from murmura.runtimes.ranges import RangePlan
from murmura.runtimes.sharded_training import Near, ShardedTraining, TaskEngine
from murmura.runtimes.shards import arrays_of
from murmura.testing import crowd

ROUNDS = 3


def killed_once(marker: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The worker dies the first time; whoever runs it again gets the result."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return function(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def twice(function: Callable[..., Any], *arguments: Any) -> Any:
    """Every task run twice; the first result is thrown away."""
    function(*arguments)
    return function(*arguments)


class Killing(DaskTasks):
    """A cluster in which the worker of one task dies in it, or `strike` is called before it is submitted."""

    def __init__(self, client: Any, name: str, number: int, marker: Path | None, strike: Any = None) -> None:
        super().__init__(client)
        self.name, self.left, self.marker, self.strike = name, number, marker, strike

    def submit(self, function: Callable[..., Any], *arguments: Any, near: Near | None = None) -> Any:
        self.left -= getattr(function, "__name__", "") == self.name
        if self.left == 0:
            self.left = -1
            if self.strike is not None:
                self.strike()
            elif self.marker is not None:
                return super().submit(killed_once, str(self.marker), function, *arguments, near=near)
        return super().submit(function, *arguments, near=near)


class Twice(TaskEngine):
    """Every task is run twice."""

    def submit(self, function: Callable[..., Any], *arguments: Any, near: Near | None = None) -> Any:
        return super().submit(twice, function, *arguments, near=near)


def training(tasks: TaskEngine, folder: Path, shard: int = 60) -> ShardedTraining:
    """cFPL with everyone, counts before it, through the channel; checkpoints two rounds apart."""
    data = crowd(400, 30)
    rows, method = data.by_user, algorithm("cfpl")(clients="all", channel="secure-sum", rounds=ROUNDS, pi=0.7)
    known = folder / "population"
    if (known / "population.json").exists():
        held = PopulationFiles.open(known)
    else:
        held = write_population(known, Rows(rows.start, rows.index), data.n_items, 150)
    info: FederationInfo = federation_info(method.algorithm(), data)
    consent, channel = method.consent(), method.channel_settings()
    plan = RangePlan(method.algorithm(), info, method.schedule(), consent, 7, channel)
    return ShardedTraining(tasks, plan, held, folder / "work", shard, checkpoint_every=2)


def digest(done: ShardedTraining) -> str:
    """A hash of everything a training leaves: model, what the server keeps, states, ledger."""
    f, found = done.federation, hashlib.sha256(repr(done.lines).encode())
    states = [arrays_of(state)[0] for state in done.runtime.states]
    kept = {name: np.concatenate([state[name] for state in states]) for name in states[0]}
    for arrays in (f.server.model, f.server.private, {"rows": f.tally.item_rows}, kept):
        for name in sorted(arrays):
            found.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    assert f.held is not None  # what clients have of which model is in `kept`
    found.update(repr((f.held.versions.number, f.held.versions.oldest)).encode())
    for name, last in f.held.versions.last.items():
        found.update(name.encode() + last.tobytes())
    return found.hexdigest()


def run(where: str, folder: str, strike: str, number: str) -> None:
    """A driver of its own, which dies when it submits that task."""
    with dask_client(where) as client:

        def die() -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        done = training(Killing(client, strike, int(number), None, die), Path(folder))
        done.run(done.plan.itinerary.rounds)
        print(digest(done))


if __name__ == "__main__":
    run(*sys.argv[1:])
