"""How fast the entries of a comparison learn to classify, seed by seed, against one of them (thesis, ch. 5).

Read from the folders of finished runs: `accuracy.csv` (every client after every round), `answers.csv` (which
samples were classified rightly in the end), `confusion.csv` and the spread of weights in `metrics.json`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.errors import RunError
from murmura.engine.experiment import CURVE
from murmura.engine.run_folder import Run
from murmura.evaluation.intervals import Interval, seed_interval
from murmura.evaluation.registry import TARGETS
from murmura.evaluation.significance import compare_values, holm
from murmura.lab.classification.classified_samples import ANSWERS, CONFUSION, SHARES, LearningCurve, rounds_name
from murmura.studies.compare.folder import ComparisonFolder

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
        values = {
            rounds_name(share, target): [seed.rounds_to(share, target) for seed in entry.seeds.values()]
            for target in TARGETS
            for share in SHARES
        }
        if entry is not baseline:
            values |= agreement(entry, baseline)
        found[entry.label] = {key: seed_interval(each) for key, each in values.items()}
    return found
