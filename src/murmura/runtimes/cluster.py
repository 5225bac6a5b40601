"""A runtime whose rounds are carried by the workers of a cluster, or by shards one after the other here.

The federation stays in this process between rounds, as with any runtime; the rounds themselves are tasks over
shards. Where the population is too large for one process, `ShardedTraining` is used by itself.
"""

from __future__ import annotations

import shutil
import weakref
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from murmura.aggregation.weighted import Weighted
from murmura.algorithms.preset import ConfiguredPreset
from murmura.channel.ledger import TRAFFIC
from murmura.core.archive import group, prefixed
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, Phase
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.kernel import Kernel
from murmura.core.population import Population
from murmura.core.tally import Tally
from murmura.data.populations import Rows, write_population
from murmura.engine.federation import Federation
from murmura.engine.plan import federation_info
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.shard_plan import ShardPlan, ShardServer, ShardState
from murmura.runtimes.sharded_training import SHARD, ShardedTraining, refuse_unfit
from murmura.runtimes.tasks import InlineTasks, TaskEngine

SHARDS = ".murmura-shards-"  # how the names of folders begin that hold the shards of a training


def remove_left_behind(folder: Path) -> None:
    """Remove the shards of drivers that were killed; whoever calls it holds the folder's lock."""
    for left in folder.glob(f"{SHARDS}*"):
        shutil.rmtree(left, ignore_errors=True)


@dataclass(eq=False)
class Cluster:
    """Rounds as tasks over shards of so many clients.

    `folder` is one that all machines see; None: the system's place for temporary files, which is enough for
    workers on this machine. Lost work is repeated from files that are `checkpoint_every` rounds apart.
    `address` is that of the scheduler, for whoever has other work for the same workers.
    """

    tasks: TaskEngine = field(default_factory=InlineTasks)
    shard: int = SHARD
    checkpoint_every: int = 4
    folder: Path | None = None
    address: str = ""
    _work: _Work | None = None

    def kernel_for(self, algorithm: Algorithm, through: tuple[Phase, ...] = ()) -> Kernel | None:
        """The compiled path, as in process."""
        return InProcess().kernel_for(algorithm, through)

    def check(self, preset: ConfiguredPreset, train: Interactions) -> None:
        """Refuse what shards cannot add up, before any work."""
        algorithm = preset.algorithm()
        _refuse_weights(algorithm)
        info = federation_info(algorithm, train)
        refuse_unfit(ShardPlan(algorithm, info, preset.schedule(), channel=preset.channel_settings()))

    def run(self, federation: Federation, rounds: range) -> None:
        """Run these rounds over the shards, and bring back what they left."""
        f, work = federation, self._work
        if work is None or work.federation is not f or work.training.rounds != rounds.start:
            work = self._work = _Work.begin(self, f)
        work.training.run(rounds.stop)
        work.bring_back()

    def let_go(self) -> None:
        """Forget the last training; its files go."""
        self._work = None


@dataclass(eq=False)
class _Work:
    """The shards of one federation, in a folder that goes with it."""

    federation: Federation
    training: ShardedTraining

    @staticmethod
    def begin(cluster: Cluster, f: Federation) -> _Work:
        _refuse(f)
        folder, plan = Path(mkdtemp(prefix=SHARDS, dir=cluster.folder)), f.full_plan
        held = write_population(folder / "population", rows_of(plan.people), plan.info.items)
        mode = Consent(disclosure=plan.choices.mode)
        known = ShardPlan(plan.algorithm, plan.info, plan.schedule, mode, plan.seed, plan.channel)
        training = ShardedTraining(
            cluster.tasks, known, held, folder, cluster.shard, cluster.checkpoint_every, begin=f.rounds == 0
        )
        if f.rounds:
            server, states = _parts(f, training.bounds)
            training.take_up(f.rounds, server, states)
        work = _Work(f, training)
        weakref.finalize(work, shutil.rmtree, folder, ignore_errors=True)
        return work

    def bring_back(self) -> None:
        """The federation as the shards have left it."""
        f, training = self.federation, self.training
        server, parts = training.server(), training.states()
        kept: ShardState = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        f.server, f.rounds = server.state, training.rounds
        f.plan = f.plan.after(server.state.model)
        f.states, f.counted = group(kept, "states"), group(kept, "counted")
        moved = {name: getattr(server.tally, name) for name in TRAFFIC}
        f.tally = Tally(kept["tally.sent"], kept["tally.disclosed"], server.tally.item_rows, **moved)
        if f.held is not None:
            assert server.versions is not None
            f.held.versions, f.held.fetched = server.versions, kept["held.fetched"]


def rows_of(people: Population) -> Rows:
    """The clients of a federation as they are written to disk."""
    columns = people.value, people.consent, people.time, people.person, people.secrets, people.statistics
    return Rows(people.start, people.item, *columns)


def _parts(f: Federation, bounds: list[int]) -> tuple[ShardServer, list[ShardState]]:
    """A federation as its server and its shards have it."""
    people, traffic = f.plan.people, {name: getattr(f.tally, name) for name in TRAFFIC}
    tally = Tally(np.zeros(0, np.uint8), np.zeros(0, np.int64), f.tally.item_rows, **traffic)
    server = ShardServer(f.server, tally, None if f.held is None else f.held.versions)
    states = []
    for first, last in pairwise(bounds):
        rows, here = slice(people.start[first], people.start[last]), slice(first, last)
        whose: ShardState = {"sent": f.tally.sent[rows], "disclosed": f.tally.disclosed[here]}
        kept = {name: stack[here] for name, stack in f.states.items()}
        counted = {name: who[here] for name, who in f.counted.items()}
        state = prefixed(states=kept, tally=whose, counted=counted)
        if f.held is not None:
            state["held.fetched"], state["held.series"] = f.held.fetched[here], np.zeros(1, np.int64)
        states.append(state)
    return server, states


def _refuse(f: Federation) -> None:
    """Refuse what only the process that visits a client can see."""
    if f.record is not None or f.record_sums is not None or f.liars is not None:
        raise SettingError("what leaves single clients is not shown by shards; record or lie in process.")
    _refuse_weights(f.plan.algorithm)


def _refuse_weights(algorithm: Algorithm) -> None:
    if isinstance(algorithm, Weighted):
        raise SettingError(
            f"{algorithm.name} weighs clients by floating-point sums over all of them, which have "
            "another order in shards; train it in process."
        )
