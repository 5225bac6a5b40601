"""A model of a run folder, by its label and seed: one object loads, ranks and scores it for every command.

A model that the folder did not save is fitted again from its settings and its seed, which gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from murmura.core.catalogue import Split
from murmura.core.errors import RunError, did_you_mean
from murmura.core.model import Method, Model
from murmura.core.plugins import imported
from murmura.core.progress import SILENT, Progress
from murmura.engine.experiment import ExperimentResult, record_lists, record_outcome, record_reasons, score
from murmura.engine.part_files import wrong_folder
from murmura.engine.prepared import PreparedData
from murmura.engine.run_folder import MODEL, Run, environment
from murmura.evaluation.registry import DEFAULT_METRICS
from murmura.studies.compare.folder import ComparisonFolder, read_runs
from murmura.studies.configuration import data_of
from murmura.studies.methods import method
from murmura.studies.search.folder import SearchFolder, Trial

REPRODUCTION = "murmura.lab.papers.reproduction_folder:ReproductionFolder"  # imported where a paper was run


class Reproduction(Protocol):
    """A paper's table or figure on disk: what was tried and chosen, and the comparison of that."""

    run: Run
    metric: str
    comparison: ComparisonFolder
    trials: tuple[Trial, ...]
    winners: tuple[Trial, ...]


Folder = ComparisonFolder | SearchFolder | Reproduction


def open_folder(path: Path) -> Folder:
    """Whatever a command wrote there; refuses a folder of no run."""
    config = Run.open(path).config
    if "experiment" in config:
        reproduction: Reproduction = imported(REPRODUCTION).open(path)
        return reproduction
    if "search" in config:
        return SearchFolder.open(path)
    if "model" in config or "models" in config:
        return read_runs(path)
    raise wrong_folder(path, "a fit, comparison, sweep, search or reproduction", "is none", "such a command")


@dataclass(frozen=True, eq=False)
class Scorer:
    """One model with one seed: its settings, its folder, and the data it is made from."""

    label: str
    name: str
    settings: dict[str, Any]
    run: Run
    prepared: PreparedData
    made: Method | None = None  # the method, where it is another than these settings make here

    @staticmethod
    def open(folder: Path, label: str = "", data_dir: Path | None = None) -> Scorer:
        """A finished model of any run folder, of several seeds the first: of a fit, a comparison or a paper.

        Of a search it is the choice, trained on the whole training part. `label` says which of several,
        `data_dir` where the data sets are, unless they are where they were.
        """
        every = _scorers(folder, data_dir)
        known = list(dict.fromkeys(one.label for one in every))
        if not known:
            raise RunError(f"{folder} must hold a finished model, but has none; run it to its end.")
        if not label and len(known) > 1:
            raise RunError(f"{folder} holds several models; say which with --model: {', '.join(known)}.")
        found = next((one for one in every if one.label == (label or known[0])), None)
        if found is None:
            hint = did_you_mean(label, known, f"it has {', '.join(known)}.")
            raise RunError(f"{folder} has no finished model '{label}': {hint}")
        return found

    @cached_property
    def ready(self) -> Method:
        """The method with its settings."""
        return self.made or method(self.name, self.settings)

    def model(self, progress: Progress = SILENT) -> Model:
        """The saved model; fitted again where none is saved."""
        saved, train = self.run.path / MODEL, self.prepared.split.train
        return (
            self.ready.load(saved, train) if saved.is_file() else self.ready.fit(train, self.run.seed, progress)
        )

    def score(
        self,
        model: Model,
        split: Split,
        cutoffs: tuple[int, ...] | None = None,
        metrics: tuple[str, ...] = DEFAULT_METRICS,
        workers: int = 1,
        seconds: Mapping[str, float] = MappingProxyType({}),
    ) -> ExperimentResult:
        """Rank and score the held-out part of a split by the protocol of its data."""
        return score(model, split, self.prepared.protocol, workers, cutoffs, metrics, seconds)

    def record(self, outcome: ExperimentResult, split: Split) -> None:
        """Write down the run: its data, how long it took, lists, reasons and metrics."""
        record_origin(self.run, self.prepared)
        self.run.write_json("seconds.json", outcome.seconds)
        record_reasons(self.run, outcome.model, self.prepared.catalogue)
        record_lists(self.run, outcome.lists, split)
        record_outcome(self.run, outcome, split)


def record_origin(run: Run, prepared: PreparedData) -> None:
    """Write down what a run is made from, and where."""
    run.write_data(prepared.describe())
    run.write_json("environment.json", environment())


def comparison_scorers(comparison: ComparisonFolder, prepared: PreparedData) -> Iterator[Scorer]:
    """What is finished of a comparison, entry by entry."""
    for model in comparison.models:
        for part in model.parts:
            if part.done or part.status == "fitted":
                yield Scorer(model.label, model.name, model.settings, part, prepared)


def _scorers(folder: Path, data_dir: Path | None) -> Sequence[Scorer]:
    """Every finished model of a folder."""
    found = open_folder(folder)
    if isinstance(found, SearchFolder):
        if (won := found.choice) is None:
            raise RunError(f"{folder} must hold a finished search, but it is not; run it to its end.")
        return [Scorer(won.model, won.model, won.settings, found.tested, data_of(found.run, data_dir))]
    if not isinstance(found, ComparisonFolder):
        found, data_dir = found.comparison, data_dir or found.run.places.get("data")
    return list(comparison_scorers(found, data_of(found.run, data_dir)))
