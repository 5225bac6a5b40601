"""Trying settings on the validation part: one fit for all numbers of epochs, here or in worker processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.core.errors import SettingError
from murmura.core.model import Model
from murmura.core.progress import SILENT, Progress
from murmura.core.schedule import Schedule
from murmura.core.settings import field_names, from_dict
from murmura.engine.experiment import ExperimentResult, experiment, score
from murmura.engine.protocol import Selection
from murmura.studies.methods import method, method_class
from murmura.studies.search.trials import DIGITS, Side, Trial, measured, side
from murmura.studies.worker_pool import processes


@dataclass(frozen=True)
class TrialJob:
    """One fit: a setting, scored at its end, after some epochs, or after every epoch while it gets better."""

    model: str
    settings: dict[str, Any]
    metric: str
    seed: int = 0
    stops: tuple[int, ...] = ()  # the numbers of epochs that are scored on the way
    patience: int | None = None  # every epoch is scored, and the fit ends after this many without a better one

    @property
    def better(self) -> Side:
        """Which direction of the metric is better."""
        return side(self.metric)


Team = Callable[[Sequence[TrialJob]], Iterator[list[Trial]]]


@contextmanager
def trial_team(selection: Selection, workers: int, progress: Progress = SILENT) -> Iterator[Team]:
    """Who does the jobs, answers in their order: this process, or some new ones.

    A worker is sent the selection and the job; the test rows are in neither.
    """
    if workers == 1:
        yield lambda jobs: (run_job(selection, job, progress) for job in jobs)
        return
    with processes(workers) as pool:
        yield lambda jobs: pool.map(partial(run_job, selection), jobs)


def run_job(selection: Selection, job: TrialJob, progress: Progress = SILENT) -> list[Trial]:
    """The trials one fit gives: one, or one for every number of epochs it was scored after."""
    ready, rules = method(job.model, job.settings), selection.protocol
    if not job.stops and job.patience is None:
        outcome = experiment(ready, selection.split, rules, job.seed, 1, progress, metrics=measured(job.metric))
        return [_trial(job, job.settings, outcome)]
    started = time.perf_counter()
    found: list[Trial] = []

    def watch(epoch: int, so_far: Model) -> bool:
        if job.patience is not None or epoch in job.stops:
            seconds = {"fit": time.perf_counter() - started}
            outcome = score(so_far, selection.split, rules, 1, rules.cutoffs, seconds, measured(job.metric))
            found.append(_trial(job, {**job.settings, "epochs": epoch}, outcome))
        return job.patience is None or not is_over([trial.value for trial in found], job.patience, job.better)

    ready.fit(selection.split.train, job.seed, progress, watch)
    return found


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
