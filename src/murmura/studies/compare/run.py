"""Several models, several seeds, one protocol: a folder with one run each, resumable."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from murmura.algorithms import ALGORITHMS
from murmura.core.catalogue import Dataset
from murmura.core.errors import SettingError, said_of
from murmura.core.locks import locked
from murmura.core.model import Method
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict
from murmura.engine.experiment import record_items
from murmura.engine.federation import Runtime
from murmura.engine.protocol import PreparedData, prepare, protocol
from murmura.engine.run_folder import Run, environment
from murmura.evaluation.registry import DEFAULT_METRICS, chosen_metrics, has_no_cutoff
from murmura.studies.compare.folder import RULE, run_name
from murmura.studies.compare.side_by_side import RunJob, RunListener, RunScorer
from murmura.studies.kept_models import Keep, drop_worse
from murmura.studies.methods import (
    TWINS,
    few_people,
    kept_settings,
    method,
    name_and_settings,
    whole_settings,
)
from murmura.studies.order_seen import order_users, record_order
from murmura.studies.size_rule import Sizes, by_rule, source_of_settings
from murmura.studies.sweep.folder import mean
from murmura.studies.worker_pool import Workers

BELOW_MOSTPOP = "▼"  # the mark of a method that has less than recommending what everybody likes


@dataclass(frozen=True)
class ComparisonEntry:
    """One line of a comparison: a model with its settings, under the label the user gave it."""

    label: str
    model: str
    settings: dict[str, Any]
    seeds: int | None = None  # where it is run with fewer than the others
    by_rule: bool = False  # whether settings that nobody gave are those of the rule from sizes
    few: bool = False  # whether its sums are of fewer people than a real federation asks for by default
    own: Mapping[str, Any] = field(default_factory=dict)  # of the settings, those that were given
    usual: Mapping[str, Any] = field(default_factory=dict)  # and those kept for the data, or of the rule


@dataclass(frozen=True)
class EntryMeans:
    """The means over seeds of one entry."""

    label: str
    seeds: int
    values: dict[str, float | None]  # None: not defined, e.g. the Gini index of no lists

    def flat(self) -> dict[str, Any]:
        """One flat object, as --json prints it."""
        return {"model": self.label, "seeds": self.seeds, **self.values}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared: data made ready, the entries, and how often each is run."""

    prepared: PreparedData
    entries: tuple[ComparisonEntry, ...]
    seeds: int = 1
    seed: int = 0
    cutoffs: tuple[int, ...] = (10,)
    metrics: tuple[str, ...] = DEFAULT_METRICS
    source: dict[str, Any]  # how the data was named: what `reproduce` needs
    keep: Keep = "none"  # which fitted models stay in the folder

    def config(self, entries: tuple[ComparisonEntry, ...], seeds: int, seed: int) -> dict[str, Any]:
        """The configuration of the whole, or of one run of it, as kept in its folder."""
        return {
            "data": self.source,
            "protocol": as_dict(self.prepared.protocol),
            "cutoffs": list(self.cutoffs),
            **({} if self.metrics == DEFAULT_METRICS else {"metrics": list(self.metrics)}),
            "models": {e.label: {"name": e.model, **e.settings} for e in entries},
            **({} if not (own := {e.label: e.seeds for e in entries if e.seeds}) else {"seeds_of": own}),
            "seeds": seeds,
            "seed": seed,
        }

    @property
    def ruled(self) -> list[str]:
        """The labels of the entries whose settings the rule from sizes gave."""
        return [entry.label for entry in self.entries if entry.by_rule]

    @property
    def settings_source(self) -> dict[str, Any]:
        """Where settings came from that nobody gave, as `rule.json` keeps it."""
        few = [entry.label for entry in self.entries if entry.few]
        return source_of_settings(self.ruled, few, Sizes.of(self.prepared.split.train))

    def columns(self, values: dict[str, float | None]) -> dict[str, float | None]:
        """What a table shows: of errors and accuracies those that were asked for, where any were."""
        if self.prepared.protocol.scores == "lists" or self.metrics == DEFAULT_METRICS:
            return values
        return {k: v for k, v in values.items() if not has_no_cutoff(k) or k.split("/")[0] in self.metrics}

    def seeds_of(self, entry: ComparisonEntry) -> range:
        """The seeds one entry is run with."""
        count = min(self.seeds, entry.seeds or self.seeds)
        return range(self.seed, self.seed + (count if method(entry.model, entry.settings).seeded else 1))

    def keeps(self, seed: int) -> bool:
        """Whether the model of a run with this seed is kept beside its results."""
        return self.keep != "none" and seed == self.seed


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
    heard: RunListener = lambda *_: None,
) -> Generator[EntryMeans, None, None]:
    """What `compare` does, for whoever holds the folder's lock; `heard` is told of every run."""
    team = Workers.of(workers)
    ready = [checked_method(entry, plan, runtime, team.count) for entry in plan.entries]  # before any work
    whole = Run.create(folder, plan.config(plan.entries, plan.seeds, plan.seed))
    whole.write_data(plan.prepared.describe())
    whole.write_json("environment.json", environment())
    record_order(whole, order_users(plan.entries), plan.prepared.protocol.order)
    if source := plan.settings_source:
        whole.write_json(RULE, source)
    split = plan.prepared.open(whole, {"models": whole.config["models"]})  # all of them, whichever are run now
    record_items(whole, split, plan.prepared.catalogue.categories)
    # rounds that a runtime carries, and samples that are classified after every round, need this process
    alone = team.alone or plan.prepared.protocol.classifies
    jobs = [
        RunJob(Run.create(folder / run_name(entry.label, seed), config), entry, made, seed, alone or carried)
        for entry, (made, carried) in zip(plan.entries, ready)
        for seed in plan.seeds_of(entry)
        for config in [plan.config((replace(entry, seeds=None),), 1, seed)]
    ]
    progress.begin("comparison", len(jobs))
    with whole.running():
        runs = RunScorer(plan, split, team.size, heard).finish_all(jobs, team, progress)
        finished = set[Path]()
        for entry in plan.entries:
            own = [job.run for job in jobs if job.entry is entry]
            while not finished.issuperset(run.path for run in own):
                finished.add(next(runs).path)
                progress.advance()
            if plan.keep == "best":
                drop_worse(plan, folder)
            yield EntryMeans(
                entry.label,
                len(own) if entry.seeds else plan.seeds,
                plan.columns(mean([run.read("metrics.json") for run in own])),
            )
    progress.end()


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


def plan(
    dataset: Dataset,
    protocol_name: str,
    models: dict[str, dict[str, Any]],
    *,
    seeds: int = 1,
    seed: int = 0,
    cutoffs: tuple[int, ...] | None = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
    source: dict[str, Any] | None = None,
) -> Comparison:
    """Make the data ready and every model's settings whole: the given ones, under them the package's.

    The package's are those kept for the data; without any, the rule's for its sizes.
    """
    rules = protocol(protocol_name, dataset)
    wanted = chosen_metrics(metrics, rules.scores)
    named = {label: name_and_settings(given, label) for label, given in models.items()}
    for label, (name, own) in named.items():  # a bad setting is refused before the data is cut
        with said_of(label):
            whole_settings(name, {**kept_settings(rules.name, dataset.name, name, own), **own})
    prepared = prepare(dataset, rules)
    entries = []
    for label, (name, own) in named.items():
        usual, ruled = usual_settings(name, prepared, own)
        fewer = few_people(name, {**usual, **own}, prepared.split.train)
        whole = whole_settings(name, {**usual, **fewer, **own})
        left = {key: value for key, value in usual.items() if key not in own}
        entries.append(ComparisonEntry(label, name, whole, None, ruled and bool(left), bool(fewer), own, left))
    return Comparison(
        prepared=prepared,
        entries=tuple(entries),
        seeds=seeds,
        seed=seed,
        cutoffs=cutoffs or rules.cutoffs,
        metrics=wanted,
        source=source or {"name": dataset.name},
    )


def usual_settings(name: str, ready: PreparedData, own: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """What a model takes on a data set beside its own settings, and whether the rule from sizes says so."""
    rules = ready.protocol
    kept = kept_settings(rules.name, ready.data, name, own)
    if kept or rules.predicts or rules.classifies or own.get("epsilon") is not None:
        return kept, False
    found = by_rule(TWINS.get(name, name), Sizes.of(ready.split.train))
    if own.get("rounds") is not None:  # which come before epochs
        found.pop("epochs", None)
    return found, bool(found)
