"""How often items are updated in training and recommended, from the most to the least (thesis, 4.4 and 4.5).

Then the bias towards categories: of the training part beside the printed one, and what the lists make of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from murmura.core.arrays import Longs
from murmura.report.plots.drawing import (
    CENTRAL,
    CURVES,
    FEDERATED,
    INK,
    MUTED,
    PAPER,
    ROW,
    Picture,
    curve_styles,
    draw,
    label_space,
    logarithmic,
    name_rows,
    panel_grid,
    ramp,
    short,
)
from murmura.report.tables.table import number
from murmura.runs.sweep import Sweep, value_text
from murmura.studies.analyses.exposure import Bias, Frequencies, ranked_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UPDATED, RECOMMENDED = 1000, 250  # items along the axis, as in the thesis
ACROSS = 3
MOST = len(CURVES)  # models of an ordinary comparison; more lines cannot be told apart
MOST_ROWS, MOST_COLUMNS = 24, 20  # of a map that can still be read


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel: its title and its lines, each with a name and a colour."""

    name: str
    lines: tuple[tuple[str, Frequencies, str], ...]


def panels(found: Sequence[Frequencies], what: Sweep | None) -> list[Panel]:
    """A panel per curve of a sweep, or one for the models of a small comparison."""
    by_label = {one.label: one for one in found}
    if what is None:
        if not 0 < len(found) <= MOST:
            return []
        styles = curve_styles([one.label for one in found])
        return [Panel("", tuple((one.label, one, styles[one.label].colour) for one in found))]
    colours = ramp(len(what.values))
    made = []
    for curve, labels in what.curves.items():
        known = [(place, by_label[label]) for place, label in enumerate(labels) if label in by_label]
        lines = tuple((value_text(what.values[place]), one, colours[place]) for place, one in known)
        made += [Panel(curve, lines)] if lines else []
    return made


def update_picture(drawn: Sequence[Panel], what: Sweep | None) -> Picture | None:
    """The shares of the most updated items among all rows that left the devices (figure 4.4)."""
    kept = [Panel(one.name, tuple(line for line in one.lines if line[1].sent is not None)) for one in drawn]
    kept = [one for one in kept if one.lines]
    if not kept:
        return None
    return Picture(
        "updates",
        "Which items are updated in training",
        f"The {UPDATED:,} most updated items, most updated first: each item's share of all item rows that left "
        f"the devices, logarithmic.{_colours(what)} A level line says nothing about popularity.",
        _said(kept, lambda one: one.sent, "most updated"),
        _draw("updates", kept, what, lambda one: one.sent, UPDATED, popular=False),
    )


def recommendation_picture(drawn: Sequence[Panel], what: Sweep | None) -> Picture | None:
    """The shares of the most recommended items among all places of the lists (figure 4.5)."""
    if not drawn:
        return None
    return Picture(
        "recommended",
        "Which items are recommended",
        f"The {RECOMMENDED} most recommended items, most recommended first: each item's share of all places in "
        f"the lists, logarithmic.{_colours(what)} Dashed: the most popular items' shares of the training rows.",
        _said(drawn, lambda one: one.shown, "most recommended"),
        _draw("recommended", drawn, what, lambda one: one.shown, RECOMMENDED, popular=True),
    )


Times = Callable[[Frequencies], Longs | None]


def _draw(name: str, drawn: Sequence[Panel], what: Sweep | None, times: Times, most: int, popular: bool) -> str:
    across = min(ACROSS, len(drawn)) if len(drawn) > 1 else 1
    down = math.ceil(len(drawn) / across)
    height = 0.75 + 2.3 * down

    def paint(figure: Figure) -> None:
        grid = panel_grid(figure, len(drawn), down, across, sharex=True, sharey=True)
        figure.subplots_adjust(0.07, 0.4 / height, 0.985, 1 - 0.55 / height, wspace=0.06, hspace=0.16)
        for place, (one, panel) in enumerate(zip(grid, drawn)):
            _paint_panel(one, panel, times, most, popular)
            if place + across >= len(drawn):
                one.set_xlabel("item, most frequent first", labelpad=3)
                one.tick_params(labelbottom=True)
            if place % across == 0:
                one.set_ylabel("share")
        _key(figure, drawn, what, popular)

    return draw(name, height, paint)


def _paint_panel(axes: Axes, panel: Panel, times: Times, most: int, popular: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    for _, one, colour in panel.lines:
        counts = times(one)
        if counts is not None:
            _rank_line(axes, counts, most, color=colour, linewidth=1.2)
    if popular:
        _rank_line(axes, panel.lines[0][1].popularity, most, color=INK, linewidth=1.2, linestyle=(0, (4, 2)))
    axes.set_yscale("log")
    logarithmic(axes.yaxis)
    axes.set_xlim(0, most)
    axes.xaxis.set_major_locator(MaxNLocator(5, prune="upper"))
    axes.set_title(short(panel.name))


def _rank_line(axes: Axes, counts: Longs, most: int, **look: Any) -> None:
    shares = ranked_shares(counts, most)
    shares = shares[shares > 0]
    axes.plot(np.arange(1, len(shares) + 1), shares, **look)


def _key(figure: Figure, drawn: Sequence[Panel], what: Sweep | None, popular: bool) -> None:
    from matplotlib.lines import Line2D

    names = dict.fromkeys((name, colour) for panel in drawn for name, _, colour in panel.lines)
    handles = [Line2D([], [], color=colour, linewidth=2) for _, colour in names]
    texts = [f"{what.key} {name}" if what and not place else name for place, (name, _) in enumerate(names)]
    if popular:
        handles.append(Line2D([], [], color=INK, linestyle=(0, (4, 2)), linewidth=1.2))
        texts.append("popularity")
    figure.legend(
        handles, [short(text) for text in texts], loc="upper left", ncols=13, frameon=False, fontsize=8,
        handlelength=1.1, columnspacing=1.0, borderaxespad=0.1,
    )  # fmt: skip


def _colours(what: Sweep | None) -> str:
    if what is None or len(what.values) < 2:
        return ""
    first, last = value_text(what.values[0]), value_text(what.values[-1])
    return f" From {what.key} {first} in orange to {last} in blue."


def _said(drawn: Sequence[Panel], times: Times, which: str) -> str:
    said = []
    for panel in drawn:
        for name, one, _ in (panel.lines[0], panel.lines[-1])[: len(panel.lines)]:
            counts = times(one)
            if counts is not None and counts.any():
                share = 100 * float(ranked_shares(counts, 10).sum())
                said.append(f"{' '.join(filter(None, (panel.name, name)))} {share:.2g} %")
    return f"Share of the ten {which} items: {', '.join(said)}."


def training_picture(found: Bias) -> Picture | None:
    """B_T beside what table 4.5 of the thesis prints; nothing where it prints nothing."""
    printed, deviation = found.printed, found.deviation()
    if printed is None or deviation is None:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        height = 0.8 + ROW * len(found.categories)
        figure.subplots_adjust(label_space(found.categories), 0.45 / height, 0.9, 1 - 0.32 / height)
        name_rows(axes, found.categories)
        rows = np.arange(len(found.categories))
        axes.hlines(rows, found.train, printed, colors=MUTED, linewidth=1)
        axes.plot(printed, rows, "o", color=PAPER, markeredgecolor=MUTED, markersize=6, label="printed")
        axes.plot(
            found.train, rows, "D", color=CENTRAL, markersize=5.2, markeredgecolor=PAPER, label="measured"
        )
        axes.axvline(1, color=MUTED, linewidth=0.8)
        axes.set_xlim(0, None)
        for row, off in enumerate(deviation.tolist()):
            text = f"{number(100 * off, 1)} %" if np.isfinite(off) else ""
            axes.text(1.01, row, text, transform=axes.get_yaxis_transform(), fontsize=8, va="center", color=INK)
        axes.set_xlabel("bias towards the category; 1: as often as its share of the items", labelpad=3)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8.5)

    far = int(np.nanargmax(np.abs(deviation)))
    return Picture(
        "bias-training",
        "Bias of the training part",
        "What people visited, measured here and printed in table 4.5 of the thesis; on the right how far the "
        "measured value is from the printed one.",
        f"The measured bias is {number(100 * float(np.nanmean(np.abs(deviation))), 1)} % from the printed one "
        f"on average, most for {found.categories[far]} ({number(100 * float(deviation[far]), 1)} %).",
        draw("bias-training", 0.8 + ROW * len(found.categories), paint),
    )


def disparity_picture(found: Bias) -> Picture | None:
    """A map of BD: one row per model, one column per category (table 4.6)."""
    labels, categories = list(found.shown), found.categories
    if not labels or len(labels) > MOST_ROWS or not 1 < len(categories) <= MOST_COLUMNS:
        return None
    values = np.stack([found.disparity(label) for label in labels])
    longest = max(map(len, map(short, categories)))
    level = 0.075 * longest < 9 / len(categories)  # whether the names fit side by side
    top = 0.32 if level else 0.3 + 0.026 * longest
    height = 0.1 + top + ROW * len(labels)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        figure.subplots_adjust(label_space(labels), 0.08 / height, 0.985 if level else 0.94, 1 - top / height)
        name_rows(axes, labels)
        for row, column in np.ndindex(values.shape):
            _cell(axes, row, column, float(values[row, column]))
        axes.set_xlim(-0.5, len(categories) - 0.5)
        axes.xaxis.tick_top()
        names = [short(name) for name in categories]
        turned: Any = {} if level else {"rotation": 28, "ha": "left", "rotation_mode": "anchor"}
        axes.set_xticks(range(len(categories)), names, **turned)
        axes.tick_params(axis="x", labelcolor=INK)
        axes.grid(visible=False)
        for side in ("bottom", "left"):
            axes.spines[side].set_visible(False)

    return Picture(
        "bias-disparity",
        "Bias disparity of the lists",
        "(B_R - B_T) / B_T: orange the lists show a category more than the training part (1.00: twice as "
        "much), blue less (-1.00: never); 0 mirrors it.",
        " ".join(_disparity_said(found, label) for label in labels),
        draw("bias-disparity", height, paint),
    )


def _cell(axes: Axes, row: int, column: int, value: float) -> None:
    from matplotlib.patches import Rectangle

    if not np.isfinite(value):
        return
    # twice and half are equally strong: log2(B_R / B_T), full colour at a factor of four
    strength = 1.0 if value <= -0.75 else min(1.0, abs(float(np.log2(1 + value))) / 2)
    colour = FEDERATED if value > 0 else CENTRAL
    place = (column - 0.49, row - 0.46)
    axes.add_patch(Rectangle(place, 0.98, 0.92, facecolor=colour, alpha=0.06 + 0.5 * strength, linewidth=0))
    axes.text(column, row, number(value, 2), ha="center", va="center", fontsize=8, color=INK)


def _disparity_said(found: Bias, label: str) -> str:
    values = found.disparity(label)
    if not np.isfinite(values).any():
        return f"{label}: no list."
    most, least = int(np.nanargmax(values)), int(np.nanargmin(values))
    return (
        f"{label}: most for {found.categories[most]} ({number(float(values[most]), 2)}), "
        f"least for {found.categories[least]} ({number(float(values[least]), 2)})."
    )
