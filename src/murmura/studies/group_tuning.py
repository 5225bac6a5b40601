"""Every group tunes its own factorisation on its own ratings (FedSPLIT, section 4.1).

The paper's ranges, trials and folds: a trial fits five times on four fifths of a group's training ratings, with
at most 100 passes, and is judged by the squared error on the rest. A study lives in memory; what a group chose
is kept in a file of its own, so that a killed tuning goes on with the groups that are left.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from murmura.core.arrays import Floats, Ints
from murmura.core.errors import MissingExtraError, RunError
from murmura.core.files import write_whole
from murmura.core.rng import Purpose, Rng, Words, server_secret
from murmura.core.settings import as_dict, from_dict, settings
from murmura.kernels.cnmf import CnmfSettings, factorise, predict, random_factors, words_needed
from murmura.kernels.sparse import Sparse
from murmura.studies.pool import processes

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

RANGES = {"alpha": (0.04, 0.08), "beta": (0.04, 0.08), "gamma": (0.01, 0.04), "delta": (0.01, 0.04)} | {
    "eta_w": (0.002, 0.009),
    "eta_h": (0.002, 0.009),
}
MOST = 20  # factors
Count = Annotated[int, Field(ge=1)]


@settings
class Tuning:
    """How long a group searches."""

    trials: Count = 100
    folds: Annotated[int, Field(ge=2)] = 5
    passes: Count = 100  # of a trial
    epochs: Count = 500  # of the factorisation with what was chosen
    seed: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True, eq=False)
class Ratings:
    """The rows one group, or everyone, holds: what a trial is fitted and judged on."""

    name: str  # of the file its choice is kept in
    person: Ints  # ascending
    item: Ints
    value: Floats
    mu: float


class Folds:
    """Ratings cut into parts, each held out once; starts are the same for every trial."""

    def __init__(self, ratings: Ratings, tuning: Tuning) -> None:
        _, person = np.unique(ratings.person, return_inverse=True)
        items, column = np.unique(ratings.item, return_inverse=True)
        self.people, self.items, self.passes, self.mu = person.max() + 1, len(items), tuning.passes, ratings.mu
        dealt = np.random.default_rng([tuning.seed, len(person)]).permutation(len(person)) % tuning.folds
        self.parts = [_cut(person, column, ratings.value, dealt == fold) for fold in range(tuning.folds)]
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


def tune(ratings: Ratings, tuning: Tuning) -> tuple[CnmfSettings, float]:
    """The settings with the smallest loss of `trials`, and that loss."""
    study = _study(tuning.seed)
    folds = Folds(ratings, tuning)
    axes = _axes(folds.most)
    for _ in range(tuning.trials):
        trial = study.ask(axes)
        study.tell(trial, folds.loss(CnmfSettings(**trial.params, epochs=tuning.passes)))
    return CnmfSettings(**study.best_params, epochs=tuning.epochs), float(study.best_value)


def _study(seed: int) -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("tuning groups", "search") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # multivariate is called experimental
        return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))


def _axes(most: int) -> dict[str, BaseDistribution]:
    from optuna.distributions import FloatDistribution, IntDistribution

    rates = {name: FloatDistribution(low, high, log=True) for name, (low, high) in RANGES.items()}
    return {**rates, "factors": IntDistribution(min(2, most), most)}


def tune_all(
    groups: Sequence[Ratings], tuning: Tuning, folder: Path, workers: int
) -> Iterator[tuple[str, CnmfSettings, float]]:
    """What every group chose, as they finish; a group whose choice is in `folder` is not tuned again."""
    folder.mkdir(parents=True, exist_ok=True)
    left = []
    for group in groups:
        if (file := _file(folder, group.name)).is_file():
            yield _read(file, group.name, tuning)
        else:
            left.append(group)
    left.sort(key=lambda group: -len(group.value))  # the longest first: no worker is left alone with it
    with processes(workers) as pool:
        for future in as_completed([pool.submit(_tune_and_keep, group, tuning, folder) for group in left]):
            yield future.result()


def _tune_and_keep(group: Ratings, tuning: Tuning, folder: Path) -> tuple[str, CnmfSettings, float]:
    chosen, loss = tune(group, tuning)
    kept = {"tuning": as_dict(tuning), "settings": as_dict(chosen), "loss": loss}
    write_whole(_file(folder, group.name), json.dumps(kept, indent=1).encode())
    return group.name, chosen, loss


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _read(file: Path, name: str, tuning: Tuning) -> tuple[str, CnmfSettings, float]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        asked, chosen, loss = kept["tuning"], from_dict(CnmfSettings, kept["settings"]), float(kept["loss"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{file} must be a choice that was kept, but is damaged ({error}); delete it.") from None
    if asked != as_dict(tuning):
        raise RunError(f"{file} must be of the same tuning, but was of another; choose another --out.")
    return name, chosen, loss
