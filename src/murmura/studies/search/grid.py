"""Choosing settings on the validation part: a grid, resumable, in parallel, the test part out of reach.

One fit serves all numbers of epochs, here or in worker processes.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.core.errors import DivergenceError, SettingError
from murmura.core.model import Model
from murmura.core.progress import SILENT, Progress
from murmura.core.schedule import Schedule
from murmura.core.settings import field_names, from_dict
from murmura.engine.experiment import ExperimentResult, experiment, score
from murmura.engine.protocol import Selection
from murmura.evaluation.metric_names import cutoff
from murmura.runs.trials import (
    DIGITS,
    Side,
    Trial,
    TrialHistory,
    best,
    measured,
    name_of,
    side,
)
from murmura.studies.methods import method, method_class
from murmura.studies.worker_pool import Workers, held, processes

__all__ = ["Axes", "Trial", "best", "grid", "name_of", "search"]
Axes = dict[str, Annotated[list[Any], Field(min_length=1)]]  # a setting -> the values that are tried


@dataclass(frozen=True)
class TrialJob:
    """One fit: a setting, scored at its end, after some epochs, or after every epoch while it gets better."""

    model: str
    settings: dict[str, Any]
    metric: str
    seed: int = 0
    stops: tuple[int, ...] = ()  # the numbers of epochs that are scored on the way
    patience: int | None = None  # every epoch is scored, and the fit ends after this many without a better one


Team = Callable[[Sequence[TrialJob]], Iterator[list[Trial]]]


@contextmanager
def trial_team(selection: Selection, workers: int | Workers, progress: Progress = SILENT) -> Iterator[Team]:
    """Who does the jobs, answers in their order: this process, some new ones, or those of a cluster.

    A worker is sent the selection once, then jobs; the test rows are in neither.
    """
    told = progress if Workers.of(workers).alone else SILENT  # a listener stays in its process
    with processes(workers, (selection, told)) as pool:
        yield lambda jobs: pool.map(_held_job, jobs)


def _held_job(job: TrialJob) -> list[Trial]:
    """In a worker: the job on the selection it holds."""
    selection, progress = held()
    return run_job(selection, job, progress)


def run_job(selection: Selection, job: TrialJob, progress: Progress = SILENT) -> list[Trial]:
    """The trials one fit gives: one, or one for every number of epochs it was scored after.

    Where training diverges, what it would have been scored after has no value.
    """
    found: list[Trial] = []
    started = time.perf_counter()
    try:
        _run(selection, job, progress, found)
    except DivergenceError:
        seconds = round(time.perf_counter() - started, 2)
        for settings in _not_reached(job, len(found)):
            found.append(Trial(settings, math.nan, seconds))
            if job.patience is not None and is_over(
                [one.value for one in found], job.patience, side(job.metric)
            ):
                break
    return found


def _run(selection: Selection, job: TrialJob, progress: Progress, found: list[Trial]) -> None:
    """Fit, and add each trial as it is known."""
    ready, rules = method(job.model, job.settings), selection.protocol
    cutoffs = tuple(sorted({*rules.cutoffs, cutoff(job.metric) or rules.cutoffs[0]}))
    if not job.stops and job.patience is None:
        outcome = experiment(
            ready, selection.split, rules, job.seed, 1, progress, cutoffs, metrics=measured(job.metric)
        )
        found.append(_trial(job, job.settings, outcome))
        return
    started = time.perf_counter()

    def watch(epoch: int, so_far: Model) -> bool:
        if job.patience is not None or epoch in job.stops:
            seconds = {"fit": time.perf_counter() - started}
            outcome = score(so_far, selection.split, rules, 1, cutoffs, seconds, measured(job.metric))
            found.append(_trial(job, {**job.settings, "epochs": epoch}, outcome))
        return job.patience is None or not is_over(
            [trial.value for trial in found], job.patience, side(job.metric)
        )

    ready.fit(selection.split.train, job.seed, progress, watch)


def _not_reached(job: TrialJob, done: int) -> list[dict[str, Any]]:
    """The settings a job stands for, but for the first `done`."""
    if not job.stops and job.patience is None:
        return [job.settings][done:]
    epochs = job.stops or tuple(range(1, most_epochs(job.model, job.settings) + 1))
    return [{**job.settings, "epochs": epoch} for epoch in epochs[done:]]


def _trial(job: TrialJob, settings: dict[str, Any], outcome: ExperimentResult) -> Trial:
    values = outcome.evaluation.values
    if job.metric not in values:
        raise SettingError(f"--metric must be one of {', '.join(values)}, but it is '{job.metric}'.")
    return Trial(settings, round(values[job.metric], DIGITS), round(sum(outcome.seconds.values()), 2))


def is_over(curve: Sequence[float], patience: int, better: Side = "higher") -> bool:
    """Whether the best of the values, one per epoch, lies `patience` epochs back."""
    top = max if better == "higher" else min
    return bool(curve) and len(curve) - 1 - curve.index(top(curve)) >= patience


def learns_in_epochs(model: str) -> bool:
    """Whether a fit can be scored on its way; `epochs` of a one-shot method are passes inside a client."""
    if model in ALGORITHMS:
        return Schedule in algorithm(model).parts
    return "epochs" in field_names(method_class(model))


def most_epochs(model: str, settings: dict[str, Any]) -> int:
    """The number of epochs a setting asks for; refuses a model that does not learn in epochs."""
    if not learns_in_epochs(model):
        raise SettingError(
            f"--patience needs a model that learns in epochs, but '{model}' does not; leave it out."
        )
    return int(from_dict(method_class(model), settings).epochs)


def grid(axes: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination, the last axis fastest."""
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def search(
    selection: Selection,
    model: str,
    candidates: list[dict[str, Any]],
    history: Path | None = None,
    *,
    metric: str = "P@10",
    seed: int = 0,
    workers: int | Workers = 1,
    patience: int | None = None,
    progress: Progress = SILENT,
) -> Iterator[Trial]:
    """Try every candidate on what `prepared.selection()` gives; those in `history` are not tried again.

    With `patience` a candidate is scored after every epoch, up to its own number of them, and its trial is that
    of the best epoch: `epochs` of the trial's settings. `workers` are processes; they change no result.
    """
    side(metric)
    for one in candidates:
        method(model, one)  # refuse a bad setting before any work
    if not candidates:
        raise SettingError("a search needs at least one candidate; give --grid key=value,value.")
    log = TrialHistory(history, (selection.data, selection.protocol.name, model), metric)
    with trial_team(selection, workers, progress) as work:
        for _, trial in run_trials(work, log, candidates, seed, patience):
            yield trial


def run_trials(
    work: Team, log: TrialHistory, candidates: list[dict[str, Any]], seed: int, patience: int | None
) -> Iterator[tuple[dict[str, Any], Trial]]:
    """Every candidate once, with its trial, as soon as it is known; what the log knows is not tried again.

    With `patience` each is at its best epoch; one whose every epoch is known is not tried again.
    """
    if patience is not None and patience < 1:
        raise SettingError(f"--patience must be at least 1 epoch, but it is {patience}.")
    each = list({name_of(one): one for one in candidates}.values())
    together = patience is None and learns_in_epochs(log.model)
    families = _families(each) if together else [[one] for one in each]
    new = [any(_known(log, one, patience) is None for one in family) for family in families]
    answers = work([_job(log, family, seed, patience) for family, untried in zip(families, new) if untried])
    for family, untried in zip(families, new):
        for trial in next(answers) if untried else ():
            if patience is None or log.find(trial.settings) is None:
                log.add(trial)
        for one in family:
            found = _known(log, one, patience)
            assert found is not None  # it was known, or the answer was its trial
            yield one, found


def _known(log: TrialHistory, settings: dict[str, Any], patience: int | None) -> Trial | None:
    """What the log knows of a setting: its trial, or with patience that of its best epoch."""
    if patience is None:
        return log.find(settings)
    curve = curve_of(log, settings, patience)
    return None if curve is None else best(curve, log.metric)


def curve_of(log: TrialHistory, settings: dict[str, Any], patience: int) -> list[Trial] | None:
    """The trials of a setting epoch by epoch, to where patience or the epochs end; None where they do not."""
    most = most_epochs(log.model, settings)
    curve: list[Trial] = []
    for epoch in range(1, most + 1):
        found = log.find({**settings, "epochs": epoch})
        if found is None:
            return None
        curve.append(found)
        if is_over([trial.value for trial in curve], patience, side(log.metric)):
            break
    return curve


def _families(candidates: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Candidates that differ only in their number of epochs are stops on the way of one fit."""
    families: dict[str, list[dict[str, Any]]] = {}
    for one in candidates:
        families.setdefault(name_of({k: v for k, v in one.items() if k != "epochs"}), []).append(one)
    return list(families.values())


def _job(log: TrialHistory, family: list[dict[str, Any]], seed: int, patience: int | None) -> TrialJob:
    if len(family) == 1:
        return TrialJob(log.model, family[0], log.metric, seed, patience=patience)
    stops = tuple(sorted(int(one["epochs"]) for one in family))
    return TrialJob(log.model, {**family[0], "epochs": stops[-1]}, log.metric, seed, stops)
