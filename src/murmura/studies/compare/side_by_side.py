"""The runs of a comparison: fitted here or by workers, scored and written here; no byte depends on who fits.

A worker is sent the training part once, and for each run a model's name, its settings and a seed; it hands back
the files of the fit, the model among them. The test part stays in this process, and every folder is written by
it: the machines of a cluster need no disk that they share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_info, threadpool_limits

from murmura.core.files import write_whole
from murmura.core.interactions import Interactions
from murmura.core.model import Method
from murmura.core.progress import NamedProgress, Progress
from murmura.core.split import Split
from murmura.engine.experiment import (
    ExperimentResult,
    experiment,
    record_lists,
    record_outcome,
    record_reasons,
    record_training,
    score,
)
from murmura.engine.run_folder import MODEL, Run, environment
from murmura.studies.methods import method
from murmura.studies.worker_pool import Workers, as_finished, held, processes

if TYPE_CHECKING:
    from murmura.studies.compare.run import Comparison, ComparisonEntry

RunListener = Callable[[str, int, float, float], None]  # a finished run: its label, seed, wall and CPU seconds


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """What a worker holds of a comparison."""

    train: Interactions
    blas_threads: int  # as in the process that asks; sums of others have other bits


@dataclass(frozen=True)
class FittedFiles:
    """What a worker hands back: the files of a fit by name, the model's among them, and what it took."""

    files: dict[str, bytes]
    seconds: float
    cpu: float


@dataclass(frozen=True, eq=False)
class RunJob:
    """One run: its folder, what is fitted for it with which seed, and whether that needs this process."""

    run: Run
    entry: ComparisonEntry
    ready: Method
    seed: int
    here: bool


@dataclass(frozen=True, eq=False)
class RunScorer:
    """Finishes runs with the test part, which is opened before the first of them."""

    plan: Comparison
    split: Split
    threads: int
    heard: RunListener

    def finish_all(self, jobs: Sequence[RunJob], team: Workers, progress: Progress) -> Iterator[Run]:
        """Every run as soon as it is finished, in whatever order; what is there already is left as it is."""
        new = [job for job in jobs if job.run.status != "done"]
        away = [job for job in new if not job.here]
        if len(away) == 1 and not team.cluster:
            away = []
        for job in jobs:
            if job not in new:
                self.heard(job.entry.label, job.seed, 0.0, 0.0)
                yield job.run
        if away:
            common = TrainingPart(self.plan.prepared.split.train, blas_threads())
            calls = ((job, partial(fit_held, job.entry.model, job.entry.settings, job.seed)) for job in away)
            with processes(replace(team, count=min(team.count, len(away))), common) as pool:
                for job, fitted in as_finished(pool, calls):
                    yield self._finish(job, progress, fitted)
        for job in new:
            if job not in away:
                yield self._finish(job, progress)

    def _finish(self, job: RunJob, progress: Progress, fitted: Future[FittedFiles] | None = None) -> Run:
        """Fit, unless that was done, score, and write down what was found."""
        run, plan, began = job.run, self.plan, time.process_time()
        with run.running():
            outcome = self._fit(job, progress) if fitted is None else self._receive(job, fitted.result())
            run.write_data(plan.prepared.describe())
            run.write_json("environment.json", environment())
            run.write_json("seconds.json", outcome.seconds)
            record_reasons(run, outcome.model, plan.prepared.catalogue)
            record_lists(run, outcome.lists, self.split)
            record_outcome(run, outcome, self.split)
            if plan.keeps(job.seed):
                job.ready.save(run.path / MODEL, outcome.model)
        cpu = time.process_time() - began + (0.0 if fitted is None else fitted.result().cpu)
        self.heard(job.entry.label, job.seed, sum(outcome.seconds.values()), cpu)
        return run

    def _fit(self, job: RunJob, progress: Progress) -> ExperimentResult:
        plan, rules, told = self.plan, self.plan.prepared.protocol, NamedProgress(progress, job.entry.label)
        outcome = experiment(
            job.ready, self.split, rules, job.seed, self.threads, told, plan.cutoffs, plan.metrics, job.run
        )
        record_training(job.run, outcome.model)
        return outcome

    def _receive(self, job: RunJob, fitted: FittedFiles) -> ExperimentResult:
        plan, rules, seconds = self.plan, self.plan.prepared.protocol, {"fit": fitted.seconds}
        with TemporaryDirectory() as folder:
            for name, content in fitted.files.items():
                write_whole((Path(folder) if name == MODEL else job.run.path) / name, content)
            model = job.ready.load(Path(folder) / MODEL, self.split.train)
        return score(model, self.split, rules, self.threads, plan.cutoffs, seconds, plan.metrics)


def fit_held(model: str, settings: dict[str, Any], seed: int) -> FittedFiles:
    """In a worker: the model fitted on the training part it holds."""
    common: TrainingPart = held()
    ready, began, cpu = method(model, settings), time.perf_counter(), time.process_time()
    with threadpool_limits(common.blas_threads, "blas"), TemporaryDirectory() as folder:
        fitted = ready.fit(common.train, seed)
        spent = time.perf_counter() - began, time.process_time() - cpu
        record_training(Run(Path(folder)), fitted)
        ready.save(Path(folder) / MODEL, fitted)
        return FittedFiles({file.name: file.read_bytes() for file in Path(folder).iterdir()}, *spent)


def blas_threads() -> int:
    """How many threads the linear algebra of this process takes."""
    return max((int(one["num_threads"]) for one in threadpool_info() if one["user_api"] == "blas"), default=1)
