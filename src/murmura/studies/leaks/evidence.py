"""What a run folder says about itself, read for the check for leaks: what was trained, chosen and kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.errors import RunError
from murmura.core.interactions import Interactions
from murmura.data.interchange.split_files import GivenSplit
from murmura.data.sources.registry import data_folder, find_source
from murmura.engine.protocol import PreparedData
from murmura.engine.run import Run, environment
from murmura.studies.compare import ComparisonFolder
from murmura.studies.config import named_data
from murmura.studies.methods import name_and_settings
from murmura.studies.papers.trial_result import TrialResult
from murmura.studies.search.search_folder import CHOICE, TRIALS
from murmura.studies.search.trials import TrialHistory, side

LISTS = "recommendations.tsv"
VERSIONS = ("murmura", "python", "numpy", "scipy", "numba", "machine")


@dataclass(frozen=True)
class StoredFit:
    """One fit of a folder: which model with which settings and seed, and the lists it left, as text."""

    run: Run
    model: str
    settings: dict[str, Any]
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.run.path.name

    @cached_property
    def rows(self) -> list[list[str]]:
        """user, rank, item, score."""
        return self.run.read_table(LISTS, "\t")[1]

    @property
    def k(self) -> int:
        """The longest list."""
        return max(int(row[1]) for row in self.rows)

    def users(self, train: Interactions) -> Ints:
        """Whose lists they are, in the order of the file."""
        return train.users.index(dict.fromkeys(row[0] for row in self.rows), "user")


def same_versions(run: Run) -> bool:
    """Whether a run was made by what runs here."""
    told = run.read("environment.json") if run.has("environment.json") else {}
    now = environment()
    return all(told.get(key) == now[key] for key in VERSIONS)


@dataclass(frozen=True)
class Evidence:
    """Everything that is checked."""

    run: Run
    prepared: PreparedData
    files: tuple[Path, ...]  # of the data
    trained: tuple[StoredFit, ...]
    choice: dict[str, Any] | None  # what the test part was to be opened for
    trials: tuple[TrialResult, ...] = ()
    chosen: tuple[TrialResult, ...] = ()  # what won, one for each label that was searched
    metric: str = "P@10"
    seed: int = 0  # of the trials

    @staticmethod
    def of(folder: Path, data_dir: Path | None = None) -> Evidence:
        """Read a folder of fit, compare, sweep, search or reproduce."""
        run = Run.open(folder)
        config = run.config
        if "experiment" in config:
            return _reproduction(run, config, data_dir)
        prepared, files = _prepared(config, data_dir)
        if "search" in config:
            return _search(run, config, prepared, files)
        if isinstance(config.get("models"), dict):
            trained = tuple(_comparison(run, config))
            return Evidence(run, prepared, files, trained, {"models": config["models"]})
        if isinstance(config.get("model"), dict):
            fitted = (_trained(run, config["model"], int(config.get("seed", 0))),)
            return Evidence(run, prepared, files, fitted if run.has(LISTS) else (), {"model": config["model"]})
        raise RunError(
            f"{folder} must be the folder of a fit, comparison, sweep, search or reproduction, but is none; "
            "give a folder such a command printed."
        )

    def chosen_trials(self) -> dict[str, tuple[float, float]]:
        """What each label's choice scored and the best there was, with signs so that higher is better."""
        sign = -1.0 if side(self.metric) == "lower" else 1.0
        found = {}
        for won in self.chosen:
            values = [sign * one.value for one in self.trials if one.row == won.row]
            found[won.row] = (sign * won.value, max(values, default=sign * won.value))
        return found

    def some_trials(self, most: int) -> list[TrialResult]:
        """What won, then others spread over the search, `most` in all."""
        rest = [one for one in self.trials if one not in self.chosen]
        spread = (
            [rest[place] for place in np.unique(np.linspace(0, len(rest) - 1, most, dtype=int))] if rest else []
        )
        return [*self.chosen, *spread][:most]


def _prepared(config: dict[str, Any], data_dir: Path | None) -> tuple[PreparedData, tuple[Path, ...]]:
    data = named_data(config)
    prepared = data.prepare(config.get("protocol", "default"), data_dir)
    files, cut = _files(data.name, data.place(data_dir)), prepared.protocol.split
    if isinstance(cut, GivenSplit):
        files = (*files, Path(cut.path))  # it tells which rows are held out
    return prepared, files


def _files(name: str, where: Path | None) -> tuple[Path, ...]:
    """What the data was read from."""
    source, folder = find_source(name), data_folder(where)
    path = folder / source.place if source is not None and folder is not None else Path(name)
    return (path,) if path.exists() else ()


def _comparison(run: Run, config: dict[str, Any]) -> Iterator[StoredFit]:
    for label, given in config["models"].items():
        alone = run.has(LISTS)  # one run of a comparison
        for one in [run] if alone else ComparisonFolder(run, config).finished(str(label)):
            if one.has(LISTS):
                yield _trained(one, given, int(one.config.get("seed", 0)), str(label))


def _trained(run: Run, given: dict[str, Any], seed: int, label: str = "") -> StoredFit:
    return StoredFit(run, *name_and_settings(given, label), seed)


def _search(run: Run, config: dict[str, Any], prepared: PreparedData, files: tuple[Path, ...]) -> Evidence:
    model, metric, seed = str(config["search"]), str(config.get("metric", "P@10")), int(config.get("seed", 0))
    won = run.read(CHOICE) if run.has(CHOICE) else None
    named = (won or {}).get("history")
    file = Path(named) if named else run.path / TRIALS
    log = TrialHistory(file, (prepared.data, prepared.protocol.name, model), metric)
    trials = tuple(TrialResult(model, one.settings, one.value, row=model) for one in log.known.values())
    if won is None:
        return Evidence(run, prepared, files, (), None, trials, (), metric, seed=seed)
    choice = {"name": model, **won["settings"]}
    trained = (_trained(run, choice, seed),) if run.has(LISTS) else ()
    kept = (TrialResult(model, won["settings"], float(won["value"]), row=model),)
    return Evidence(run, prepared, files, trained, {"model": choice}, trials, kept, metric, seed=seed)


def _reproduction(run: Run, config: dict[str, Any], data_dir: Path | None) -> Evidence:
    """A reproduction: a comparison in `runs`, a file per trial in `trials`, what won in `choices.json`."""
    stated = config["experiment"]
    if not (run.path / "runs" / "config.yaml").is_file():
        raise RunError(f"{run.path} must have come to its test part, but has not; run it to its end.")
    inner = Evidence.of(run.path / "runs", named_data(config).place(data_dir))
    files = sorted((run.path / "trials").glob("*.json"))
    kept = [TrialResult.of(Run(path.parent).read(path.name)) for path in files]
    trials = [one for one in kept if math.isfinite(one.value)]
    entries = {
        label: list(one["entries"].values())
        for label, one in (run.read("choices.json") if run.has("choices.json") else {}).items()
    }
    won = [
        best_of[0]
        for label, found in entries.items()
        if len(found) == 1 and (best_of := [one for one in trials if one.row == label and _is(one, found[0])])
    ]
    metric = str(stated.get("metric", "P@10"))
    return replace(inner, trials=tuple(trials), chosen=tuple(won), metric=metric)


def _is(trial: TrialResult, entry: dict[str, Any]) -> bool:
    """Whether an entry has the settings of a trial; it has the model's defaults beside them."""
    return entry.get("model") == trial.model and all(entry.get(k) == v for k, v in trial.settings.items())
