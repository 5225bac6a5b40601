"""What a run folder says about itself: the data it was made of, and what was trained, chosen and kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.data.sources.registry import data_folder, find_source
from murmura.data.splits.split_files import GivenSplit
from murmura.engine.prepared import PreparedData
from murmura.engine.run_folder import LISTS, Run
from murmura.evaluation.registry import badness
from murmura.studies.compare.folder import ComparisonFolder
from murmura.studies.configuration import located
from murmura.studies.scorer import Scorer, open_folder
from murmura.studies.search.folder import SearchFolder, Trial


@dataclass(frozen=True)
class Evidence:
    """What a folder of fit, compare, sweep, search or reproduce says about itself."""

    run: Run
    prepared: PreparedData
    files: tuple[Path, ...]  # of the data
    trained: tuple[Scorer, ...]  # those that left lists
    choice: dict[str, Any] | None  # what the test part was to be opened for
    trials: tuple[Trial, ...] = ()
    chosen: tuple[Trial, ...] = ()  # what won, one for each label that was searched
    metric: str = "P@10"
    seed: int = 0  # of the trials

    @staticmethod
    def of(folder: Path, data_dir: Path | None = None) -> Evidence:
        """Read a folder of fit, compare, sweep, search or reproduce."""
        found = open_folder(folder)
        if isinstance(found, SearchFolder):
            return _searched(found, data_dir)
        if isinstance(found, ComparisonFolder):
            return _compared(found, data_dir)
        inner = _compared(found.comparison, located(found.run, data_dir).place())
        known = tuple(one for one in found.trials if math.isfinite(one.value))
        return replace(inner, trials=known, chosen=found.winners, metric=found.metric)

    def chosen_trials(self) -> dict[str, tuple[float, float]]:
        """What each label's choice scored and the best there was, with signs so that higher is better."""
        found = {}
        for won in self.chosen:
            values = [-badness(self.metric, one.value) for one in (won, *self.trials) if one.row == won.row]
            found[won.row] = (values[0], max(values))
        return found

    def some_trials(self, most: int) -> list[Trial]:
        """What won, then others spread over the search, `most` in all."""
        rest = [one for one in self.trials if one not in self.chosen]
        places = np.unique(np.linspace(0, len(rest) - 1, most, dtype=int)) if rest else ()
        return [*self.chosen, *(rest[place] for place in places)][:most]


def _prepared(run: Run, data_dir: Path | None) -> tuple[PreparedData, tuple[Path, ...]]:
    """The data of a folder made ready, and the files that tell which rows are held out."""
    data = located(run, data_dir)
    prepared = data.prepare(run.config.get("protocol", "default"))
    source, folder, cut = find_source(data.name), data_folder(data.place()), prepared.protocol.split
    read = folder / source.name if source is not None and folder is not None else Path(data.name)
    files = (read,) if read.exists() else ()
    return prepared, (*files, Path(cut.path)) if isinstance(cut, GivenSplit) else files


def _compared(found: ComparisonFolder, data_dir: Path | None) -> Evidence:
    prepared, files = _prepared(found.run, data_dir)
    trained = tuple(
        Scorer(model.label, model.name, model.settings, part, prepared)
        for model in found.models
        for part in model.parts
        if part.has(LISTS) and (part.done or found.kind == "run")
    )
    kind = "models" if "models" in found.config else "model"
    return Evidence(found.run, prepared, files, trained, {kind: found.config[kind]})


def _searched(found: SearchFolder, data_dir: Path | None) -> Evidence:
    prepared, files = _prepared(found.run, data_dir)
    name, won = found.model, found.choice
    trials = tuple(replace(one, model=name, row=name) for one in found.trials)
    evidence = Evidence(found.run, prepared, files, (), None, trials, (), found.metric, found.seed)
    if won is None:
        return evidence
    trained = (Scorer(name, name, won.settings, found.tested, prepared),) if found.tested.has(LISTS) else ()
    kept = Trial(won.settings, won.value, model=name, row=name)
    choice = {"model": {"name": name, **won.settings}}
    return replace(evidence, trained=trained, choice=choice, chosen=(kept,))
