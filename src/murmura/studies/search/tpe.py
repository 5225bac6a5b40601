"""A search that learns from its trials: the tree-structured Parzen estimator of Optuna, on the validation part.

Bergstra, Bardenet, Bengio and Kégl: Algorithms for hyper-parameter optimization (NeurIPS 2011); Akiba, Sano,
Yanase, Ohta and Koyama: Optuna (KDD 2019).

Settings are asked for in groups of TOGETHER, each from the trials of earlier groups and with its own seed.
So neither the number of workers nor a kill in between changes what is asked: a study that was killed asks
for the same settings as one that was not. What a group asked for is in the study's file before it is tried.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from murmura.core.errors import MissingExtraError, RunError, SettingError
from murmura.core.progress import SILENT, Progress
from murmura.engine.protocol import Selection
from murmura.runs.trials import Side, Trial, TrialHistory, name_of, side
from murmura.studies.methods import method
from murmura.studies.search.grid import run_trials, trial_team
from murmura.studies.worker_pool import Workers

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.storages import RDBStorage

SHOWN = 4  # significant digits of a drawn number: more say nothing, and a person may want to type it
TOGETHER = 4


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; by their logarithm, or whole ones, or both."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SettingError(
                f"a range must be LOW:HIGH with LOW below HIGH, but it is {self.low:g}:{self.high:g}; "
                "write for example alpha=0.01:0.3:log."
            )
        if self.log and self.low <= 0:
            raise SettingError(f"a :log range must begin above 0, but begins at {self.low:g}; leave :log out.")
        if self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise SettingError(
                f"an :int range must have whole ends, but they are {self.low:g} and {self.high:g}."
            )

    def value(self, drawn: float) -> float | int:
        """A drawn number as a setting: whole where whole ones are meant, otherwise SHOWN digits of it."""
        if self.whole:
            return round(drawn)
        return min(self.high, max(self.low, float(f"{drawn:.{SHOWN}g}")))


Space = dict[str, "Range | list[Any]"]


def parse_range(text: str) -> Range:
    """`LOW:HIGH[:log][:int]`."""
    low, _, rest = text.partition(":")
    high, *marks = rest.split(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if any(math.isnan(end) for end in ends) or not set(marks) <= {"log", "int"}:
        raise SettingError(
            f"a range must be LOW:HIGH, with :log or :int after it, but it is '{text}'; "
            "write for example alpha=0.01:0.3:log."
        )
    return Range(*ends, "log" in marks, "int" in marks)


def space_of(axes: Mapping[str, list[Any] | str]) -> Space:
    """What each setting may be, ranges read."""
    return {key: parse_range(axis) if isinstance(axis, str) else axis for key, axis in axes.items()}


def corners(space: Space) -> list[dict[str, Any]]:
    """Settings that show whether every end of every range and every value is allowed, one changed at a time."""
    ends = {
        key: axis if isinstance(axis, list) else [axis.value(axis.low), axis.value(axis.high)]
        for key, axis in space.items()
    }
    first = {key: values[0] for key, values in ends.items()}
    return [{**first, key: value} for key, values in ends.items() for value in values]


def tpe(
    selection: Selection,
    model: str,
    space: Space,
    trials: int,
    history: Path | None = None,
    *,
    fixed: dict[str, Any] | None = None,
    study: Path | None = None,
    metric: str = "P@10",
    seed: int = 0,
    workers: int | Workers = 1,
    patience: int | None = None,
    progress: Progress = SILENT,
) -> Iterator[Trial]:
    """The trials of a study, first to last; those that are known are not tried again.

    Args:
        selection: What `prepared.selection()` gives.
        model: The model's name.
        space: What each setting may be.
        trials: How many settings are tried in all, those of an earlier call on the same `study` included.
        history: The CSV of trials.
        fixed: Settings that are not searched.
        study: The SQLite file that remembers what was asked; None: in memory.
        metric: What is judged by, on the validation part; of errors the lowest wins.
        seed: Of the sampler and of every fit.
        workers: Processes; TOGETHER of them at most have something to do. They change no result.
        patience: As in `search`.
        progress: Told how far a fit in this process is.
    """
    if trials < 1 or not space:
        raise SettingError("a search by tpe needs --trials of 1 or more and a --space KEY=LOW:HIGH.")
    own = fixed or {}
    for corner in corners(space):
        method(model, {**own, **corner})  # refuse a space the model does not allow before any work
    opened = _open(study, side(metric))
    axes = _distributions(space)
    log = TrialHistory(history, (selection.data, selection.protocol.name, model), metric)
    with trial_team(selection, workers, progress) as work:
        for first in range(0, trials, TOGETHER):
            _ask(opened, axes, seed, first + TOGETHER)
            group = opened.get_trials(deepcopy=False)[first : min(first + TOGETHER, trials)]
            asked = [{**own, **_settings(space, one.params)} for one in group]
            found = {name_of(one): trial for one, trial in run_trials(work, log, asked, seed, patience)}
            for one, settings in zip(group, asked):
                trial = found[name_of(settings)]
                if not one.state.is_finished():
                    _tell(opened, one.number, trial.value)
                yield trial


def proposals(
    space: Space, trials: int, better: Side, seed: int = 0
) -> Generator[list[dict[str, Any]], list[float], None]:
    """The settings a study in memory asks for, group after group; it is sent what each of a group scored."""
    study, axes = _open(None, better), _distributions(space)
    for first in range(0, trials, TOGETHER):
        _ask(study, axes, seed, min(first + TOGETHER, trials))
        group = study.get_trials(deepcopy=False)[first:]
        values = yield [_settings(space, one.params) for one in group]
        for one, value in zip(group, values):
            _tell(study, one.number, value)


def _open(file: Path | None, better: Side) -> Study:
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("--sampler tpe", "search") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return optuna.create_study(
            storage=None if file is None else _storage(file),
            study_name="murmura",
            direction="maximize" if better == "higher" else "minimize",
            load_if_exists=True,
        )
    except RunError:
        raise
    except Exception as error:  # the storage's own errors have no common root that Optuna promises
        raise RunError(f"{file} must be the SQLite file of a study, but cannot be used: {error}.") from None


def _storage(file: Path) -> RDBStorage:
    """The study's database: one of an older Optuna is migrated, one of a newer refused."""
    from optuna.storages import RDBStorage

    storage = RDBStorage(f"sqlite:///{file.resolve()}", skip_compatibility_check=True)
    version = storage.get_current_version()
    if version not in storage.get_all_versions():
        raise RunError(
            f"{file} must be of version {storage.get_head_version()} or older, but a newer Optuna made it "
            f"version {version}; install that one, or search in another folder."
        )
    if version != storage.get_head_version():
        storage.upgrade()
    return storage


def _ask(study: Study, axes: dict[str, BaseDistribution], seed: int, until: int) -> None:
    """Ask for settings up to that number, each with a generator of its own number."""
    from optuna.samplers import TPESampler

    for number in range(len(study.get_trials(deepcopy=False)), until):
        derived = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant_liar is called experimental
            study.sampler = TPESampler(seed=derived, constant_liar=True)
        study.ask(axes)


def _tell(study: Study, number: int, value: float) -> None:
    from optuna.trial import TrialState

    if math.isnan(value):
        study.tell(number, state=TrialState.FAIL)
    else:
        study.tell(number, value)


def _distributions(space: Space) -> dict[str, BaseDistribution]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    made: dict[str, BaseDistribution] = {}
    for key, axis in space.items():
        if isinstance(axis, list):
            made[key] = CategoricalDistribution([str(value) for value in axis])
        elif axis.whole:
            made[key] = IntDistribution(int(axis.low), int(axis.high), log=axis.log)
        else:
            made[key] = FloatDistribution(axis.low, axis.high, log=axis.log)
    return made


def _settings(space: Space, drawn: dict[str, Any]) -> dict[str, Any]:
    """What the model is given: the value behind a text, a number with few digits."""
    found: dict[str, Any] = {}
    for key, axis in space.items():
        if isinstance(axis, list):
            found[key] = next(value for value in axis if str(value) == drawn[key])
        else:
            found[key] = axis.value(drawn[key])
    return found
