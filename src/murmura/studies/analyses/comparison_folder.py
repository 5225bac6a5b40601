"""The folder of a comparison, its configuration read once: what the analyses look into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError
from murmura.engine.run import Run
from murmura.studies.compare import run_name
from murmura.studies.config import named_data


@dataclass(frozen=True, eq=False)
class ComparisonFolder:
    """A comparison on disk, finished or not."""

    run: Run
    config: dict[str, Any]

    @staticmethod
    def open(folder: Path) -> ComparisonFolder:
        """The comparison in a folder; refuses the folder of one run."""
        run = Run.open(folder)
        config = run.config
        if not isinstance(config.get("models"), dict):
            raise RunError(
                f"{folder} must be the folder of a comparison or a sweep, but its config.yaml has no 'models'; "
                "give the folder `murmura compare` or `murmura sweep` printed."
            )
        return ComparisonFolder(run, config)

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """The entries: label -> name and settings."""
        return {str(label): dict(given or {}) for label, given in self.config["models"].items()}

    @property
    def data(self) -> str:
        """The name of the data."""
        return named_data(self.config).name

    @property
    def cutoff(self) -> int:
        """The list length the analyses look at: 10 where the comparison has it, otherwise its largest."""
        cutoffs = [int(k) for k in self.config.get("cutoffs") or [10]]
        return 10 if 10 in cutoffs else max(cutoffs)

    def finished(self, label: str) -> list[Run]:
        """The finished runs of one entry, by seed."""
        first, seeds = int(self.config.get("seed", 0)), int(self.config.get("seeds", 1))
        runs = [Run(self.run.path / run_name(label, seed)) for seed in range(first, first + seeds)]
        return [run for run in runs if run.has("config.yaml") and run.status == "done"]
