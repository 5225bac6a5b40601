"""How training went: one small panel per model, one line per seed."""

from __future__ import annotations

import math

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.engine.run_folder import RoundTable
from murmura.report.drawing import CENTRAL, FEDERATED, Axes, Picture, canvas, few_ticks, short
from murmura.report.page import Compared, Section
from murmura.studies.compare.folder import ComparisonFolder

MOST = 200  # points of a curve
TIMES = ("epoch", "round", "rounds", "step")
ACROSS = 4  # panels side by side
Curve = tuple[str, Floats, Floats]  # what runs along, its values, and those of a column


def section(compared: Compared) -> Section | None:
    """The losses, where methods wrote them."""
    return None if compared.crowded else Section.of("training", "Training", loss_curves(compared.folder))


def loss_curves(folder: ComparisonFolder) -> Picture | None:
    """The loss of every model that wrote one, over its epochs or rounds; each panel has its own scale."""
    caption = (
        "Loss over epochs or rounds, one line per seed. The losses of different methods are not comparable."
    )
    return _training_picture(folder, "loss", "Loss", "Loss", caption, "loss")


def disclosure_curves(folder: ComparisonFolder) -> Picture | None:
    """How much of the users' positives has left their devices so far, as training goes on."""
    caption = (
        "The fraction of a user's positives that has left her device at least once: the mean over users, one "
        "line per seed; the band leaves out the tenth of users with the least and the tenth with the most."
    )
    title, measured = "Disclosed so far", "Mean disclosed fraction"
    columns = (f"disclosed_{one}" for one in ("mean", "q10", "q90"))
    return _training_picture(folder, "disclosed", title, measured, caption, *columns)


def curve(rounds: RoundTable | None, column: str) -> Curve | None:
    """A column over what runs along, at most MOST points; None where there are none."""
    if rounds is None or column not in rounds.columns:
        return None
    values = rounds.values[:, rounds.columns.index(column)]
    along, steps = _time(rounds)
    known = np.flatnonzero(np.isfinite(values) & np.isfinite(steps))
    if not len(known):
        return None
    kept = known[thinned(len(known))]
    return along, steps[kept], values[kept]


def thinned(points: int) -> Longs:
    """The places of at most MOST of so many points, evenly spread, the first and the last among them."""
    return np.unique(np.linspace(0, points - 1, min(MOST, points)).round().astype(np.int64))


def _time(rounds: RoundTable) -> tuple[str, Floats]:
    """The first column of TIMES that only grows; otherwise the number of the line."""
    for name in TIMES:
        if name in rounds.columns:
            steps: Floats = rounds.values[:, rounds.columns.index(name)]
            if (np.diff(steps) > 0).all():
                return name, steps
    return "line", np.arange(1.0, len(rounds.values) + 1)


def _training_picture(
    folder: ComparisonFolder, name: str, title: str, measured: str, caption: str, column: str, *band: str
) -> Picture | None:
    """A panel for every model that wrote the column, perhaps with a band; None where none did."""
    drawn = []
    for model in folder.models:
        known = [(part.rounds, found) for part in model.parts if (found := curve(part.rounds, column))]
        drawn += [(model, known)] if known else []
    if not drawn:
        return None
    with canvas(name, 0.35 + 1.45 * math.ceil(len(drawn) / ACROSS)) as made:
        for axes, (model, known) in zip(made.panels(len(drawn), ACROSS), drawn):
            if band:
                _band(axes, *(curve(known[0][0], one) for one in band))
            for _, (along, steps, values) in known:
                colour, marker = FEDERATED if model.federated else CENTRAL, "o" if len(values) == 1 else ""
                axes.plot(steps, values, marker=marker, color=colour, linewidth=1.1, markersize=4)
                axes.set_xlabel(along, fontsize=7.5, labelpad=1)
            axes.set_title(short(model.label))
            few_ticks(axes, 4, 4, whole=True)
    ends = ((model.label, known[0][1][2]) for model, known in drawn)
    said = "; ".join(f"{label} from {values[0]:.4g} to {values[-1]:.4g}" for label, values in ends)
    return made.picture(title, caption, f"{measured} of the first seed, first to last line: {said}.")


def _band(axes: Axes, low: Curve | None, high: Curve | None) -> None:
    """Of fractions: between two of their quantiles."""
    if low and high and len(low[1]) == len(high[1]):
        axes.fill_between(low[1], low[2], high[2], color=FEDERATED, alpha=0.2, linewidth=0)
    axes.set_ylim(0, 1.04)
