"""Accuracy against freshness: what it costs that many clients work on the same model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from murmura.report.plots.drawing import MUTED, Picture, curve_legend, curve_styles, draw, logarithmic, note
from murmura.report.summary import title
from murmura.report.tables.table import decimals_for, number
from murmura.studies.analyses.freshness import EntryFreshness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 3.4


def freshness_picture(found: Sequence[EntryFreshness], k: int) -> Picture | None:
    """One line per model, freshest on the left; nothing where no model was trained with several freshnesses."""
    key = f"P@{k}"
    lines: dict[str, list[EntryFreshness]] = {}
    for one in found:
        if key in one.point.found:
            lines.setdefault(one.point.curve, []).append(one)
    lines = {name: ones for name, ones in lines.items() if len({one.freshness for one in ones}) > 1}
    if not lines:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        figure.subplots_adjust(0.075, 0.13, 0.985, 0.9)
        styles = curve_styles(list(lines))
        for name, ones in lines.items():
            x, y = [one.normalised for one in ones], [one.point.found[key] for one in ones]
            axes.plot(x, y, **styles[name].line())
            for one, here, there in zip(ones, x, y):
                note(axes, here, there, one.clients, colour=MUTED)
        axes.set_xscale("log")
        logarithmic(axes.xaxis)
        axes.invert_xaxis()
        axes.set_ylim(bottom=0)
        axes.margins(x=0.05, y=0.15)
        axes.set_xlabel("normalised freshness: models delivered in an epoch / training rows", labelpad=3)
        axes.set_ylabel(f"{key}: {title(key)}")
        curve_legend(figure, styles, HEIGHT)

    said = "; ".join(f"{name}: " + ", ".join(_said(one, key) for one in ones) for name, ones in lines.items())
    return Picture(
        "freshness",
        f"{key} against freshness",
        "The number at a point is the clients in a round. On the left every client trains on a fresh model, on "
        "the right all of them work on the same one (FPL, long version, eq. 11).",
        f"{key} by clients in a round: {said}.",
        draw("freshness", HEIGHT, paint),
    )


def _said(one: EntryFreshness, key: str) -> str:
    value = one.point.found[key]
    return f"{one.clients} clients {number(value, decimals_for([value]))}"
