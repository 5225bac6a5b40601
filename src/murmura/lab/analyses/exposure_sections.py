"""What lists show and training updates: how often each item, and which categories (thesis, 4.4 and 4.5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.lab.analyses.item_exposure import Bias, Frequencies, exposure
from murmura.lab.analyses.popularity_curves import HEAD, ranked_shares
from murmura.lab.sweep.folder import value_text
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import ReportTable, estimate_cell, number, plain_table
from murmura.studies.compare.folder import Sweep

UPDATED, RECOMMENDED = 1000, 250  # items along the axis, as in the thesis
ACROSS = 3
MOST = len(drawing.CURVES)  # models of an ordinary comparison; more lines cannot be told apart
POPULARITY: dict[str, Any] = {"color": drawing.INK, "linewidth": 1.2, "linestyle": (0, (4, 2))}
Panels = dict[str, list[tuple[str, str, Frequencies]]]  # by title; of a line its name, its colour, its counts
Lines = dict[str, list[tuple[str, str, Longs]]]  # the same of one picture


def popularity_section(compared: Compared) -> Section | None:
    """Where items were counted: for a sweep, or for as many models as lines can be told apart."""
    what, (times, _) = compared.folder.sweep, exposure(compared.folder)
    drawn = panels(times, what)
    if not drawn:
        return None
    pictures = update_picture(drawn, what), recommendation_picture(drawn, what)
    return Section.of("popularity", "Popularity", *pictures, frequency_table(times))


def panels(found: Sequence[Frequencies], what: Sweep | None) -> Panels:
    """The lines of a panel per curve of a sweep, or of one for the models of a small comparison."""
    by_label = {one.label: one for one in found}
    if what is None:
        looks = drawing.curve_styles(list(by_label))
        lines = [(one.label, looks[one.label]["color"], one) for one in found]
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
        f"The {UPDATED:,} most updated items, most updated first. Each item's share of all item rows that left "
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
        f"The {RECOMMENDED} most recommended items, most recommended first. Each item's share of all places in "
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
            axes.set(xlim=(0, most), title=drawing.short(panel))
            drawing.few_ticks(axes, 5)
            if place + across >= len(drawn):
                axes.set_xlabel("item, most frequent first")
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


MOST_ROWS, MOST_COLUMNS = 24, 20  # of a map that can still be read


def bias_section(compared: Compared) -> Section | None:
    """Where items have categories."""
    _, found = exposure(compared.folder)
    if found is None or not found.shown:
        return None
    pictures = training_picture(found), disparity_picture(found)
    return Section.of("bias", "Bias towards categories", *pictures, bias_table(found))


def training_picture(found: Bias) -> drawing.Picture | None:
    """B_T beside what table 4.5 of the thesis prints; nothing where it prints nothing."""
    printed, deviation = found.printed, found.deviation()
    if printed is None or deviation is None:
        return None
    rows = np.arange(len(found.categories))
    with drawing.canvas("bias-training", 0.8 + drawing.ROW * len(rows)) as made:
        axes = made.axes
        drawing.name_rows(axes, found.categories)
        axes.hlines(rows, found.train, printed, colors=drawing.MUTED, linewidth=1)
        hollow: Any = {"color": drawing.PAPER, "markeredgecolor": drawing.MUTED, "markersize": 6}
        axes.plot(printed, rows, "o", label="printed", **hollow)
        filled: Any = {"color": drawing.CENTRAL, "markeredgecolor": drawing.PAPER, "markersize": 5.2}
        axes.plot(found.train, rows, "D", label="measured", **filled)
        axes.axvline(1, color=drawing.MUTED, linewidth=0.8)
        axes.set_xlim(0, None)
        beside: Any = {"transform": axes.get_yaxis_transform(), "fontsize": 8, "va": "center"}
        for row, off in enumerate(deviation.tolist()):
            text = f"{number(100 * off, 1)} %" if np.isfinite(off) else ""
            axes.text(1.01, row, text, color=drawing.INK, **beside)
        axes.set_xlabel("bias towards the category; 1: as often as its share of the items")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8.5)
    far = int(np.nanargmax(np.abs(deviation)))
    return made.picture(
        "Bias of the training part",
        "What people visited, measured here and printed in table 4.5 of the thesis; on the right how far the "
        "measured value is from the printed one.",
        f"The measured bias is {number(100 * float(np.nanmean(np.abs(deviation))), 1)} % from the printed one "
        f"on average, most for {found.categories[far]} ({number(100 * float(deviation[far]), 1)} %).",
    )


def disparity_picture(found: Bias) -> drawing.Picture | None:
    """A map of BD: one row per model, one column per category (table 4.6)."""
    labels, names = list(found.shown), [drawing.short(name) for name in found.categories]
    if not labels or len(labels) > MOST_ROWS or not 1 < len(names) <= MOST_COLUMNS:
        return None
    longest = max(map(len, names))
    level = 0.075 * longest < 9 / len(names)  # whether the names fit side by side
    top = 0.32 if level else 0.3 + 0.026 * longest
    turned: Any = {} if level else {"rotation": 28, "ha": "left", "rotation_mode": "anchor"}
    with drawing.canvas("bias-disparity", 0.1 + top + drawing.ROW * len(labels)) as made:
        axes = made.axes
        drawing.name_rows(axes, labels)
        for row, label in enumerate(labels):
            for column, value in enumerate(found.disparity(label).tolist()):
                _cell(axes, row, column, value)
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(names)), names, **turned)
        axes.tick_params(axis="x", labelcolor=drawing.INK)
        axes.grid(visible=False)
        axes.spines[["bottom", "left"]].set_visible(False)
    return made.picture(
        "Bias disparity of the lists",
        "(B_R - B_T) / B_T: orange the lists show a category more than the training part (1.00: twice as "
        "much), blue less (-1.00: never); 0 mirrors it.",
        " ".join(f"{label}: {_ends(found, found.disparity(label))}." for label in labels),
    )


def _cell(axes: drawing.Axes, row: int, column: int, value: float) -> None:
    from matplotlib.patches import Rectangle

    if not np.isfinite(value):
        return
    # twice and half are equally strong: log2(B_R / B_T), full colour at a factor of four
    strength = 1.0 if value <= -0.75 else min(1.0, abs(float(np.log2(1 + value))) / 2)
    colour = drawing.FEDERATED if value > 0 else drawing.CENTRAL
    place = (column - 0.49, row - 0.46)
    axes.add_patch(Rectangle(place, 0.98, 0.92, facecolor=colour, alpha=0.06 + 0.5 * strength, linewidth=0))
    axes.text(column, row, number(value, 2), ha="center", va="center", fontsize=8, color=drawing.INK)


def _ends(found: Bias, values: Floats) -> str:
    if not np.isfinite(values).any():
        return "no list"
    ends = ("most", int(np.nanargmax(values))), ("least", int(np.nanargmin(values)))
    return ", ".join(f"{end} for {found.categories[at]} ({number(float(values[at]), 2)})" for end, at in ends)


def bias_table(found: Bias) -> ReportTable:
    """B_T, the printed B_T, and the bias disparity of every model, by category (tables 4.5 and 4.6)."""
    heads = {"category": "", "items": "", "B_T": "bias of the training part"}
    columns = [[(items, 0) for items in found.items.tolist()], [(bias, 4) for bias in found.train.tolist()]]
    deviation = found.deviation()
    if found.printed is not None and deviation is not None:
        heads |= {"printed": "B_T in table 4.5 of the thesis", "off by": "B_T / printed - 1"}
        columns += [[(one, 4) for one in found.printed.tolist()], [(one, 3) for one in deviation.tolist()]]
    heads |= {f"BD {label}": f"bias disparity of the lists of {label}" for label in found.shown}
    lists = [[estimate_cell(one, 3) for one in found.disparities(label)] for label in found.shown]
    note = (
        "B_T: the share of a category among the training rows over its share among the items. "
        "BD = (B_R - B_T) / B_T, B_R the same of the lists; in brackets its 95 % interval over seeds."
    )
    rows = zip(found.categories, *columns, *lists)
    return plain_table("bias", "Bias towards categories", heads, rows, note)
