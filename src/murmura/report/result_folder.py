"""The folder of a comparison or of one run, read into plain values; what is not finished is said to be so."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from murmura.core.arrays import Floats, Ids
from murmura.core.errors import RunError
from murmura.engine.run import Run
from murmura.evaluation.registry import has_no_cutoff
from murmura.studies import order, settings_source
from murmura.studies.compare import ComparisonFolder, whole_number
from murmura.studies.sweep import only


@dataclass(frozen=True, eq=False)
class RoundTable:
    """`rounds.csv`: one line per epoch or round; a field that is not a number is NaN."""

    columns: tuple[str, ...]
    values: Floats  # (lines, columns)


@dataclass(frozen=True, eq=False)
class SeedRun:
    """One model with one seed: what its folder holds. Only a `done` one has metrics."""

    seed: int
    status: str  # as the run marked it; "missing" before its folder exists
    error: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    users: Ids = field(default_factory=lambda: np.empty(0, np.str_))  # (users,) their own ids as text
    per_user: dict[str, Floats] = field(default_factory=dict)  # "P@10" -> (users,)
    seconds: dict[str, float] = field(default_factory=dict)
    rounds: RoundTable | None = None
    ledger: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        """Whether it has come to its end."""
        return self.status == "done"


@dataclass(frozen=True, eq=False)
class ModelRuns:
    """One line of a comparison: its label, its settings, and a part per seed."""

    label: str
    name: str
    settings: dict[str, Any]
    parts: tuple[SeedRun, ...]

    @property
    def done(self) -> tuple[SeedRun, ...]:
        """The parts with metrics."""
        return tuple(part for part in self.parts if part.done)

    @property
    def finished(self) -> bool:
        """Whether every part has come to its end."""
        return len(self.done) == len(self.parts)

    def each_seed(self, key: str) -> list[float]:
        """The value of a metric in each part that has it."""
        return [part.metrics[key] for part in self.done if key in part.metrics]

    @property
    def federated(self) -> bool:
        """Whether something left the devices: a ledger, or a cost beside the metrics."""
        return any(part.ledger is not None or any(map(is_cost, part.metrics)) for part in self.parts)


@dataclass(frozen=True, eq=False)
class ResultFolder:
    """Everything a report may say."""

    kind: Literal["comparison", "run"]
    config: dict[str, Any]
    data: dict[str, Any]
    environment: dict[str, Any]
    status: str
    at: str  # when the status was set, as the folder says; "" where it does not
    models: tuple[ModelRuns, ...]
    order: dict[str, Any] = field(default_factory=dict)  # which order was seen, and by whom that is used
    beside: bool = False  # whether the same with the order inside days hidden stands in a folder of its own
    rule: dict[str, Any] = field(default_factory=dict)  # whose settings the rule from sizes gave

    @property
    def source(self) -> dict[str, Any]:
        """How the data was named."""
        data = self.config.get("data")
        return data if isinstance(data, dict) else {"name": str(data or "unnamed data")}

    @property
    def protocol(self) -> str:
        """The name of the protocol."""
        found = self.config.get("protocol", "default")
        return str(found.get("name", "default")) if isinstance(found, dict) else str(found)


def is_cost(key: str) -> bool:
    """Metrics are "P@10", errors of ratings or accuracies; what else has no cut-off is a cost."""
    return "@" not in key and not has_no_cutoff(key)


def printable(text: object) -> str:
    """Text that can be shown: control characters, half characters and changes of direction become a mark."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", "\ufffd", str(text))


def read_folder(path: Path, rows: Sequence[str] = ()) -> ResultFolder:
    """Read a comparison, or some rows of it, or a single run; an unfinished one is read as far as it came."""
    run = Run.open(path)
    config = run.config
    if isinstance(config.get("models"), dict) and config["models"]:
        comparison = only(ComparisonFolder(run, config), rows)
        config = comparison.config
        kind, models = _comparison(comparison)
    elif isinstance(config.get("model"), dict) and "name" in config["model"]:
        kind, models = "run", (_single(run, config),)
    else:
        raise RunError(
            f"{path} must be the folder of a comparison or of a run, but its config.yaml names no model; "
            "give the folder `murmura compare` or `murmura fit` printed."
        )
    status = read_object(run, "status.json")
    return ResultFolder(
        kind,
        config,
        read_object(run, "data.json"),
        read_object(run, "environment.json"),
        printable(status.get("status", "new")),
        printable(status.get("at", "")),
        models,
        read_object(run, order.FILE),
        Run(path / order.BESIDE).has("config.yaml"),
        read_object(run, settings_source.FILE),
    )


def _single(run: Run, config: dict[str, Any]) -> ModelRuns:
    name = str(config["model"]["name"])
    return model_runs(name, config["model"], [_part(run, whole_number(config.get("seed", 0)))])


def model_runs(label: str, given: dict[str, Any], parts: Sequence[SeedRun]) -> ModelRuns:
    """An entry of a configuration, the name of its method apart from its settings."""
    settings = {key: value for key, value in given.items() if key != "name"}
    return ModelRuns(printable(label), str(given.get("name", label)), settings, tuple(parts))


def _comparison(
    comparison: ComparisonFolder,
) -> tuple[Literal["comparison", "run"], tuple[ModelRuns, ...]]:
    """Every model with its parts, from the sub-folders; or the one run a comparison's sub-folder is."""
    run = comparison.run
    alone = len(comparison.models) == 1 and run.has("metrics.json")
    found: list[tuple[str, dict[str, Any], list[SeedRun]]] = []
    for label, own in comparison.models.items():
        runs = {comparison.seeds.start: run} if alone else comparison.begun(label)
        found.append((label, own, [_part(one, seed) for seed, one in runs.items()]))
    closed = read_object(run, "status.json").get("status") == "done"
    models = []
    for place, (label, own, parts) in enumerate(found):
        # a method that no seed changes is run once: then a later model has begun, or the whole is done
        complete = bool(parts) and (closed or any(later for *_, later in found[place + 1 :]))
        if not complete:
            there = {part.seed for part in parts}
            parts += [SeedRun(seed, "missing") for seed in comparison.seeds if seed not in there]
        models.append(model_runs(label, own, parts))
    return ("run" if alone else "comparison"), tuple(models)


def _part(run: Run, seed: int) -> SeedRun:
    status = read_object(run, "status.json")
    state, error = printable(status.get("status", "new")), printable(status.get("error", ""))
    if state != "done":
        return SeedRun(seed, state, error, rounds=_rounds(run))
    users, per_user = _per_user(run)
    return SeedRun(
        seed,
        state,
        error,
        _numbers(run, "metrics.json"),
        users,
        per_user,
        _numbers(run, "seconds.json") if run.has("seconds.json") else {},
        _rounds(run),
        read_object(run, "ledger.json") if run.has("ledger.json") else None,
    )


def read_object(run: Run, name: str) -> dict[str, Any]:
    """A JSON object, {} where there is none."""
    return _present_object(run, name) if run.has(name) else {}


def _present_object(run: Run, name: str) -> dict[str, Any]:
    found = run.read(name)
    if not isinstance(found, dict):
        raise RunError(
            f"{run.path / name} must hold an object, but holds {type(found).__name__}; run it again."
        )
    return found


def _numbers(run: Run, name: str) -> dict[str, float]:
    """A JSON object of numbers; what is not a number is left out."""
    found = _present_object(run, name)
    numbers = {key: value for key, value in found.items() if isinstance(value, int | float)}
    return {printable(key): float(value) for key, value in numbers.items() if not isinstance(value, bool)}


def _per_user(run: Run) -> tuple[Ids, dict[str, Floats]]:
    if not run.has("per_user.csv"):
        return np.empty(0, np.str_), {}
    header, values, ids = _table(run, "per_user.csv", skip=1)
    if len(set(ids)) != len(ids):
        raise RunError(f"{run.path / 'per_user.csv'} must name every user once, but repeats one; run it again.")
    return np.array(ids, np.str_), {key: values[:, place] for place, key in enumerate(header)}


def _rounds(run: Run) -> RoundTable | None:
    if not run.has("rounds.csv"):
        return None
    header, values, _ = _table(run, "rounds.csv", skip=0)
    return RoundTable(tuple(header), values) if len(values) else None


def _table(run: Run, name: str, skip: int) -> tuple[list[str], Floats, list[str]]:
    """A CSV of numbers after `skip` leading columns of text; returns its header, numbers and first column."""
    try:
        header, rows = run.read_table(name)
        ids = [row[0] for row in rows] if skip else []
        values = np.array([[_number(text) for text in row[skip:]] for row in rows], np.float64)
        values = values.reshape(len(rows), len(header) - skip)
    except (ValueError, IndexError, OSError):
        raise RunError(
            f"{run.path / name} is damaged: its lines do not fit its header; run it again."
        ) from None
    return [printable(key) for key in header[skip:]], values, ids


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def ordered(keys: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Every key once, in the order it first appears."""
    return tuple(dict.fromkeys(key for some in keys for key in some))
