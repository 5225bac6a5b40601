"""The finished runs of a folder with their data: of a comparison's entries, or the one run of `murmura fit`.

An analysis that measures every entry's runs says how (`EntryAnalysis`); it is made once, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from murmura.core.errors import MurmuraError, RunError
from murmura.core.locks import locked
from murmura.core.model import Model
from murmura.core.progress import SILENT, Progress
from murmura.engine.protocol import PreparedData
from murmura.engine.run_folder import MODEL, Run
from murmura.studies.compare.folder import ComparisonFolder, read_runs
from murmura.studies.configuration import data_of
from murmura.studies.methods import method

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class EntryRun:
    """One entry with one seed: its folder, its method, and the data it was made from."""

    label: str
    name: str
    settings: dict[str, Any]
    part: Run
    prepared: PreparedData

    def model(self, progress: Progress = SILENT) -> Model:
        """The model it keeps; trained again where it keeps none, which gives the same."""
        ready, train = method(self.name, self.settings), self.prepared.split.train
        kept = self.part.path / MODEL
        return ready.load(kept, train) if kept.is_file() else ready.fit(train, self.part.seed, progress)


def comparison_runs(comparison: ComparisonFolder, prepared: PreparedData) -> Iterator[EntryRun]:
    """What is finished of a comparison, entry by entry."""
    for model in comparison.models:
        for part in model.parts:
            if part.done or part.status == "fitted":
                yield EntryRun(model.label, model.name, model.settings, part, prepared)


@dataclass(frozen=True)
class EntryAnalysis(Generic[T]):
    """What is measured of every entry of a folder, once: the folder keeps it in `file`."""

    file: str
    kind: type[list[T]]
    measure: Callable[[str, Sequence[EntryRun]], T | None]  # of a label and its runs; None: it does not apply
    refusal: Callable[[Path, str], MurmuraError]  # of a folder whose entries, by label, it does not apply to

    def read(self, run: Run) -> list[T]:
        """What a folder keeps of it."""
        return run.read_typed(self.file, self.kind, "entries", "analyse the folder again") or []

    def of_folder(self, folder: Path, data_dir: Path | None = None) -> list[T]:
        """Measure every entry there is in a folder; what it keeps is not repeated."""
        run = Run.open(folder)
        if run.has(self.file):
            return self.read(run)
        with locked(folder):
            comparison = read_runs(folder)
            return self.of_comparison(comparison, data_of(comparison.run, data_dir))

    def of_comparison(self, comparison: ComparisonFolder, prepared: PreparedData) -> list[T]:
        """The same of a comparison whose data are ready and whose lock the caller holds."""
        run, entries = comparison.run, dict[str, list[EntryRun]]()
        if run.has(self.file):
            return self.read(run)
        for one in comparison_runs(comparison, prepared):
            entries.setdefault(one.label, []).append(one)
        if not entries:
            raise RunError(
                f"{run.path} must hold a finished run to be analysed, but has none; run it to its end."
            )
        found = [made for label, runs in entries.items() if (made := self.measure(label, runs)) is not None]
        if not found:
            raise self.refusal(run.path, ", ".join(entries))
        run.write_json(self.file, {"entries": TypeAdapter(self.kind).dump_python(found)})
        return found
