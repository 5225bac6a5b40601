"""One trial of an experiment: a setting fitted on the selection split, and what came of it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from murmura.core.errors import DataError, FederationError, MissingExtraError
from murmura.engine.protocol import Selection
from murmura.runs.trials import best_place, side
from murmura.studies.search.grid import TrialJob, run_job


@dataclass(frozen=True)
class TrialResult:
    """A setting with its best epoch, and what it scored on the validation part."""

    model: str
    settings: dict[str, Any]  # those that were given, and `epochs`: the best one
    value: float  # NaN where the training failed
    curve: tuple[float, ...] = ()  # the value after every epoch
    wall: float = 0.0
    cpu: float = 0.0
    failed: str = ""  # why there is no value
    missing: bool = False  # because an optional part is not installed
    row: str = ""  # of the experiment it was tried for
    stage: int = 0
    asked: dict[str, Any] = field(default_factory=dict)  # the settings before an epoch was chosen

    def plain(self) -> dict[str, Any]:
        """As kept in a file."""
        return {**asdict(self), "value": _number(self.value), "curve": [_number(one) for one in self.curve]}

    @staticmethod
    def of(plain: dict[str, Any]) -> TrialResult:
        """The opposite of `plain`."""
        curve = tuple(_value(one) for one in plain["curve"])
        return TrialResult(**{**plain, "value": _value(plain["value"]), "curve": curve})


def _number(value: float) -> float | None:
    """A value in JSON, which has no NaN: epochs that a diverging training did not reach have none."""
    return None if math.isnan(value) else value


def _value(number: float | None) -> float:
    """The opposite of `_number`."""
    return math.nan if number is None else float(number)


def attempt(selection: Selection, job: TrialJob, epochs: int | None = None) -> TrialResult:
    """Fit once; with `epochs` as the most, until the job's patience ends.

    A training that diverges, or needs what is not installed or not in the data, is a result too: it has no
    value.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    asked, failed, missing = dict(job.settings), "", False
    value, curve, found = math.nan, list[float](), dict(job.settings)
    try:
        trials = run_job(selection, _whole(job, epochs))
        values = [trial.value for trial in trials]
        best = best_place(values, side(job.metric))
        value, curve = values[best], values if epochs else []
        found |= {"epochs": best + 1} if epochs else {}
    except MissingExtraError as error:
        failed, missing = str(error), True
    except (FederationError, DataError) as error:
        failed = str(error)
    spent = time.perf_counter() - wall, time.process_time() - cpu
    return TrialResult(job.model, found, value, tuple(curve), *spent, failed, missing, asked=asked)


def _whole(job: TrialJob, epochs: int | None) -> TrialJob:
    """The job with its number of epochs, or without patience where the method has none."""
    settings = {**job.settings, "epochs": epochs} if epochs else job.settings
    return TrialJob(job.model, settings, job.metric, job.seed, (), job.patience if epochs else None)


def best_trial(tried: Sequence[TrialResult], metric: str) -> TrialResult:
    """The best by its value; without any, the first that came to its end: a target may never be reached."""
    ended = [one for one in tried if not one.failed] or tried
    return ended[best_place([one.value for one in ended], side(metric))]
