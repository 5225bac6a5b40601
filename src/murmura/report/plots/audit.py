"""The picture of an audit: errors of guessed ratings over what was known before (FedSPLIT, figure 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from murmura.report.plots.drawing import Picture, draw, panel_grid
from murmura.report.plots.palette import CurveStyle, curve_legend, curve_styles
from murmura.studies.audits.audit import HINTS, Audit, HintFinding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "people": "all ratings of some people",
    "items": "all ratings of some items",
    "ratings": "single ratings",
}
HEIGHT = 3.0
Curve = tuple[str, str, str]  # name, attack, score


def hints_picture(found: Audit) -> Picture | None:
    """A panel for each kind of hint; over all ratings as in the paper, and over the unknown ones."""
    if not found.points:
        return None
    attacks = list(dict.fromkeys(one.attack for one in found.points))
    curves: list[Curve] = [("all ratings (paper)", attacks[0], "error/all")]
    curves += [("unknown ratings", attacks[0], "error/unknown"), ("unknown, no letter", HINTS, "error/unknown")]
    styles = curve_styles([name for name, *_ in curves])

    def paint(figure: Figure) -> None:
        row = panel_grid(figure, len(TITLES), 1, len(TITLES), sharey=True)
        figure.subplots_adjust(0.06, 0.16, 0.985, 0.8, wspace=0.08)
        for axes, kind in zip(row, TITLES):
            for name, attack, score in curves:
                _curve(axes, _points(found.points, attack, kind, score), score, styles[name])
            axes.set_title(TITLES[kind])
            axes.set_xlabel("known before, %", labelpad=2)
            axes.set_ylim(bottom=0)
        row[0].set_ylabel("relative error")
        curve_legend(figure, styles, HEIGHT)

    return Picture(
        "audit-hints",
        "Error of guessed ratings over what was known before",
        "Relative squared error, mean over groups, with 95 % intervals over groups. The paper's figure scores "
        "all ratings, the known ones included; the other curves score only what the attacker did not know. "
        "Without a letter a person is taken to rate like the mean of what is known of her.",
        _alt(found, attacks),
        draw("audit-hints", HEIGHT, paint),
    )


def _points(points: Sequence[HintFinding], attack: str, kind: str, score: str) -> list[HintFinding]:
    return [
        one
        for one in points
        if one.attack == attack and one.kind == kind and math.isfinite(one.values[score].mean)
    ]


def _curve(axes: Axes, points: Sequence[HintFinding], score: str, look: CurveStyle) -> None:
    x, values = [100 * one.share for one in points], [one.values[score] for one in points]
    axes.plot(x, [one.mean for one in values], **look.line(markersize=3))
    axes.fill_between(
        x, [one.low for one in values], [one.high for one in values], color=look.colour, alpha=0.15, linewidth=0
    )


def _alt(found: Audit, attacks: Sequence[str]) -> str:
    said = []
    for attack in attacks:
        half = [p for p in found.points if p.attack == attack and p.kind == "ratings" and p.share == 0.5]
        said += [f"{attack} {p.values['error/unknown'].mean:.3f}" for p in half]
    return f"Relative error over the unknown ratings when half of the ratings are known: {', '.join(said)}."
