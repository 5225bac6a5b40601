"""The folder of a comparison, its configuration read once: what the analyses look into."""

from __future__ import annotations

from collections.abc import Callable
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
        entries = self.config["models"].items()
        return {str(label): dict(given) if isinstance(given, dict) else {} for label, given in entries}

    @property
    def data(self) -> str:
        """The name of the data."""
        return named_data(self.config).name

    @property
    def cutoff(self) -> int:
        """The list length the analyses look at: 10 where the comparison has it, otherwise its largest."""
        cutoffs = [int(k) for k in self.config.get("cutoffs") or [10]]
        return 10 if 10 in cutoffs else max(cutoffs)

    @property
    def seeds(self) -> range:
        """The seeds every entry is run with."""
        first, count = whole_number(self.config.get("seed", 0)), whole_number(self.config.get("seeds", 1))
        return range(first, first + count)

    def begun(self, label: str) -> dict[int, Run]:
        """The runs of one entry that have a folder: seed -> run."""
        runs = {seed: Run(self.run.path / run_name(label, seed)) for seed in self.seeds}
        return {seed: run for seed, run in runs.items() if run.has("config.yaml")}

    def finished(self, label: str) -> list[Run]:
        """The finished runs of one entry, by seed."""
        return [run for run in self.begun(label).values() if run.status == "done"]


def read_columns(
    run: Run, name: str, separator: str = ",", **readers: Callable[[str], Any]
) -> list[tuple[Any, ...]]:
    """Some columns of a CSV or TSV part, every field read by its column's reader; refuses a damaged part."""
    header, rows = run.read_table(name, separator)
    try:
        places = [(header.index(column), read) for column, read in readers.items()]
        return [tuple(read(row[place]) for place, read in places) for row in rows]
    except (ValueError, KeyError, IndexError):
        raise RunError(f"{run.path / name} is damaged: it does not fit the comparison; run it again.") from None


def whole_number(value: object) -> int:
    """A seed, or a number of seeds, as a configuration has it."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise RunError(
        f"seed and seeds in config.yaml must be whole numbers, but one is {value!r}; give an unchanged folder."
    )
