"""Choosing settings on the validation part: resumable, in parallel, the test part out of reach.

A grid is tried whole, a study asks for settings from what earlier ones scored. One fit serves
all numbers of epochs, here or in worker processes.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.core.errors import DivergenceError, MemoryLimitError, SettingError
from murmura.core.model import Model
from murmura.core.progress import SILENT, Progress
from murmura.core.schedule import Schedule
from murmura.core.settings import field_names, from_dict
from murmura.engine.experiment import ExperimentResult, experiment, score
from murmura.engine.prepared import Selection
from murmura.evaluation.registry import cutoff
from murmura.studies.methods import method, method_class
from murmura.studies.search.folder import DIGITS, Trial, TrialHistory, best, measured, name_of, side
from murmura.studies.search.tpe import Candidates, Tpe
from murmura.studies.worker_pool import Workers, held, processes


@dataclass(frozen=True)
class TrialJob:
    """One fit: a setting, scored at its end, after some epochs, or after every epoch while it gets better."""

    model: str
    settings: dict[str, Any]
    metric: str
    seed: int = 0
    stops: tuple[int, ...] = ()  # the numbers of epochs that are scored on the way
    patience: int | None = None  # every epoch is scored, and the fit ends after this many without a better one

    def asked(self) -> list[dict[str, Any]]:
        """The settings it stands for, in the order in which they are scored."""
        epochs: Iterable[int] = self.stops
        if self.patience is not None:
            epochs = range(1, most_epochs(self.model, self.settings) + 1)
        return [{**self.settings, "epochs": epoch} for epoch in epochs] or [self.settings]


def run_job(selection: Selection, job: TrialJob, progress: Progress = SILENT) -> list[Trial]:
    """The trials one fit gives: one, or one for every number of epochs it was scored after.

    Where training diverges or needs too much memory, what it would have been scored after has no value.
    """
    asked, found, started = job.asked(), list[Trial](), time.perf_counter()
    rules, metrics = selection.protocol, measured(job.metric)
    cutoffs = tuple(sorted({*rules.cutoffs, cutoff(job.metric) or rules.cutoffs[0]}))

    def add(outcome: ExperimentResult) -> None:
        values = outcome.evaluation.values
        if job.metric not in values:
            raise SettingError(f"--metric must be one of {', '.join(values)}, but it is '{job.metric}'.")
        value, seconds = round(values[job.metric], DIGITS), round(sum(outcome.seconds.values()), 2)
        found.append(Trial(asked[len(found)], value, seconds))

    def watch(epoch: int, so_far: Model) -> bool:
        if len(found) < len(asked) and epoch == asked[len(found)]["epochs"]:
            seconds = {"fit": time.perf_counter() - started}
            add(score(so_far, selection.split, rules, 1, cutoffs, metrics, seconds))
        return not is_over(found, job.patience, job.metric)

    try:
        ready = method(job.model, job.settings)
        if job.stops or job.patience is not None:
            ready.fit(selection.split.train, job.seed, progress, watch)
        else:
            add(experiment(ready, selection.split, rules, job.seed, 1, progress, cutoffs, metrics=metrics))
    except (DivergenceError, MemoryLimitError, MemoryError):
        seconds = round(time.perf_counter() - started, 2)
        for settings in asked[len(found) :]:
            found.append(Trial(settings, math.nan, seconds, failed=str(sys.exception())))
            if is_over(found, job.patience, job.metric):
                break
    return found


def is_over(curve: Sequence[Trial], patience: int | None, metric: str) -> bool:
    """Whether the best trial, one per epoch, lies `patience` epochs back; never without patience."""
    if patience is None or not curve:
        return False
    values = [trial.value for trial in curve]
    return len(values) - 1 - values.index((max if side(metric) == "higher" else min)(values)) >= patience


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


def check_candidates(model: str, candidates: Candidates, patience: int | None = None) -> None:
    """Refuse settings that the model does not allow, before any work."""
    for one in candidates.corners() if isinstance(candidates, Tpe) else candidates:
        method(model, one)
        if patience is not None:
            most_epochs(model, one)
    if not candidates:
        raise SettingError("a search needs at least one candidate; give --grid key=value,value.")
    if patience is not None and patience < 1:
        raise SettingError(f"--patience must be at least 1 epoch, but it is {patience}.")


def search(
    selection: Selection,
    model: str,
    candidates: Candidates,
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
    of the best epoch: `epochs` of the trial's settings. `workers` are processes, or those of a cluster; they
    change no result. Each is sent the selection once, then jobs; the test rows are in neither.
    """
    better = side(metric)
    check_candidates(model, candidates, patience)
    log = TrialHistory(history, (selection.data, selection.protocol.name, model), metric)
    if isinstance(candidates, Tpe):
        groups = candidates.groups(better, seed)
    else:
        groups = iter([(list(itertools.chain(*_families(log, candidates, patience))), [])])
    listener = progress if Workers.of(workers).alone else SILENT  # a listener stays in its process
    with processes(workers, (selection, listener)) as pool:
        for group, values in groups:
            for trial in _run_trials(pool, log, group, seed, patience):
                values.append(trial.value)
                yield trial


def _run_trials(
    pool: Executor, log: TrialHistory, candidates: list[dict[str, Any]], seed: int, patience: int | None
) -> Iterator[Trial]:
    """The trial of every candidate in turn, as soon as it is known; what the log knows is not tried again.

    With `patience` each is at its best epoch; one whose every epoch is known is not tried again.
    """
    families = _families(log, candidates, patience)
    new = [family for family in families if any(_known(log, one, patience) is None for one in family)]
    answers = pool.map(_held_job, [_job(log, family, seed, patience) for family in new])
    for one in candidates:
        while (found := _known(log, one, patience)) is None:
            for trial in next(answers):
                if patience is None or log.find(trial.settings) is None:
                    log.add(trial)
        yield found


def trial_jobs(model: str, candidates: list[dict[str, Any]], metric: str, seed: int = 0) -> list[TrialJob]:
    """The fits that the candidates need; those that differ only in their epochs share one."""
    log = TrialHistory(None, ("", "", model), metric)
    return [_job(log, family, seed, None) for family in _families(log, candidates, None)]


def _held_job(job: TrialJob) -> list[Trial]:
    """In a worker: the job on the selection it holds."""
    selection, progress = held()
    return run_job(selection, job, progress)


def _known(log: TrialHistory, settings: dict[str, Any], patience: int | None) -> Trial | None:
    """What the log knows of a setting: its trial, or with patience that of its best epoch."""
    if patience is None:
        return log.find(settings)
    curve = curve_of(log, settings, patience)
    return None if curve is None else best(curve, log.metric)


def curve_of(log: TrialHistory, settings: dict[str, Any], patience: int) -> list[Trial] | None:
    """The trials of a setting epoch by epoch, to where patience or the epochs end; None where they do not."""
    curve: list[Trial] = []
    for one in TrialJob(log.model, settings, log.metric, patience=patience).asked():
        if (found := log.find(one)) is None:
            return None
        curve.append(found)
        if is_over(curve, patience, log.metric):
            break
    return curve


def _families(
    log: TrialHistory, candidates: list[dict[str, Any]], patience: int | None
) -> list[list[dict[str, Any]]]:
    """Every candidate once; those that differ only in their epochs are stops on the way of one fit."""
    apart = () if patience is not None or not learns_in_epochs(log.model) else ("epochs",)
    families: dict[str, dict[str, dict[str, Any]]] = {}
    for one in candidates:
        shared = name_of({key: value for key, value in one.items() if key not in apart})
        families.setdefault(shared, {}).setdefault(name_of(one), one)
    return [list(family.values()) for family in families.values()]


def _job(log: TrialHistory, family: list[dict[str, Any]], seed: int, patience: int | None) -> TrialJob:
    if len(family) == 1:
        return TrialJob(log.model, family[0], log.metric, seed, patience=patience)
    stops = tuple(sorted(int(one["epochs"]) for one in family))
    return TrialJob(log.model, {**family[0], "epochs": stops[-1]}, log.metric, seed, stops)
