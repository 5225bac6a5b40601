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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from murmura.core.errors import MissingExtraError, RunError
from murmura.core.locks import locked
from murmura.core.settings import as_dict, changed
from murmura.engine.protocol import PreparedData
from murmura.engine.run import Run
from murmura.engine.sealed import FILE as OPENED
from murmura.evaluation.registry import DEFAULT_METRICS
from murmura.runs.comparison import ComparisonFolder
from murmura.runs.reproduction import RUNS, SPENT, TRIALS, ChosenEntry, ReproductionFolder, RowChoice
from murmura.runs.sweep import Sweep, entry_label, write_sweep
from murmura.runs.trials import Trial, best, name_of, side
from murmura.studies.analyses.preservation import preserve_entries
from murmura.studies.audits.audit import audit_entries
from murmura.studies.compare import Comparison, ComparisonEntry, run_entries, usual_settings
from murmura.studies.config import DataConfig
from murmura.studies.methods import method, whole_settings
from murmura.studies.papers.attempt import attempt
from murmura.studies.papers.experiments import Experiment, Row, grid_of, has_range
from murmura.studies.search.grid import TrialJob
from murmura.studies.search.tpe import proposals, space_of
from murmura.studies.worker_pool import Steps, Workers, held, processes, run_steps

FitListener = Callable[
    [str, float, int, int, float], None
]  # what, its seconds, fits done, fits in all, seconds left


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


def reproduce(place: ExperimentPlace, workers: int | Workers, heard: FitListener) -> Run:
    """Choose, then open the test part; returns the comparison on it."""
    with locked(place.folder):
        folder = Run.create(place.folder, _config(place))
        log = _Log(folder, heard, place.experiment, Workers.of(workers).size)
        with folder.running(), locked(place.runs):
            chosen = _choices_of(place, workers, log)
            plan = _plan(place, chosen)
            whole = Run.create(place.runs, plan.config(plan.entries, plan.seeds, plan.seed))
            _write_sweep(whole, place.experiment, chosen)
            for _ in run_entries(plan, place.runs, workers, heard=log.tested):
                pass
            if "audit" in place.experiment.analyses:
                audit_entries(ComparisonFolder.open(place.runs), plan.prepared)
            if "features" in place.experiment.analyses:
                preserve_entries(ComparisonFolder.open(place.runs), plan.prepared)
    return whole


def _choices_of(place: ExperimentPlace, workers: int | Workers, log: _Log) -> list[RowChoice]:
    """What is chosen for every row; what was chosen, once the test part has been opened."""
    if Run(place.runs).has(OPENED):
        return list(place.kept.choices.values())
    rows = sorted(place.experiment.rows.items(), key=lambda one: -(one[1].epochs or 0))  # longest first
    trials = Run(place.folder / TRIALS)

    def tried(fit: ExperimentFit, trial: Trial) -> None:
        if not trials.has(fit.file) and not trial.missing:  # it may be installed before the next attempt
            trials.write_json(fit.file, trial.plain())
        log.tried(fit, trial)

    with processes(workers, _ready(place).selection()) as pool:
        steps = [_choose(place, label, row) for label, row in rows if not row.tuned_as]
        found = {one.label: one for one in run_steps(pool, _try, steps, tried, _kept_trial)}
        steps = [_tuned(place, label, row, found[row.tuned_as]) for label, row in rows if row.tuned_as]
        found |= {one.label: one for one in run_steps(pool, _try, steps, tried, _kept_trial)}
    chosen = [found[label] for label in place.experiment.rows]
    place.kept.write_choices(chosen)
    return chosen


def _tuned(
    place: ExperimentPlace, label: str, row: Row, other: RowChoice
) -> Steps[ExperimentFit, Trial, RowChoice]:
    """A row that starts from what was searched for another; left out where that one is."""
    if not other.entries:
        return RowChoice(label, (), other.left_out)
    searched = {key for axes in place.experiment.rows[row.tuned_as].search for key in axes}
    won = {row.renamed.get(key, key): other.entries[0].settings[key] for key in sorted(searched)}
    return (yield from _choose(place, label, changed(row, settings={**row.settings, **won})))


def fits(experiment: Experiment) -> int:
    """How many fits an experiment makes in all."""
    return sum(_fits_of(row, experiment) for row in experiment.rows.values())


def _fits_of(row: Row, experiment: Experiment) -> int:
    swept = sum(len(values) for values in row.sweep.values())
    stages = [experiment.trials or 0 if has_range(axes) else len(grid_of(axes)) for axes in row.search]
    tried = sum(stages) + swept
    alone = not tried and row.epochs is not None
    seeds = min(experiment.seeds, row.seeds or experiment.seeds)
    return tried + alone + max(1, swept) * (seeds if method(row.model, row.settings).seeded else 1)


def _config(place: ExperimentPlace) -> dict[str, Any]:
    experiment = as_dict(place.experiment)  # what is only shown may change; what is run may not
    kept = {key: experiment[key] for key in ("name", "protocol", "metric", "seeds", "rows")}
    # keys that rows of earlier folders do not have
    later: dict[str, Any] = {"seeds": None, "trial": {}, "tuned_as": "", "renamed": {}, "kept": False}
    for row in kept["rows"].values():
        for key in [key for key, none in later.items() if row[key] == none]:
            del row[key]
    usual = {"trials": None, "metrics": list(DEFAULT_METRICS), "cutoffs": []}
    kept |= {key: experiment[key] for key, value in usual.items() if experiment[key] != value}
    return {"experiment": kept, "data": {"name": place.data, "dir": str(place.data_dir or "")}}


def _choose(place: ExperimentPlace, label: str, row: Row) -> Steps[ExperimentFit, Trial, RowChoice]:
    """The searches of one row, stage after stage; then one trial for every value of its sweep."""
    experiment, tried = place.experiment, list[Trial]()
    so_far: dict[str, Any] = {}
    if row.kept:
        usual, _ = usual_settings(row.model, _ready(place), row.settings)
        row = changed(row, settings={**usual, **row.settings})
    if not row.search and not row.sweep and row.epochs is None:
        return RowChoice(label, (_entry(label, row, row.settings),))  # nothing to choose
    stages = row.search or (() if row.sweep else ({},))
    for stage, axes in enumerate(stages):
        begun = ExperimentFit(place, label, row, {**row.settings, **row.trial, **so_far}, stage)
        try:
            tried += yield from _stage(begun, axes)
        except MissingExtraError as error:
            return RowChoice(label, (), str(error))
        won = best(tried, experiment.metric)
        if won.failed:
            return RowChoice(label, (), next(one.failed for one in tried if one.failed))
        so_far = won.asked
    if not row.sweep:
        whole = {key: value for key, value in won.settings.items() if key not in row.trial}
        return RowChoice(label, (_entry(label, row, {**row.settings, **whole}),))
    (key, values), *_ = row.sweep.items()
    asked = [
        ExperimentFit(place, label, row, {**row.settings, **so_far, key: one}, len(stages)) for one in values
    ]
    kept = yield asked
    broken = next((one.failed for one in kept if one.failed), "")
    entries = (_entry(entry_label(label, key, value), row, one.settings) for value, one in zip(values, kept))
    return RowChoice(label, () if broken else tuple(entries), broken)


def _ready(place: ExperimentPlace) -> PreparedData:
    return _prepared(place.data, place.data_dir, place.experiment.protocol, place.folder.resolve())


def _entry(label: str, row: Row, settings: dict[str, Any]) -> ChosenEntry:
    return ChosenEntry(label, row.model, whole_settings(row.model, settings))


def _stage(fit: ExperimentFit, axes: Mapping[str, list[Any] | str]) -> Steps[ExperimentFit, Trial, list[Trial]]:
    """Every setting of a grid at once; of a space with ranges group after group, as tpe asks for them."""
    experiment = fit.place.experiment
    if not has_range(axes):
        found: list[Trial] = yield [replace(fit, settings={**fit.settings, **one}) for one in grid_of(axes)]
        return found
    tried: list[Trial] = []
    asking = proposals(space_of(axes), experiment.trials or 0, side(experiment.metric))
    group = next(asking)
    while True:
        scored = yield [replace(fit, settings={**fit.settings, **one}) for one in group]
        tried += scored
        try:
            group = asking.send([one.value for one in scored])
        except StopIteration:
            return tried


@cache
def _prepared(data: str, data_dir: Path | None, rules: str, folder: Path) -> PreparedData:
    """The data of this process for one folder, read once; its test part is opened for one choice."""
    return DataConfig(name=data).prepare(rules, data_dir)


def _kept_trial(fit: ExperimentFit) -> Trial | None:
    """The trial as its file has it; None: it was not made yet."""
    folder = Run(fit.place.folder / TRIALS)
    if not folder.has(fit.file):
        return None
    return replace(Trial.of(folder.read(fit.file)), stage=fit.stage, seconds=0.0, cpu=0.0)


def _try(fit: ExperimentFit) -> Trial:
    """In a worker: one trial, on the selection that it holds; the test rows are not in it."""
    job = TrialJob(fit.row.model, fit.settings, fit.place.experiment.metric, patience=fit.row.patience)
    return replace(attempt(held(), job, fit.row.epochs), stage=fit.stage, row=fit.label)


def _plan(place: ExperimentPlace, chosen: Sequence[RowChoice]) -> Comparison:
    """The comparison on the test part."""
    seeds = {label: row.seeds for label, row in place.experiment.rows.items()}
    entries = tuple(
        ComparisonEntry(entry.label, entry.model, entry.settings, seeds.get(one.label))
        for one in chosen
        for entry in one.entries
    )
    if not entries:
        raise RunError(
            f"{place.experiment.name} must have a row that can be run, but: {chosen[0].left_out}"
            if chosen
            else f"{place.experiment.name} must have rows to be run, but has none."
        )
    ready = _ready(place)
    source = {"name": place.data, "skip_bad": False}
    return Comparison(
        prepared=ready,
        entries=entries,
        seeds=place.experiment.seeds,
        cutoffs=place.experiment.cutoffs or ready.protocol.cutoffs,
        metrics=place.experiment.metrics,
        source=source,
    )


def _write_sweep(whole: Run, experiment: Experiment, chosen: Sequence[RowChoice]) -> None:
    """Say which entries make a curve, for the analyses of a sweep."""
    swept = {label: next(iter(row.sweep.items())) for label, row in experiment.rows.items() if row.sweep}
    if not swept:
        return
    key, values = next(iter(swept.values()))
    curves = {one.label: tuple(entry.label for entry in one.entries) for one in chosen if one.label in swept}
    beside = [one.label for one in chosen if one.label not in swept and one.entries]
    curves = {label: entries for label, entries in curves.items() if entries}
    write_sweep(whole, Sweep(key, tuple(values), curves, tuple(beside)))


class _Log:
    """Counts what is done, keeps what it cost, and tells the listener with the time that is left."""

    def __init__(self, folder: Run, heard: FitListener, experiment: Experiment, workers: int) -> None:
        self.folder, self.heard, self.workers, self.done = folder, heard, workers, 0
        self.total = fits(experiment)
        self.left = {label: _fits_of(row, experiment) for label, row in experiment.rows.items()}
        self.walls: dict[str, list[float]] = {label: [] for label in experiment.rows}
        before = ReproductionFolder(folder).sessions
        self.sessions: list[dict[str, float]] = [*before, {"fits": 0, "cpu": 0.0, "wall": 0.0}]
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
        self.heard(what, wall, self.done, self.total, self._seconds_left())

    def _seconds_left(self) -> float:
        """Each row's own mean for the fits it still has; the mean of all for a row without any yet."""
        every = [wall for walls in self.walls.values() for wall in walls]
        usual = sum(every) / max(1, len(every))
        each = {row: sum(walls) / len(walls) if walls else usual for row, walls in self.walls.items()}
        return sum(count * each[row] for row, count in self.left.items()) / self.workers
