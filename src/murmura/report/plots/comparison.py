"""The plots of a comparison: each metric with its interval, how the users' values are spread, trade-offs.

What accuracy is bought with is coverage, bytes and disclosed items; the front is who no other beats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.pareto import pareto_front
from murmura.evaluation.registry import is_error, is_of_labels
from murmura.report.plots.drawing import (
    CENTRAL,
    FEDERATED,
    GRID,
    INK,
    MUTED,
    PAPER,
    ROW,
    SHADES,
    Picture,
    draw,
    label_space,
    name_rows,
    panel_grid,
    short,
)
from murmura.report.summary import ModelSummary, Results, badness, better, is_number, title
from murmura.report.tables.table import decimals_for, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PER_ROW = 5  # metrics side by side
EDGES = (0.0, 0.1, 0.2, 0.4)  # of a metric of lists, user by user
ERROR_EDGES = (0.5, 0.75, 1.0, 1.25)  # of an error, in stars
ACCURACY_EDGES = (0.5, 0.7, 0.8, 0.9)  # of a client's own test samples
HEIGHT = 3.4
LABEL = 48  # characters of an axis' label


def colour(line: ModelSummary) -> str:
    """Centralised and federated models differ in colour, and in shape."""
    return FEDERATED if line.model.federated else CENTRAL


def shape(line: ModelSummary) -> str:
    """The marker of a model."""
    return "D" if line.model.federated else "o"


def kinds(results: Results) -> str:
    """The sentence that explains the markers, where both kinds are there."""
    found = {line.model.federated for line in results.lines}
    return " Circles are centralised models, diamonds federated ones." if len(found) > 1 else ""


def in_order(results: Results) -> list[ModelSummary]:
    """Best first by the primary metric; a line without it comes last."""
    ranked = list(results.ranked(results.primary)) if results.primary else []
    return [*ranked, *(line for line in results.lines if line not in ranked)]


def metric_caption(results: Results, key: str) -> str:
    """A metric from best to worst, in words."""
    ranked = results.ranked(key)
    decimals = decimals_for([line.values[key].mean for line in ranked])
    each = ", ".join(f"{line.label} {number(line.values[key].mean, decimals)}" for line in ranked)
    return f"{key}, best first: {each}."


def metric_dots(results: Results) -> list[Picture]:
    """Every metric of the main cut-off as a column of dots with intervals, up to five side by side."""
    if not results.metrics:
        return []
    keys = [key for key in results.at(results.cutoffs[0]) if results.ranked(key)]
    lines = in_order(results)
    pictures = []
    for first in range(0, len(keys), PER_ROW):
        here = keys[first : first + PER_ROW]

        def paint(figure: Figure, here: Sequence[str] = here) -> None:
            _paint_dots(figure, here, lines)

        name = f"metrics-{first // PER_ROW + 1}"
        seeds = any(len(line.model.done) > 1 for line in lines)
        caption = (
            f"Models in the order of {results.primary}. Dots are means, lines 95 % intervals"
            + (", small ticks single seeds." if seeds else ".")
            + kinds(results)
        )
        svg = draw(name, 0.75 + ROW * len(lines), paint)
        alt = " ".join(metric_caption(results, key) for key in here)
        pictures.append(Picture(name, "Metric by metric" if not first else "More metrics", caption, alt, svg))
    return pictures


def _paint_dots(figure: Figure, keys: Sequence[str], lines: Sequence[ModelSummary]) -> None:
    from matplotlib.ticker import MaxNLocator

    height = 0.75 + ROW * len(lines)
    left = label_space([line.label for line in lines])
    figure.subplots_adjust(left, 0.3 / height, 0.985, 1 - 0.42 / height, wspace=0.16)
    for place, axes in enumerate(panel_grid(figure, len(keys), 1, max(3, len(keys)))):
        key = keys[place]
        name_rows(axes, [line.label for line in lines], show=place == 0)
        for row, line in enumerate(lines):
            if is_number(line.values.get(key)):
                _dot(axes, row, line, key)
        arrow = {"higher": " →", "lower": " ←", "zero": " → 0"}[better(key)]
        axes.set_title(key + arrow, fontsize=9, pad=14)
        axes.text(0, 1, _wrapped(title(key)), transform=axes.transAxes, fontsize=7, color=MUTED, va="bottom")
        axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
        axes.margins(x=0.08)


def _wrapped(text: str) -> str:
    return text if len(text) <= 32 else text[:31] + "…"


def _dot(axes: Axes, row: int, line: ModelSummary, key: str) -> None:
    ink, estimate, seeds = colour(line), line.values[key], line.model.each_seed(key)
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        axes.hlines(row, estimate.low, estimate.high, colors=ink, linewidth=1.6)
    if len(seeds) > 1:
        axes.plot(seeds, [row] * len(seeds), "|", color=ink, markersize=7, markeredgewidth=0.7)
    axes.plot([estimate.mean], [row], shape(line), color=ink, markersize=5.2, markeredgecolor=PAPER)


def people_shares(results: Results) -> Picture | None:
    """How the users' values of the primary metric are spread: the share of users in five bins, per model."""
    key = results.primary
    lines = [line for line in in_order(results) if key in line.people.per_user]
    if key is None or not lines:
        return None
    edges = ERROR_EDGES if is_error(key) else ACCURACY_EDGES if is_of_labels(key) else EDGES
    shares = [bin_shares(line.people.per_user[key], edges) for line in lines]

    def paint(figure: Figure) -> None:
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
    return Picture(
        name,
        f"Who gets what: {key} user by user",
        f"The share of users by their own {key}. The first part of a bar are {first}.",
        f"Share of users with {key} of {'at most ' if edges[0] else ''}{edges[0]:g}: {those}.",
        draw(name, 0.8 + ROW * len(lines), paint),
    )


def bin_shares(values: Floats, edges: Sequence[float]) -> list[float]:
    """The share of users up to each edge, and above the last; users without a value take no part."""
    known = values[~np.isnan(values)]
    places = np.searchsorted(np.array(edges), np.round(known, 12), side="left")
    return [int(count) / max(1, len(known)) for count in np.bincount(places, minlength=len(edges) + 1)]


def _paint_shares(
    figure: Figure, lines: Sequence[ModelSummary], shares: Sequence[Sequence[float]], edges: Sequence[float]
) -> None:
    height = 0.8 + ROW * len(lines)
    axes = figure.subplots()
    figure.subplots_adjust(label_space([line.label for line in lines]), 0.32 / height, 0.985, 1 - 0.38 / height)
    name_rows(axes, [line.label for line in lines])
    start = np.zeros(len(lines))
    parts = [*(f"up to {edge:g}" if edge else "0" for edge in edges), f"above {edges[-1]:g}"]
    for place, (what, shade) in enumerate(zip(parts, SHADES, strict=True)):
        widths = np.array([100 * share[place] for share in shares])
        axes.barh(
            range(len(lines)), widths, left=start, height=0.72, color=shade, edgecolor=PAPER, linewidth=0.8
        )
        start += widths
        where = 0.0 if not place else 0.1 + 0.17 * place - 0.08
        axes.text(where + 0.022, 1.04, what, transform=axes.transAxes, fontsize=8, va="bottom")
        swatch = axes.plot([where + 0.008], [1.04 + 0.07 / height], "s", color=shade, markersize=7)[0]
        swatch.set(transform=axes.transAxes, clip_on=False)
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 25), [f"{tick} %" for tick in range(0, 101, 25)])
    axes.spines["bottom"].set_color(GRID)


def coverage_plot(results: Results) -> Picture | None:
    """The primary metric against item coverage, or against the next best thing that describes all lists."""
    key = results.primary
    if key is None:
        return None
    k = results.cutoffs[0]
    other = next((one for one in (f"IC@{k}", f"G@{k}", f"SE@{k}") if one in results.metrics), None)
    return _plane(results, "coverage", key, other, "right covers more of the catalogue") if other else None


def entropy_plot(results: Results) -> Picture | None:
    """The hit rate against the entropy of what is recommended (thesis, figure 6.2)."""
    k = results.cutoffs[0] if results.cutoffs else 0
    return _plane(results, "entropy", f"HR@{k}", f"SE@{k}", "right recommends items more evenly")


def _plane(results: Results, name: str, key: str, other: str, right: str) -> Picture | None:
    """Every model by two metrics; nothing where fewer than two have both."""
    lines = both(results, key, other)
    if len(lines) < 2:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        figure.subplots_adjust(0.07, 0.14, 0.985, 0.97)
        best = [line.values for line in front(lines, other, key)]
        steps = [one[other].mean for one in best], [one[key].mean for one in best]
        axes.plot(*steps, drawstyle="steps-post", color=MUTED, linewidth=1.2)
        scatter(axes, lines, other, key)

    return Picture(
        name,
        f"{key} against {other}",
        f"{upwards(key)}, {right}; no model is above and right of the stepped line.{kinds(results)}",
        f"{metric_caption(results, key)} {metric_caption(results, other)}",
        draw(name, HEIGHT, paint),
    )


def cost_plot(results: Results) -> Picture | None:
    """The primary metric against each cost, with the Pareto front and the best centralised model as a line.

    Bytes have a picture of their own.
    """
    key = results.primary
    other = [cost for cost in results.costs if "kB" not in cost]
    costs = [cost for cost in other if key and _differs(both(results, key, cost), cost)][:4]
    if key is None or not costs:
        return None
    free = [line for line in results.ranked(key) if not line.model.federated][:1]

    def paint(figure: Figure) -> None:
        figure.subplots_adjust(0.07, 0.14, 0.985, 0.97, wspace=0.08)
        for place, axes in enumerate(panel_grid(figure, len(costs), 1, max(2, len(costs)), sharey=True)):
            lines = both(results, key, costs[place])
            best = [line.values for line in front(lines, costs[place], key)]
            steps = [one[costs[place]].mean for one in best], [one[key].mean for one in best]
            axes.plot(*steps, drawstyle="steps-post", color=MUTED, linewidth=1.2)
            scatter(axes, lines, costs[place], key, name_y=place == 0, lift=6)
            if free:
                axes.axhline(free[0].values[key].mean, color=MUTED, linewidth=1, linestyle=(0, (1, 2)))

    names = ", ".join(line.label for line in front(both(results, key, costs[0]), costs[0], key))
    compared = f" The dotted line is {free[0].label}, the best centralised model." if free else ""
    return Picture(
        "costs",
        f"{key} against what it costs",
        f"{upwards(key)}, left costs less. The stepped line is the Pareto front: none is better in both."
        + compared,
        f"On the Pareto front of {key} and {costs[0]}: {names}.",
        draw("costs", HEIGHT, paint),
    )


def upwards(key: str) -> str:
    """Where the accurate ones are in a plot with this metric upwards."""
    return f"{'Up' if better(key) == 'higher' else 'Down'} is more accurate"


def _differs(lines: Sequence[ModelSummary], cost: str) -> bool:
    """Whether the cost tells the lines apart."""
    return len({line.values[cost].mean for line in lines}) > 1


def both(results: Results, key: str, other: str) -> list[ModelSummary]:
    """The lines that have both values."""
    return [
        line for line in results.lines if is_number(line.values.get(key)) and is_number(line.values.get(other))
    ]


def front(lines: Sequence[ModelSummary], cost: str, key: str) -> list[ModelSummary]:
    """The lines no other beats: none is at least as good in both and better in one. Cheapest first."""
    return pareto_front(
        lines,
        lambda line: badness(cost, line.values[cost].mean),
        lambda line: -badness(key, line.values[key].mean),
    )


def scatter(
    axes: Axes, lines: Sequence[ModelSummary], x: str, y: str, name_y: bool = True, lift: float = 0
) -> None:
    """One marker per model with its interval in y, each named beside it, `lift` points higher."""
    from matplotlib.ticker import MaxNLocator

    for line in lines:
        here, there = line.values[x].mean, line.values[y]
        if there.low <= there.high:
            axes.vlines(here, there.low, there.high, colors=colour(line), linewidth=1)
        axes.plot([here], [there.mean], shape(line), color=colour(line), markersize=6.5, markeredgecolor=PAPER)
    axes.margins(x=0.09, y=0.12)
    axes.set_xlabel(_named(x), labelpad=3)
    if name_y:
        axes.set_ylabel(_named(y))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=x.startswith("IC@")))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    place_names(axes, [(line.label, line.values[x].mean, line.values[y].mean) for line in lines], lift)


def _named(key: str) -> str:
    """A metric with what it is, where that fits beside the axis."""
    whole = f"{key}: {title(key)}"
    return whole if title(key) != key and len(whole) <= LABEL else key


def place_names(axes: Axes, named: Sequence[tuple[str, float, float]], lift: float) -> None:
    """Names (label, x, y) to the right of their markers; a name that would lie on another is moved down."""
    axes.autoscale_view()
    points = axes.transData.transform([(x, y) for _, x, y in named])
    right = axes.get_window_extent().x1
    unit = axes.figure.dpi / 72
    placed: list[tuple[float, float, float]] = []  # left, right, height
    labels = (label for label, _, _ in named)
    for label, (px, py) in sorted(zip(labels, points.tolist()), key=lambda pair: (-pair[1][1], pair[1][0])):
        text = short(label)
        wide = (5.2 * len(text) + 4) * unit
        flip = px + 8 * unit + wide > right
        start = px - 8 * unit - wide if flip else px + 8 * unit
        level = py + lift * unit
        for left, end, height in sorted(placed, key=lambda one: -one[2]):
            if start < end and left < start + wide and abs(level - height) < 10 * unit:
                level = height - 10 * unit
        placed.append((start, start + wide, level))
        axes.annotate(
            text,
            (px, py),
            ((-7 if flip else 7), (level - py) / unit),
            xycoords="figure pixels",
            textcoords="offset points",
            ha="right" if flip else "left",
            va="center",
            fontsize=8,
            color=INK,
        )
