"""How many of their held-out samples clients classify rightly, and how fast they learn it (thesis, 5.5.4).

A run folder keeps `accuracy.csv` (every client after every round), `answers.csv` (which samples were classified
rightly in the end), `confusion.csv` and the spread of weights in `metrics.json`. From these the entries of a
comparison are held against one of them, seed by seed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.catalogue import Split
from murmura.core.errors import DataError, RunError
from murmura.core.interactions import Interactions
from murmura.core.model import Method, Model
from murmura.core.progress import Progress
from murmura.engine.experiment import CURVE, ExperimentResult, Tables
from murmura.engine.run_folder import Run
from murmura.evaluation.measure import Evaluation
from murmura.evaluation.registry import ACCURACY, TARGETS, target_key
from murmura.evaluation.significance import Interval, compare_values, holm, seed_interval
from murmura.studies.compare.folder import ComparisonFolder

ANSWERS, CONFUSION = "answers.csv", "confusion.csv"  # right or wrong; label by label, how many got which answer
CHECKPOINT_EVERY = 10  # rounds
SHARES = tuple(percent / 100 for percent in range(10, 100, 10))  # of the clients


def trained(
    method: Method, split: Split, seed: int, progress: Progress, run: Run | None, until: float | None = None
) -> ExperimentResult:
    """Train and score after every round and at the end; with a run's folder it goes on where it was stopped.

    It ends early once the largest of SHARES of the clients exceed the accuracy `until`.
    """
    started, curve = time.perf_counter(), CurveRecorder(split.test, run, until)
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
        found = {name: self.rounds_to(*goal) for name, goal in GOALS.items()}
        return {f"{ACCURACY}/rounds": float(self.weighted.mean()), **found}


def rounds_name(share: float, target: float) -> str:
    """What the rounds until that share of clients exceeds that accuracy are called: rounds/50>80."""
    return f"rounds/{round(100 * share)}>{round(100 * target)}"


GOALS = {rounds_name(share, target): (share, target) for target in TARGETS for share in SHARES}


class CurveRecorder:
    """Scores the model after every round on what each client has held out."""

    def __init__(self, test: Interactions, run: Run | None = None, until: float | None = None) -> None:
        self.test, self.run, self.until, self.seconds = test, run, until, 0.0
        self.clients: Longs = np.flatnonzero(test.user_counts)
        self.rounds: dict[int, Floats] = {}
        if run is not None and run.has(CURVE):
            _, rows = run.read_table(CURVE)
            self.rounds = {int(row[0]): np.array(row[1:], np.float64) for row in rows}

    def watch(self, epoch: int, model: Model) -> bool:
        """One more round; whether there is a target that too few clients exceed so far."""
        started = time.perf_counter()
        test = self.test
        right = model.predict(test.user, test.item) == test.value
        self.rounds[epoch] = local_accuracy(right, test.user, test.n_users)[self.clients]
        self._keep()
        self.seconds += time.perf_counter() - started
        return self.until is None or (self.rounds[epoch] > self.until).mean() < SHARES[-1] - 1e-9

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


WEIGHTS = ("effective clients", "smallest weight", "largest weight", "capped")
AGREEMENT = ("both right", "only the baseline right", "only this one right", "both wrong")
ALPHA = 0.05  # of all comparisons with the baseline together


@dataclass(frozen=True, eq=False)
class LearnedSeed:
    """One finished run of a classifier."""

    curve: LearningCurve  # its test sets count as equal where the run has no answers
    right: Bools | None = None  # (samples,) client by client
    confusion: Longs | None = None  # (classes, classes) rightly, taken for
    weights: dict[str, float] = field(default_factory=dict)  # of WEIGHTS, where it weights its clients

    def rounds_to(self, share: float, target: float) -> float:
        """The first round with so many clients above the target; the last one where there is none."""
        found = self.curve.rounds_to(share, target)
        return float(len(self.curve.accuracy)) if math.isnan(found) else found

    def reaches(self, share: float, target: float) -> bool:
        """Whether there is such a round."""
        return not math.isnan(self.curve.rounds_to(share, target))


@dataclass(frozen=True, eq=False)
class LearnedEntry:
    """One line of a comparison: its finished seeds."""

    label: str
    seeds: dict[int, LearnedSeed]

    def common(self, other: LearnedEntry) -> list[tuple[LearnedSeed, LearnedSeed]]:
        """Both with the same seed: the same first model, the same clients in every round."""
        return [(one, other.seeds[seed]) for seed, one in self.seeds.items() if seed in other.seeds]


@dataclass(frozen=True)
class NoiseTest:
    """The mean accuracy over rounds of one entry against the baseline, over their common seeds."""

    label: str
    seeds: int
    difference: Interval  # entry - baseline, at the level of all intervals together
    p: float  # paired t-test over seeds, Holm-corrected

    @property
    def beyond(self) -> bool:
        """Whether the difference is more than what seeds make."""
        return self.p < ALPHA


def read_learning(comparison: ComparisonFolder) -> list[LearnedEntry]:
    """Every entry with a finished run that was scored after every round."""
    found = []
    for model in comparison.models:
        if seeds := {part.seed: read_seed(part) for part in model.done if part.has(CURVE)}:
            found.append(LearnedEntry(model.label, seeds))
    return found


def read_seed(run: Run) -> LearnedSeed:
    """One finished run; refuses files that do not fit each other."""
    right, confusion = None, None
    try:
        header, lines = run.read_table(CURVE)
        accuracy = np.array(lines, np.float64).reshape(len(lines), len(header))[:, 1:]
        clients, held_out = header[1:], np.ones(len(header) - 1, np.int64)
        if run.has(ANSWERS):
            digits = {row[0]: row[1] for row in run.read_table(ANSWERS)[1]}
            held_out = np.array([len(digits[client]) for client in clients], np.int64)
            right = np.array([int(one) for client in clients for one in digits[client]], np.int64) == 1
        if run.has(CONFUSION):
            confusion = np.array([row[1:] for row in run.read_table(CONFUSION)[1]], np.int64)
        weights = {key: run.metrics[key] for key in WEIGHTS if key in run.metrics}
        return LearnedSeed(LearningCurve(accuracy, held_out), right, confusion, weights)
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{run.path} is damaged: {CURVE} and {ANSWERS} do not fit; run it again.") from None


def baseline_of(entries: Sequence[LearnedEntry], comparison: ComparisonFolder, asked: str) -> LearnedEntry:
    """The entry others are held against: the one asked for, else FedAvg's weights by size, else the first."""
    by_size = [one.label for one in comparison.models if one.settings.get("criteria") == ["dataset_size"]]
    wanted = [one for label in (asked, *by_size) for one in entries if one.label == label]
    return (wanted or list(entries))[0]


def weighted_accuracy(entry: LearnedEntry) -> Floats:
    """The accuracy after every round, seed by seed: (seeds, rounds), as long as all of them ran."""
    curves = [seed.curve.weighted for seed in entry.seeds.values()]
    shortest = min(map(len, curves))
    return np.stack([curve[:shortest] for curve in curves])


def noise_tests(entries: Sequence[LearnedEntry], baseline: LearnedEntry) -> dict[str, NoiseTest]:
    """Every other entry with a seed in common, by label; intervals and tests corrected for their number."""
    pairs = {one.label: one.common(baseline) for one in entries if one is not baseline}
    pairs = {label: some for label, some in pairs.items() if some}
    level = 1 - ALPHA / max(1, len(pairs))
    made = []
    for label, some in pairs.items():
        ours, theirs = (np.array([pair[side].curve.weighted.mean() for pair in some]) for side in (0, 1))
        test = compare_values(ours, theirs, "t")
        interval = seed_interval((ours - theirs).tolist(), level=level)
        made.append(NoiseTest(label, len(some), interval, test.p))
    adjusted = holm([one.p for one in made])
    return {one.label: replace(one, p=float(p)) for one, p in zip(made, adjusted)}


def agreement(entry: LearnedEntry, baseline: LearnedEntry) -> dict[str, list[float]]:
    """Tables 5.2, 5.4 and 5.6 seed by seed: samples that each, or both, classify rightly in the last round."""
    found: dict[str, list[float]] = {key: [] for key in AGREEMENT}
    for one, base in entry.common(baseline):
        own, its = one.right, base.right
        if own is not None and its is not None and len(own) == len(its):
            for key, of in zip(AGREEMENT, (own & its, ~own & its, own & ~its, ~(own | its))):
                found[key].append(float(of.sum()))
    return found if found[AGREEMENT[0]] else {}


def printed_like(entries: Sequence[LearnedEntry], baseline: LearnedEntry) -> dict[str, dict[str, Interval]]:
    """By label what the thesis prints: rounds, the last one where a target is not reached; and agreements."""
    found: dict[str, dict[str, Interval]] = {}
    for entry in entries:
        seeds = entry.seeds.values()
        values = {name: [seed.rounds_to(*goal) for seed in seeds] for name, goal in GOALS.items()}
        if entry is not baseline:
            values |= agreement(entry, baseline)
        found[entry.label] = {key: seed_interval(each) for key, each in values.items()}
    return found
