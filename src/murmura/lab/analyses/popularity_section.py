"""How often items are updated in training and recommended, from the most to the least (thesis, 4.4 and 4.5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from murmura.core.arrays import Longs
from murmura.evaluation.beyond_accuracy import HEAD, ranked_shares
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import ReportTable, plain_table
from murmura.studies.compare.folder import Sweep
from murmura.studies.item_exposure import Frequencies
from murmura.studies.sweep.folder import value_text

UPDATED, RECOMMENDED = 1000, 250  # items along the axis, as in the thesis
ACROSS = 3
MOST = len(drawing.CURVES)  # models of an ordinary comparison; more lines cannot be told apart
POPULARITY: dict[str, Any] = {"color": drawing.INK, "linewidth": 1.2, "linestyle": (0, (4, 2))}
Panels = dict[str, list[tuple[str, str, Frequencies]]]  # by title; of a line its name, its colour, its counts
Lines = dict[str, list[tuple[str, str, Longs]]]  # the same of one picture


def section(compared: Compared) -> Section | None:
    """Where items were counted: for a sweep, or for as many models as lines can be told apart."""
    what = compared.folder.sweep
    drawn = panels(compared.times, what)
    if not drawn:
        return None
    pictures = update_picture(drawn, what), recommendation_picture(drawn, what)
    return Section.of("popularity", "Popularity", *pictures, frequency_table(compared.times))


def panels(found: Sequence[Frequencies], what: Sweep | None) -> Panels:
    """The lines of a panel per curve of a sweep, or of one for the models of a small comparison."""
    by_label = {one.label: one for one in found}
    if what is None:
        looks = drawing.curve_styles(list(by_label)).values()
        lines = [(one.label, look.colour, one) for one, look in zip(found, looks)]
        return {"": lines} if 0 < len(lines) <= MOST else {}
    values = list(zip(map(value_text, what.values), drawing.ramp(len(what.values))))
    made = {
        curve: [(*value, by_label[label]) for value, label in zip(values, labels) if label in by_label]
        for curve, labels in what.curves.items()
    }
    return {curve: lines for curve, lines in made.items() if lines}


def update_picture(found: Panels, what: Sweep | None) -> drawing.Picture | None:
    """The shares of the most updated items among all rows that left the devices (figure 4.4)."""
    drawn = {
        panel: [(name, colour, one.sent) for name, colour, one in lines if one.sent is not None]
        for panel, lines in found.items()
    }
    if not any(drawn.values()):
        return None
    return _painted("updates", drawn, what, UPDATED).picture(
        "Which items are updated in training",
        f"The {UPDATED:,} most updated items, most updated first: each item's share of all item rows that left "
        f"the devices, logarithmic.{_colours(what)} A level line says nothing about popularity.",
        _said(drawn, "most updated"),
    )


def recommendation_picture(found: Panels, what: Sweep | None) -> drawing.Picture:
    """The shares of the most recommended items among all places of the lists (figure 4.5)."""
    drawn = {
        panel: [(name, colour, one.shown) for name, colour, one in lines] for panel, lines in found.items()
    }
    popularity = next(one.popularity for lines in found.values() for *_, one in lines)
    return _painted("recommended", drawn, what, RECOMMENDED, popularity).picture(
        "Which items are recommended",
        f"The {RECOMMENDED} most recommended items, most recommended first: each item's share of all places in "
        f"the lists, logarithmic.{_colours(what)} Dashed: the most popular items' shares of the training rows.",
        _said(drawn, "most recommended"),
    )


def _painted(
    name: str, counted: Lines, what: Sweep | None, most: int, popularity: Longs | None = None
) -> drawing.Canvas:
    drawn = {panel: lines for panel, lines in counted.items() if lines}
    across = min(ACROSS, len(drawn))
    colours = {name: colour for lines in drawn.values() for name, colour, _ in lines}
    looks: dict[str, drawing.Look] = {
        f"{what.key} {name}" if what and not place else name: {"color": colour, "linewidth": 2}
        for place, (name, colour) in enumerate(colours.items())
    }
    if popularity is not None:
        looks.setdefault("popularity", POPULARITY)
    with drawing.canvas(name, 0.75 + 2.3 * math.ceil(len(drawn) / across), looks) as made:
        grid = made.panels(len(drawn), across, sharex=True, sharey=True)
        for place, (axes, (panel, lines)) in enumerate(zip(grid, drawn.items())):
            for _, colour, times in lines:
                _rank_line(axes, times, most, color=colour, linewidth=1.2)
            if popularity is not None:
                _rank_line(axes, popularity, most, **POPULARITY)
            drawing.logarithmic(axes, "y")
            axes.set_xlim(0, most)
            drawing.few_ticks(axes, 5)
            axes.set_title(drawing.short(panel))
            if place + across >= len(drawn):
                axes.set_xlabel("item, most frequent first", labelpad=3)
                axes.tick_params(labelbottom=True)
            if place % across == 0:
                axes.set_ylabel("share")
    return made


def _rank_line(axes: drawing.Axes, counts: Longs, most: int, **look: Any) -> None:
    shares = ranked_shares(counts, most)
    shares = shares[shares > 0]
    axes.plot(np.arange(1, len(shares) + 1), shares, **look)


def _colours(what: Sweep | None) -> str:
    if what is None or len(what.values) < 2:
        return ""
    first, last = value_text(what.values[0]), value_text(what.values[-1])
    return f" From {what.key} {first} in orange to {last} in blue."


def _said(drawn: Lines, which: str) -> str:
    said = []
    for panel, lines in drawn.items():
        for name, _, times in [*lines[:1], *lines[1:][-1:]]:
            if times.any():
                share = 100 * float(ranked_shares(times, 10).sum())
                said.append(f"{' '.join(filter(None, (panel, name)))} {share:.2g} %")
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
