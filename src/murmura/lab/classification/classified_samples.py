"""How many of their held-out samples clients classify rightly, after training and after every round of it.

A. Ferrara's thesis, section 5.5.4.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.catalogue import Split
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.model import Method, Model
from murmura.core.progress import Progress
from murmura.engine.experiment import CURVE, ExperimentResult, Tables
from murmura.engine.run_folder import Run
from murmura.evaluation.measure import Evaluation
from murmura.evaluation.registry import ACCURACY, TARGETS, target_key

ANSWERS, CONFUSION = "answers.csv", "confusion.csv"  # right or wrong; label by label, how many got which answer
CHECKPOINT_EVERY = 10  # rounds
SHARES = tuple(percent / 100 for percent in range(10, 100, 10))  # of the clients


def trained(method: Method, split: Split, seed: int, progress: Progress, run: Run | None) -> ExperimentResult:
    """Train and score after every round and at the end; with a run's folder it goes on where it was stopped."""
    started, curve = time.perf_counter(), CurveRecorder(split.test, run)
    if run is None:
        model = method.fit(split.train, seed, progress, curve.watch)
    else:
        model = method.fit_resumably(split.train, seed, progress, run.path, CHECKPOINT_EVERY, curve.watch)
    fitted = time.perf_counter() - started - curve.seconds
    found = scored(model, split, {"fit": fitted, "curve": curve.seconds})
    values = {**found.evaluation.values, **curve.values()}
    return replace(found, evaluation=replace(found.evaluation, values=values))


def scored(model: Model, split: Split, seconds: Mapping[str, float]) -> ExperimentResult:
    """The accuracy of clients on their own test samples, which labels got which answers, and what was right."""
    started, test = time.perf_counter(), split.test
    assert test.samples is not None
    predicted = model.predict(test.user, test.item)
    table = confusion(predicted, test.value, test.samples.classes)
    evaluation = accuracies(predicted, test.value, test.user)
    times = {**seconds, "classify": time.perf_counter() - started}
    rows = [(label, *row) for label, row in enumerate(table.tolist())]
    tables: Tables = {CONFUSION: (["label", *map(str, range(len(table)))], rows)}
    tables[ANSWERS] = ("user", "right"), answers_of(predicted == test.value, test)
    return ExperimentResult(evaluation, None, model, times, model.cost(), tables)


def local_accuracy(right: Bools, user: Ints, users: int) -> Floats:
    """The share of right answers of every user; NaN for one without a sample."""
    held: Longs = np.bincount(user, minlength=users)
    counted = np.bincount(user[right], minlength=users)
    share: Floats = np.divide(counted, held, out=np.full(users, np.nan), where=held > 0)
    return share


def accuracies(predicted: Floats, actual: Floats, user: Ints) -> Evaluation:
    """Accuracy = right answers / all answers (equation 5.9), of every user and of all.

    `accuracy` is the mean over users weighted by how many samples each has (LEAF), `accuracy/clients` the plain
    mean over users, and `clients/70` and its like the share of users whose own accuracy is strictly above.
    """
    if not len(predicted) == len(actual) == len(user) > 0:
        lengths = len(predicted), len(actual), len(user)
        raise DataError(f"answers, labels and users must be equally many and some, but are {lengths}.")
    users, right = np.unique(user), predicted == actual
    own = local_accuracy(right, user, int(users[-1]) + 1)[users]
    values = {ACCURACY: float(right.mean()), f"{ACCURACY}/clients": float(own.mean())}
    values |= {target_key(target): float((own > target).mean()) for target in TARGETS}
    return Evaluation(values, {ACCURACY: own}, users.astype(np.int32))


def confusion(predicted: Floats, actual: Floats, classes: int) -> Longs:
    """(classes, classes) how many samples of each label, row by row, got each answer, column by column."""
    wrong = ~np.isin(predicted, np.arange(classes))
    if wrong.any():
        raise DataError(
            f"answers must be labels from 0 to {classes - 1}, but {int(wrong.sum())} are not, such as "
            f"{predicted[wrong][0]:g}; client_predict must return the class of every sample."
        )
    pairs = actual.astype(np.int64) * classes + predicted.astype(np.int64)
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The share of its test samples every client's model gets right, round by round."""

    accuracy: Floats  # (rounds, clients)
    held_out: Longs  # (clients,) test samples

    @property
    def weighted(self) -> Floats:
        """The accuracy after each round: local ones, weighted by the size of the local test set (LEAF)."""
        mean: Floats = self.accuracy @ self.held_out / self.held_out.sum()
        return mean

    def rounds_to(self, share: float, target: float) -> float:
        """The first round in which so many clients have a local accuracy above the target; NaN: none."""
        above = (self.accuracy > target).mean(axis=1)
        reached = np.flatnonzero(above >= share - 1e-9)
        return float(reached[0] + 1) if len(reached) else math.nan

    def values(self) -> dict[str, float]:
        """The mean accuracy over rounds, and the rounds to every target for every share of the clients."""
        found = {
            rounds_name(share, target): self.rounds_to(share, target) for target in TARGETS for share in SHARES
        }
        return {f"{ACCURACY}/rounds": float(self.weighted.mean()), **found}


def rounds_name(share: float, target: float) -> str:
    """What the rounds until that share of clients exceeds that accuracy are called: rounds/50>80."""
    return f"rounds/{round(100 * share)}>{round(100 * target)}"


class CurveRecorder:
    """Scores the model after every round on what each client has held out."""

    def __init__(self, test: Interactions, run: Run | None = None) -> None:
        self.test, self.run, self.seconds = test, run, 0.0
        self.clients: Longs = np.flatnonzero(test.user_counts)
        self.rounds: dict[int, Floats] = {}
        if run is not None and run.has(CURVE):
            _, rows = run.read_table(CURVE)
            self.rounds = {int(row[0]): np.array(row[1:], np.float64) for row in rows}

    def watch(self, epoch: int, model: Model) -> bool:
        """One more round; it always goes on."""
        started = time.perf_counter()
        test = self.test
        right = model.predict(test.user, test.item) == test.value
        self.rounds[epoch] = local_accuracy(right, test.user, test.n_users)[self.clients]
        self._keep()
        self.seconds += time.perf_counter() - started
        return True

    def values(self) -> dict[str, float]:
        """How fast it went, by the names of `LearningCurve`."""
        accuracy = np.array([self.rounds[epoch] for epoch in sorted(self.rounds)])
        return LearningCurve(accuracy, self.test.user_counts[self.clients]).values()

    def _keep(self) -> None:
        if self.run is not None:
            names = self.test.users.labels[self.clients].tolist()
            rows = [(epoch, *(f"{a:.6g}" for a in self.rounds[epoch])) for epoch in sorted(self.rounds)]
            self.run.write_table(CURVE, ("round", *names), rows)


def answers_of(right: Bools, test: Interactions) -> list[tuple[str, str]]:
    """Which held-out samples of every client were classified rightly: a digit each, 1 right, 0 wrong."""
    digits = np.where(right, "1", "0")[np.argsort(test.user, kind="stable")]
    ends = np.cumsum(test.user_counts).tolist()
    return [
        (name, "".join(digits[start:end].tolist()))
        for name, start, end in zip(test.users.labels.tolist(), [0, *ends], ends)
        if end > start
    ]
