"""The finished runs of a folder with their data: of a comparison's entries, or the one run of `murmura fit`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError
from murmura.core.model import Model
from murmura.engine.protocol import PreparedData
from murmura.engine.run import Run
from murmura.studies.compare import ComparisonFolder
from murmura.studies.methods import method, name_and_settings
from murmura.studies.single_run import MODEL, prepare_run, read_config


@dataclass(frozen=True, eq=False)
class EntryRun:
    """One entry with one seed: its folder, its method, and the data it was made from."""

    label: str
    name: str
    settings: dict[str, Any]
    seed: int
    run: Run
    prepared: PreparedData

    def model(self) -> Model:
        """The model it keeps; trained again where it keeps none, which gives the same."""
        ready, train = method(self.name, self.settings), self.prepared.split.train
        return ready.load(self.run.path / MODEL, train) if self.run.has(MODEL) else ready.fit(train, self.seed)


def entry_runs(folder: Path, data_dir: Path | None = None) -> list[EntryRun]:
    """What is finished in a folder, entry by entry."""
    run = Run.open(folder)
    if isinstance(run.config.get("models"), dict):
        comparison = ComparisonFolder.open(folder)
        found = list(comparison_runs(comparison, comparison.prepare(data_dir)))
    else:
        config = read_config(folder)
        prepared, settings = prepare_run(config, data_dir)
        name = str(config.model["name"])
        found = [EntryRun(name, name, settings, config.seed, run, prepared)] if run.has(MODEL) else []
    if not found:
        raise RunError(f"{folder} must hold a finished run to be analysed, but has none; run it to its end.")
    return found


def comparison_runs(comparison: ComparisonFolder, prepared: PreparedData) -> Iterator[EntryRun]:
    """The same of a comparison whose data are ready."""
    first = int(comparison.config.get("seed", 0))
    for label, given in comparison.models.items():
        name, settings = name_and_settings(given, label)
        for place, run in enumerate(comparison.finished(label)):
            yield EntryRun(label, name, settings, first + place, run, prepared)
