"""What the accuracy of a sweep is bought with: the Pareto front of precision and communication (figure 4.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from murmura.report.plots.drawing import INK, MUTED, Picture, draw, panel_grid
from murmura.report.plots.palette import curve_legend, curve_styles, logarithmic, note
from murmura.report.plots.sweep import DISCLOSED, Curves, curves
from murmura.report.summary import title
from murmura.studies.analyses.pareto import pareto_front
from murmura.studies.sweep import Sweep, SweepPoint, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 30  # costs that differ by more than this factor get a logarithmic axis
COSTS = (
    ("TCC", "TCC (papers): 10⁹ vectors exchanged", 1e-9),
    ("both", "measured: MB per client, both ways", 1.0),
    ("kB up/client", "measured: MB up per client", 1e-3),
    (DISCLOSED, "measured: disclosed fraction", 1.0),
)


def cost_picture(what: Sweep, found: Sequence[SweepPoint], k: int) -> Picture | None:
    """Precision against communication with the Pareto front (figure 4.6): as the papers count, and in bytes."""
    y = f"P@{k}"
    drawn = curves(what, found, y)
    every = [point for points in drawn.values() for point in points]
    costs = [(key, name, unit) for key, name, unit in COSTS if any(cost(p, key) is not None for p in every)]
    if not costs:
        return None

    def paint(figure: Figure) -> None:
        figure.subplots_adjust(0.07, 0.145, 0.985, 0.9, wspace=0.08)
        row = panel_grid(figure, len(costs), 1, max(2, len(costs)), sharey=True)
        for axes, one in zip(row, costs):
            _cost_panel(axes, drawn, one, y)
        row[0].set_ylabel(f"{y}: {title(y)}")
        curve_legend(figure, curve_styles(list(drawn)), 3.6)

    front = ", ".join(point.label for point in front_points(every, costs[0][0], y))
    return Picture(
        "sweep-costs",
        f"{y} against communication",
        "Up is more accurate, left costs less; small dots are all values, the large marker is the best of each "
        "model. The stepped line is the Pareto front of all: none is better in both. TCC counts item vectors "
        "as the papers do (downloads of the whole model included); bytes are those of the codec.",
        f"On the Pareto front of {y} and {costs[0][0]}: {front}.",
        draw("sweep-costs", 3.6, paint),
    )


def _cost_panel(axes: Axes, drawn: Curves, what: tuple[str, str, float], y: str) -> None:
    from matplotlib.ticker import MaxNLocator

    key, name, unit = what
    known = [p for points in drawn.values() for p in points if cost(p, key) is not None]
    front = front_points(known, key, y)
    steps = [(unit * (cost(point, key) or 0.0), point.found[y]) for point in front]
    axes.plot(*zip(*steps), drawstyle="steps-post", color=MUTED, linewidth=1.2)
    sizes = [unit * (cost(point, key) or 0.0) for point in known]
    wide = min(sizes) > 0 and max(sizes) > WIDE * min(sizes)
    middle = math.sqrt(min(sizes) * max(sizes)) if wide else (min(sizes) + max(sizes)) / 2
    for (_, look), points in zip(curve_styles(list(drawn)).items(), drawn.values()):
        here = [point for point in points if point in known]
        x = [unit * (cost(point, key) or 0.0) for point in here]
        axes.plot(x, [p.found[y] for p in here], ".", color=look.colour, markersize=4, alpha=0.7)
        if here:
            best = max(range(len(here)), key=lambda place: here[place].found[y])
            axes.plot([x[best]], [here[best].found[y]], **look.line(markersize=7.5, zorder=4))
            text, left = value_text(here[best].value), x[best] > middle
            note(axes, x[best], here[best].found[y], text, left, colour=INK)
    if wide:
        axes.set_xscale("log")
        logarithmic(axes.xaxis)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.set_xlabel(name, labelpad=3)
    axes.margins(x=0.12, y=0.1)


def cost(point: SweepPoint, key: str) -> float | None:
    """A cost of a point; `both` is up and down together, in MB per client."""
    if key != "both":
        return point.found.get(key)
    up, down = point.found.get("kB up/client"), point.found.get("kB down/client")
    return None if up is None or down is None else (up + down) / 1000


def front_points(found: Sequence[SweepPoint], key: str, gain: str) -> list[SweepPoint]:
    """The points on the Pareto front of a cost and a gain, cheapest first."""
    known = [(point, price) for point in found if (price := cost(point, key)) is not None]
    front = pareto_front([price for _, price in known], [point.found[gain] for point, _ in known])
    return [known[place][0] for place in front]
