"""Choosing settings on the validation part: a grid, tried one by one, resumable, the test part out of reach."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError, SettingError
from murmura.core.progress import SILENT, Progress
from murmura.engine.experiment import experiment
from murmura.engine.methods import method
from murmura.engine.protocol import Prepared

COLUMNS = ("data", "protocol", "model", "settings", "metric", "value", "seconds")


@dataclass(frozen=True)
class Trial:
    """One setting and what it scored on the validation part."""

    settings: dict[str, Any]
    value: float
    seconds: float


def grid(axes: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination, the last axis fastest."""
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def search(
    prepared: Prepared,
    model: str,
    candidates: list[dict[str, Any]],
    history: Path | None = None,
    *,
    metric: str = "P@10",
    seed: int = 0,
    workers: int = 1,
    progress: Progress = SILENT,
) -> Iterator[Trial]:
    """Try every candidate; those in the `history` file are not tried again."""
    ready = [method(model, one) for one in candidates]  # refuse a bad setting before any work
    if not ready:
        raise SettingError("a search needs at least one candidate; give --grid key=value,value.")
    selection = prepared.split.selection()
    key = (prepared.data, prepared.protocol.name, model)
    known = _read(history, key, metric)
    for each, settings in zip(ready, candidates):
        name = json.dumps(settings, sort_keys=True)
        if name not in known:
            outcome = experiment(each, selection, prepared.protocol, seed, workers, progress)
            if metric not in outcome.evaluation.values:
                offered = ", ".join(outcome.evaluation.values)
                raise SettingError(f"--metric must be one of {offered}, but it is '{metric}'.")
            seconds = sum(outcome.seconds.values())
            known[name] = Trial(settings, outcome.evaluation.values[metric], seconds)
            _append(history, key, name, metric, known[name])
        yield known[name]


def best(trials: list[Trial]) -> Trial:
    """The highest value; of equal ones the first."""
    return max(trials, key=lambda trial: trial.value)


def _read(history: Path | None, key: tuple[str, str, str], metric: str) -> dict[str, Trial]:
    if history is None or not history.exists():
        return {}
    found = {}
    with history.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise RunError(
                f"{history} must be a search history with the columns {','.join(COLUMNS)}; choose another."
            )
        for row in reader:
            if (row["data"], row["protocol"], row["model"]) == key and row["metric"] == metric:
                settings = json.loads(row["settings"])
                found[row["settings"]] = Trial(settings, float(row["value"]), float(row["seconds"]))
    return found


def _append(history: Path | None, key: tuple[str, str, str], name: str, metric: str, trial: Trial) -> None:
    if history is None:
        return
    new = not history.exists()
    history.parent.mkdir(parents=True, exist_ok=True)
    with history.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        writer.writerow((*key, name, metric, f"{trial.value:.6f}", f"{trial.seconds:.2f}"))
