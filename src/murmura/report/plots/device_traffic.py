"""Accuracy against bytes: every federated model by what a device sends and downloads, in all and in a visit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from murmura.report.device_traffic import PRICES, Priced, on_front, priced
from murmura.report.plots.comparison import metric_caption, place_names, upwards
from murmura.report.plots.drawing import (
    CENTRAL,
    FEDERATED,
    MUTED,
    PAPER,
    Picture,
    draw,
    logarithmic,
    panel_grid,
    short,
)
from murmura.report.summary import ModelSummary, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 3
HEIGHT = 3.0  # inches of a row of panels
APART = 9.0  # points between the names of two lines


def traffic_plot(results: Results) -> Picture | None:
    """A panel for each price that a device pays; nothing where no model counted bytes."""
    key = results.primary
    lines = priced(results, key) if key else []
    if key is None or not lines:
        return None
    prices = [price for price in PRICES if any(math.isfinite(PRICES[price](one)) for _, one in lines)]
    central = [line for line in results.ranked(key) if not line.model.federated]
    low, high = _reach(lines, central[:1], key)
    inside = [line for line in central if low <= line.values[key].mean <= high]
    down = math.ceil(len(prices) / ACROSS)

    def paint(figure: Figure) -> None:
        figure.subplots_adjust(0.07, 0.42 / (down * HEIGHT), 0.985, 0.98, wspace=0.07, hspace=0.25)
        for place, axes in enumerate(panel_grid(figure, len(prices), down, ACROSS, sharey=True)):
            axes.set_ylim(low, high)  # before any name is placed
            _panel(axes, lines, prices[place], key)
            _central(axes, inside, key, name=place % ACROSS == 0)
            if place % ACROSS == 0:
                axes.set_ylabel(key)

    both = "kB per device"
    names = ", ".join(line.label for line in on_front(lines, both, key))
    apart = ", ".join(line.label for line in central if line not in inside)
    compared = " Dotted lines are centralised models, to which everyone's data was moved" if central else ""
    compared += f" ({apart} not shown)." if apart else "." if central else ""
    return Picture(
        "bytes",
        f"{key} against bytes",
        f"Means of {key} (intervals: above). {upwards(key)}, left moves fewer bytes, in powers of "
        "ten. Per device: the whole training, and the model it ranks with. Filled, on the stepped line: the "
        f"Pareto front, whom no other federated model beats in both.{compared}",
        f"On the Pareto front of {key} and {both}: {names}. {metric_caption(results, key)}",
        draw("bytes", down * HEIGHT, paint),
    )


def _reach(lines: Priced, best: Sequence[ModelSummary], key: str) -> tuple[float, float]:
    """What the federated models and the best centralised one need of an axis; who is far below is left out."""
    found = [line.values[key].mean for line in (*(line for line, _ in lines), *best)]
    room = 0.2 * (max(found) - min(found)) or 0.1 * abs(found[0]) or 1.0
    return min(found) - room, max(found) + room


def _panel(axes: Axes, lines: Priced, price: str, key: str) -> None:
    """Every model with this price; those on the front filled."""
    known = [(line, cost) for line, one in lines if math.isfinite(cost := PRICES[price](one)) and cost > 0]
    front = on_front(lines, price, key)
    costs = {line.label: cost for line, cost in known}
    steps = [(costs[line.label], line.values[key].mean) for line in front if line.label in costs]
    axes.plot(*zip(*steps), drawstyle="steps-post", color=MUTED, linewidth=1.2)
    for line, cost in known:
        best = line in front
        axes.plot(
            [cost],
            [line.values[key].mean],
            "D",
            color=FEDERATED if best else PAPER,
            markersize=6,
            markeredgecolor=PAPER if best else FEDERATED,
            markeredgewidth=0.7 if best else 1.2,
        )
    axes.set_xscale("log")
    axes.margins(x=0.14)
    logarithmic(axes.xaxis)
    axes.set_xlabel(price, labelpad=3)
    place_names(axes, [(line.label, cost, line.values[key].mean) for line, cost in known], lift=6)


def _central(axes: Axes, lines: Sequence[ModelSummary], key: str, name: bool) -> None:
    """A dotted line for each centralised model; a name that would lie on the one above is left out."""
    unit, last = axes.figure.dpi / 72, math.inf
    for line in lines:
        level = line.values[key].mean
        axes.axhline(level, color=CENTRAL, linewidth=0.9, linestyle=(0, (1, 2)), zorder=0)
        height = float(axes.transData.transform((1.0, level))[1])
        if name and last - height >= APART * unit:
            axes.annotate(
                short(line.label), (0.0, level), (2, 1), xycoords=axes.get_yaxis_transform(),
                textcoords="offset points", va="bottom", fontsize=7, color=CENTRAL,
            )  # fmt: skip
            last = height
