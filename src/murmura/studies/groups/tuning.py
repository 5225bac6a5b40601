"""Every group tunes its own factorisation on its own ratings (FedSPLIT, section 4.1).

The paper's ranges, trials and folds: a trial fits five times on four fifths of a group's training ratings, with
at most 100 passes, and is judged by the squared error on the rest. A study lives in memory; what a group chose
is kept in a file of its own, so that a killed tuning goes on with the groups that are left. The name of that
file is a hash of the ratings and of the tuning: other data or another tuning never meets it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.core.arrays import Floats, Ints
from murmura.core.errors import MissingExtraError, RunError
from murmura.core.files import write_whole
from murmura.core.rng import Purpose, Rng, Words, server_secret
from murmura.core.settings import as_dict, field_names, from_dict, settings
from murmura.kernels.factorisation.cnmf import CnmfSettings, factorise, predict, random_factors, words_needed
from murmura.kernels.sparse import Sparse
from murmura.studies.worker_pool import processes

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

RANGES = {"alpha": (0.04, 0.08), "beta": (0.04, 0.08), "gamma": (0.01, 0.04), "delta": (0.01, 0.04)} | {
    "eta_w": (0.002, 0.009),
    "eta_h": (0.002, 0.009),
}
MOST = 20  # factors
Count = Annotated[int, Field(ge=1)]
T = TypeVar("T")


@settings
class Tuning:
    """How long a group searches."""

    trials: Count = 100
    folds: Annotated[int, Field(ge=2)] = 5
    passes: Count = 100  # of a trial
    epochs: Count = 500  # of the factorisation with what was chosen
    seed: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True, eq=False)
class GroupRatings:
    """The rows one group, or everyone, holds: what a trial is fitted and judged on."""

    name: str
    person: Ints  # ascending
    item: Ints
    value: Floats
    mu: float

    def key(self, tuning: Tuning) -> str:
        """What the choice is kept under: a hash of everything it depends on."""
        digest = hashlib.sha256(json.dumps([as_dict(tuning), self.mu]).encode())
        for column in (self.person, self.item, self.value):
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class GroupChoice:
    """What a group chose, by how many folds; with none there was nothing to choose by."""

    settings: CnmfSettings
    folds: int
    loss: float | None  # held-out squared error; None without folds

    def __str__(self) -> str:
        if self.loss is None:
            return "too few ratings to tune, takes the method's own settings"
        return f"k = {self.settings.factors}, held-out MSE {self.loss:.4f} in {self.folds} folds"


class Folds:
    """Ratings cut into parts, at most one for each, held out once; starts are the same for every trial."""

    def __init__(self, ratings: GroupRatings, tuning: Tuning) -> None:
        _, person = np.unique(ratings.person, return_inverse=True)
        items, column = np.unique(ratings.item, return_inverse=True)
        self.people, self.items, self.passes, self.mu = person.max() + 1, len(items), tuning.passes, ratings.mu
        count = min(tuning.folds, len(person))
        dealt = np.random.default_rng([tuning.seed, len(person)]).permutation(len(person)) % count
        self.parts = [_cut(person, column, ratings.value, dealt == fold) for fold in range(count)]
        stream = Rng(server_secret(tuning.seed)).stream(Purpose.INIT)
        self.words: Words = stream.words(words_needed(self.people, self.items, self.most))

    @property
    def most(self) -> int:
        """The largest k: one less than the people, and at most MOST."""
        return int(min(self.people, MOST + 1)) - 1

    def loss(self, chosen: CnmfSettings) -> float:
        """The mean over folds of the squared error on what was held out."""
        k = min(chosen.factors, self.most)
        words = self.words[: words_needed(self.people, self.items, k)]
        start, losses = random_factors(words, self.people, self.items, k), []
        for train, person, column, value in self.parts:
            found, _ = factorise(train, start, self.mu, chosen.rates, self.passes)
            losses.append(float(np.square(value - predict(found, self.mu, person, column)).mean()))
        return float(np.mean(losses))


Part = tuple[Sparse, Ints, Ints, Floats]


def _cut(person: Any, column: Any, value: Floats, out: Any) -> Part:
    rows = np.concatenate(([0], np.cumsum(np.bincount(person[~out], minlength=person.max() + 1))))
    train = Sparse.of(rows, column[~out], value[~out])
    return train, person[out].astype(np.int32), column[out].astype(np.int32), value[out]


def tune(ratings: GroupRatings, tuning: Tuning) -> GroupChoice:
    """The settings with the smallest loss of `trials`; FedSPLIT's own where fewer than two people rated."""
    if len(np.unique(ratings.person)) < 2:
        own = {name: getattr(FedSplit(), name) for name in field_names(CnmfSettings)}
        return GroupChoice(CnmfSettings(**{**own, "epochs": tuning.epochs}), 0, None)
    study = _study(tuning.seed)
    folds = Folds(ratings, tuning)
    axes = _axes(folds.most)
    for _ in range(tuning.trials):
        trial = study.ask(axes)
        study.tell(trial, folds.loss(CnmfSettings(**trial.params, epochs=tuning.passes)))
    chosen = CnmfSettings(**study.best_params, epochs=tuning.epochs)
    return GroupChoice(chosen, len(folds.parts), float(study.best_value))


def _study(seed: int) -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("tuning groups", "search") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))


def _axes(most: int) -> dict[str, BaseDistribution]:
    from optuna.distributions import FloatDistribution, IntDistribution

    rates = {name: FloatDistribution(low, high, log=True) for name, (low, high) in RANGES.items()}
    return {**rates, "factors": IntDistribution(min(2, most), most)}


def stored_choices(groups: Mapping[str, GroupRatings], folder: Path) -> dict[str, GroupChoice]:
    """What the folder already holds of these groups, given under their keys."""
    files = {key: folder / f"{key}.json" for key in groups}
    return {key: read_choices(file, _choice) for key, file in files.items() if file.is_file()}


def tune_all(
    groups: Mapping[str, GroupRatings], tuning: Tuning, folder: Path, workers: int
) -> Iterator[tuple[str, GroupChoice]]:
    """What every group chose, as they finish; each is kept in `folder` under its key."""
    folder.mkdir(parents=True, exist_ok=True)
    longest_first = sorted(groups, key=lambda key: -len(groups[key].value))  # no worker is left alone with it
    with processes(workers) as pool:
        asked = [pool.submit(_tune_and_keep, key, groups[key], tuning, folder) for key in longest_first]
        for future in as_completed(asked):
            yield future.result()


def _tune_and_keep(key: str, group: GroupRatings, tuning: Tuning, folder: Path) -> tuple[str, GroupChoice]:
    choice = tune(group, tuning)
    kept = {"tuning": as_dict(tuning), **vars(choice), "settings": as_dict(choice.settings)}
    write_whole(folder / f"{key}.json", json.dumps(kept, indent=1).encode())
    return key, choice


def _choice(kept: Any) -> GroupChoice:
    loss = kept["loss"]
    settings = from_dict(CnmfSettings, kept["settings"])
    return GroupChoice(settings, int(kept["folds"]), None if loss is None else float(loss))


def read_choices(file: Path, take: Callable[[Any], T]) -> T:
    """What `take` makes of a JSON file that an earlier call kept."""
    try:
        return take(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{file} must be a choice that was kept, but is damaged ({error}); delete it.") from None
