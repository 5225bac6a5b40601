"""How training went: one small panel per model, one line per seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from murmura.core.arrays import Floats
from murmura.report.drawing import CENTRAL, FEDERATED, Picture, draw, short
from murmura.report.read import Folder, Model, Rounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 200  # points of a curve
ACROSS = 4  # panels side by side
TIMES = ("epoch", "round", "step", "iteration")


def training_curves(folder: Folder) -> Picture | None:
    """The loss of every model that wrote one, over its epochs or rounds; each panel has its own scale."""
    models = [m for m in folder.models if any(part.rounds and curve(part.rounds) for part in m.parts)]
    if not models:
        return None
    down = math.ceil(len(models) / ACROSS)
    height = 0.35 + 1.45 * down

    def paint(figure: Figure) -> None:
        panels = figure.subplots(down, ACROSS, squeeze=False).ravel()
        figure.subplots_adjust(0.06, 0.3 / height, 0.985, 1 - 0.25 / height, wspace=0.25, hspace=0.45)
        for axes, model in zip(panels, models):
            _panel(axes, model)
        for axes in panels[len(models) :]:
            axes.set_visible(False)

    ends = "; ".join(f"{model.label} from {first:.4g} to {last:.4g}" for model, first, last in _ends(models))
    return Picture(
        "loss",
        "Loss",
        "Loss over epochs or rounds, one line per seed. The losses of different methods are not comparable.",
        f"Loss of the first seed, first to last line: {ends}.",
        draw("loss", height, paint),
    )


def curve(rounds: Rounds) -> tuple[str, Floats, Floats] | None:
    """What runs along, its values and the loss, at most MOST points; None without a loss."""
    if "loss" not in rounds.columns:
        return None
    loss = rounds.values[:, rounds.columns.index("loss")]
    along = next((name for name in TIMES if name in rounds.columns), "")
    steps = rounds.values[:, rounds.columns.index(along)] if along else np.arange(1, len(loss) + 1, dtype=float)
    known = np.flatnonzero(np.isfinite(loss) & np.isfinite(steps))
    if not len(known):
        return None
    kept = known[np.unique(np.linspace(0, len(known) - 1, min(MOST, len(known))).round().astype(int))]
    return along or "line", steps[kept], loss[kept]


def _panel(axes: Axes, model: Model) -> None:
    from matplotlib.ticker import MaxNLocator

    for part in model.parts:
        found = curve(part.rounds) if part.rounds else None
        if found:
            along, steps, loss = found
            axes.plot(steps, loss, color=FEDERATED if model.federated else CENTRAL, linewidth=1.1, alpha=0.8)
            if len(loss) == 1:
                axes.plot(steps, loss, "o", color=FEDERATED if model.federated else CENTRAL, markersize=4)
            axes.set_xlabel(along, fontsize=7.5, labelpad=1)
    axes.set_title(short(model.label))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4))


def _ends(models: Sequence[Model]) -> list[tuple[Model, float, float]]:
    ends = []
    for model in models:
        found = next(filter(None, (curve(part.rounds) for part in model.parts if part.rounds)))
        ends.append((model, float(found[2][0]), float(found[2][-1])))
    return ends
