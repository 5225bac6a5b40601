"""How curves are told apart: by colour and by marker, safe for colour-blind readers, on light and on dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from murmura.report.plots.drawing import CURVES, MUTED, PAPER, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MARKERS = "soD^vP"
RAMP = ((213, 94, 0), (0, 114, 178))  # from vermilion to blue: both legible on white and on black


@dataclass(frozen=True)
class CurveStyle:
    """One curve."""

    colour: str
    marker: str

    def line(self, **more: Any) -> dict[str, Any]:
        """What `Axes.plot` takes."""
        look = {"color": self.colour, "marker": self.marker, "markersize": 5, "markeredgecolor": PAPER}
        return {**look, "markeredgewidth": 0.7, "linewidth": 1.3, **more}


def curve_styles(names: Sequence[str]) -> dict[str, CurveStyle]:
    """A look for each name; after six the colours come again with other markers."""
    shift = [
        (place % len(CURVES), (place + place // len(CURVES)) % len(MARKERS)) for place in range(len(names))
    ]
    return {name: CurveStyle(CURVES[colour], MARKERS[marker]) for name, (colour, marker) in zip(names, shift)}


def ramp(steps: int) -> list[str]:
    """Colours for ordered values, the first vermilion and the last blue (figures 4.4 and 4.5: red to blue)."""
    first, last = RAMP
    made = []
    for step in range(steps):
        part = step / max(1, steps - 1)
        made.append("#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in zip(first, last)))
    return made


def legend(figure: Figure, handles: Sequence[Any], names: Sequence[str], height: float) -> None:
    """One row of names above the panels of a figure of this height in inches."""
    figure.legend(
        handles,
        [short(name) for name in names],
        loc="upper left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=min(8, max(1, len(names))),
        frameon=False,
        fontsize=8.5,
        handlelength=1.6,
        columnspacing=1.4,
        borderaxespad=0.1 / height,
    )


def curve_legend(figure: Figure, styles: Mapping[str, CurveStyle], height: float) -> None:
    """The legend of curves: a line of each, and its name."""
    from matplotlib.lines import Line2D

    legend(figure, [Line2D([], [], **look.line()) for look in styles.values()], list(styles), height)


def note(
    axes: Axes, x: float, y: float, text: str, left: bool = False, below: bool = False, colour: str = MUTED
) -> None:
    """A few words beside a point: right above it, or on the other side."""
    place, side = (-6 if left else 6, -11 if below else 5), "right" if left else "left"
    axes.annotate(text, (x, y), place, textcoords="offset points", ha=side, fontsize=7.5, color=colour)


def logarithmic(axis: Axis) -> None:
    """Powers of ten in plain letters, with 2 and 5 between them where the axis is short.

    Matplotlib's own labels are formulas, which need its fonts.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_data_interval()
    short_axis = low > 0 and high < 50 * low
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short_axis else (1.0,), numticks=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
    axis.set_minor_formatter(NullFormatter())


def power(value: float) -> str:
    """0.01, 1, 1000 as they are, larger and smaller ones as 10⁵."""
    if value <= 0 or 1e-3 <= value < 1e5:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = value / 10**exponent
    raised = "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return raised if abs(factor - 1) < 1e-6 else f"{factor:g}·{raised}"
