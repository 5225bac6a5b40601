"""Each metric with its interval, and how the users' values are spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.metric_names import better, title
from murmura.evaluation.registry import is_error, is_of_labels
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.sections.planes import colour, coverage_plot, kinds, metric_caption, shape
from murmura.report.summary import ModelSummary, Results, is_number

PER_ROW = 5  # metrics side by side
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
    if not results.metrics:
        return []
    keys = [key for key in results.at(results.cutoffs[0]) if results.ranked(key)]
    lines = in_order(results)
    pictures = []
    for first in range(0, len(keys), PER_ROW):
        here = keys[first : first + PER_ROW]

        def paint(figure: drawing.Figure, here: Sequence[str] = here) -> None:
            _paint_dots(figure, here, lines)

        name = f"metrics-{first // PER_ROW + 1}"
        seeds = any(len(line.model.done) > 1 for line in lines)
        caption = (
            f"Models in the order of {results.primary}. Dots are means, lines 95 % intervals"
            + (", small ticks single seeds." if seeds else ".")
            + kinds(results)
        )
        svg = drawing.draw(name, 0.75 + drawing.ROW * len(lines), paint)
        alt = " ".join(metric_caption(results, key) for key in here)
        pictures.append(
            drawing.Picture(name, "Metric by metric" if not first else "More metrics", caption, alt, svg)
        )
    return pictures


def _paint_dots(figure: drawing.Figure, keys: Sequence[str], lines: Sequence[ModelSummary]) -> None:
    for place, axes in enumerate(drawing.panel_grid(figure, len(keys), 1, max(3, len(keys)))):
        key = keys[place]
        drawing.name_rows(axes, [line.label for line in lines], show=place == 0)
        for row, line in enumerate(lines):
            if is_number(line.values.get(key)):
                _dot(axes, row, line, key)
        arrow = {"higher": " →", "lower": " ←", "zero": " → 0"}[better(key)]
        axes.set_title(key + arrow, fontsize=9, pad=14)
        axes.text(
            0, 1, _wrapped(title(key)), transform=axes.transAxes, fontsize=7, color=drawing.MUTED, va="bottom"
        )
        drawing.few_ticks(axes, 3)
        axes.margins(x=0.08)


def _wrapped(text: str) -> str:
    return text if len(text) <= 32 else text[:31] + "…"


def _dot(axes: drawing.Axes, row: int, line: ModelSummary, key: str) -> None:
    ink, estimate, seeds = colour(line), line.values[key], line.model.each_seed(key)
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        axes.hlines(row, estimate.low, estimate.high, colors=ink, linewidth=1.6)
    if len(seeds) > 1:
        axes.plot(seeds, [row] * len(seeds), "|", color=ink, markersize=7, markeredgewidth=0.7)
    axes.plot([estimate.mean], [row], shape(line), color=ink, markersize=5.2, markeredgecolor=drawing.PAPER)


def people_shares(results: Results) -> drawing.Picture | None:
    """How the users' values of the primary metric are spread: the share of users in five bins, per model."""
    key = results.primary
    lines = [line for line in in_order(results) if key in line.people.per_user]
    if key is None or not lines:
        return None
    edges = ERROR_EDGES if is_error(key) else ACCURACY_EDGES if is_of_labels(key) else EDGES
    shares = [bin_shares(line.people.per_user[key], edges) for line in lines]

    def paint(figure: drawing.Figure) -> None:
        _paint_shares(figure, lines, shares, edges)

    name = "people"
    first = (
        "the smallest errors"
        if is_error(key)
        else "those with the lowest"
        if is_of_labels(key)
        else "the users without a single hit"
    )
    those = ", ".join(f"{line.label} {100 * share[0]:.0f} %" for line, share in zip(lines, shares))
    return drawing.Picture(
        name,
        f"Who gets what: {key} user by user",
        f"The share of users by their own {key}. The first part of a bar are {first}.",
        f"Share of users with {key} of {'at most ' if edges[0] else ''}{edges[0]:g}: {those}.",
        drawing.draw(name, 0.8 + drawing.ROW * len(lines), paint),
    )


def bin_shares(values: Floats, edges: Sequence[float]) -> list[float]:
    """The share of users up to each edge, and above the last; users without a value take no part."""
    known = values[~np.isnan(values)]
    places = np.searchsorted(np.array(edges), np.round(known, 12), side="left")
    return [int(count) / max(1, len(known)) for count in np.bincount(places, minlength=len(edges) + 1)]


def _paint_shares(
    figure: drawing.Figure,
    lines: Sequence[ModelSummary],
    shares: Sequence[Sequence[float]],
    edges: Sequence[float],
) -> None:
    axes = figure.subplots()
    drawing.name_rows(axes, [line.label for line in lines])
    start = np.zeros(len(lines))
    for place, shade in enumerate(drawing.SHADES):
        widths = np.array([100 * share[place] for share in shares])
        look: dict[str, Any] = {"color": shade, "edgecolor": drawing.PAPER, "linewidth": 0.8}
        axes.barh(range(len(lines)), widths, left=start, height=0.72, **look)
        start += widths
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 25), [f"{tick} %" for tick in range(0, 101, 25)])
    axes.spines["bottom"].set_color(drawing.GRID)
    parts = [*(f"up to {edge:g}" if edge else "0" for edge in edges), f"above {edges[-1]:g}"]
    drawing.colour_legend(figure, dict(zip(parts, drawing.SHADES)))
