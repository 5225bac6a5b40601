"""A paper's table or figure, run: settings chosen on the validation part, then the test part once.

<folder>/
  config.yaml      the experiment as it is run here
  trials/          one file per fit on the selection split
  choices.json     what was chosen for every row, and what was left out
  runs/            the comparison of the chosen settings on the test part: `murmura report` reads it
  spent.json       fits, CPU and wall seconds of every session

What is finished is not repeated: a killed run goes on with the same command.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from murmura.core.errors import DataError, FederationError, MissingExtraError, RunError
from murmura.core.locks import locked
from murmura.core.settings import as_dict, changed
from murmura.engine.prepared import FILE as OPENED
from murmura.engine.prepared import PreparedData
from murmura.engine.protocol import protocol
from murmura.engine.run_folder import Run
from murmura.evaluation.registry import DEFAULT_METRICS
from murmura.lab.analyses.preservation import PRESERVATION
from murmura.lab.audits.audit import audit_entries
from murmura.lab.papers.data_facts import DataFacts, data_facts
from murmura.lab.papers.experiments import Experiment, Row
from murmura.lab.papers.reproduction_folder import (
    RUNS,
    SPENT,
    TRIALS,
    ReproductionFolder,
    RowChoice,
)
from murmura.lab.sweep.folder import entry_label
from murmura.studies.compare.comparison_plan import Comparison, ComparisonEntry, default_settings
from murmura.studies.compare.folder import SWEEP, ComparisonFolder, Sweep
from murmura.studies.compare.run import run_entries
from murmura.studies.configuration import DataConfig
from murmura.studies.methods import method, resolved_settings
from murmura.studies.search.folder import Trial, best, name_of, side
from murmura.studies.search.grid import TrialJob, run_job
from murmura.studies.search.space import Axes, grid, has_range, space_of
from murmura.studies.search.tpe import Group, Tpe
from murmura.studies.worker_pool import Workers, held, processes

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")
Steps = Generator[list[T], list[R], A]  # tasks out, their results in, in the same order; an answer at the end


def run_steps(
    pool: Executor,
    work: Callable[[T], R],
    steps: Sequence[Steps[T, R, A]],
    done: Callable[[T, R], None],
    known: Callable[[T], R | None] = lambda task: None,
) -> list[A]:
    """Run several sequences of steps side by side; `done` hears of every task when it is finished.

    Each step is a list of tasks; its sequence goes on when all of them are finished, whatever the others do. A
    task whose result is `known` is not worked on. Where one fails, `done` hears of those that have begun, too.
    """
    answers: dict[int, A] = {}
    asked: dict[int, list[Future[R]]] = {}  # the last step of each sequence
    running: dict[Future[R], T] = {}

    def hear(future: Future[R]) -> None:
        task = running.pop(future)
        if future.exception() is not None:
            begun = [one for one in running if not one.cancel()]
            for one in wait(begun).done:
                if one.exception() is None:
                    done(running[one], one.result())
        done(task, future.result())

    def advance(which: int) -> None:
        one, results = steps[which], [future.result() for future in asked.get(which, ())]
        try:
            tasks = one.send(results) if which in asked else next(one)
        except StopIteration as end:
            answers[which] = end.value
            return
        asked[which] = []
        for task in tasks:
            future = Future[R]() if (found := known(task)) is not None else pool.submit(work, task)
            if found is not None:
                future.set_result(found)
            asked[which].append(future)
            running[future] = task
            if future.done():  # by one worker, this process: told now, not when the whole step is finished
                hear(future)

    while len(answers) < len(steps):
        for which in range(len(steps)):
            while which not in answers and running.keys().isdisjoint(asked.get(which, ())):
                advance(which)
        for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
            hear(future)
    return [answers[which] for which in range(len(steps))]


# what, its seconds, fits done, fits in all, seconds left
FitListener = Callable[[str, float, int, int, float], None]


@dataclass(frozen=True)
class ExperimentPlace:
    """Where an experiment runs: its data and its folder."""

    experiment: Experiment
    data: str
    folder: Path
    data_dir: Path | None = None

    @property
    def runs(self) -> Path:
        """The comparison on the test part."""
        return self.folder / RUNS

    def counted(self) -> DataFacts:
        """What the protocol leaves of the data; groups over as many groupings as the experiment has seeds."""
        dataset = DataConfig(name=self.data).load(self.data_dir)
        return data_facts(dataset, protocol(self.experiment.protocol, dataset), self.experiment.seeds)

    @property
    def kept(self) -> ReproductionFolder:
        """What its folder has so far."""
        return ReproductionFolder(Run(self.folder))


@dataclass(frozen=True)
class ExperimentFit:
    """One fit that a worker makes: a trial of a row."""

    place: ExperimentPlace
    label: str
    row: Row
    settings: dict[str, Any]
    stage: int = 0

    @property
    def file(self) -> str:
        """What its trial is kept as."""
        row = self.row
        identity = json.dumps([row.model, self.settings, row.epochs, row.patience], sort_keys=True)
        return f"{row.model}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


def reproduce(place: ExperimentPlace, workers: int | Workers, on_progress: FitListener) -> Run:
    """Choose, then open the test part; returns the comparison on it."""
    with locked(place.folder):
        folder = Run.create(place.folder, _config(place))
        log = _Log(folder, on_progress, place.experiment, Workers.of(workers).size)
        with folder.running(), locked(place.runs):
            chosen = _choices_of(place, workers, log)
            plan = _plan(place, chosen)
            whole = Run.create(place.runs, plan.config(plan.entries, plan.seeds, plan.seed))
            _write_sweep(whole, place.experiment, chosen)
            for line in run_entries(plan, place.runs, workers, listener=log.tested):
                if line.failed is not None:
                    raise line.failed
            if "audit" in place.experiment.analyses:
                audit_entries(ComparisonFolder.open(place.runs), plan.prepared)
            if "features" in place.experiment.analyses:
                PRESERVATION.of_comparison(ComparisonFolder.open(place.runs), plan.prepared)
    return whole


def _choices_of(place: ExperimentPlace, workers: int | Workers, log: _Log) -> list[RowChoice]:
    """What is chosen for every row; what was chosen, once the test part has been opened."""
    if Run(place.runs).has(OPENED):
        return list(place.kept.choices.values())
    rows = sorted(place.experiment.rows.items(), key=lambda one: -(one[1].epochs or 0))  # longest first
    trials, found = Run(place.folder / TRIALS), dict[str, RowChoice]()

    def tried(fit: ExperimentFit, trial: Trial) -> None:
        if not trials.has(fit.file) and not trial.missing:  # it may be installed before the next attempt
            trials.write_json(fit.file, trial.plain())
        log.tried(fit, trial)

    with processes(workers, _ready(place).selection()) as pool:
        for later in (False, True):  # a row that takes over what was searched for another comes after it
            some = [(label, row) for label, row in rows if bool(row.tuned_as) == later]
            steps = [_choose(place, label, row, found.get(row.tuned_as)) for label, row in some]
            found |= {one.label: one for one in run_steps(pool, _try, steps, tried, _saved_trial)}
    chosen = [found[label] for label in place.experiment.rows]
    place.kept.write_choices(chosen)
    return chosen


def fits(experiment: Experiment) -> int:
    """How many fits an experiment makes in all."""
    return sum(_fits_of(row, experiment) for row in experiment.rows.values())


def _fits_of(row: Row, experiment: Experiment) -> int:
    swept = sum(len(values) for values in row.sweep.values())
    stages = [experiment.trials or 0 if has_range(axes) else len(grid(axes)) for axes in row.search]
    tried = sum(stages) + swept
    alone = not tried and row.epochs is not None
    seeds = min(experiment.seeds, row.seeds or experiment.seeds)
    return tried + alone + max(1, swept) * (seeds if method(row.model, row.settings).seeded else 1)


def _config(place: ExperimentPlace) -> dict[str, Any]:
    experiment = as_dict(place.experiment)  # what is only shown may change; what is run may not
    kept = {key: experiment[key] for key in ("name", "protocol", "metric", "seeds", "rows")}
    # keys that rows of earlier folders do not have
    later: dict[str, Any] = {"seeds": None, "trial": {}, "tuned_as": "", "renamed": {}, "kept": False}
    for label, row in kept["rows"].items():
        kept["rows"][label] = {key: value for key, value in row.items() if later.get(key, ...) != value}
    defaults = {"trials": None, "metrics": list(DEFAULT_METRICS), "cutoffs": []}
    kept |= {key: experiment[key] for key, value in defaults.items() if experiment[key] != value}
    return {"experiment": kept, "data": {"name": place.data, "dir": str(place.data_dir or "")}}


def _choose(
    place: ExperimentPlace, label: str, row: Row, other: RowChoice | None
) -> Steps[ExperimentFit, Trial, RowChoice]:
    """The searches of one row, stage after stage; then one trial for every value of its sweep.

    It starts from what was searched for an `other`, and is left out where that one is.
    """
    experiment, tried = place.experiment, list[Trial]()
    so_far: dict[str, Any] = {}
    if other and not other.entries:
        return RowChoice(label, (), other.left_out)
    if other:
        searched = {key for axes in experiment.rows[other.label].search for key in axes}
        won = {row.renamed.get(key, key): other.entries[0].settings[key] for key in sorted(searched)}
        row = changed(row, settings={**row.settings, **won})
    if row.kept:
        defaults, _ = default_settings(row.model, _ready(place), row.settings)
        row = changed(row, settings={**defaults, **row.settings})
    if not row.search and not row.sweep and row.epochs is None:
        return RowChoice(label, (_entry(label, row, row.settings),))  # nothing to choose
    stages = row.search or (() if row.sweep else ({},))
    for stage, axes in enumerate(stages):
        begun = {**row.settings, **row.trial, **so_far}
        try:
            for group, values in _groups(experiment, axes):
                scored = yield [ExperimentFit(place, label, row, {**begun, **one}, stage) for one in group]
                values += [one.value for one in scored]
                tried += scored
        except MissingExtraError as error:
            return RowChoice(label, (), str(error))
        winner = best(tried, experiment.metric)
        if winner.failed:
            return RowChoice(label, (), next(one.failed for one in tried if one.failed))
        so_far = winner.asked
    if not row.sweep:
        whole = {key: value for key, value in winner.settings.items() if key not in row.trial}
        return RowChoice(label, (_entry(label, row, {**row.settings, **whole}),))
    (key, values), *_ = row.sweep.items()
    asked = [
        ExperimentFit(place, label, row, {**row.settings, **so_far, key: one}, len(stages)) for one in values
    ]
    kept = yield asked
    broken = next((one.failed for one in kept if one.failed), "")
    entries = (_entry(entry_label(label, key, value), row, one.settings) for value, one in zip(values, kept))
    return RowChoice(label, () if broken else tuple(entries), broken)


def _groups(experiment: Experiment, axes: Axes) -> Iterable[Group]:
    """Every setting of a grid at once; of a space with ranges group after group, as tpe asks for them."""
    if not has_range(axes):
        return [(grid(axes), [])]
    return Tpe(space_of(axes), experiment.trials or 0).groups(side(experiment.metric))


def _ready(place: ExperimentPlace) -> PreparedData:
    return _prepared(place.data, place.data_dir, place.experiment.protocol, place.folder.resolve())


def _entry(label: str, row: Row, settings: dict[str, Any]) -> ComparisonEntry:
    return ComparisonEntry(label, row.model, resolved_settings(row.model, settings))


@cache
def _prepared(data: str, data_dir: Path | None, rules: str, folder: Path) -> PreparedData:
    """The data of this process for one folder, read once; its test part is opened for one choice."""
    return DataConfig(name=data).prepare(rules, data_dir)


def _saved_trial(fit: ExperimentFit) -> Trial | None:
    """The trial as its file has it; None: it was not made yet."""
    folder = Run(fit.place.folder / TRIALS)
    if not folder.has(fit.file):
        return None
    return replace(Trial.of(folder.read(fit.file)), stage=fit.stage, seconds=0.0, cpu=0.0)


def _try(fit: ExperimentFit) -> Trial:
    """In a worker: fit once on the selection that it holds, in which there are no test rows.

    With epochs of its row as the most, until the row's patience ends. A training that diverges, or needs what
    is not installed or not in the data, is a result too: it has no value.
    """
    row, metric = fit.row, fit.place.experiment.metric
    whole = {**fit.settings, "epochs": row.epochs} if row.epochs else fit.settings
    job = TrialJob(row.model, whole, metric, patience=row.patience if row.epochs else None)
    tried = Trial(fit.settings, math.nan, model=row.model, row=fit.label, stage=fit.stage, asked=fit.settings)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        found = run_job(held(), job)
        won, curve = best(found, metric), tuple(one.value for one in found) if row.epochs else ()
        tried = replace(tried, value=won.value, settings=won.settings, curve=curve)
    except (MissingExtraError, FederationError, DataError) as error:
        tried = replace(tried, failed=str(error), missing=isinstance(error, MissingExtraError))
    return replace(tried, seconds=time.perf_counter() - wall, cpu=time.process_time() - cpu)


def _plan(place: ExperimentPlace, chosen: Sequence[RowChoice]) -> Comparison:
    """The comparison on the test part; refuses an experiment without anything to run."""
    seeds = {label: row.seeds for label, row in place.experiment.rows.items()}
    entries = tuple(replace(entry, seeds=seeds.get(one.label)) for one in chosen for entry in one.entries)
    if not entries:
        why = f"a row that can be run, but: {chosen[0].left_out}" if chosen else "rows to be run, but has none."
        raise RunError(f"{place.experiment.name} must have {why}")
    ready, experiment = _ready(place), place.experiment
    return Comparison(
        prepared=ready,
        entries=entries,
        seeds=experiment.seeds,
        cutoffs=experiment.cutoffs or ready.protocol.cutoffs,
        metrics=experiment.metrics,
        source={"name": place.data, "skip_bad": False},
    )


def _write_sweep(whole: Run, experiment: Experiment, chosen: Sequence[RowChoice]) -> None:
    """Say which entries make a curve, for the analyses of a sweep."""
    swept = {label: row.sweep for label, row in experiment.rows.items() if row.sweep}
    if not swept:
        return
    key, values = next((key, values) for sweep in swept.values() for key, values in sweep.items())
    labels = {one.label: tuple(entry.label for entry in one.entries) for one in chosen if one.entries}
    curves = {label: entries for label, entries in labels.items() if label in swept}
    beside = tuple(one for one in labels if one not in swept)
    whole.write_json(SWEEP, asdict(Sweep(key, tuple(values), curves, beside)))


class _Log:
    """Counts what is done, keeps what it cost, and tells the listener with the time that is left."""

    def __init__(self, folder: Run, on_progress: FitListener, experiment: Experiment, workers: int) -> None:
        self.folder, self.on_progress, self.workers, self.done = folder, on_progress, workers, 0
        self.total = fits(experiment)
        self.left = {label: _fits_of(row, experiment) for label, row in experiment.rows.items()}
        self.walls: dict[str, list[float]] = {label: [] for label in experiment.rows}
        self.sessions = [*ReproductionFolder(folder).sessions, {"fits": 0, "cpu": 0.0, "wall": 0.0}]
        self.started = time.perf_counter()

    def tried(self, fit: ExperimentFit, result: Trial) -> None:
        """A trial is finished, now or before."""
        changes = {k: v for k, v in result.settings.items() if fit.row.settings.get(k) != v}
        value = "no value" if math.isnan(result.value) else f"{result.value:.4f}"
        what = f"{fit.label} {name_of(changes)}: {value}" if changes else f"{fit.label}: {value}"
        self._add(fit.label, what, result.cpu, result.seconds)

    def tested(self, label: str, seed: int, wall: float, cpu: float) -> None:
        """A chosen setting is scored on the test part, now or before."""
        self._add(label, f"{label}, seed {seed}: scored on the test part", cpu, wall)

    def _add(self, label: str, what: str, cpu: float, wall: float) -> None:
        row = next((row for row in self.left if label == row or label.startswith(f"{row} ")), label)
        self.done += 1
        self.left[row] -= 1
        if wall:
            now = self.sessions[-1]
            now["fits"] += 1
            now["cpu"] += cpu
            now["wall"] = time.perf_counter() - self.started
            self.walls[row].append(wall)
            self.folder.write_json(SPENT, {"sessions": self.sessions})
        self.on_progress(what, wall, self.done, self.total, self._seconds_left())

    def _seconds_left(self) -> float:
        """Each row's own mean for the fits it still has; the mean of all for a row without any yet."""
        every = [wall for walls in self.walls.values() for wall in walls]
        mean_wall = sum(every) / max(1, len(every))
        each = {row: sum(walls) / len(walls) if walls else mean_wall for row, walls in self.walls.items()}
        return sum(count * each[row] for row, count in self.left.items()) / self.workers
