"""The finished runs of a folder with their data: of a comparison's entries, or the one run of `murmura fit`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError
from murmura.core.model import Model
from murmura.core.progress import SILENT, Progress
from murmura.engine.protocol import PreparedData
from murmura.engine.run import MODEL
from murmura.runs.comparison import ComparisonFolder, read_runs
from murmura.runs.run import RunFolder
from murmura.studies.config import data_of
from murmura.studies.methods import method


@dataclass(frozen=True, eq=False)
class EntryRun:
    """One entry with one seed: its folder, its method, and the data it was made from."""

    label: str
    name: str
    settings: dict[str, Any]
    part: RunFolder
    prepared: PreparedData

    def model(self, progress: Progress = SILENT) -> Model:
        """The model it keeps; trained again where it keeps none, which gives the same."""
        ready, train = method(self.name, self.settings), self.prepared.split.train
        kept = self.part.run.path / MODEL
        return ready.load(kept, train) if kept.is_file() else ready.fit(train, self.part.seed, progress)


def entry_runs(folder: Path, data_dir: Path | None = None) -> list[EntryRun]:
    """What is finished in a folder, entry by entry."""
    comparison = read_runs(folder)
    found = list(comparison_runs(comparison, data_of(comparison.run, data_dir)))
    if not found:
        raise RunError(f"{folder} must hold a finished run to be analysed, but has none; run it to its end.")
    return found


def comparison_runs(comparison: ComparisonFolder, prepared: PreparedData) -> Iterator[EntryRun]:
    """The same of a comparison whose data are ready."""
    for model in comparison.models:
        for part in model.parts:
            if part.done or part.status == "fitted":
                yield EntryRun(model.label, model.name, model.settings, part, prepared)
