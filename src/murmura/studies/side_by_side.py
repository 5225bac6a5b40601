"""The runs of a comparison side by side, in processes here or of a cluster; no byte of a result changes.

A worker is sent the data once, and for each run its folder, model and seed; it writes the run's files itself,
so on a cluster the folder must be one that all workers see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

from murmura.core.catalogue import Catalogue
from murmura.core.method import Method
from murmura.core.progress import SILENT, Progress
from murmura.core.split import Split
from murmura.engine.experiment import (
    experiment,
    record_lists,
    record_outcome,
    record_reasons,
    record_training,
)
from murmura.engine.protocol import Protocol
from murmura.engine.run import MODEL, Run, environment
from murmura.studies.methods import method
from murmura.studies.worker_pool import Workers, held, processes


@dataclass(frozen=True, eq=False)
class ComparisonData:
    """What all runs of a comparison have in common: it is opened before the first of them."""

    split: Split
    rules: Protocol
    cutoffs: tuple[int, ...]
    metrics: tuple[str, ...]
    catalogue: Catalogue
    described: dict[str, Any]
    blas_threads: int | None = None  # as in the process that asks; sums of others have other bits


@dataclass(frozen=True)
class RunJob:
    """One run: the folder it was created in, and what is fitted there."""

    folder: Path
    model: str
    settings: dict[str, Any]
    seed: int
    keep: bool = False  # whether the fitted model is kept
    threads: int = 1


def finish_run(
    data: ComparisonData,
    run: Run,
    ready: Method,
    seed: int,
    threads: int = 1,
    progress: Progress = SILENT,
    keep: bool = False,
) -> None:
    """Fit, score and write down what was found; a finished run is left as it is."""
    if run.status == "done":
        return
    with run.running():
        outcome = experiment(
            ready, data.split, data.rules, seed, threads, progress, data.cutoffs, data.metrics, run
        )
        run.write_data(data.described)
        run.write_json("environment.json", environment())
        run.write_json("seconds.json", outcome.seconds)
        record_training(run, outcome.model)
        record_reasons(run, outcome.model, data.catalogue)
        record_lists(run, outcome.lists, data.split)
        record_outcome(run, outcome, data.split)
        if keep:
            ready.save(run.path / MODEL, outcome.model)


def finish_runs(data: ComparisonData, jobs: Sequence[RunJob], workers: Workers) -> Iterator[Run]:
    """Every run in the order of the jobs, each as soon as it and those before it are finished."""
    if not jobs:
        return
    together = min(workers.size, len(jobs))
    asked = replace(workers, count=together)
    jobs = [replace(job, threads=max(1, workers.size // together)) for job in jobs]
    with processes(asked, replace(data, blas_threads=blas_threads())) as pool:
        for done in pool.map(_held_run, jobs):
            yield Run(done)


def _held_run(job: RunJob) -> Path:
    """In a worker: the run with the data it holds."""
    data: ComparisonData = held()
    with threadpool_limits(data.blas_threads, "blas"):
        ready = method(job.model, job.settings)
        finish_run(data, Run(job.folder), ready, job.seed, job.threads, keep=job.keep)
    return job.folder


def blas_threads() -> int:
    """How many threads the linear algebra of this process takes."""
    return max((int(one["num_threads"]) for one in threadpool_info() if one["user_api"] == "blas"), default=1)
