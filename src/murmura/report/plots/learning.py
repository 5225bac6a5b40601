"""Accuracy over rounds (thesis, figure 5.1), and how far it is from the baseline's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.report.plots.drawing import Picture, curve_legend, curve_styles, draw
from murmura.studies.analyses.learning import LearnedEntry, LearnedSeed, weighted_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 200  # rounds of a line that are drawn
MARKS = 10  # markers along a line
IN_A_ROW = 8  # names in a row of the legend


def accuracy_curves(entries: Sequence[LearnedEntry]) -> Picture:
    """The accuracy after every round, the mean over seeds."""
    curves = {entry.label: weighted_accuracy(entry) for entry in entries}
    return Picture(
        "learning-curves",
        "Accuracy over rounds",
        "The accuracy of all clients on their own test samples after every round: the mean over seeds. Bands "
        "are from the least to the most of any seed.",
        f"Accuracy after the last round: {_ends(curves)}.",
        _drawn("learning-curves", curves, "accuracy", (0, 1)),
    )


def difference_curves(entries: Sequence[LearnedEntry], baseline: LearnedEntry) -> Picture | None:
    """How far each other entry is from the baseline after every round, seed by seed; None without others."""
    others = {entry.label: entry.common(baseline) for entry in entries if entry is not baseline}
    curves = {label: _differences(pairs) for label, pairs in others.items() if pairs}
    if not curves:
        return None
    return Picture(
        "learning-differences",
        f"Accuracy over rounds, minus that of {baseline.label}",
        f"The difference from {baseline.label} with the same seed: the mean over common seeds. Bands are from "
        "the least to the most of any seed; a band on both sides of 0 is no difference.",
        f"Difference after the last round: {_ends(curves)}.",
        _drawn("learning-differences", curves, f"accuracy, minus {baseline.label}", None),
    )


def _differences(pairs: Sequence[tuple[LearnedSeed, LearnedSeed]]) -> Floats:
    """Seed by seed, over the rounds that all of them ran."""
    rounds = min(len(one.curve.weighted) for pair in pairs for one in pair)
    return np.stack([own.curve.weighted[:rounds] - base.curve.weighted[:rounds] for own, base in pairs])


def _ends(curves: Mapping[str, Floats]) -> str:
    return "; ".join(f"{label} {found[:, -1].mean():.3f}" for label, found in curves.items())


def _drawn(name: str, curves: Mapping[str, Floats], what: str, limits: tuple[float, float] | None) -> str:
    """One line per entry over the rounds, a band over its seeds."""
    rows = math.ceil(len(curves) / IN_A_ROW)
    height, styles = 3.7 + 0.2 * rows, curve_styles(list(curves))

    def paint(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = figure.subplots()
        figure.subplots_adjust(0.06, 0.42 / height, 0.985, 1 - (0.12 + 0.21 * rows) / height)
        for place, (label, found) in enumerate(curves.items()):
            rounds = _shown(found.shape[1])
            first, step = place * len(rounds) // (MARKS * len(curves)), max(1, len(rounds) // MARKS)
            look = styles[label].line(markevery=(min(first, len(rounds) - 1), step))
            axes.plot(rounds + 1, found.mean(axis=0)[rounds], zorder=3, **look)
            if len(found) > 1:
                low, high = found.min(axis=0)[rounds], found.max(axis=0)[rounds]
                axes.fill_between(rounds + 1, low, high, color=styles[label].colour, alpha=0.12, linewidth=0)
        axes.set_xlabel("round", labelpad=2)
        axes.set_ylabel(what)
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        if limits is not None:
            axes.set_ylim(*limits)
        axes.margins(x=0.01)
        curve_legend(figure, styles, height)

    return draw(name, height, paint)


def _shown(rounds: int) -> Longs:
    """The rounds that are drawn, counted from 0."""
    return np.unique(np.linspace(0, rounds - 1, min(MOST, rounds)).round().astype(np.int64))
