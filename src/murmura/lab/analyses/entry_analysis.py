"""What is measured of every entry of a folder, from the models or lists of its runs: made once, and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from murmura.core.errors import MurmuraError, RunError
from murmura.core.locks import locked
from murmura.engine.prepared import PreparedData
from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import ComparisonFolder, read_runs
from murmura.studies.configuration import data_of
from murmura.studies.scorer import Scorer, comparison_scorers

T = TypeVar("T")


@dataclass(frozen=True)
class EntryAnalysis(Generic[T]):
    """What is measured of every entry of a folder, once: the folder keeps it in `file`."""

    file: str
    kind: type[list[T]]
    measure: Callable[[str, Sequence[Scorer]], T | None]  # of a label and its runs; None: it does not apply
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
        run, entries = comparison.run, dict[str, list[Scorer]]()
        if run.has(self.file):
            return self.read(run)
        for one in comparison_scorers(comparison, prepared):
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
