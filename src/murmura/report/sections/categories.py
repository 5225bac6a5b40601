"""The bias of training and lists towards categories (thesis, tables 4.5 and 4.6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import Column, ReportTable, estimate_cell, number, number_cell, text_cell
from murmura.studies.analyses.exposure import Bias

MOST_ROWS, MOST_COLUMNS = 24, 20  # of a map that can still be read


def section(compared: Compared) -> Section | None:
    """Where items have categories."""
    found = compared.bias
    if found is None or not found.shown:
        return None
    pictures = training_picture(found), disparity_picture(found)
    return Section.of("bias", "Bias towards categories", *pictures, bias_table(found))


def training_picture(found: Bias) -> drawing.Picture | None:
    """B_T beside what table 4.5 of the thesis prints; nothing where it prints nothing."""
    printed, deviation = found.printed, found.deviation()
    if printed is None or deviation is None:
        return None

    def paint(figure: drawing.Figure) -> None:
        axes = figure.subplots()
        drawing.name_rows(axes, found.categories)
        rows = np.arange(len(found.categories))
        axes.hlines(rows, found.train, printed, colors=drawing.MUTED, linewidth=1)
        axes.plot(
            printed,
            rows,
            "o",
            color=drawing.PAPER,
            markeredgecolor=drawing.MUTED,
            markersize=6,
            label="printed",
        )
        axes.plot(
            found.train,
            rows,
            "D",
            color=drawing.CENTRAL,
            markersize=5.2,
            markeredgecolor=drawing.PAPER,
            label="measured",
        )
        axes.axvline(1, color=drawing.MUTED, linewidth=0.8)
        axes.set_xlim(0, None)
        for row, off in enumerate(deviation.tolist()):
            text = f"{number(100 * off, 1)} %" if np.isfinite(off) else ""
            axes.text(
                1.01,
                row,
                text,
                transform=axes.get_yaxis_transform(),
                fontsize=8,
                va="center",
                color=drawing.INK,
            )
        axes.set_xlabel("bias towards the category; 1: as often as its share of the items", labelpad=3)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8.5)

    far = int(np.nanargmax(np.abs(deviation)))
    return drawing.Picture(
        "bias-training",
        "Bias of the training part",
        "What people visited, measured here and printed in table 4.5 of the thesis; on the right how far the "
        "measured value is from the printed one.",
        f"The measured bias is {number(100 * float(np.nanmean(np.abs(deviation))), 1)} % from the printed one "
        f"on average, most for {found.categories[far]} ({number(100 * float(deviation[far]), 1)} %).",
        drawing.draw("bias-training", 0.8 + drawing.ROW * len(found.categories), paint),
    )


def disparity_picture(found: Bias) -> drawing.Picture | None:
    """A map of BD: one row per model, one column per category (table 4.6)."""
    labels, categories = list(found.shown), found.categories
    if not labels or len(labels) > MOST_ROWS or not 1 < len(categories) <= MOST_COLUMNS:
        return None
    values = np.stack([found.disparity(label) for label in labels])
    longest = max(map(len, map(drawing.short, categories)))
    level = 0.075 * longest < 9 / len(categories)  # whether the names fit side by side
    top = 0.32 if level else 0.3 + 0.026 * longest
    height = 0.1 + top + drawing.ROW * len(labels)

    def paint(figure: drawing.Figure) -> None:
        axes = figure.subplots()
        drawing.name_rows(axes, labels)
        for row, column in np.ndindex(values.shape):
            _cell(axes, row, column, float(values[row, column]))
        axes.set_xlim(-0.5, len(categories) - 0.5)
        axes.xaxis.tick_top()
        names = [drawing.short(name) for name in categories]
        turned: Any = {} if level else {"rotation": 28, "ha": "left", "rotation_mode": "anchor"}
        axes.set_xticks(range(len(categories)), names, **turned)
        axes.tick_params(axis="x", labelcolor=drawing.INK)
        axes.grid(visible=False)
        for side in ("bottom", "left"):
            axes.spines[side].set_visible(False)

    return drawing.Picture(
        "bias-disparity",
        "Bias disparity of the lists",
        "(B_R - B_T) / B_T: orange the lists show a category more than the training part (1.00: twice as "
        "much), blue less (-1.00: never); 0 mirrors it.",
        " ".join(_disparity_said(found, label) for label in labels),
        drawing.draw("bias-disparity", height, paint),
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


def _disparity_said(found: Bias, label: str) -> str:
    values = found.disparity(label)
    if not np.isfinite(values).any():
        return f"{label}: no list."
    most, least = int(np.nanargmax(values)), int(np.nanargmin(values))
    return (
        f"{label}: most for {found.categories[most]} ({number(float(values[most]), 2)}), "
        f"least for {found.categories[least]} ({number(float(values[least]), 2)})."
    )


def bias_table(found: Bias) -> ReportTable:
    """B_T, the printed B_T, and the bias disparity of every model, by category (tables 4.5 and 4.6)."""
    deviation = found.deviation()
    columns = [Column("category", numeric=False), Column("items"), Column("B_T", "bias of the training part")]
    measured = [found.items.tolist(), found.train.tolist()]
    decimals = [0, 4]
    if found.printed is not None and deviation is not None:
        columns += [Column("printed", "B_T in table 4.5 of the thesis"), Column("off by", "B_T / printed - 1")]
        measured += [found.printed.tolist(), deviation.tolist()]
        decimals += [4, 3]
    columns += [Column(f"BD {label}", f"bias disparity of the lists of {label}") for label in found.shown]
    facts = [[number_cell(value, places) for value in values] for values, places in zip(measured, decimals)]
    facts += [[estimate_cell(one, 3) for one in found.disparities(label)] for label in found.shown]
    rows = [(text_cell(name), *cells) for name, *cells in zip(found.categories, *facts)]
    notes = (
        "B_T: the share of a category among the training rows over its share among the items. "
        "BD = (B_R - B_T) / B_T, B_R the same of the lists; in brackets its 95 % interval over seeds.",
    )
    return ReportTable("bias", "Bias towards categories", tuple(columns), tuple(rows), notes)
