"""Several models, several seeds, one protocol: a folder with one run each, resumable, and its reader."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from murmura.core.catalogue import Dataset
from murmura.core.errors import RunError
from murmura.core.locks import locked
from murmura.core.method import Method
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict
from murmura.core.split import Split
from murmura.engine.experiment import (
    experiment,
    record_items,
    record_lists,
    record_outcome,
    record_reasons,
    record_training,
)
from murmura.engine.protocol import PreparedData, prepare, protocol
from murmura.engine.run import Run, environment
from murmura.evaluation.registry import DEFAULT_METRICS, one_value_each
from murmura.studies.config import named_data, refuse_other_data
from murmura.studies.methods import TWINS, kept_settings, method, name_and_settings, whole_settings
from murmura.studies.order import order_users, record_order
from murmura.studies.settings_source import record_rule
from murmura.studies.size_rule import Sizes, by_rule

BELOW_MOSTPOP = "▼"  # the mark of a method that has less than recommending what everybody likes


@dataclass(frozen=True)
class ComparisonEntry:
    """One line of a comparison: a model with its settings, under the label the user gave it."""

    label: str
    model: str
    settings: dict[str, Any]
    seeds: int | None = None  # where it is run with fewer than the others
    by_rule: bool = False  # whether settings that nobody gave are those of the rule from sizes


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

    def seeds_of(self, entry: ComparisonEntry) -> range:
        """The seeds one entry is run with."""
        count = min(self.seeds, entry.seeds or self.seeds)
        return range(self.seed, self.seed + (count if method(entry.model, entry.settings).seeded else 1))

    def opened(self, folder: Path) -> Split:
        """The split with its test part, for the models the folder of the comparison says, whichever is run."""
        whole = Run.open(folder)
        return self.prepared.open(whole, {"models": whole.config["models"]})


def compare(
    plan: Comparison, folder: Path, *, workers: int = 1, progress: Progress = SILENT
) -> Generator[EntryMeans, None, None]:
    """Run every entry with every seed; finished runs of the same configuration in `folder` are not repeated."""
    with locked(folder):
        yield from run_entries(plan, folder, workers, progress)


def run_entries(
    plan: Comparison, folder: Path, workers: int = 1, progress: Progress = SILENT
) -> Generator[EntryMeans, None, None]:
    """What `compare` does, for whoever holds the folder's lock."""
    ready = [
        method(entry.model, entry.settings) for entry in plan.entries
    ]  # refuse bad settings before any work
    for each in ready:
        each.check(plan.prepared.split.train, plan.seed)
    whole = Run.create(folder, plan.config(plan.entries, plan.seeds, plan.seed))
    whole.write_json("data.json", plan.prepared.describe())
    whole.write_json("environment.json", environment())
    record_order(whole, order_users(plan.entries), plan.prepared.protocol.order)
    record_rule(whole, plan.ruled, Sizes.of(plan.prepared.split.train))
    record_items(whole, plan.opened(folder), plan.prepared.catalogue.categories)
    with whole.at_work():
        for entry, each in zip(plan.entries, ready):
            runs = [
                one_run(plan, entry, each, seed, folder, workers, progress) for seed in plan.seeds_of(entry)
            ]
            yield EntryMeans(
                entry.label,
                len(runs) if entry.seeds else plan.seeds,
                mean([run.read("metrics.json") for run in runs]),
            )
    whole.mark("done")


def one_run(
    plan: Comparison,
    entry: ComparisonEntry,
    ready: Method,
    seed: int,
    folder: Path,
    workers: int,
    progress: Progress,
) -> Run:
    """One entry with one seed, in its own folder inside `folder`; a finished one is not repeated."""
    alone = replace(entry, seeds=None)
    run = Run.create(folder / run_name(entry.label, seed), plan.config((alone,), 1, seed))
    if run.status == "done":
        return run
    with run.at_work():
        split = plan.opened(folder)
        rules, at = plan.prepared.protocol, plan.cutoffs
        outcome = experiment(ready, split, rules, seed, workers, progress, at, plan.metrics, run)
    run.write_json("data.json", plan.prepared.describe())
    run.write_json("environment.json", environment())
    run.write_json("seconds.json", outcome.seconds)
    record_training(run, outcome.model)
    record_reasons(run, outcome.model, plan.prepared.catalogue)
    record_lists(run, outcome.lists, split)
    record_outcome(run, outcome, split)
    run.mark("done")
    return run


def run_name(label: str, seed: int) -> str:
    """The folder of one run inside a comparison."""
    plain = re.sub(r"[^A-Za-z0-9.+_-]", "_", label)
    if plain != label or len(plain) > 100:  # two labels must not meet in one folder
        plain = f"{plain[:100]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"
    return f"{plain}-seed{seed}"


def mean(found: list[dict[str, float | None]]) -> dict[str, float | None]:
    """Key by key, over seeds; None where a metric is not defined."""
    means: dict[str, float | None] = {}
    for key in found[0]:
        known = [value for one in found if (value := one.get(key)) is not None]
        means[key] = math.fsum(known) / len(known) if known else None
    return means


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
    rules, wanted = protocol(protocol_name, dataset), one_value_each(metrics)
    named = {label: name_and_settings(given, label) for label, given in models.items()}
    for name, own in named.values():  # a bad setting is refused before the data is cut
        whole_settings(name, {**kept_settings(rules.name, dataset.name, name, own), **own})
    prepared = prepare(dataset, rules)
    entries = []
    for label, (name, own) in named.items():
        usual, ruled = usual_settings(name, prepared, own)
        whole = whole_settings(name, {**usual, **own})
        entries.append(ComparisonEntry(label, name, whole, by_rule=ruled and bool(usual.keys() - own.keys())))
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


@dataclass(frozen=True, eq=False)
class ComparisonFolder:
    """A comparison on disk, finished or not."""

    run: Run
    config: dict[str, Any]

    @staticmethod
    def open(folder: Path) -> ComparisonFolder:
        """The comparison in a folder; refuses the folder of one run."""
        run = Run.open(folder)
        config = run.config
        if not isinstance(config.get("models"), dict):
            raise RunError(
                f"{folder} must be the folder of a comparison or a sweep, but its config.yaml has no 'models'; "
                "give the folder `murmura compare` or `murmura sweep` printed."
            )
        return ComparisonFolder(run, config)

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """The entries: label -> name and settings."""
        entries = self.config["models"].items()
        return {str(label): dict(given) if isinstance(given, dict) else {} for label, given in entries}

    @property
    def cutoff(self) -> int:
        """The list length the analyses look at: 10 where the comparison has it, otherwise its largest."""
        cutoffs = [int(k) for k in self.config.get("cutoffs") or [10]]
        return 10 if 10 in cutoffs else max(cutoffs)

    @property
    def seeds(self) -> range:
        """The seeds every entry is run with."""
        first, count = whole_number(self.config.get("seed", 0)), whole_number(self.config.get("seeds", 1))
        return range(first, first + count)

    def begun(self, label: str) -> dict[int, Run]:
        """The runs of one entry that have a folder: seed -> run."""
        runs = {seed: Run(self.run.path / run_name(label, seed)) for seed in self.seeds}
        return {seed: run for seed, run in runs.items() if run.has("config.yaml")}

    def prepare(self, data_dir: Path | None = None) -> PreparedData:
        """Its data made ready; refuses others than those it was made from."""
        rules = self.config.get("protocol")
        if not self.run.has("data.json") or not isinstance(rules, dict):
            raise RunError(
                f"{self.run.path} must be a comparison that has begun, but has no data.json or no protocol; "
                "run `murmura compare` with this --out."
            )
        prepared = named_data(self.config).prepare(rules, data_dir)
        refuse_other_data(prepared, self.run)
        return prepared

    def finished(self, label: str) -> list[Run]:
        """The finished runs of one entry, by seed."""
        return [run for run in self.begun(label).values() if run.status == "done"]


def read_columns(
    run: Run, name: str, separator: str = ",", **readers: Callable[[str], Any]
) -> list[tuple[Any, ...]]:
    """Some columns of a CSV or TSV part, every field read by its column's reader; refuses a damaged part."""
    header, rows = run.read_table(name, separator)
    try:
        places = [(header.index(column), read) for column, read in readers.items()]
        return [tuple(read(row[place]) for place, read in places) for row in rows]
    except (ValueError, KeyError, IndexError):
        raise RunError(f"{run.path / name} is damaged: it does not fit the comparison; run it again.") from None


def whole_number(value: object) -> int:
    """A seed, or a number of seeds, as a configuration has it."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise RunError(
        f"seed and seeds in config.yaml must be whole numbers, but one is {value!r}; give an unchanged folder."
    )
