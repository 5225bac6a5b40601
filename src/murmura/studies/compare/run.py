"""Several models, several seeds, one protocol: a folder with one run each, resumable.

Runs are fitted here or by workers, and scored and written here; no byte depends on who fits. A worker is sent
the training part once, and for each run a model's name, its settings and a seed; it hands back the files of the
fit, the model among them. The test part stays in this process, and every folder is written by it: the machines
of a cluster need no disk that they share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

from murmura.algorithms import ALGORITHMS
from murmura.core.catalogue import Split
from murmura.core.errors import DataError, FederationError, SettingError, said_of
from murmura.core.files import write_whole
from murmura.core.interactions import Interactions
from murmura.core.locks import locked
from murmura.core.model import EVERYTHING, Method
from murmura.core.progress import SILENT, NamedProgress, Progress
from murmura.engine.experiment import ExperimentResult, experiment, record_items, record_training
from murmura.engine.federation import Runtime
from murmura.engine.run_folder import MODEL, Run
from murmura.evaluation.registry import badness, is_cost
from murmura.studies.compare.comparison_plan import Comparison, ComparisonEntry, EntryMeans
from murmura.studies.compare.folder import RULE, USES, mean, record_order, run_name
from murmura.studies.methods import method
from murmura.studies.scorer import Scorer, record_origin
from murmura.studies.worker_pool import Workers, as_finished, held, processes

# a method that diverges, needs too much memory or refuses the data: a row with its reason, not the end
METHOD_FAILURES = (SettingError, DataError, FederationError, MemoryError)
RunListener = Callable[[str, int, float, float], None]  # a finished run: its label, seed, wall and CPU seconds


def compare(
    plan: Comparison,
    folder: Path,
    *,
    workers: int | Workers = 1,
    progress: Progress = SILENT,
    runtime: Runtime | None = None,
) -> Generator[EntryMeans, None, None]:
    """Run every entry with every seed; finished runs of the same configuration in `folder` are not repeated.

    `runtime` carries the rounds of federated methods, by default this process.
    """
    with locked(folder):
        yield from run_entries(plan, folder, workers, progress, runtime)


def run_entries(
    plan: Comparison,
    folder: Path,
    workers: int | Workers = 1,
    progress: Progress = SILENT,
    runtime: Runtime | None = None,
    listener: RunListener = lambda *_: None,
) -> Generator[EntryMeans, None, None]:
    """What `compare` does, for whoever holds the folder's lock; the listener is told of every run.

    A method that fails is a line with its reason; where all fail, the first failure is raised.
    """
    team, prepared = Workers.of(workers), plan.prepared
    ready, failures = checked_methods(plan, runtime, team.count)  # before any work
    whole = Run.create(folder, plan.config(plan.entries, plan.seeds, plan.seed))
    record_origin(whole, prepared)
    record_order(whole, plan.order_users, prepared.protocol.order)
    if source := plan.settings_source:
        whole.write_json(RULE, source)
    if plan.uses:
        whole.write_json(USES, {label: list(uses) for label, uses in plan.uses.items()})
    split = prepared.open(whole, {"models": whole.config["models"]})  # all of them, whichever are run now
    record_items(whole, split, prepared.catalogue.categories)
    # rounds that a runtime carries, and samples that are classified after every round, need this process
    alone = team.alone or prepared.protocol.classifies
    jobs = dict[Scorer, bool]()
    refused = dict[Path, Exception]()
    for entry in plan.entries:
        for seed in plan.seeds_of(entry):
            config = plan.config((replace(entry, seeds=None),), 1, seed)
            run = replace(Run.create(folder / run_name(entry.label, seed), config), seed=seed)
            if entry.label in failures:
                run.mark("failed", error=str(failures[entry.label]))
                refused[run.path] = failures[entry.label]
                continue
            made, carried = ready[entry.label]
            job = Scorer(entry.label, entry.model, entry.settings, run, prepared, made)
            jobs[job] = alone or carried
    progress.begin("comparison", len(jobs))
    with whole.running():
        runner = Runner(plan, split, team.size, listener, refused)
        runs = runner.finish_all(jobs, team, progress)
        finished = set[Path]()
        for entry in plan.entries:
            own = [job.run for job in jobs if job.label == entry.label]
            while not finished.issuperset(run.path for run in own):
                finished.add(next(runs).path)
                progress.advance()
            if plan.keep == "best":
                drop_worse([job for job in jobs if job.run.seed == plan.seed])
            yield runner.means(entry, [folder / run_name(entry.label, seed) for seed in plan.seeds_of(entry)])
        if refused and refused.keys() >= {job.run.path for job in jobs}:
            raise next(iter(refused.values()))
    progress.end()


def checked_methods(
    plan: Comparison, runtime: Runtime | None, threads: int
) -> tuple[dict[str, tuple[Method, bool]], dict[str, Exception]]:
    """The methods by label, and why others refuse the data; where all do, the first refusal is raised."""
    ready, failures = dict[str, tuple[Method, bool]](), dict[str, Exception]()
    for entry in plan.entries:
        try:
            ready[entry.label] = checked_method(entry, plan, runtime, threads)
        except METHOD_FAILURES as error:
            failures[entry.label] = error
    if failures and not ready:
        raise next(iter(failures.values()))
    return ready, failures


def checked_method(
    entry: ComparisonEntry, plan: Comparison, runtime: Runtime | None, threads: int
) -> tuple[Method, bool]:
    """The method of an entry, and whether the runtime carries its rounds.

    What it refuses of its settings or of the data is said under its label.
    """
    train = plan.prepared.split.train
    with said_of(entry.label):
        made = method(entry.model, entry.settings, threads)
        made.check(train, plan.seed)
    if runtime is not None and entry.model in ALGORITHMS:
        carried = method(entry.model, entry.settings, threads, runtime)
        with suppress(SettingError):  # of a runtime that cannot: then it is fitted like a centralised one
            carried.check(train, plan.seed)
            return carried, True
    return made, False


@dataclass(frozen=True)
class FittedFiles:
    """What a worker hands back: the files of a fit by name, the model's among them, and what it took."""

    files: dict[str, bytes]
    seconds: float
    cpu: float


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """What a worker holds of a comparison."""

    train: Interactions
    blas_threads: int  # as in the process that asks; sums of others have other bits


@dataclass(frozen=True, eq=False)
class Runner:
    """Finishes runs with the test part, which is opened before the first of them."""

    plan: Comparison
    split: Split
    threads: int
    listener: RunListener
    failed: dict[Path, Exception]  # the folders of the runs whose method failed

    def means(self, entry: ComparisonEntry, folders: Sequence[Path]) -> EntryMeans:
        """The means over the seeds of an entry that came to their end."""
        failures = [self.failed[one] for one in folders if one in self.failed]
        done = [Run(one) for one in folders if one not in self.failed]
        seeds = len(done) if entry.seeds or failures else self.plan.seeds
        values = self.plan.columns(mean([run.read("metrics.json") for run in done]))
        return EntryMeans(
            entry.label, seeds, values, next(iter(failures), None), self.plan.uses.get(entry.label, ())
        )

    def finish_all(self, jobs: dict[Scorer, bool], team: Workers, progress: Progress) -> Iterator[Run]:
        """Every run as soon as it is finished, in whatever order; what is there already is left as it is.

        Beside each job stands whether it needs this process.
        """
        new = [job for job in jobs if job.run.status != "done"]
        away = [job for job in new if not jobs[job]]
        if len(away) == 1 and not team.cluster:
            away = []
        for job in jobs:
            if job not in new:
                self.listener(job.label, job.run.seed, 0.0, 0.0)
                yield job.run
        if away:
            common = TrainingPart(self.plan.prepared.split.train, blas_threads())
            calls = ((job, partial(fit_held, job.name, job.settings, job.run.seed)) for job in away)
            with processes(replace(team, count=min(team.count, len(away))), common) as pool:
                for job, fitted in as_finished(pool, calls, METHOD_FAILURES):
                    yield self._finish(job, progress, fitted)
        for job in new:
            if job not in away:
                yield self._finish(job, progress)

    def _finish(self, job: Scorer, progress: Progress, fitted: Future[FittedFiles] | None = None) -> Run:
        """Fit, unless that was done, score, and write down what was found, or why its method failed."""
        run, began = job.run, time.process_time()
        try:
            with run.running(), said_of(job.label):
                outcome = self._fit(job, progress) if fitted is None else self._receive(job, fitted.result())
                job.record(outcome, self.split)
                if self.plan.keeps(job.run.seed):
                    job.ready.save(run.path / MODEL, outcome.model)
        except METHOD_FAILURES as error:
            self.failed[run.path] = error
            return run
        cpu = time.process_time() - began + (0.0 if fitted is None else fitted.result().cpu)
        self.listener(job.label, job.run.seed, sum(outcome.seconds.values()), cpu)
        return run

    def _fit(self, job: Scorer, progress: Progress) -> ExperimentResult:
        plan, rules, named = self.plan, self.plan.prepared.protocol, NamedProgress(progress, job.label)
        outcome = experiment(
            job.ready, self.split, rules, job.run.seed, self.threads, named, plan.cutoffs, plan.metrics, job.run
        )
        record_training(job.run, outcome.model)
        return outcome

    def _receive(self, job: Scorer, fitted: FittedFiles) -> ExperimentResult:
        with TemporaryDirectory() as folder:
            for name, content in fitted.files.items():
                write_whole((Path(folder) if name == MODEL else job.run.path) / name, content)
            model = job.ready.load(Path(folder) / MODEL, self.split.train)
        plan, seconds = self.plan, {"fit": fitted.seconds}
        return job.score(model, self.split, plan.cutoffs, plan.metrics, self.threads, seconds)


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


def drop_worse(scorers: Sequence[Scorer]) -> None:
    """Delete the saved models that are no longer the best of their kind, centralised or federated."""
    kinds: dict[bool, list[Scorer]] = {}
    for one in scorers:
        if one.run.has(MODEL):
            kinds.setdefault(one.ready.server_reads == EVERYTHING, []).append(one)
    for some in kinds.values():
        best = max(some, key=_worth)  # of equal ones the first
        for one in some:
            if one is not best:
                (one.run.path / MODEL).unlink()


def _worth(scorer: Scorer) -> float:
    """Its first metric, higher for a better one."""
    found = replace(scorer.run).metrics  # read anew: its own may be from before the run
    key = next((key for key in found if not is_cost(key)), None)
    return 0.0 if key is None else -badness(key, found[key])


def saved_models(folder: Path) -> tuple[int, int]:
    """How many models a comparison saved, and how many bytes they are."""
    sizes = [path.stat().st_size for path in folder.glob(f"*/{MODEL}")]
    return len(sizes), sum(sizes)
