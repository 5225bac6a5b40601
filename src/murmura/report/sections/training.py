"""How training went: one small panel per model, one line per seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from murmura.core.arrays import Floats
from murmura.report.drawing import CENTRAL, FEDERATED, Axes, Figure, Picture, draw, few_ticks, panel_grid, short
from murmura.report.page import Compared, Section
from murmura.runs.comparison import ComparisonFolder, ModelRuns
from murmura.runs.run import RoundTable

MOST = 200  # points of a curve
TIMES = ("epoch", "round", "rounds", "step")
ACROSS, ROWS_ACROSS = 4, 3  # panels side by side: of models and settings, of the rows of an experiment


def section(compared: Compared) -> Section | None:
    """The losses, where methods wrote them."""
    return None if compared.crowded else Section.of("training", "Training", loss_curves(compared.folder))


def loss_curves(folder: ComparisonFolder) -> Picture | None:
    """The loss of every model that wrote one, over its epochs or rounds; each panel has its own scale."""
    caption = (
        "Loss over epochs or rounds, one line per seed. The losses of different methods are not comparable."
    )
    return _training_picture(folder, "loss", "loss", "Loss", "Loss", caption, _training_panel)


def disclosure_curves(folder: ComparisonFolder) -> Picture | None:
    """How much of the users' positives has left their devices so far, as training goes on."""
    caption = (
        "The fraction of a user's positives that has left her device at least once: the mean over users, one "
        "line per seed; the band leaves out the tenth of users with the least and the tenth with the most."
    )
    title, measured = "Disclosed so far", "Mean disclosed fraction"
    return _training_picture(folder, "disclosed", "disclosed_mean", title, measured, caption, _disclosed_panel)


def curve(rounds: RoundTable | None, column: str) -> tuple[str, Floats, Floats] | None:
    """What runs along, its values and the column's, at most MOST points; None where there are none."""
    if rounds is None or column not in rounds.columns:
        return None
    values = rounds.values[:, rounds.columns.index(column)]
    along, steps = _time(rounds)
    known = np.flatnonzero(np.isfinite(values) & np.isfinite(steps))
    if not len(known):
        return None
    kept = known[np.unique(np.linspace(0, len(known) - 1, min(MOST, len(known))).round().astype(int))]
    return along, steps[kept], values[kept]


def _time(rounds: RoundTable) -> tuple[str, Floats]:
    """The first column of TIMES that only grows; otherwise the number of the line."""
    for name in TIMES:
        if name in rounds.columns:
            steps: Floats = rounds.values[:, rounds.columns.index(name)]
            if (np.diff(steps) > 0).all():
                return name, steps
    return "line", np.arange(1.0, len(rounds.values) + 1)


def _training_picture(
    folder: ComparisonFolder,
    name: str,
    column: str,
    title: str,
    measured: str,
    caption: str,
    paint_one: Callable[[Axes, ModelRuns, str], None],
) -> Picture | None:
    """A panel for every model that wrote the column; None where none did."""
    models = [model for model in folder.models if any(curve(part.rounds, column) for part in model.parts)]
    if not models:
        return None
    down = math.ceil(len(models) / ACROSS)
    height = 0.35 + 1.45 * down

    def paint(figure: Figure) -> None:
        for axes, model in zip(panel_grid(figure, len(models), down, ACROSS), models):
            paint_one(axes, model, column)

    alt = f"{measured} of the first seed, first to last line: {_ends(models, column)}."
    return Picture(name, title, caption, alt, draw(name, height, paint))


def _training_panel(axes: Axes, model: ModelRuns, column: str) -> None:
    colour = FEDERATED if model.federated else CENTRAL
    for part in model.parts:
        found = curve(part.rounds, column)
        if found:
            along, steps, values = found
            marker = "o" if len(values) == 1 else ""
            axes.plot(steps, values, marker=marker, color=colour, linewidth=1.1, markersize=4)
            axes.set_xlabel(along, fontsize=7.5, labelpad=1)
    axes.set_title(short(model.label))
    few_ticks(axes, 4, 4, whole=True)


def _disclosed_panel(axes: Axes, model: ModelRuns, column: str) -> None:
    first = next(part.rounds for part in model.parts if curve(part.rounds, column))
    low, high = curve(first, "disclosed_q10"), curve(first, "disclosed_q90")
    if low and high and len(low[1]) == len(high[1]):
        axes.fill_between(low[1], low[2], high[2], color=FEDERATED, alpha=0.2, linewidth=0)
    _training_panel(axes, model, column)
    axes.set_ylim(0, 1.04)


def _ends(models: Sequence[ModelRuns], column: str) -> str:
    ends = []
    for model in models:
        *_, values = next(filter(None, (curve(part.rounds, column) for part in model.parts)))
        ends.append(f"{model.label} from {values[0]:.4g} to {values[-1]:.4g}")
    return "; ".join(ends)
