"""A search on disk: every trial, what was searched, the choice, and what it reached on the test part.

A trial is a setting and what it scored on the validation part. A search keeps one line each in a file that
grows, so that what is known is not tried again; a reproduction keeps a file each, with the curve over epochs.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from murmura.core.errors import RunError, SettingError
from murmura.engine.part_files import named, whole_number, wrong_folder
from murmura.engine.prepared import FILE as OPENED
from murmura.engine.prepared import Selection
from murmura.engine.run_folder import Run
from murmura.evaluation.registry import DEFAULT_METRICS, badness, cutoff, direction, has_no_cutoff, metric_of

TRIALS, CHOICE = "trials.csv", "choice.json"
COLUMNS = ("data", "protocol", "model", "settings", "metric", "value", "seconds")
DIGITS = 6  # of a value: what the file keeps is what is compared, so a resumed search decides alike

Side = Literal["higher", "lower"]


@dataclass(frozen=True)
class Trial:
    """One setting, perhaps at its best epoch, and what it scored on the validation part."""

    settings: dict[str, Any]
    value: float  # NaN where the training failed
    seconds: float = 0.0
    model: str = ""
    curve: tuple[float, ...] = ()  # the value after every epoch
    cpu: float = 0.0
    failed: str = ""  # why there is no value
    missing: bool = False  # because an optional part is not installed
    row: str = ""  # of the experiment it was tried for
    stage: int = 0
    asked: dict[str, Any] = field(default_factory=dict)  # the settings before an epoch was chosen

    def plain(self) -> dict[str, Any]:
        """As a reproduction keeps it; JSON has no NaN: what a diverging training did not reach has no value."""
        kept = {key: value for key, value in asdict(self).items() if key != "seconds"}
        value, *curve = (None if math.isnan(one) else one for one in (self.value, *self.curve))
        return {**kept, "wall": self.seconds, "value": value, "curve": curve}

    @staticmethod
    def of(plain: dict[str, Any]) -> Trial:
        """The opposite of `plain`."""
        kept = {key: value for key, value in plain.items() if key != "wall"}
        value, *curve = (math.nan if one is None else float(one) for one in (plain["value"], *plain["curve"]))
        return Trial(**{**kept, "seconds": plain["wall"], "value": value, "curve": tuple(curve)})


def name_of(settings: dict[str, Any]) -> str:
    """A setting as one text, whatever the order of its keys."""
    return json.dumps(settings, sort_keys=True)


def side(metric: str) -> Side:
    """Whether a search looks for the highest value or, where it is an error, for the lowest."""
    found = direction(metric)
    if not has_no_cutoff(metric) and not cutoff(metric):
        raise SettingError(
            f"--metric must have its cut-off, but it is '{metric}'; write for example {metric.strip('@')}@10."
        )
    if found == "zero":
        raise SettingError(f"--metric must have a best end, but '{metric}' is best near 0; choose another.")
    return found


def measured(metric: str) -> tuple[str, ...]:
    """What a search measures: the usual metrics, and the one that decides."""
    own = () if has_no_cutoff(metric) else (metric_of(metric).key,)
    return tuple(dict.fromkeys((*DEFAULT_METRICS, *own)))


def ranked(trials: Sequence[Trial], metric: str) -> list[Trial]:
    """Best first by the metric; of equal ones the first, and last those without a value."""
    side(metric)  # refused where it has no best end
    return sorted(trials, key=lambda trial: (math.isnan(trial.value), badness(metric, trial.value)))


def best(trials: Sequence[Trial], metric: str) -> Trial:
    """The first of `ranked` that came to its end: a target may never be reached, and is still no failure."""
    return ranked([one for one in trials if not one.failed] or trials, metric)[0]


class TrialHistory:
    """The trials of one model on one data set so far: in memory, and in a file when there is one."""

    def __init__(self, file: Path | None, key: tuple[str, str, str], metric: str) -> None:
        self.file, self.key, self.metric, self.model = file, key, metric, key[2]
        wanted = dict(zip(COLUMNS, key), metric=metric)
        self.known = {name_of(trial.settings): trial for trial in read_history(file, **wanted)}

    def find(self, settings: dict[str, Any]) -> Trial | None:
        """The trial of a setting; None where it has not been tried."""
        return self.known.get(name_of(settings))

    def add(self, trial: Trial) -> None:
        """Keep a trial."""
        self.known[name_of(trial.settings)] = trial
        if self.file is None:
            return
        value, seconds = f"{trial.value:.{DIGITS}f}", f"{trial.seconds:.2f}"
        line = (*self.key, name_of(trial.settings), self.metric, value, seconds)
        text = io.StringIO()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a+b") as file:
            csv.writer(text, lineterminator="\n").writerows([line] if file.tell() else [COLUMNS, line])
            # a line that a kill left open is closed, so that the next one is not lost with it
            is_open = file.tell() and file.seek(-1, 2) >= 0 and file.read(1) != b"\n"
            file.write((b"\n" if is_open else b"") + text.getvalue().encode())


def read_history(file: Path | None, **wanted: str) -> list[Trial]:
    """The trials of a history whose columns are as wanted; a line cut short by a kill is left out."""
    if file is None or not file.exists() or not file.stat().st_size:  # a kill may leave nothing in it
        return []
    with file.open(encoding="utf-8", newline="") as opened:
        reader = csv.DictReader(opened)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise RunError(
                f"{file} must be a search history with the columns {', '.join(COLUMNS)}; choose another file."
            )
        lines = [row for row in reader if all(row[column] == value for column, value in wanted.items())]
    return [trial for trial in map(_read_trial, lines) if trial is not None]


def _read_trial(row: dict[str, str]) -> Trial | None:
    try:
        settings, value, seconds = json.loads(row["settings"]), float(row["value"]), float(row["seconds"])
    except (TypeError, ValueError):
        return None
    return Trial(settings, value, seconds) if isinstance(settings, dict) else None


@dataclass(frozen=True)
class Choice:
    """What won on the validation part."""

    model: str
    settings: dict[str, Any]
    metric: str
    value: float
    trials: int  # out of how many
    seconds: float = 0.0  # which all of them took
    history: str | None = None  # where the trials are, if not in the folder
    data: str | None = None  # which of those: the names of data and protocol
    protocol: str | None = None

    @staticmethod
    def of(
        trials: Sequence[Trial], selection: Selection, model: str, metric: str, history: Path | None
    ) -> Choice:
        """The best of the trials of a model."""
        won, kept = best(trials, metric), None if history is None else str(history)
        seconds = round(sum(trial.seconds for trial in trials), 2)
        about = (kept, selection.data, selection.protocol.name)
        return Choice(model, won.settings, metric, won.value, len(trials), seconds, *about)


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
            shared, file = {"data": won.data, "protocol": won.protocol}, Path(won.history)
            about |= {key: name for key, name in shared.items() if name is not None}
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
