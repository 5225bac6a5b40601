"""A comparison on disk, finished or not: every model with a run per seed; or one run as one of one model."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from murmura.core.errors import RunError
from murmura.data.splits.temporal import Order
from murmura.engine.part_files import named, object_part, printable, whole_number, wrong_folder
from murmura.engine.run_folder import Run
from murmura.evaluation.sampled import CandidateDraws

ORDER = "order.json"  # which order was seen, and by whom that is used
BY_DAYS = "order-day"  # the folder, in that of a comparison, of the same with the order inside days hidden
USES = "uses.json"  # what each model uses beside the pairs of user and item, of those that use more
SWEEP = "sweep.json"  # what is swept, and which entries make a curve
BELOW_MOSTPOP = "▼"  # the mark of a method that has less than recommending what everybody likes
RULE = "rule.json"  # whose settings the rule from sizes gave, and for which sizes


def run_name(label: str, seed: int) -> str:
    """The folder of one run inside a comparison."""
    plain = re.sub(r"[^A-Za-z0-9.+_-]", "_", label)
    if plain != label or len(plain) > 100:  # two labels must not meet in one folder
        plain = f"{plain[:100]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"
    return f"{plain}-seed{seed}"


def record_order(run: Run, labels: Sequence[str], order: Order) -> None:
    """Keep which order was seen; nothing where nobody uses it."""
    if labels:
        run.write_json(ORDER, {"order": order, "used by": list(labels)})


@dataclass(frozen=True)
class Sweep:
    """What is varied: the setting, its values, and the entries of a comparison that make each curve."""

    key: str
    values: tuple[Any, ...]
    curves: dict[str, tuple[str, ...]]  # model -> the labels of its entries, in the order of the values
    beside: tuple[str, ...] = ()  # models that do not have the setting, run once: horizontal lines

    def place(self, label: str) -> tuple[str, Any]:
        """The curve an entry is of, and its value; the label itself and None for one beside the curves."""
        for curve, labels in self.curves.items():
            if label in labels:
                return curve, self.values[labels.index(label)]
        return label, None


def read_sweep(run: Run, labels: Collection[str]) -> Sweep | None:
    """What a folder with these entries sweeps; None where it is an ordinary comparison."""
    found = run.read_typed(SWEEP, Sweep, "", "run the sweep again with the same --out")
    if found is None:
        return None
    curves = {printable(name): tuple(map(printable, own)) for name, own in found.curves.items()}
    curves = {name: own for name, own in curves.items() if {*own} & {*labels}}
    beside = tuple(label for label in map(printable, found.beside) if label in labels)
    return replace(found, curves=curves, beside=beside)


def mean(found: list[dict[str, float | None]]) -> dict[str, float | None]:
    """Key by key, over seeds; None where a metric is not defined."""
    means: dict[str, float | None] = {}
    for key in dict.fromkeys(key for one in found for key in one):
        known = [value for one in found if (value := one.get(key)) is not None]
        means[key] = math.fsum(known) / len(known) if known else None
    return means


@dataclass(frozen=True, eq=False)
class ModelRuns:
    """One line of a comparison: its label, its method with its settings, and a part per seed."""

    label: str
    name: str
    settings: dict[str, Any]
    parts: tuple[Run, ...]
    uses: tuple[str, ...] = ()  # beside the pairs of user and item

    @cached_property
    def done(self) -> tuple[Run, ...]:
        """The parts with metrics."""
        return tuple(part for part in self.parts if part.done)

    @property
    def finished(self) -> bool:
        """Whether every part has come to its end."""
        return len(self.done) == len(self.parts)

    @property
    def failure(self) -> str:
        """Why a part of it failed, without its label; "" where none did."""
        reasons = (part.error for part in self.parts if part.status == "failed")
        return next(reasons, "").removeprefix(f"{self.label}: ")

    def each_seed(self, key: str) -> list[float]:
        """The value of a metric in each part that has it."""
        return [part.metrics[key] for part in self.done if key in part.metrics]

    @cached_property
    def federated(self) -> bool:
        """Whether something left the devices."""
        return any(part.federated for part in self.parts)


@dataclass(frozen=True, eq=False)
class ComparisonFolder:
    """Everything a report or an analysis may say of a comparison."""

    run: Run
    config: dict[str, Any]
    data = object_part("data.json")  # counts and fingerprints
    environment = object_part("environment.json")  # what it ran on
    order = object_part(ORDER)
    rule = object_part(RULE)
    uses = object_part(USES)

    @staticmethod
    def open(folder: Path, rows: Sequence[str] = ()) -> ComparisonFolder:
        """The comparison in a folder, or some rows of it; refuses the folder of one run."""
        if not isinstance(Run.open(folder).config.get("models"), dict):
            missing, commands = "its config.yaml has no 'models'", "`murmura compare` or `murmura sweep`"
            raise wrong_folder(folder, "a comparison or a sweep", missing, commands)
        return read_runs(folder, rows)

    def only(self, rows: Sequence[str]) -> ComparisonFolder:
        """As if it had only these rows: models, or curves of its sweep; all where none are named."""
        if not rows:
            return self
        curves = self.sweep.curves if self.sweep else {}
        kept = {*rows, *(entry for row in rows for entry in curves.get(row, ()))}
        models = {label: given for label, given in self.config["models"].items() if printable(label) in kept}
        return replace(self, config={**self.config, "models": models})

    @property
    def kind(self) -> Literal["comparison", "run"]:
        """Whether there are runs inside, or the folder is one itself."""
        alone = len(self._entries) == 1 and self.run.has("metrics.json")
        return "run" if alone or "models" not in self.config else "comparison"

    @cached_property
    def _entries(self) -> dict[str, dict[str, Any]]:
        """Label -> name and settings, as they were given."""
        given = self.config.get("models") or {str(self.config["model"]["name"]): self.config["model"]}
        return {str(label): dict(own) if isinstance(own, dict) else {} for label, own in given.items()}

    @cached_property
    def models(self) -> tuple[ModelRuns, ...]:
        """Every model with its parts, begun or not."""
        every = [self._parts(label) for label in self._entries]
        begun = [tuple(part for part in parts if part.has("config.yaml")) for parts in every]
        made = []
        for place, (label, own) in enumerate(self._entries.items()):
            # a method that no seed changes is run once: then a later model has begun, or the whole is done
            over = self.run.done or any(begun[place + 1 :])
            settings = {key: value for key, value in own.items() if key != "name"}
            parts = (over and begun[place]) or every[place]
            uses = tuple(printable(one) for one in self.uses.get(label) or ())
            made.append(ModelRuns(printable(label), str(own.get("name", label)), settings, parts, uses))
        return tuple(made)

    def _parts(self, label: str) -> tuple[Run, ...]:
        """The run of one entry with each seed, begun or not."""
        if self.kind == "run":
            return (Run(self.run.path, self.seeds.start),)
        return tuple(Run(self.run.path / run_name(label, seed), seed) for seed in self.seeds)

    @cached_property
    def sweep(self) -> Sweep | None:
        """What it sweeps; None where it is an ordinary comparison."""
        return read_sweep(self.run, [printable(label) for label in self._entries])

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

    @property
    def source(self) -> dict[str, Any]:
        """How the data was named."""
        return named(self.config.get("data"), "unnamed data")

    @property
    def _rules(self) -> dict[str, Any]:
        """The protocol, as far as it was written out."""
        return named(self.config.get("protocol"), "default")

    @property
    def sampled(self) -> CandidateDraws | None:
        """The candidates that were drawn beside the full ranking; None: none were."""
        if not isinstance(self._rules.get("candidates"), int):
            return None
        keys = ("candidates", "draws", "draw_seed")
        return CandidateDraws(*(whole_number(self._rules.get(key, 0)) for key in keys))

    @property
    def protocol(self) -> str:
        """The name of the protocol."""
        return str(self._rules.get("name", "default"))

    @property
    def by_days(self) -> ComparisonFolder | None:
        """The same with the order inside days hidden, where that was run too."""
        hidden = self.run.path / BY_DAYS
        return read_runs(hidden) if Run(hidden).has("config.yaml") else None

    @cached_property
    def items(self) -> dict[str, int]:
        """Every item in the order of items.csv -> how often it occurs in the training part."""
        if self._rules.get("classifies"):
            raise RunError(f"{self.run.path} must rank items to be analysed, but it classifies samples.")
        return dict(self.run.read_columns("items.csv", item=str, train=int))


def read_runs(path: Path, rows: Sequence[str] = ()) -> ComparisonFolder:
    """A comparison, or some rows of it, or a single run as one of one model; as far as it came."""
    run = Run.open(path)
    config = run.config
    model, models = config.get("model"), config.get("models")
    if isinstance(models, dict) and models:
        return ComparisonFolder(run, config).only(rows)
    if isinstance(model, dict) and "name" in model:
        return ComparisonFolder(run, {key: value for key, value in config.items() if key != "models"})
    missing, commands = "its config.yaml names no model", "`murmura compare` or `murmura fit`"
    raise wrong_folder(path, "a comparison or of a run", missing, commands)
