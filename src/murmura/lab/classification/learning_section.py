"""How fast classifiers learn (thesis, figure 5.1, tables 5.1 to 5.6): curves, rounds to targets, noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.registry import TARGETS
from murmura.lab.classification.classified_samples import (
    AGREEMENT,
    ALPHA,
    SHARES,
    WEIGHTS,
    LearnedEntry,
    agreement,
    baseline_of,
    noise_tests,
    read_learning,
    weighted_accuracy,
)
from murmura.report.drawing import Canvas, Picture, canvas, curve_height, curve_styles, few_ticks
from murmura.report.page import Compared, Section
from murmura.report.sections.differences import p_cell
from murmura.report.sections.traffic import thinned
from murmura.report.table import NONE, ReportTable, TableCell, interval_cell, number, plain_table

MARKS = 10  # markers along a line
LAST = "†"  # a seed that does not reach the target counts with its last round


def section(compared: Compared) -> Section | None:
    """Where classifiers were scored after every round."""
    entries = read_learning(compared.folder)
    if not entries:
        return None
    baseline = baseline_of(entries, compared.folder, compared.against)
    ordered = [baseline, *(one for one in entries if one is not baseline)]
    parts = [
        *(accuracy_curves(entries), difference_curves(entries, baseline), learning_table(ordered, baseline)),
        *(rounds_table(ordered, baseline, target) for target in TARGETS if _reached(ordered, target)),
        *(agreement_table(ordered, baseline), class_table(ordered), confusion_table(baseline)),
    ]
    return Section.of("learning", "Learning to classify", *parts)


def accuracy_curves(entries: Sequence[LearnedEntry]) -> Picture:
    """The accuracy after every round, the mean over seeds."""
    curves = {entry.label: weighted_accuracy(entry) for entry in entries}
    return _painted("learning-curves", curves, "accuracy", (0, 1)).picture(
        "Accuracy over rounds",
        "The accuracy of all clients on their own test samples after every round: the mean over seeds. Bands "
        "are from the least to the most of any seed.",
        f"Accuracy after the last round: {_ends(curves)}.",
    )


def difference_curves(entries: Sequence[LearnedEntry], baseline: LearnedEntry) -> Picture | None:
    """How far each other entry is from the baseline after every round, seed by seed; None without others."""
    curves = {}
    for entry in entries:
        pairs = () if entry is baseline else entry.common(baseline)
        rounds = min((len(one.curve.weighted) for pair in pairs for one in pair), default=0)  # that all ran
        if pairs:
            seeds = [own.curve.weighted[:rounds] - base.curve.weighted[:rounds] for own, base in pairs]
            curves[entry.label] = np.stack(seeds)
    if not curves:
        return None
    return _painted("learning-differences", curves, f"accuracy, minus {baseline.label}").picture(
        f"Accuracy over rounds, minus that of {baseline.label}",
        f"The difference from {baseline.label} with the same seed: the mean over common seeds. Bands are from "
        "the least to the most of any seed; a band on both sides of 0 is no difference.",
        f"Difference after the last round: {_ends(curves)}.",
    )


def _ends(curves: Mapping[str, Floats]) -> str:
    return "; ".join(f"{label} {found[:, -1].mean():.3f}" for label, found in curves.items())


def _painted(
    name: str, curves: Mapping[str, Floats], what: str, limits: tuple[float, float] | None = None
) -> Canvas:
    """One line per entry over the rounds, a band over its seeds."""
    styles = curve_styles(list(curves))
    with canvas(name, curve_height(styles), styles) as made:
        axes = made.axes
        for place, (label, found) in enumerate(curves.items()):
            rounds = thinned(found.shape[1])
            first, step = place * len(rounds) // (MARKS * len(curves)), max(1, len(rounds) // MARKS)
            marked = (min(first, len(rounds) - 1), step)
            axes.plot(rounds + 1, found.mean(axis=0)[rounds], zorder=3, markevery=marked, **styles[label])
            if len(found) > 1:
                low, high = found.min(axis=0)[rounds], found.max(axis=0)[rounds]
                axes.fill_between(rounds + 1, low, high, color=styles[label]["color"], alpha=0.12, linewidth=0)
        axes.set(xlabel="round", ylabel=what, **({} if limits is None else {"ylim": limits}))
        few_ticks(axes, 10, whole=True)
        axes.margins(x=0.01)
    return made


def _reached(entries: Sequence[LearnedEntry], target: float) -> bool:
    """Whether any run brings the smallest share of its clients above the target."""
    return any(seed.reaches(SHARES[0], target) for entry in entries for seed in entry.seeds.values())


def rounds_table(entries: Sequence[LearnedEntry], baseline: LearnedEntry, target: float) -> ReportTable:
    """Rounds of the baseline until a share of the clients exceeds the target; of others how many fewer."""
    rows = []
    for entry in entries:
        cells = [_rounds(entry, baseline, share, target) for share in SHARES]
        values = [cell.value for cell in cells if isinstance(cell.value, float)]
        known = entry is not baseline and len(values) == len(cells)
        rows.append((entry.label, *cells, (sum(values) / len(cells) if known else None, 2)))
    percent = round(100 * target)
    heads = {
        "model": "",
        **{f"{100 * share:.0f} %": f"of the clients above {percent} % accuracy" for share in SHARES},
        "Avg": "the mean gain over all shares of the clients",
    }
    notes = (
        f"{baseline.label}: the first round in which so many clients have an accuracy above {percent} % on "
        f"their own test samples, mean over seeds. Other rows: the rounds gained against {baseline.label} with "
        "the same seed, mean over common seeds; positive is sooner. Beside it: the least and the most.",
        f"{LAST} not reached with at least one seed, on either side: it counts with its last round, as in the "
        "thesis.",
    )
    title = f"Rounds until clients exceed {percent} % accuracy"
    return plain_table(f"rounds-{percent}", title, heads, rows, *notes)


def _rounds(entry: LearnedEntry, baseline: LearnedEntry, share: float, target: float) -> TableCell:
    if entry is baseline:
        seeds = list(entry.seeds.values())
        values = [seed.rounds_to(share, target) for seed in seeds]
    else:
        pairs = entry.common(baseline)
        seeds = [seed for pair in pairs for seed in pair]
        values = [base.rounds_to(share, target) - one.rounds_to(share, target) for one, base in pairs]
    missed = not all(seed.reaches(share, target) for seed in seeds)
    return _spread(values, 1 if len(values) > 1 else 0, LAST if missed else "")


def _spread(values: Sequence[float], decimals: int, mark: str = "", ends: int = 0) -> TableCell:
    """The mean over seeds, with the least and the most."""
    if not values:
        return TableCell(None, NONE)
    mean, low, high = float(np.mean(values)), min(values), max(values)
    text = number(mean, decimals)
    if len(values) == 1:
        return TableCell(mean, text, mark=mark)
    return TableCell(mean, text, low, high, f"{number(low, ends)} to {number(high, ends)}", mark)


def learning_table(entries: Sequence[LearnedEntry], baseline: LearnedEntry) -> ReportTable:
    """Accuracy in the end and over all rounds, its difference from the baseline, and the spread of weights."""
    tests = noise_tests(entries, baseline)
    rows = []
    for entry in entries:
        curves, seeds = weighted_accuracy(entry), list(entry.seeds.values())
        accuracy = [_spread(values.tolist(), 4, ends=4) for values in (curves[:, -1], curves.mean(axis=1))]
        known = ([seed.weights[key] for seed in seeds if key in seed.weights] for key in WEIGHTS)
        weights = [_spread(one if len({*one}) > 1 else one[:1], 3, ends=3) for one in known]
        noise: tuple[Any, ...] = (None, None, "")
        if test := tests.get(entry.label):
            beyond = "one seed: cannot be told" if math.isnan(test.p) else "yes" if test.beyond else "no"
            noise = interval_cell(test.difference, 4), p_cell(test.p), beyond
        rows.append((entry.label, len(seeds), *accuracy, *noise, *weights))
    heads = {
        "model": "",
        "seeds": "",
        "accuracy": "after the last round, local test sets weighted by their size",
        "over rounds": "the mean of the accuracies after every round",
        f"minus {baseline.label}": "difference over rounds, mean over common seeds, with its paired t interval",
        "p": "paired t-test over common seeds, Holm-corrected",
        "beyond noise": "whether the difference is more than what seeds make",
        "effective clients": "(Σ w)² / Σ w² over the weights of a round, mean over rounds",
        "smallest weight": "of a client in any round, where 1 is an equal share",
        "largest weight": "of a client in any round, where 1 is an equal share",
        "capped": "the share of visits whose weight was cut to the cap",
    }
    notes = [
        "Means over seeds, beside them the least and the most of any seed. Intervals of differences hold all "
        f"rows together with 95 % (Bonferroni); beyond noise: corrected p < {ALPHA}.",
    ]
    missed = [f"{100 * target:.0f} %" for target in TARGETS if not _reached(entries, target)]
    if missed:
        notes.append(
            f"Not a tenth of the clients exceeds {', '.join(missed)} with any seed: no table of rounds."
        )
    if any(seed.right is None for entry in entries for seed in entry.seeds.values()):
        notes.append(
            "Runs without answers.csv count every client alike, and are left out where samples are compared."
        )
    title = f"Accuracy, and what is more than noise against {baseline.label}"
    return plain_table("learning", title, heads, rows, *notes)


def agreement_table(entries: Sequence[LearnedEntry], baseline: LearnedEntry) -> ReportTable | None:
    """Which samples the baseline and each entry classify rightly (tables 5.2, 5.4, 5.6)."""
    rows = []
    for entry in entries:
        found = {} if entry is baseline else agreement(entry, baseline)
        if found:
            counts = [_spread(found[key], 1 if len(found[key]) > 1 else 0) for key in AGREEMENT]
            both, base, own, neither = (np.array(found[key]) for key in AGREEMENT)
            chance = (base + neither) * (own + neither) / (both + base + own + neither)
            rows.append((entry.label, *counts, (float(chance.mean()), 1)))
    if not rows:
        return None
    heads = {
        "model": "",
        "both right": "",
        f"only {baseline.label}": f"right with {baseline.label}, wrong with the row's",
        "only it": f"wrong with {baseline.label}, right with the row's",
        "both wrong": "",
        "by chance": "both wrong, if the errors of the two had nothing to do with each other",
    }
    note = (
        "Held-out samples after the last round, means over common seeds with the least and the most. The "
        "thesis compares the best round of each, which only the test samples can tell."
    )
    title = f"Samples classified rightly by {baseline.label} and by others"
    return plain_table("agreement", title, heads, rows, note)


def class_table(entries: Sequence[LearnedEntry]) -> ReportTable | None:
    """The share of every class that is recognised, and what is mistaken most often."""
    taken = {entry.label: matrix for entry in entries if (matrix := _confusion(entry)) is not None}
    if not taken:
        return None
    rows = []
    for label, matrix in taken.items():
        share = matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))
        wrong = share - np.diag(np.diag(share))
        truth, answer = np.unravel_index(int(wrong.argmax()), wrong.shape)
        most = f"{truth} for {answer}: {100 * wrong[truth, answer]:.1f} %"
        rows.append((label, *((one, 3) for one in np.diag(share).tolist()), most))
    classes = range(max(len(matrix) for matrix in taken.values()))
    heads = {
        "model": "",
        **{str(one): f"share of the samples of class {one} classified rightly" for one in classes},
        "most often": "which class is taken for which, in per cent of its samples",
    }
    title = "Classes recognised after the last round, over all seeds"
    return plain_table("classes", title, heads, rows)


def _confusion(entry: LearnedEntry) -> Floats | None:
    found = [seed.confusion for seed in entry.seeds.values() if seed.confusion is not None]
    return np.sum(found, axis=0).astype(np.float64) if found else None


def confusion_table(entry: LearnedEntry) -> ReportTable | None:
    """How often the samples of each class are taken for each by one entry, mean over its seeds."""
    if (matrix := _confusion(entry)) is None:
        return None
    counted = sum(seed.confusion is not None for seed in entry.seeds.values())
    rows = (
        (str(label), *((one / counted, 1 if counted > 1 else 0) for one in row))
        for label, row in enumerate(matrix.tolist())
    )
    note = "Rows: the class of a sample. Columns: what it was taken for. Held-out samples after the last round."
    heads = ["class", *map(str, range(len(matrix)))]
    return plain_table("confusion", f"Classes and answers of {entry.label}", heads, rows, note)
