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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from murmura.core.errors import MissingExtraError, RunError, SettingError
from murmura.studies.search.folder import Side
from murmura.studies.search.space import Axes, Space, corners, grid, has_range, space_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.storages import RDBStorage

TOGETHER = 4
Group = tuple[list[dict[str, Any]], list[float]]  # settings to try, and where to put what each scored, in order


@dataclass(frozen=True)
class Tpe:
    """A study that asks for settings of a space, so many in all, those of an earlier call included."""

    space: Space
    trials: int
    fixed: Mapping[str, Any] = field(default_factory=dict)  # settings that are not searched
    study: Path | None = None  # the SQLite file that remembers what was asked; None: in memory

    def __post_init__(self) -> None:
        if self.trials < 1 or not self.space:
            raise SettingError("a search by tpe needs --trials of 1 or more and a --space KEY=LOW:HIGH.")

    def __len__(self) -> int:
        return self.trials

    def corners(self) -> list[dict[str, Any]]:
        """The corners of the space, with what is fixed."""
        return [{**self.fixed, **one} for one in corners(self.space)]

    def groups(self, better: Side, seed: int = 0) -> Iterator[Group]:
        """What the study asks for, group after group, each from what those before it scored."""
        study, axes = open_study(self.study, better), distributions(self.space)
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState

        for first in range(0, self.trials, TOGETHER):
            for number in range(len(study.get_trials(deepcopy=False)), first + TOGETHER):
                derived = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # constant_liar is called experimental
                    study.sampler = TPESampler(seed=derived, constant_liar=True)
                study.ask(axes)  # with a generator of its own number
            asked = study.get_trials(deepcopy=False)[first : min(first + TOGETHER, self.trials)]
            values: list[float] = []
            yield [{**self.fixed, **_settings(self.space, one.params)} for one in asked], values
            for one, value in zip(asked, values):
                if not one.state.is_finished():
                    failed = math.isnan(value)
                    study.tell(one.number, None if failed else value, TrialState.FAIL if failed else None)


Candidates = list[dict[str, Any]] | Tpe  # settings that are all tried, or a study that asks for some


def candidates(
    axes: Axes, trials: int | None, fixed: Mapping[str, Any], no_range: str, study: Path | None = None
) -> Candidates:
    """So many trials by tpe, or every combination where no number is given: `no_range` says why."""
    if trials is not None:
        return Tpe(space_of(axes), trials, fixed, study)
    if has_range(axes):
        raise SettingError(no_range)
    return [{**fixed, **one} for one in grid(axes)]


def open_study(file: Path | None, better: Side, needs: str = "--sampler tpe") -> Study:
    """A study of Optuna, in a file or in memory; `needs` is what cannot be done where it is not installed."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError(needs, "search") from None
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


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """The space in Optuna's terms."""
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
