"""A study: every method searched on every data set with the same number of trials, then scored once.

All choices on a data set are made on its validation part, and their fits on the whole training part are done,
before its test part is opened: once, for all of them. A method that fails is a row with its reason. What is
finished is not repeated, so a study that was killed ends as if it had not been. Fits take one thread each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from murmura.core.errors import LeakError, RunError, SettingError, said_of
from murmura.core.files import write_whole
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict
from murmura.engine.experiment import record_items
from murmura.engine.prepared import PreparedData, refuse_opened
from murmura.engine.run_folder import MODEL, Run
from murmura.evaluation.registry import cutoff, has_no_cutoff
from murmura.lab.study.folder import EFFORT, StudyFolder, Trials
from murmura.lab.study.study_plan import StudyPlan
from murmura.studies.compare.comparison_plan import Comparison, ComparisonEntry
from murmura.studies.compare.folder import record_order, run_name
from murmura.studies.compare.run import FittedFiles, TrainingPart, fit_held
from murmura.studies.methods import below_minimum_cohort, method, resolved_settings
from murmura.studies.scorer import Scorer, record_origin
from murmura.studies.search.folder import Trial, best, measured, name_of
from murmura.studies.search.grid import TrialJob, run_job, trial_jobs
from murmura.studies.worker_pool import WorkerPool, Workers, as_finished, held, processes

T = TypeVar("T")
DIVERGED = "its training diverged"
SAMPLED = "/sampled@"
Listener = Callable[[str], None]


def study(
    plan: StudyPlan,
    folder: Path,
    *,
    workers: int | Workers = 1,
    data_dir: Path | None = None,
    progress: Progress = SILENT,
    on_message: Listener = lambda sentence: None,
) -> StudyFolder:
    """Run a plan, or go on with it; every data set is read and cut before the first fit."""
    plan.check()
    found = StudyFolder(Run(folder))
    left = [name for name in plan.data if not found.of(name).done]
    for name in left:
        with said_of(name):
            _prepared(plan, name, data_dir)
    with locked(folder):
        whole = Run.create(folder, as_dict(plan))
        with whole.running():
            for name in left:
                one = DataSetStudy(plan, name, found, Workers.of(workers), data_dir, progress, on_message)
                one.finish(one.search())
    return found


def _prepared(plan: StudyPlan, name: str, data_dir: Path | None) -> PreparedData:
    """A data set made ready, its test part sealed; refuses a protocol whose results the metric is none of."""
    source, metric = plan.data[name], plan.metric_on(name)
    prepared = source.data.prepare(source.whole_protocol, data_dir)
    rules = prepared.protocol
    drawn = SAMPLED in metric and rules.sampled is None  # a metric among candidates, where none are drawn
    if rules.classifies or drawn or has_no_cutoff(metric) != (rules.scores != "lists"):
        raise SettingError(
            f"protocol '{rules.name}' must score what the metric measures, but the metric is {metric}; "
            "give the data set another 'metric' or 'protocol'."
        )
    return prepared


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """What came of a call: its value, or in one sentence why there is none."""

    value: T | None = None
    failed: str = ""


def attempt(call: Callable[[], T]) -> Attempt[T]:
    """Call it; whatever it raises is a reason, but what a study may not survive: a leak, an unusable folder."""
    try:
        return Attempt(call())
    except (LeakError, RunError):
        raise
    except MemoryError as error:
        return Attempt(failed=f"not enough memory {error}".strip())
    except Exception as error:
        return Attempt(failed=str(error) or type(error).__name__)


def try_held(job: TrialJob) -> Attempt[list[Trial]]:
    """In a worker: a fit and its trials on the selection it holds."""
    began = time.process_time()
    with threadpool_limits(1, "blas"):
        found = attempt(partial(run_job, held(), job))
    cpu = (time.process_time() - began) / len(job.asked())
    return replace(found, value=[replace(one, cpu=cpu) for one in found.value or _untried(job)])


def _untried(job: TrialJob) -> list[Trial]:
    return [Trial(settings, math.nan) for settings in job.asked()]


def fit_checked(model: str, settings: dict[str, Any], seed: int) -> Attempt[FittedFiles]:
    """In a worker: the model fitted on the training part it holds."""

    def call() -> FittedFiles:
        method(model, settings).check(held().train, seed)
        return fit_held(model, settings, seed)

    return attempt(call)


def every_attempt(
    pool: WorkerPool, calls: Sequence[Callable[[], Attempt[T]]]
) -> Iterator[tuple[int, Attempt[T]]]:
    """What came of every call, beside its place; a call that ended its worker failed, and the rest goes on."""
    left = dict(enumerate(calls))
    while left:
        for place, future in as_finished(pool, [*left.items()]):
            del left[place]
            yield place, _received(future)


def _received(future: Future[Attempt[T]]) -> Attempt[T]:
    found = attempt(future.result)
    return Attempt(failed=found.failed) if found.value is None else found.value


@dataclass(frozen=True, eq=False)
class DataSetStudy:
    """One data set of a study."""

    plan: StudyPlan
    name: str
    folder: StudyFolder
    team: Workers
    data_dir: Path | None
    progress: Progress
    on_message: Listener
    metric: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", self.plan.metric_on(self.name))

    def search(self) -> Trials:
        """Try every method's settings on the validation part; what the folder has is not tried again."""
        selection = _prepared(self.plan, self.name, self.data_dir).selection()
        train, before = selection.split.train, self.folder.trials(self.name)
        known = {label: {name_of(one.settings): one for one in own} for label, own in before.items()}
        asked, jobs = dict[str, list[str]](), list[tuple[str, TrialJob]]()
        for label in self.plan.methods:
            if self.plan.searched(label) != label:
                continue
            model, some = self.plan.model(label), self.plan.candidates(label, train)
            some = [{**below_minimum_cohort(model, one, train), **one} for one in some]
            asked[label] = [name_of(one) for one in some]
            found = known.setdefault(label, {})
            for job in trial_jobs(model, some, self.metric, self.plan.seed):
                if any(name_of(one) not in found for one in job.asked()):
                    jobs.append((label, job))
        if jobs:
            refuse_opened(self.folder.of(self.name))
        self.progress.begin(f"{self.name}: searches", len(jobs))
        with processes(self._team(len(jobs)), selection) as pool:
            for place, tried in every_attempt(pool, [partial(try_held, job) for _, job in jobs]):
                label, job = jobs[place]
                for one in tried.value or _untried(job):
                    failed = (one.failed or tried.failed or DIVERGED) if math.isnan(one.value) else ""
                    known[label][name_of(one.settings)] = replace(one, failed=failed)
                trials = {
                    label: [known[label][name] for name in asked[label] if name in known[label]]
                    for label in asked
                }
                self.folder.record_trials(self.name, trials)
                self.progress.advance()
        self.progress.end()
        return self.folder.trials(self.name)

    def _team(self, jobs: int) -> Workers:
        return replace(self.team, count=max(1, min(self.team.count, jobs)))

    def finish(self, trials: Trials) -> None:
        """Fit what won on the whole training part, open the test part once for all of it, and score it."""
        entries = list[ComparisonEntry]()
        for label in self.plan.methods:
            won, model = best(trials[self.plan.searched(label)], self.metric), self.plan.model(label)
            if won.failed:
                self.on_message(f"{self.name}: {label} has no result: {won.failed}")
            else:
                settings = self.plan.chosen(label, won.settings)
                entries.append(ComparisonEntry(label, model, resolved_settings(model, settings)))
        if not entries:
            return
        chosen = self._comparison(tuple(entries))
        whole = Run.create(
            self.folder.of(self.name).path, chosen.config(chosen.entries, chosen.seeds, chosen.seed)
        )
        record_origin(whole, chosen.prepared)
        record_order(whole, chosen.order_users, chosen.prepared.protocol.order)
        jobs = [
            self._scorer(chosen, entry, seed) for entry in chosen.entries for seed in chosen.seeds_of(entry)
        ]
        with whole.running():
            self._fit([job for job in jobs if job.run.status not in ("fitted", "failed", "done")], chosen)
            self._score([job for job in jobs if job.run.status == "fitted"], chosen, whole)

    def _comparison(self, entries: tuple[ComparisonEntry, ...]) -> Comparison:
        prepared = _prepared(self.plan, self.name, self.data_dir)
        return Comparison(
            prepared=prepared,
            entries=entries,
            seeds=self.plan.seeds,
            seed=self.plan.seed,
            cutoffs=tuple(sorted({*prepared.protocol.cutoffs, *filter(None, [cutoff(self.metric)])})),
            metrics=measured(self.metric),
            source=self.plan.data[self.name].data.source(),
        )

    def _scorer(self, chosen: Comparison, entry: ComparisonEntry, seed: int) -> Scorer:
        path = self.folder.of(self.name).path / run_name(entry.label, seed)
        run = replace(Run.create(path, chosen.config((entry,), 1, seed)), seed=seed)
        return Scorer(entry.label, entry.model, entry.settings, run, chosen.prepared)

    def _fit(self, jobs: Sequence[Scorer], chosen: Comparison) -> None:
        common = TrainingPart(chosen.prepared.split.train, 1)
        calls = [partial(fit_checked, job.name, job.settings, job.run.seed) for job in jobs]
        self.progress.begin(f"{self.name}: fits", len(jobs))
        with processes(self._team(len(jobs)), common) as pool:
            for place, fitted in every_attempt(pool, calls):
                job = jobs[place]
                if fitted.value is None:
                    self._fail(job, fitted.failed)
                else:
                    for file, content in fitted.value.files.items():
                        write_whole(job.run.path / file, content)
                    job.run.write_json(EFFORT, {"cpu": fitted.value.cpu, "seconds": fitted.value.seconds})
                    job.run.mark("fitted")
                self.progress.advance()
        self.progress.end()

    def _score(self, jobs: Sequence[Scorer], chosen: Comparison, whole: Run) -> None:
        if not jobs:
            return
        self.folder.record_opening(self.name, chosen.prepared.describe())
        split = chosen.prepared.open(whole, {"models": whole.config["models"]})
        record_items(whole, split, chosen.prepared.catalogue.categories)

        def scored(job: Scorer) -> None:
            spent = {"fit": job.run.read_numbers(EFFORT).get("seconds", 0.0)}
            outcome = job.score(job.model(), split, chosen.cutoffs, chosen.metrics, 1, spent)
            job.record(outcome, split)

        for job in jobs:
            if failed := attempt(partial(scored, job)).failed:
                self._fail(job, failed)
            else:
                job.run.mark("done")
            (job.run.path / MODEL).unlink(missing_ok=True)

    def _fail(self, job: Scorer, reason: str) -> None:
        job.run.mark("failed", error=reason)
        self.on_message(f"{self.name}: {job.label} has no result: {reason}")
