"""Models by two values: accuracy against coverage, evenness and costs; the front is who no other beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from murmura.evaluation.pareto import pareto_front
from murmura.evaluation.registry import badness, better, title
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.summary import ModelSummary, Results, is_number
from murmura.report.table import decimals_for, number

HEIGHT = 3.4
LABEL = 48  # characters of an axis' label


def section(compared: Compared) -> Section | None:
    """Accuracy and evenness (thesis, figure 6.2), where both were measured."""
    k = compared.folder.cutoff
    if not any({f"HR@{k}", f"SE@{k}"} <= point.found.keys() for point in compared.points):
        return None
    return Section.of("entropy", "Accuracy and evenness", entropy_plot(compared.results))


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


def coverage_plot(results: Results) -> drawing.Picture | None:
    """The primary metric against item coverage, or against the next best thing that describes all lists."""
    key, k = results.primary, next(iter(results.cutoffs), 0)
    other = next((one for one in (f"IC@{k}", f"G@{k}", f"SE@{k}") if one in results.metrics), None)
    covers = "right covers more of the catalogue"
    return _plane(results, "coverage", key, other, covers) if key and other else None


def entropy_plot(results: Results) -> drawing.Picture | None:
    """The hit rate against the entropy of what is recommended (thesis, figure 6.2)."""
    k = next(iter(results.cutoffs), 0)
    return _plane(results, "entropy", f"HR@{k}", f"SE@{k}", "right recommends items more evenly")


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
    told = [cost for cost, lines in having.items() if len({line.values[cost].mean for line in lines}) > 1][:4]
    if not told:
        return None
    free = [line for line in results.ranked(key) if not line.model.federated][:1]
    with drawing.canvas("costs", HEIGHT) as made:
        for place, (axes, cost) in enumerate(zip(made.row(len(told)), told)):
            _front_line(axes, having[cost], cost, key)
            scatter(axes, having[cost], cost, key, name_y=place == 0)
            for line in free:
                axes.axhline(line.values[key].mean, **drawing.DOTTED)
    names = ", ".join(line.label for line in front(having[told[0]], told[0], key))
    compared = "".join(f" The dotted line is {line.label}, the best centralised model." for line in free)
    return made.picture(
        f"{key} against what it costs",
        f"{upwards(key)}, left costs less. The stepped line is the Pareto front: none is better in both."
        + compared,
        f"On the Pareto front of {key} and {told[0]}: {names}.",
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
    axes.set_xlabel(_named(x), labelpad=3)
    if name_y:
        axes.set_ylabel(_named(y))
    drawing.few_ticks(axes, 6, 5, whole=x.startswith("IC@"))
    for line in lines:
        drawing.note(axes, line.values[x].mean, line.values[y].mean, drawing.short(line.label), drawing.INK, 8)


def _named(key: str) -> str:
    """A metric with what it is, where that fits beside the axis."""
    whole = f"{key}: {title(key)}"
    return whole if title(key) != key and len(whole) <= LABEL else key
