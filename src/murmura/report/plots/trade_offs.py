"""What accuracy is bought with: coverage, bytes, disclosed items; and who is on the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from murmura.report.plots.drawing import INK, MUTED, PAPER, Picture, draw, panel_grid, short
from murmura.report.plots.metrics import colour, kinds, metric_caption, shape
from murmura.report.summary import ModelSummary, Results, badness, better, is_number, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 3.4
LABEL = 48  # characters of an axis' label


def coverage_plot(results: Results) -> Picture | None:
    """The primary metric against item coverage, or against the next best thing that describes all lists."""
    key = results.primary
    if key is None:
        return None
    k = results.cutoffs[0]
    other = next((one for one in (f"IC@{k}", f"G@{k}", f"SE@{k}") if one in results.metrics), None)
    lines = both(results, key, other) if other else []
    if other is None or len(lines) < 2:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        figure.subplots_adjust(0.07, 0.14, 0.985, 0.97)
        scatter(axes, lines, other, key)

    return Picture(
        "coverage",
        f"{key} against {other}",
        f"{upwards(key)}, right covers more of the catalogue.{kinds(results)}",
        f"{metric_caption(results, key)} {metric_caption(results, other)}",
        draw("coverage", HEIGHT, paint),
    )


def cost_plot(results: Results) -> Picture | None:
    """The primary metric against each cost, with the Pareto front and the best centralised model as a line."""
    key = results.primary
    costs = [cost for cost in results.costs if key and _differs(both(results, key, cost), cost)][:4]
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


def pareto_front(cost: Sequence[float], gain: Sequence[float]) -> list[int]:
    """The places that no other place beats: none costs at most as much, gains at least as much, and differs.

    Thesis, 4.6.4 and figure 4.6. Cheapest first; equal ones are all on it, in their order.
    """
    order = sorted(range(len(cost)), key=lambda place: (cost[place], -gain[place], place))
    front: list[int] = []
    for place in order:
        better = not front or gain[place] > gain[front[-1]]
        equal = bool(front) and (cost[place], gain[place]) == (cost[front[-1]], gain[front[-1]])
        if better or equal:
            front.append(place)
    return front


def front(lines: Sequence[ModelSummary], cost: str, key: str) -> list[ModelSummary]:
    """The lines no other beats: none is at least as good in both and better in one. Cheapest first."""
    prices = [badness(cost, line.values[cost].mean) for line in lines]
    gains = [-badness(key, line.values[key].mean) for line in lines]
    return [lines[place] for place in pareto_front(prices, gains)]


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
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    _names(axes, lines, x, y, lift)


def _named(key: str) -> str:
    """A metric with what it is, where that fits beside the axis."""
    whole = f"{key}: {title(key)}"
    return whole if title(key) != key and len(whole) <= LABEL else key


def _names(axes: Axes, lines: Sequence[ModelSummary], x: str, y: str, lift: float) -> None:
    """Names to the right of their markers; a name that would lie on another is moved down."""
    axes.autoscale_view()
    points = axes.transData.transform([(line.values[x].mean, line.values[y].mean) for line in lines])
    right = axes.get_window_extent().x1
    unit = axes.figure.dpi / 72
    placed: list[tuple[float, float, float]] = []  # left, right, height
    for line, (px, py) in sorted(zip(lines, points.tolist()), key=lambda pair: (-pair[1][1], pair[1][0])):
        text = short(line.label)
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
