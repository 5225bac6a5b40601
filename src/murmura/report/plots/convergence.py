"""Accuracy over rounds of communication: one line per configuration of a federation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from murmura.report.plots.drawing import Picture, curve_legend, curve_styles, draw, logarithmic
from murmura.studies.analyses.convergence import ConvergenceCurve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IN_A_ROW = 8  # names in a row of the legend


def convergence_picture(found: Sequence[ConvergenceCurve], metric: str) -> Picture | None:
    """The value after so many rounds, which count logarithmically."""
    if not found:
        return None
    legend_rows = math.ceil(len(found) / IN_A_ROW)
    height, styles = 3.7 + 0.2 * legend_rows, curve_styles([one.label for one in found])

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        figure.subplots_adjust(0.06, 0.42 / height, 0.985, 1 - (0.12 + 0.21 * legend_rows) / height)
        for one in found:
            axes.plot(one.rounds, one.value, zorder=3, **styles[one.label].line(markevery=0.1))
        axes.set_xscale("log")
        logarithmic(axes.xaxis)
        axes.set_xlabel("rounds", labelpad=2)
        axes.set_ylabel(metric)
        axes.set_ylim(bottom=0)
        curve_legend(figure, styles, height)

    ends = "; ".join(f"{one.label} {one.best:.4f}" for one in found)
    return Picture(
        "convergence",
        f"{metric} over rounds",
        f"{metric} on the validation part after so many rounds, one seed.",
        f"Best {metric}: {ends}.",
        draw("convergence", height, paint),
    )
