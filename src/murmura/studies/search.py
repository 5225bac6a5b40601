"""Choosing settings on the validation part: a grid, tried one by one, resumable, the test part out of reach."""

from __future__ import annotations

import csv
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.baselines.base import Model
from murmura.core.errors import RunError, SettingError
from murmura.core.progress import SILENT, Progress
from murmura.core.split import Split
from murmura.engine.experiment import Outcome, experiment, score
from murmura.engine.protocol import Prepared
from murmura.studies.methods import method

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
    for one in candidates:
        method(model, one)  # refuse a bad setting before any work
    if not candidates:
        raise SettingError("a search needs at least one candidate; give --grid key=value,value.")
    selection = prepared.split.selection()
    log = _History(history, (prepared.data, prepared.protocol.name, model), metric)
    for family in _families(candidates):
        if any(name_of(one) not in log.known for one in family):
            for settings, outcome in _try(prepared, selection, model, family, seed, workers, progress):
                log.add(settings, outcome)
        yield from (log.known[name_of(one)] for one in family)


def _families(candidates: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Candidates that differ only in their number of epochs are stops on the way of one fit."""
    families: dict[str, list[dict[str, Any]]] = {}
    for one in candidates:
        families.setdefault(name_of({k: v for k, v in one.items() if k != "epochs"}), []).append(one)
    return list(families.values())


def _try(
    prepared: Prepared,
    selection: Split,
    model: str,
    family: list[dict[str, Any]],
    seed: int,
    workers: int,
    progress: Progress,
) -> Iterator[tuple[dict[str, Any], Outcome]]:
    rules = prepared.protocol
    if len(family) == 1:
        yield family[0], experiment(method(model, family[0]), selection, rules, seed, workers, progress)
        return
    stops = {int(one["epochs"]): one for one in family}
    started = time.perf_counter()
    found: list[tuple[dict[str, Any], Outcome]] = []

    def watch(epoch: int, so_far: Model) -> bool:
        if epoch in stops:
            seconds = {"fit": time.perf_counter() - started}
            found.append((stops[epoch], score(so_far, selection, rules, workers, rules.cutoffs, seconds)))
        return True

    method(model, stops[max(stops)]).fit(selection.train, seed, progress, watch)
    yield from found


def name_of(settings: dict[str, Any]) -> str:
    """A setting as one text, whatever the order of its keys."""
    return json.dumps(settings, sort_keys=True)


def best(trials: list[Trial]) -> Trial:
    """The highest value; of equal ones the first."""
    return max(trials, key=lambda trial: trial.value)


class _History:
    """The trials so far: in memory, and in a file when there is one."""

    def __init__(self, file: Path | None, key: tuple[str, str, str], metric: str) -> None:
        self.file, self.key, self.metric = file, key, metric
        self.known = self._read()

    def _read(self) -> dict[str, Trial]:
        if self.file is None or not self.file.exists():
            return {}
        with self.file.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise RunError(
                    f"{self.file} must be a search history with the columns {', '.join(COLUMNS)}; "
                    "choose another file."
                )
            rows = [row for row in reader if row["metric"] == self.metric]
        return {
            row["settings"]: Trial(json.loads(row["settings"]), float(row["value"]), float(row["seconds"]))
            for row in rows
            if (row["data"], row["protocol"], row["model"]) == self.key
        }

    def add(self, settings: dict[str, Any], outcome: Outcome) -> None:
        """Keep a trial."""
        values = outcome.evaluation.values
        if self.metric not in values:
            raise SettingError(f"--metric must be one of {', '.join(values)}, but it is '{self.metric}'.")
        trial = Trial(settings, values[self.metric], sum(outcome.seconds.values()))
        self.known[name_of(settings)] = trial
        if self.file is None:
            return
        new = not self.file.exists()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow(COLUMNS)
            line = (name_of(settings), self.metric, f"{trial.value:.6f}", f"{trial.seconds:.2f}")
            writer.writerow((*self.key, *line))
