"""Metric by metric, users' values, and models by two values: accuracy against coverage, evenness and costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.registry import badness, better, is_error, is_of_labels, pareto_front, title
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.summary import ModelSummary, Results, decimals_for, is_number
from murmura.report.table import number

HEIGHT = 3.4
LABEL = 48  # characters of an axis' label


def entropy_section(compared: Compared) -> Section | None:
    """The hit rate against the entropy of what is recommended (thesis, figure 6.2), where both are known."""
    k, right = next(iter(compared.results.cutoffs), 0), "right recommends items more evenly"
    picture = _plane(compared.results, "entropy", f"HR@{k}", f"SE@{k}", right)
    return Section.of("entropy", "Accuracy and evenness", picture)


def look(line: ModelSummary) -> dict[str, Any]:
    """Centralised and federated models differ in colour, and in shape."""
    colour, marker = (drawing.FEDERATED, "D") if line.model.federated else (drawing.CENTRAL, "o")
    return {"color": colour, "marker": marker, "markeredgecolor": drawing.PAPER}


def kinds(results: Results) -> str:
    """The sentence that explains the markers, where both kinds are there."""
    found = {line.model.federated for line in results.lines}
    return " Circles are centralised models, diamonds federated ones." if len(found) > 1 else ""


def metric_caption(results: Results, key: str) -> str:
    """A metric from best to worst, in words."""
    ranked = results.ranked(key)
    decimals = decimals_for([line.values[key].mean for line in ranked])
    each = ", ".join(f"{line.label} {number(line.values[key].mean, decimals)}" for line in ranked)
    return f"{key}, best first: {each}."


def _plane(results: Results, name: str, key: str, other: str, right: str) -> drawing.Picture | None:
    """Every model by two metrics; nothing where fewer than two have both."""
    lines = both(results, key, other)
    if len(lines) < 2:
        return None
    with drawing.canvas(name, HEIGHT) as made:
        _front_line(made.axes, lines, other, key)
        scatter(made.axes, lines, other, key)
    return made.picture(
        f"{key} against {other}",
        f"{upwards(key)}, {right}; no model is above and right of the stepped line.{kinds(results)}",
        f"{metric_caption(results, key)} {metric_caption(results, other)}",
    )


def cost_plot(results: Results) -> drawing.Picture | None:
    """The primary metric against each cost, with the Pareto front and the best centralised model as a line.

    Bytes have a picture of their own, and a cost that does not tell models apart has none.
    """
    key = results.primary or ""
    having = {cost: both(results, key, cost) for cost in results.costs if "kB" not in cost}
    costs = [cost for cost, lines in having.items() if len({line.values[cost].mean for line in lines}) > 1][:4]
    if not costs:
        return None
    free = [line for line in results.ranked(key) if not line.model.federated][:1]
    with drawing.canvas("costs", HEIGHT) as made:
        for place, (axes, cost) in enumerate(zip(made.row(len(costs)), costs)):
            _front_line(axes, having[cost], cost, key)
            scatter(axes, having[cost], cost, key, name_y=place == 0)
            for line in free:
                axes.axhline(line.values[key].mean, **drawing.DOTTED)
    names = ", ".join(line.label for line in front(having[costs[0]], costs[0], key))
    compared = "".join(f" The dotted line is {line.label}, the best centralised model." for line in free)
    return made.picture(
        f"{key} against what it costs",
        f"{upwards(key)}, left costs less. The stepped line is the Pareto front: none is better in both."
        + compared,
        f"On the Pareto front of {key} and {costs[0]}: {names}.",
    )


def upwards(key: str) -> str:
    """Where the accurate ones are in a plot with this metric upwards."""
    return f"{'Up' if better(key) == 'higher' else 'Down'} is more accurate"


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


def _front_line(axes: drawing.Axes, lines: Sequence[ModelSummary], x: str, y: str) -> None:
    best = [line.values for line in front(lines, x, y)]
    axes.plot([one[x].mean for one in best], [one[y].mean for one in best], **drawing.STEPPED)


def scatter(axes: drawing.Axes, lines: Sequence[ModelSummary], x: str, y: str, name_y: bool = True) -> None:
    """One marker per model with its interval in y, each named beside it where there is room."""
    for line in lines:
        here, there = line.values[x].mean, line.values[y]
        if there.low <= there.high:
            axes.vlines(here, there.low, there.high, colors=look(line)["color"], linewidth=1)
        axes.plot([here], [there.mean], linestyle="None", markersize=6.5, **look(line))
    axes.margins(x=0.09, y=0.12)
    axes.set(xlabel=_named(x), ylabel=_named(y) if name_y else "")
    drawing.few_ticks(axes, 6, 5, whole=x.startswith("IC@"))
    for line in lines:
        drawing.note(axes, line.values[x].mean, line.values[y].mean, drawing.short(line.label), drawing.INK, 8)


def _named(key: str) -> str:
    """A metric with what it is, where that fits beside the axis."""
    whole = f"{key}: {title(key)}"
    return whole if title(key) != key and len(whole) <= LABEL else key


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
    k = next(iter(found.cutoffs), 0)  # beside coverage stands the next best thing that describes all lists
    other = next((one for one in (f"IC@{k}", f"G@{k}", f"SE@{k}") if one in found.metrics), "")
    coverage = _plane(found, "coverage", found.primary or "", other, "right covers more of the catalogue")
    return Section.of("plots", "Plots", *metric_dots(found), coverage, user_shares(found))


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


def user_shares(results: Results) -> drawing.Picture | None:
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
