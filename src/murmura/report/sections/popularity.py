"""How often items are updated in training and recommended, from the most to the least (thesis, 4.4 and 4.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.core.arrays import Longs
from murmura.evaluation.concentration import HEAD, ranked_shares
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import ReportTable, plain_table
from murmura.runs.sweep import Sweep, value_text
from murmura.studies.analyses.exposure import Frequencies

UPDATED, RECOMMENDED = 1000, 250  # items along the axis, as in the thesis
ACROSS = 3
MOST = len(drawing.CURVES)  # models of an ordinary comparison; more lines cannot be told apart
Times = Callable[[Frequencies], Longs | None]


def section(compared: Compared) -> Section | None:
    """Where items were counted: for a sweep, or for as many models as lines can be told apart."""
    what = compared.folder.sweep
    drawn = panels(compared.times, what)
    if not drawn:
        return None
    pictures = update_picture(drawn, what), recommendation_picture(drawn, what)
    return Section.of("popularity", "Popularity", *pictures, frequency_table(compared.times))


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
        styles = drawing.curve_styles([one.label for one in found])
        return [Panel("", tuple((one.label, one, styles[one.label].colour) for one in found))]
    colours = drawing.ramp(len(what.values))
    made = []
    for curve, labels in what.curves.items():
        known = [(place, by_label[label]) for place, label in enumerate(labels) if label in by_label]
        lines = tuple((value_text(what.values[place]), one, colours[place]) for place, one in known)
        made += [Panel(curve, lines)] if lines else []
    return made


def update_picture(drawn: Sequence[Panel], what: Sweep | None) -> drawing.Picture | None:
    """The shares of the most updated items among all rows that left the devices (figure 4.4)."""
    kept = [Panel(one.name, tuple(line for line in one.lines if line[1].sent is not None)) for one in drawn]
    kept = [one for one in kept if one.lines]
    if not kept:
        return None
    return drawing.Picture(
        "updates",
        "Which items are updated in training",
        f"The {UPDATED:,} most updated items, most updated first: each item's share of all item rows that left "
        f"the devices, logarithmic.{_colours(what)} A level line says nothing about popularity.",
        _said(kept, lambda one: one.sent, "most updated"),
        _draw("updates", kept, what, lambda one: one.sent, UPDATED, popular=False),
    )


def recommendation_picture(drawn: Sequence[Panel], what: Sweep | None) -> drawing.Picture | None:
    """The shares of the most recommended items among all places of the lists (figure 4.5)."""
    if not drawn:
        return None
    return drawing.Picture(
        "recommended",
        "Which items are recommended",
        f"The {RECOMMENDED} most recommended items, most recommended first: each item's share of all places in "
        f"the lists, logarithmic.{_colours(what)} Dashed: the most popular items' shares of the training rows.",
        _said(drawn, lambda one: one.shown, "most recommended"),
        _draw("recommended", drawn, what, lambda one: one.shown, RECOMMENDED, popular=True),
    )


def _draw(name: str, drawn: Sequence[Panel], what: Sweep | None, times: Times, most: int, popular: bool) -> str:
    across = min(ACROSS, len(drawn)) if len(drawn) > 1 else 1
    down = math.ceil(len(drawn) / across)
    height = 0.75 + 2.3 * down

    def paint(figure: drawing.Figure) -> None:
        grid = drawing.panel_grid(figure, len(drawn), down, across, sharex=True, sharey=True)
        for place, (one, panel) in enumerate(zip(grid, drawn)):
            _paint_panel(one, panel, times, most, popular)
            if place + across >= len(drawn):
                one.set_xlabel("item, most frequent first", labelpad=3)
                one.tick_params(labelbottom=True)
            if place % across == 0:
                one.set_ylabel("share")
        _key(figure, drawn, what, popular)

    return drawing.draw(name, height, paint)


def _paint_panel(axes: drawing.Axes, panel: Panel, times: Times, most: int, popular: bool) -> None:
    for _, one, colour in panel.lines:
        counts = times(one)
        if counts is not None:
            _rank_line(axes, counts, most, color=colour, linewidth=1.2)
    if popular:
        _rank_line(
            axes, panel.lines[0][1].popularity, most, color=drawing.INK, linewidth=1.2, linestyle=(0, (4, 2))
        )
    drawing.logarithmic(axes, "y")
    axes.set_xlim(0, most)
    drawing.few_ticks(axes, 5)
    axes.set_title(drawing.short(panel.name))


def _rank_line(axes: drawing.Axes, counts: Longs, most: int, **look: Any) -> None:
    shares = ranked_shares(counts, most)
    shares = shares[shares > 0]
    axes.plot(np.arange(1, len(shares) + 1), shares, **look)


def _key(figure: drawing.Figure, drawn: Sequence[Panel], what: Sweep | None, popular: bool) -> None:
    from matplotlib.lines import Line2D

    names = dict.fromkeys((name, colour) for panel in drawn for name, _, colour in panel.lines)
    handles = [Line2D([], [], color=colour, linewidth=2) for _, colour in names]
    texts = [f"{what.key} {name}" if what and not place else name for place, (name, _) in enumerate(names)]
    if popular:
        handles.append(Line2D([], [], color=drawing.INK, linestyle=(0, (4, 2)), linewidth=1.2))
        texts.append("popularity")
    drawing.legend(figure, handles, texts)


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


def frequency_table(found: Sequence[Frequencies]) -> ReportTable | None:
    """What the frequency curves say in numbers."""
    summaries = [(one.label, one.summary()) for one in found]
    every = dict.fromkeys(key for _, summary in summaries for key in summary)
    keys = sorted(every, key=lambda key: not key.startswith("updates"))
    if not keys:
        return None
    rows = ((label, *((summary.get(key), 3) for key in keys)) for label, summary in summaries)
    note = (
        f"head: the share that falls on the most popular {100 * HEAD:g} % of the items seen in training. Gini: "
        "0 = all of them equally often, 1 = one only. rho: Spearman's rank correlation with popularity."
    )
    title = "Updates and recommendations against popularity"
    return plain_table("frequency", title, ["model", *keys], rows, note)
