"""The history of a search: what every trial scored on the validation part, row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from murmura.report.plots.drawing import CURVES, MUTED, Picture, draw, short
from murmura.studies.papers.trial_result import TrialResult
from murmura.studies.search.trials import Side, best_place

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 3
TALL = 1.5  # inches of a panel


def search_picture(name: str, tried: Sequence[TrialResult], metric: str, better: Side) -> Picture | None:
    """A panel per row: its trials in order, the best so far as a line; None where nothing was searched."""
    rows = {row: [one for one in tried if one.row == row] for row in dict.fromkeys(one.row for one in tried)}
    rows = {row: mine for row, mine in rows.items() if len(mine) > 1}
    if not rows:
        return None
    down = math.ceil(len(rows) / ACROSS)
    height = 0.35 + TALL * down

    def paint(figure: Figure) -> None:
        grid = figure.subplots(down, ACROSS, squeeze=False).ravel()
        figure.subplots_adjust(0.06, 0.32 / height, 0.985, 1 - 0.3 / height, wspace=0.24, hspace=0.62)
        for axes, (row, mine) in zip(grid, rows.items()):
            _panel(axes, row, [one.value for one in mine], better)
        for axes in grid[len(rows) :]:
            axes.set_axis_off()

    best = {row: mine[best_place([one.value for one in mine], better)].value for row, mine in rows.items()}
    alt = "; ".join(f"{row}: best of {len(rows[row])} trials {value:.4g}" for row, value in best.items())
    caption = f"{metric} on the validation part, trial by trial; the line is the best so far."
    return Picture(name, "Search history", caption, alt, draw(name, height, paint))


def _panel(axes: Axes, row: str, values: list[float], better: Side) -> None:
    from matplotlib.ticker import MaxNLocator

    known = [(place + 1, value) for place, value in enumerate(values) if not math.isnan(value)]
    so_far = [values[best_place(values[: place + 1], better)] for place in range(len(values))]
    axes.plot(range(1, len(values) + 1), so_far, color=CURVES[0], linewidth=1.2, drawstyle="steps-post")
    axes.scatter([place for place, _ in known], [value for _, value in known], s=7, color=MUTED, linewidths=0)
    axes.set_title(short(row))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.margins(x=0.04, y=0.12)
