"""A search on disk: what was searched, every trial, the choice, and what it reached on the test part."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError
from murmura.engine.run import Run
from murmura.engine.sealed import FILE as OPENED
from murmura.runs.parts import read_object, whole_number
from murmura.runs.run import RunFolder
from murmura.runs.trials import Trial, name_of, read_history

TRIALS, CHOICE = "trials.csv", "choice.json"


@dataclass(frozen=True)
class Choice:
    """What won on the validation part."""

    model: str
    settings: dict[str, Any]
    value: float
    trials: int  # out of how many
    history: Path | None = None  # where the trials are, if not in the folder
    about: dict[str, str] = field(default_factory=dict)  # which of them: the names of data and protocol


@dataclass(frozen=True, eq=False)
class SearchFolder:
    """A search, finished or not."""

    run: Run
    config: dict[str, Any]

    @staticmethod
    def open(folder: Path) -> SearchFolder:
        """The search in a folder; refuses another folder."""
        run = Run.open(folder)
        config = run.config
        if not isinstance(config.get("search"), str):
            raise RunError(
                f"{folder} must be the folder of a search, but is not; give a folder `murmura search` printed."
            )
        return SearchFolder(run, config)

    @property
    def model(self) -> str:
        """What was searched."""
        return str(self.config["search"])

    @property
    def data(self) -> str:
        """How the data was named."""
        given = self.config.get("data")
        return str(given.get("name")) if isinstance(given, dict) else str(given)

    @property
    def metric(self) -> str:
        """What decides."""
        return str(self.config.get("metric", "P@10"))

    @property
    def seed(self) -> int:
        """Of every fit."""
        return whole_number(self.config.get("seed", 0))

    @cached_property
    def choice(self) -> Choice | None:
        """What won; None before the search has come to its end."""
        if not self.run.has(CHOICE):
            return None
        try:
            kept = read_object(self.run, CHOICE)
            history = Path(kept["history"]) if kept.get("history") else None
            settings, value = dict(kept["settings"]), float(kept["value"])
            names = ["data", "protocol"]
            about = {key: str(kept[key]) for key in names if key in kept}
            return Choice(str(kept["model"]), settings, value, int(kept["trials"]), history, about)
        except (KeyError, TypeError, ValueError):
            raise RunError(f"{self.run.path / CHOICE} is damaged: search again with the same --out.") from None

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Every setting once, as the history keeps it; a shared history has those of other data too."""
        file, about = self.run.path / TRIALS, {"model": self.model, "metric": self.metric}
        if self.choice is not None and self.choice.history is not None:
            file, about = self.choice.history, about | self.choice.about
        kept = read_history(file, **about)
        return tuple({name_of(trial.settings): trial for trial in kept}.values())

    @property
    def opened(self) -> str | None:
        """When the test part was opened for the choice; None: it has not been."""
        return str(self.run.read(OPENED)["at"]) if self.run.has(OPENED) else None

    @property
    def tested(self) -> RunFolder:
        """What the choice reached on the test part, where that was opened."""
        return RunFolder(self.run, self.seed)
