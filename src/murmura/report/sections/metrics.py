"""Each metric with its interval, and how the users' values are spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.registry import better, is_error, is_of_labels, title
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.sections.planes import coverage_plot, kinds, look, metric_caption
from murmura.report.summary import ModelSummary, Results, is_number

PER_ROW = 5  # metrics side by side
ARROWS = {"higher": " →", "lower": " ←", "zero": " → 0"}
EDGES = (0.0, 0.1, 0.2, 0.4)  # of a metric of lists, user by user
ERROR_EDGES = (0.5, 0.75, 1.0, 1.25)  # of an error, in stars
ACCURACY_EDGES = (0.5, 0.7, 0.8, 0.9)  # of a client's own test samples


def section(compared: Compared) -> Section | None:
    """Every metric, coverage and how users fare; nothing of a crowd that fits into no chart."""
    if compared.crowded:
        return None
    found = compared.results
    return Section.of("plots", "Plots", *metric_dots(found), coverage_plot(found), people_shares(found))


def in_order(results: Results) -> list[ModelSummary]:
    """Best first by the primary metric; a line without it comes last."""
    ranked = list(results.ranked(results.primary)) if results.primary else []
    return [*ranked, *(line for line in results.lines if line not in ranked)]


def metric_dots(results: Results) -> list[drawing.Picture]:
    """Every metric of the main cut-off as a column of dots with intervals, up to five side by side."""
    keys = [key for k in results.cutoffs[:1] for key in results.at(k) if results.ranked(key)]
    lines, pictures = in_order(results), []
    seeds = any(len(line.model.done) > 1 for line in lines)
    caption = (
        f"Models in the order of {results.primary}. Dots are means, lines 95 % intervals"
        f"{', small ticks single seeds.' if seeds else '.'}{kinds(results)}"
    )
    for first in range(0, len(keys), PER_ROW):
        here = keys[first : first + PER_ROW]
        with drawing.canvas(f"metrics-{first // PER_ROW + 1}", 0.75 + drawing.ROW * len(lines)) as made:
            for axes, key in zip(made.panels(len(here), max(3, len(here))), here):
                _column_of_dots(axes, key, lines, named=key == here[0])
        alt = " ".join(metric_caption(results, key) for key in here)
        pictures.append(made.picture("More metrics" if first else "Metric by metric", caption, alt))
    return pictures


def _column_of_dots(axes: drawing.Axes, key: str, lines: Sequence[ModelSummary], named: bool) -> None:
    drawing.name_rows(axes, [line.label for line in lines], show=named)
    for row, line in ((row, line) for row, line in enumerate(lines) if is_number(line.values.get(key))):
        ink, estimate, seeds = look(line)["color"], line.values[key], line.model.each_seed(key)
        if math.isfinite(estimate.low) and math.isfinite(estimate.high):
            axes.hlines(row, estimate.low, estimate.high, colors=ink, linewidth=1.6)
        if len(seeds) > 1:
            axes.plot(seeds, [row] * len(seeds), "|", color=ink, markersize=7, markeredgewidth=0.7)
        axes.plot([estimate.mean], [row], linestyle="None", markersize=5.2, **look(line))
    axes.set_title(key + ARROWS[better(key)], fontsize=9, pad=14)
    words = title(key) if len(title(key)) <= 32 else title(key)[:31] + "…"
    axes.text(0, 1, words, transform=axes.transAxes, fontsize=7, color=drawing.MUTED, va="bottom")
    drawing.few_ticks(axes, 3)
    axes.margins(x=0.08)


def people_shares(results: Results) -> drawing.Picture | None:
    """How the users' values of the primary metric are spread: the share of users in five bins, per model."""
    key = results.primary
    lines = [line for line in in_order(results) if key in line.people.per_user]
    if key is None or not lines:
        return None
    edges, first = EDGES, "the users without a single hit"
    if is_error(key):
        edges, first = ERROR_EDGES, "the smallest errors"
    elif is_of_labels(key):
        edges, first = ACCURACY_EDGES, "those with the lowest"
    shares = np.array([bin_shares(line.people.per_user[key], edges) for line in lines])
    parts = [*(f"up to {edge:g}" if edge else "0" for edge in edges), f"above {edges[-1]:g}"]
    looks = dict(zip(parts, drawing.SHADES))
    with drawing.canvas("people", 0.8 + drawing.ROW * len(lines), looks) as made:
        axes, start = made.axes, np.zeros(len(lines))
        drawing.name_rows(axes, [line.label for line in lines])
        for shade, widths in zip(drawing.SHADES, 100 * shares.T):
            bar: Any = {"color": shade, "edgecolor": drawing.PAPER, "linewidth": 0.8}
            axes.barh(range(len(lines)), widths, left=start, height=0.72, **bar)
            start += widths
        axes.set_xlim(0, 100)
        axes.set_xticks(range(0, 101, 25), [f"{tick} %" for tick in range(0, 101, 25)])
        axes.spines["bottom"].set_color(drawing.GRID)
    those = ", ".join(f"{line.label} {100 * share[0]:.0f} %" for line, share in zip(lines, shares))
    return made.picture(
        f"Who gets what: {key} user by user",
        f"The share of users by their own {key}. The first part of a bar are {first}.",
        f"Share of users with {key} of {'at most ' if edges[0] else ''}{edges[0]:g}: {those}.",
    )


def bin_shares(values: Floats, edges: Sequence[float]) -> list[float]:
    """The share of users up to each edge, and above the last; users without a value take no part."""
    known = values[~np.isnan(values)]
    places = np.searchsorted(np.array(edges), np.round(known, 12), side="left")
    return [int(count) / max(1, len(known)) for count in np.bincount(places, minlength=len(edges) + 1)]
