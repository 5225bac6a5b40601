"""The rounds of a training whose clients are in shards: nothing of a single client is in this process.

Each exchange is a graph of tasks over the shards (`shards.py`), run by whatever is behind `tasks.py`. Every few
rounds all of it is written to files, and the tasks of later rounds begin there: a lost result is worked out
again from the last files, and a killed training goes on from them with the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from murmura.channel.ledger import TRAFFIC, LedgerLine, spread_of
from murmura.core.channel import SUM_PROTOCOLS
from murmura.core.errors import SettingError
from murmura.core.kernel import blocks_of, parts_of
from murmura.core.settings import as_dict
from murmura.data.populations import PopulationFiles
from murmura.engine.itinerary import Position
from murmura.runtimes import shard_files, shards
from murmura.runtimes.shard_plan import ShardPlan, ShardServer, ShardState
from murmura.runtimes.tasks import FAN_IN, Handle, SumTree, TaskEngine

SHARD = 250_000  # clients: with 20 rows each two seconds of work, beside which a task's own cost is small


@dataclass(eq=False)
class ShardedTraining:
    """A training over the clients of a population on disk; `folder` is one that all machines share."""

    tasks: TaskEngine
    plan: ShardPlan
    population: PopulationFiles
    folder: Path
    shard: int = SHARD
    checkpoint_every: int = 1  # rounds between two writings
    rounds: int = 0
    lines: list[LedgerLine] = field(default_factory=list)
    begin: bool = True  # or take up what `take_up` is given

    def __post_init__(self) -> None:
        refuse_unfit(self.plan)
        self.folder = self.folder.resolve()  # machines that share it may work elsewhere
        self.bounds = shard_bounds(self.plan, self.shard)
        told = shard_files.read_checkpoint(self.folder, self._config)  # refuses another's before it writes
        shard_files.write_plan(self.folder, self.plan)
        self._plan = self._submit(shard_files.read_plan, str(self.folder))
        self._rows = [
            self._submit(shards.load, self._plan, str(self.population.folder.resolve()), first, last, near=s)
            for s, (first, last) in enumerate(zip(self.bounds, self.bounds[1:]))
        ]
        self._called: Handle | None = None
        self._before = dict.fromkeys(TRAFFIC, 0)
        if told is None and self.begin:
            self._server = self._submit(shards.open_server, self._plan)
            self._states = [self._submit(shards.begin, self._plan, rows, near=s) for s, rows in self._each()]
        elif told is not None:
            self.rounds, self.lines = told["rounds"], [LedgerLine(**line) for line in told["lines"]]
            self._before = {name: sum(getattr(line, name) for line in self.lines) for name in TRAFFIC}
            self._restore()

    def run(self, rounds: int, told: Callable[[LedgerLine], None] | None = None) -> None:
        """Go on until so many rounds are done; `told` hears of each when it is."""
        itinerary = self.plan.itinerary
        while self.rounds < rounds:
            at, ends = itinerary.at(self.rounds), self.rounds + 1
            keep = ends % self.checkpoint_every == 0 or ends == rounds
            while at.done < ends:
                after = itinerary.after_success(at)
                self._exchange(at, keep and after.done == ends)
                at = after
            self.rounds = ends
            self.lines.append(self._line())
            if told is not None:
                told(self.lines[-1])
            if keep:
                self._cut_lineage()

    def server(self) -> ShardServer:
        """What the server has now."""
        server: ShardServer = self.tasks.gather([self._server])[0]
        return server

    def states(self) -> list[ShardState]:
        """What the clients of every shard keep, mapped from the files of the last round."""
        return [shard_files.restore_state(self._saved(s)) for s in range(len(self._rows))]

    def take_up(self, rounds: int, server: ShardServer, states: list[ShardState]) -> None:
        """Go on from what another runtime has left after so many rounds."""
        folder = self._at(rounds)
        traffic = shard_files.save_server(server, folder)
        for s, state in enumerate(states):
            shard_files.save_state(state, folder, s)
        self.rounds, self._before = rounds, traffic
        self._restore()

    def final_bytes(self) -> int:
        """What everyone would still download to have the newest model, where a channel counts that."""
        asked = [
            self._submit(shards.missing, self._plan, rows, self._states[s], self._server, near=s)
            for s, rows in self._each()
        ]
        missing: int = sum(self.tasks.gather(asked))
        self.tasks.release(asked)
        return missing

    def _exchange(self, at: Position, keep: bool) -> None:
        """One phase of one round."""
        itinerary = self.plan.itinerary
        phase, everyone = itinerary.phase(at), itinerary.called(at) == self.plan.info.clients
        if at.step == 0:
            self._called = None
        if not everyone or phase.part < 1:
            self._called = self._submit(shards.call, self._plan, at, self._called)
        fetches = phase.returns and self.plan.channel.on
        sent = self._visit(shards.step, at, keep and not fetches)
        self._replace(self._submit(shards.serve, self._plan, self._server, sent, at), sent)
        if fetches:
            moved = self._visit(shards.fetch, at, keep)
            self._replace(self._submit(shards.count, self._server, moved), moved)

    def _visit(self, function: Callable[..., Any], at: Position, keep: bool) -> Handle:
        """What all shards sent; they are left with what they keep, in files where `keep` says so."""
        tree = SumTree(self.tasks, shards.add, FAN_IN if self.plan.channel.on else len(self.bounds))
        for s, rows in self._each():
            arguments = (self._plan, rows, self._states[s], self._server, at, self.bounds[s], self._called)
            both = self._submit(function, *arguments, near=s)
            state, sent = (self._submit(itemgetter(k), both, near=s) for k in (0, 1))
            if keep:
                written = self._submit(shard_files.save_state, state, self._at(self.rounds + 1), s, near=s)
                self.tasks.release([state])
                state = self._submit(shard_files.restore_state, written, near=s)
                self.tasks.release([written])
            self.tasks.release([both, self._states[s]])
            self._states[s] = state
            tree.add(sent)
        return tree.total()

    def _replace(self, server: Handle, done: Handle) -> None:
        self.tasks.release([self._server, done])
        self._server = server

    def _line(self) -> LedgerLine:
        """The ledger's line of the last round: traffic, and how much has been disclosed so far."""
        tree = SumTree(self.tasks, shards.merge)
        for s, rows in self._each():
            tree.add(self._submit(shards.disclosed, rows, self._states[s], near=s))
        asked = [tree.total(), self._submit(shards.traffic, self._server)]
        (values, people), now = self.tasks.gather(asked)
        self.tasks.release(asked)
        here: dict[str, Any] = {name: now[name] - self._before[name] for name in TRAFFIC}
        self._before = now
        here |= {f"disclosed_{name}": value for name, value in spread_of(values, people).items()}
        return LedgerLine(rounds=self.rounds, epoch=self.plan.itinerary.epoch(self.rounds), **here)

    def _cut_lineage(self) -> None:
        """Complete a checkpoint, and let everything that follows begin with its files."""
        folder = self._at(self.rounds)
        written = self._submit(shard_files.save_server, self._server, folder)
        waiting = [self._submit(len, state, near=s) for s, state in enumerate(self._states)]
        self.tasks.gather([written, *waiting])
        told = {"config": self._config, "lines": [asdict(line) for line in self.lines]}
        shard_files.write_checkpoint(self.folder, self.rounds, told)
        self.tasks.release([written, *waiting, self._server, *self._states])
        self._restore()

    def _restore(self) -> None:
        folder = self._at(self.rounds)
        self._server = self._submit(shard_files.restore_server, self._plan, folder)
        self._states = [
            self._submit(shard_files.restore_state, self._saved(s), near=s) for s in range(len(self._rows))
        ]

    def _saved(self, shard: int) -> shard_files.Saved:
        return shard_files.saved_state(self._at(self.rounds), shard)

    def _each(self) -> list[tuple[int, Handle]]:
        return list(enumerate(self._rows))

    def _at(self, rounds: int) -> str:
        return str(self.folder / str(rounds))

    def _submit(self, function: Callable[..., Any], *arguments: Any, near: int | None = None) -> Handle:
        place = None if near is None else (near, len(self.bounds) - 1)
        return self.tasks.submit(function, *arguments, near=place)

    @property
    def _config(self) -> dict[str, Any]:
        """What makes two trainings the same one; states are cut as the shards are."""
        plan = self.plan
        return {
            "algorithm": plan.algorithm.name,
            "settings": as_dict(plan.algorithm),
            "schedule": as_dict(plan.schedule),
            "consent": as_dict(plan.consent),
            "seed": plan.seed,
            "channel": as_dict(plan.channel),
            "population": self.population.fingerprint,
            "shards": self.bounds,
        }


def shard_bounds(plan: ShardPlan, size: int) -> list[int]:
    """Where shards begin, and the end: every `size` clients, or the blocks in which real numbers are added."""
    clients = plan.info.clients
    if plan.channel.on:
        return [*range(0, clients, size), clients]
    return parts_of(clients, blocks_of(clients))


def refuse_unfit(plan: ShardPlan) -> None:
    """Refuse what shards cannot add up."""
    name, phases = plan.algorithm.name, plan.algorithm.phases(plan.info)
    each = [phase.name for phase in phases if phase.combine == "each"]
    if each:
        raise SettingError(
            f"shards send sums, but phase '{each[0]}' of {name} needs each update; train it in process."
        )
    if plan.algorithm.holds != "history":
        raise SettingError(f"shards hold interactions, but {name} classifies samples; train it in process.")
    if plan.channel.channel in SUM_PROTOCOLS:
        raise SettingError(
            f"shards send sums that are added up, but channel '{plan.channel.channel}' is a protocol between "
            "single devices and servers; set channel=secure-sum, or train it in process."
        )
    if plan.channel.on:
        return
    kernel = plan.runtime.kernel_for(plan.algorithm)
    if kernel is None or not kernel.in_blocks:
        raise SettingError(
            f"shards need sums without an order, but those of {name} are floating-point numbers that are not "
            "added in blocks; set channel=secure-sum, or train it in process."
        )
    if plan.itinerary.cohort_size < plan.info.clients:
        raise SettingError(
            f"a drawn cohort of floating-point updates has blocks of its own in every round, but shards are "
            f"fixed; set channel=secure-sum or clients=all for {name}, or train it in process."
        )
