"""A paper's table or figure on disk: every trial, what was chosen for every row, and the comparison of that."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError
from murmura.engine.part_files import wrong_folder
from murmura.engine.run_folder import Run
from murmura.studies.compare.comparison_plan import ComparisonEntry
from murmura.studies.compare.folder import ComparisonFolder
from murmura.studies.search.folder import Trial

TRIALS, CHOICES, RUNS, SPENT = "trials", "choices.json", "runs", "spent.json"


@dataclass(frozen=True)
class RowChoice:
    """What won for a row: its entries for the test part; none when it was left out, with the reason."""

    label: str
    entries: tuple[ComparisonEntry, ...]
    left_out: str = ""


@dataclass(frozen=True)
class Spent:
    """What a reproduction cost, over all sessions."""

    fits: float
    cpu: float  # seconds
    wall: float  # seconds
    sessions: int


@dataclass(frozen=True, eq=False)
class ReproductionFolder:
    """A reproduction on one data set, finished or not."""

    run: Run

    @staticmethod
    def open(folder: Path) -> ReproductionFolder:
        """The reproduction in a folder; refuses another folder."""
        run = Run.open(folder)
        if not isinstance(run.config.get("experiment"), dict):
            raise wrong_folder(folder, "a reproduction", "is not", "`murmura reproduce run`")
        return ReproductionFolder(run)

    @property
    def metric(self) -> str:
        """What decides."""
        return str(self.run.config["experiment"].get("metric", "P@10"))

    @property
    def comparison(self) -> ComparisonFolder:
        """What was chosen, on the test part; refuses one that has not come that far."""
        if not Run(self.run.path / RUNS).has("config.yaml"):
            raise RunError(f"{self.run.path} must have come to its test part, but has not; run it to its end.")
        return ComparisonFolder.open(self.run.path / RUNS)

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, by the name of its file."""
        folder = Run(self.run.path / TRIALS)
        names = sorted(file.name for file in folder.path.glob("*.json"))
        try:
            return tuple(Trial.of(folder.read(name)) for name in names)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(
                f"{folder.path} has a damaged trial ({error}); delete it and run it again."
            ) from None

    @cached_property
    def choices(self) -> dict[str, RowChoice]:
        """Row -> what won."""
        try:
            return {
                label: RowChoice(label, tuple(_entries(kept["entries"])), str(kept["left out"]))
                for label, kept in self.run.read_object(CHOICES).items()
            }
        except (KeyError, TypeError, AttributeError):
            raise RunError(f"{self.run.path / CHOICES} is damaged: delete it and run it again.") from None

    def write_choices(self, chosen: Iterable[RowChoice]) -> None:
        """Keep what won, before the test part is opened."""
        kept = {
            one.label: {
                "left out": one.left_out,
                "entries": {entry.label: {"model": entry.model, **entry.settings} for entry in one.entries},
            }
            for one in chosen
        }
        self.run.write_json(CHOICES, kept)

    @property
    def winners(self) -> tuple[Trial, ...]:
        """The trial of each row's choice, where a row has one."""
        one_each = {label: row.entries[0] for label, row in self.choices.items() if len(row.entries) == 1}
        fitting = {
            label: [one for one in self.trials if one.row == label and _is(one, entry)]
            for label, entry in one_each.items()
        }
        return tuple(found[0] for found in fitting.values() if found and math.isfinite(found[0].value))

    @property
    def sessions(self) -> list[dict[str, float]]:
        """Fits, CPU and wall seconds of every session."""
        return list(self.run.read_object(SPENT).get("sessions", ()))

    @property
    def spent(self) -> Spent:
        """The same over all sessions."""
        sessions = self.sessions
        fits, cpu, wall = (float(sum(one[key] for one in sessions)) for key in ("fits", "cpu", "wall"))
        return Spent(fits, cpu, wall, len(sessions))


def _entries(kept: dict[str, dict[str, Any]]) -> Iterable[ComparisonEntry]:
    for label, one in kept.items():
        settings = {key: value for key, value in one.items() if key != "model"}
        yield ComparisonEntry(label, str(one["model"]), settings)


def _is(trial: Trial, entry: ComparisonEntry) -> bool:
    """Whether an entry has the settings of a trial; it has the model's defaults beside them."""
    return entry.model == trial.model and all(entry.settings.get(k) == v for k, v in trial.settings.items())
