"""A search on disk: what was searched, every trial, the choice, and what it reached on the test part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from murmura.engine.part_files import named, whole_number, wrong_folder
from murmura.engine.run_folder import Run
from murmura.engine.sealed import FILE as OPENED
from murmura.studies.runs.trials import Trial, name_of, read_history

TRIALS, CHOICE = "trials.csv", "choice.json"


@dataclass(frozen=True)
class Choice:
    """What won on the validation part."""

    model: str
    settings: dict[str, Any]
    value: float
    trials: int  # out of how many
    history: Path | None = None  # where the trials are, if not in the folder
    data: str | None = None  # which of those: the names of data and protocol
    protocol: str | None = None


@dataclass(frozen=True, eq=False)
class SearchFolder:
    """A search, finished or not."""

    run: Run
    config: dict[str, Any]
    model: str  # what was searched
    data: str  # how that was named
    metric: str  # what decides
    seed: int  # of every fit

    @staticmethod
    def open(folder: Path) -> SearchFolder:
        """The search in a folder; refuses another folder."""
        run = Run.open(folder)
        config = run.config
        model = config.get("search")
        if not isinstance(model, str):
            raise wrong_folder(folder, "a search", "is not", "`murmura search`")
        name = str(named(config.get("data"), "unnamed data").get("name"))
        metric, seed = str(config.get("metric", "P@10")), whole_number(config.get("seed", 0))
        return SearchFolder(run, config, model, name, metric, seed)

    @cached_property
    def choice(self) -> Choice | None:
        """What won; None before the search has come to its end."""
        return self.run.read_typed(CHOICE, Choice, "", "search again with the same --out")

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Every setting once, as the history keeps it; a shared history has those of other data too."""
        file, about = self.run.path / TRIALS, {"model": self.model, "metric": self.metric}
        if (won := self.choice) is not None and won.history is not None:
            shared = {"data": won.data, "protocol": won.protocol}
            file, about = won.history, about | {key: name for key, name in shared.items() if name is not None}
        kept = read_history(file, **about)
        return tuple({name_of(trial.settings): trial for trial in kept}.values())

    @property
    def opened(self) -> str | None:
        """When the test part was opened for the choice; None: it has not been."""
        return str(self.run.read(OPENED)["at"]) if self.run.has(OPENED) else None

    @property
    def tested(self) -> Run:
        """What the choice reached on the test part, where that was opened."""
        return Run(self.run.path, self.seed)
