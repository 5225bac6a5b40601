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
from murmura.channel.ledger import traffic
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, Phase
from murmura.core.errors import SettingError
from murmura.core.files import group
from murmura.core.interactions import Interactions
from murmura.core.kernel import Kernel
from murmura.core.population import Tally
from murmura.data.populations import Rows, write_population
from murmura.engine.federation import Federation, ModelDownloads, Runtime
from murmura.engine.plan import federation_info
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.ranges import RangePlan
from murmura.runtimes.sharded_training import SHARD, ShardRuntime, TaskEngine, refuse_unfit
from murmura.runtimes.shards import arrays_of, kept, save

SHARDS = ".murmura-shards-"  # how the names of folders begin that hold the shards of a training


def remove_left_behind(folder: Path) -> None:
    """Remove the shards of drivers that were killed; whoever calls it holds the folder's lock."""
    for left in folder.glob(f"{SHARDS}*"):
        shutil.rmtree(left, ignore_errors=True)


@dataclass(eq=False)
class Cluster(Runtime):
    """Rounds as tasks over shards of so many clients.

    `folder` is one that all machines see; None: the system's place for temporary files, which is enough for
    workers on this machine. Lost work is repeated from files that are `checkpoint_every` rounds apart.
    `address` is that of the scheduler, for whoever has other work for the same workers.
    """

    tasks: TaskEngine = field(default_factory=TaskEngine)
    shard: int = SHARD
    checkpoint_every: int = 4
    folder: Path | None = None
    address: str = ""
    _work: tuple[Federation, ShardRuntime] | None = None  # the training at work

    def kernel_for(self, algorithm: Algorithm, through: tuple[Phase, ...] = ()) -> Kernel | None:
        """The compiled path, as in process."""
        return InProcess().kernel_for(algorithm, through)

    def check(self, preset: ConfiguredPreset, train: Interactions) -> None:
        """Refuse what shards cannot add up, before any work."""
        algorithm = preset.algorithm()
        _refuse_weights(algorithm)
        info = federation_info(algorithm, train)
        refuse_unfit(RangePlan(algorithm, info, preset.schedule(), channel=preset.channel_settings()))

    def run(self, federation: Federation, rounds: range) -> None:
        """Run these rounds over the shards; the federation is then as they have left it."""
        f = federation
        if self._work is None or self._work[0] is not f or self._work[1].until != rounds.start:
            self._work = f, self._begun(f)
        runtime = self._work[1]
        runtime.until = rounds.stop
        runtime.run(f, rounds)
        parts, report = [arrays_of(state)[0] for state in runtime.complete()], runtime.report()
        one_each = [name for name in parts[0] if name not in ("tally.sent", "tally.item_rows")]
        all_of = {name: np.concatenate([part[name] for part in parts]) for name in one_each}
        rows = np.diff(f.plan.people.start[runtime.bounds]).tolist()
        sent = [np.unpackbits(part["tally.sent"], count=held) for part, held in zip(parts, rows)]
        f.states, f.counted = group(all_of, "states"), group(all_of, "counted")
        f.tally = Tally(np.concatenate(sent), all_of["tally.disclosed"], report.item_rows, **report.traffic)
        if f.held is not None:
            f.held.fetched = all_of["held.fetched"]

    def _begun(self, f: Federation) -> ShardRuntime:
        """The shards of a federation, in a folder that goes with them."""
        if f.record is not None or f.record_sums is not None or f.liars is not None:
            raise SettingError("what leaves single clients is not shown by shards; record or lie in process.")
        _refuse_weights(f.plan.algorithm)
        folder, plan, people = Path(mkdtemp(prefix=SHARDS, dir=self.folder)), f.full_plan, f.plan.people
        columns = people.value, people.consent, people.time, people.person, people.secrets, people.statistics
        rows = Rows(people.start, people.item, *columns)
        held = write_population(folder / "population", rows, plan.info.items)
        mode = Consent(disclosure=plan.choices.mode)
        known = RangePlan(plan.algorithm, plan.info, plan.schedule, mode, plan.seed, plan.channel)
        made = ShardRuntime(self.tasks, known, held, folder, self.shard, self.checkpoint_every)
        weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
        for s, ends in enumerate(pairwise(made.bounds)):
            save(kept(_part(f, known, *ends)), made.file(f.rounds, s))
        made.begin(f.rounds)
        made.until = f.rounds
        return made

    def let_go(self) -> None:
        """Forget the last training; its files go."""
        self._work = None


def _part(f: Federation, plan: RangePlan, first: int, last: int) -> Federation:
    """What a federation knows of the clients first to last; the first of them bring its traffic so far."""
    start, here, tally = f.plan.people.start, slice(first, last), f.tally
    so_far = traffic(tally) if first == 0 else {}
    item_rows = tally.item_rows if first == 0 else np.zeros_like(tally.item_rows)
    part = Federation(
        plan,
        f.server,
        {name: stack[here] for name, stack in f.states.items()},
        Tally(tally.sent[start[first] : start[last]], tally.disclosed[here], item_rows, **so_far),
        counted={name: who[here] for name, who in f.counted.items()},
    )
    if f.held is not None:
        part.held = ModelDownloads(f.held.versions, f.held.fetched[here])
    return part


def _refuse_weights(algorithm: Algorithm) -> None:
    if isinstance(algorithm, Weighted):
        raise SettingError(
            f"{algorithm.name} weighs clients by floating-point sums over all of them, which have "
            "another order in shards; train it in process."
        )
