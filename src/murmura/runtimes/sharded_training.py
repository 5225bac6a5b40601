"""The rounds of a training whose clients are in shards: nothing of a single client is in this process.

Each exchange is a request in a file, and a graph of tasks over the shards (`shards.py`), run by a `TaskEngine`.
Every few rounds what clients keep is written to files, and the tasks of later rounds begin there: a lost result
is worked out again from the last files.

A task is a pure function of values and of other tasks' results. `near` says where among all shards it belongs,
so that the tasks of one shard can stay where its data are; it changes no result.

    <folder>/plan                       what every shard knows
    <folder>/requests/<number>          since the last checkpoint
    <folder>/<rounds>/<shard>.npz       what the clients of a shard keep
    <folder>/checkpoint.npz             written last: the server after the rounds whose files are complete
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field

from murmura.algorithms import algorithm
from murmura.channel.ledger import LedgerLine, spread_of, traffic, write_line
from murmura.core.arrays import Ints
from murmura.core.channel import SUM_PROTOCOLS, ChannelSettings
from murmura.core.errors import SettingError
from murmura.core.files import write_whole
from murmura.core.flag_text import parse_settings
from murmura.core.kernel import blocks_of, parts_of
from murmura.core.population import Tally
from murmura.core.settings import Count, Flag, as_dict, changed, settings
from murmura.data.populations import PopulationFiles
from murmura.engine.federation import Federation
from murmura.engine.fit import load_checkpoint, save_checkpoint
from murmura.engine.itinerary import Position
from murmura.runtimes import shards
from murmura.runtimes.ranges import FINISHED, PartialSum, RangePlan, RangeRuntime, Request, add

Handle = Any  # stands for the result of a task, here or on another machine
Near = tuple[int, int]  # shard number s of S
FAN_IN = 8  # partial sums that one task adds
SHARD = 250_000  # clients: with 20 rows each two seconds of work, beside which a task's own cost is small


@dataclass(eq=False)
class _Result:
    value: Any


class TaskEngine:
    """Runs every task at once, in this process; another one runs them elsewhere."""

    def submit(self, function: Callable[..., Any], *arguments: Any, near: Near | None = None) -> Handle:
        """Have a function called; handles among the arguments stand for their results."""
        return _Result(function(*(one.value if isinstance(one, _Result) else one for one in arguments)))

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """The results, once they are there."""
        return [handle.value for handle in handles]

    def release(self, handles: Sequence[Handle]) -> None:
        """These results are needed no more, but by tasks that have been submitted."""
        for handle in handles:
            handle.value = None


def summed(
    tasks: TaskEngine, function: Callable[..., Any], handles: Iterable[Handle], fan_in: int = FAN_IN
) -> Handle:
    """The sum of at least one result, in the order of submission; few partial sums wait."""
    waiting: list[Handle] = []

    def combined() -> Handle:
        total = tasks.submit(function, *waiting)
        tasks.release(waiting)
        return total

    for handle in handles:
        waiting.append(handle)
        if len(waiting) == fan_in:
            waiting = [combined()]
    return combined()


@settings
class SimulateConfig:
    """A federated method trained on a population on disk: what `murmura simulate` takes."""

    # A federated method.
    model: Annotated[str, Flag()] = "pfpl+"
    fixed: dict[str, Any] = Field(default_factory=dict)
    # The first seed.
    seed: Annotated[int, Field(ge=0), Flag()] = 0
    # Clients in a shard; sums of a channel do not depend on it.
    shard: Annotated[Count, Flag()] = SHARD
    # Rounds between two writings of all states.
    checkpoint_every: Annotated[Count, Flag()] = 1

    @classmethod
    def default(cls) -> Self:
        """What is meant where nothing is said."""
        return cls()

    def with_flags(self, given: Mapping[tuple[str, ...], Any]) -> Self:
        """The same with fields that flags gave on top."""
        return changed(self, **{path[0]: value for path, value in given.items()})

    def with_settings(self, given: list[str]) -> Self:
        """With what -S says."""
        return changed(self, fixed=parse_settings(given, [self.model])[self.model])

    def plan(self, population: PopulationFiles) -> RangePlan:
        """The training of everyone in a population, through a channel where nothing else is said."""
        named = algorithm(self.model)
        sums = {"channel": "secure-sum", "ring": 64} if ChannelSettings in named.parts else {}
        preset = named(**{**sums, **self.fixed})
        method = preset.algorithm()
        info = shards.population_info(method, population)
        return RangePlan(
            method, info, preset.schedule(), preset.consent(), self.seed, preset.channel_settings()
        )


@dataclass(eq=False)
class ShardRuntime(RangeRuntime):
    """Asks the shards of a population; `folder` is one that all machines share."""

    tasks: TaskEngine
    plan: RangePlan
    population: PopulationFiles
    folder: Path
    shard: int = SHARD
    checkpoint_every: int = 1  # rounds between two writings of what clients keep

    def __post_init__(self) -> None:
        refuse_unfit(self.plan)
        self.folder = self.folder.resolve()  # machines that share it may work elsewhere
        self.bounds = shard_bounds(self.plan, self.shard)
        self.states: list[Handle] = []
        self.until = self.plan.itinerary.rounds  # after so many rounds everything is written in any case
        self._requests = 0

    def begin(self, rounds: int | None = None) -> None:
        """Load what clients hold, and what they keep after so many rounds; None: they have not begun."""
        shutil.rmtree(self.folder / "requests", ignore_errors=True)
        write_whole(self.folder / "plan", pickle.dumps(self.plan))
        self._plan = self._submit(shards.read, str(self.folder / "plan"))
        held = str(self.population.folder.resolve())
        self._rows = [
            self._submit(shards.load, self._plan, held, first, last, near=s)
            for s, (first, last) in enumerate(zip(self.bounds, self.bounds[1:]))
        ]
        self.states = [
            self._submit(shards.begin, self._plan, rows, near=s) if rounds is None else self.file(rounds, s)
            for s, rows in enumerate(self._rows)
        ]

    def ask(self, f: Federation, at: Position, called: Ints | None) -> PartialSum:
        """What all shards sent."""
        phase = f.plan.itinerary.phase(at)
        request = self._request(f, at, called, phase.name)
        sent = self._steps(request, None if phase.returns else self._written(f, at))
        total = summed(self.tasks, add, sent, FAN_IN if f.plan.channel.on else len(self.bounds))
        found: PartialSum = self._gathered(total, request)
        return found

    def tell(self, f: Federation, at: Position, called: Ints | None) -> None:
        """Let the clients fetch the model."""
        request = self._request(f, at, called, FINISHED)
        self.tasks.release([*self._steps(request, self._written(f, at)), request])

    def report(self) -> shards.ShardReport:
        """What has left all clients so far."""
        each = (self._submit(shards.report, rows, self.states[s], near=s) for s, rows in enumerate(self._rows))
        found: shards.ShardReport = self._gathered(summed(self.tasks, shards.merge, each))
        return found

    def writes(self, rounds: int) -> bool:
        """Whether what clients keep after so many rounds is in files."""
        return rounds % self.checkpoint_every == 0 or rounds == self.until

    def complete(self) -> list[shards.ShardState]:
        """What the clients of every shard keep, now that it is in files: no earlier request is asked again."""
        states: list[shards.ShardState] = self.tasks.gather(self.states)
        self.tasks.release(self.states)
        self.states = list(states)
        shutil.rmtree(self.folder / "requests", ignore_errors=True)
        return states

    def file(self, rounds: int, shard: int) -> str:
        """Where it is written what the clients of a shard keep after so many rounds."""
        return str(self.folder / str(rounds) / f"{shard:06d}.npz")

    def _written(self, f: Federation, at: Position) -> int | None:
        """After how many rounds it is written what clients keep after this exchange; None: it is not."""
        after = f.plan.itinerary.after_success(at).done
        return after if after > at.done and self.writes(after) else None

    def _request(self, f: Federation, at: Position, called: Ints | None, phase: str) -> Handle:
        """A request, in a file from which lost work is repeated."""
        versions = None if f.held is None else f.held.versions
        file, self._requests = self.folder / "requests" / str(self._requests), self._requests + 1
        write_whole(file, pickle.dumps(Request(at, phase, f.server.model, called, f.answers, versions)))
        return self._submit(shards.read, str(file))

    def _steps(self, request: Handle, written: int | None) -> Iterator[Handle]:
        """What every shard sent; what it keeps then is `written` as that after so many rounds, if at all."""
        for s, rows in enumerate(self._rows):
            both = self._submit(shards.step, self._plan, rows, self.states[s], request, self.bounds[s], near=s)
            state, sent = (self._submit(itemgetter(k), both, near=s) for k in (0, 1))
            used = [both, *([] if isinstance(self.states[s], str) else [self.states[s]])]
            if written is not None:
                used.append(state)
                state = self._submit(shards.save, state, self.file(written, s), near=s)
            self.tasks.release(used)
            self.states[s] = state
            yield sent

    def _gathered(self, handle: Handle, *used: Handle) -> Any:
        """A result; it and what it was made of are needed no more."""
        result = self.tasks.gather([handle])[0]
        self.tasks.release([handle, *used])
        return result

    def _submit(self, function: Callable[..., Any], *arguments: Any, near: int | None = None) -> Handle:
        place = None if near is None else (near, len(self.bounds) - 1)
        return self.tasks.submit(function, *arguments, near=place)


@dataclass(eq=False)
class ShardedTraining:
    """A training over the clients of a population on disk; a killed one goes on from its last checkpoint."""

    tasks: TaskEngine
    plan: RangePlan
    population: PopulationFiles
    folder: Path
    shard: int = SHARD
    checkpoint_every: int = 1

    def __post_init__(self) -> None:
        plan, own = self.plan, (self.population, self.folder, self.shard, self.checkpoint_every)
        self.runtime = ShardRuntime(self.tasks, plan, *own)
        known = {name: as_dict(getattr(plan, name)) for name in ("schedule", "consent", "channel")}
        settings = {"algorithm": plan.algorithm.name, "settings": as_dict(plan.algorithm), **known}
        cut = {"population": self.population.fingerprint, "shards": self.runtime.bounds}
        self.federation = Federation.begin(replace(plan, identity=settings | cut))
        self.lines = load_checkpoint(self.runtime.folder, self.federation)
        self.runtime.begin(self.rounds or None)

    @property
    def rounds(self) -> int:
        """How many are done."""
        return self.federation.rounds

    def run(self, rounds: int, on_line: Callable[[LedgerLine], None] | None = None) -> None:
        """Go on until so many rounds are done; `on_line` is called after each."""
        f, self.runtime.until = self.federation, rounds
        while f.rounds < rounds:
            self.runtime.run(f, range(f.rounds, f.rounds + 1))
            before, now = traffic(f.tally), self.runtime.report()
            f.tally = Tally(f.tally.sent, f.tally.disclosed, now.item_rows, **now.traffic)
            epoch, disclosed = f.plan.itinerary.epoch(f.rounds), spread_of(*now.disclosed)
            self.lines.append(write_line(now.traffic, before, disclosed, f.rounds, epoch))
            if on_line is not None:
                on_line(self.lines[-1])
            if self.runtime.writes(f.rounds):
                self.runtime.complete()
                save_checkpoint(self.runtime.folder, f, self.lines)
                self._remove_earlier()

    def _remove_earlier(self) -> None:
        """Files that no checkpoint names any more."""
        for other in self.runtime.folder.iterdir():
            if other.is_dir() and other.name.isdecimal() and other.name != str(self.rounds):
                shutil.rmtree(other, ignore_errors=True)


def shard_bounds(plan: RangePlan, size: int) -> list[int]:
    """Where shards begin, and the end: every `size` clients, or the blocks in which real numbers are added."""
    clients = plan.info.clients
    if plan.channel.on:
        return [*range(0, clients, size), clients]
    return parts_of(clients, blocks_of(clients))


def refuse_unfit(plan: RangePlan) -> None:
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
