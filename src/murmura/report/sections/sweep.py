"""A sweep: accuracy over a setting (thesis, figure 4.2), against coverage (4.3) and costs (4.6, table 4.4).

Per epoch: FPL, long version, figure 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from murmura.evaluation.metric_names import title
from murmura.evaluation.pareto import pareto_front
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import (
    NAME,
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    estimate_cell,
    number,
    number_cell,
    text_cell,
)
from murmura.runs.sweep import Sweep, SweepPoint, value_text
from murmura.studies.analyses.exposure import MEAN_DISPARITY

DISCLOSED = "disclosed"
WIDE = 30  # costs that differ by more than this factor get a logarithmic axis
COSTS = (
    ("TCC", "TCC (papers): 10⁹ vectors exchanged", 1e-9),
    ("both", "measured: MB per client, both ways", 1.0),
    ("kB up/client", "measured: MB up per client", 1e-3),
    (DISCLOSED, "measured: disclosed fraction", 1.0),
)
Curves = dict[str, list[SweepPoint]]  # curve -> its points that have what is drawn, in the order of the values


def section(compared: Compared) -> Section | None:
    """Where a setting was swept."""
    what, found, k = compared.folder.sweep, compared.points, compared.folder.cutoff
    if what is None:
        return None
    drawn = (accuracy_picture, coverage_picture, evenness_picture, cost_picture, reciprocal_picture)
    pictures = [picture(what, found, k) for picture in drawn]
    return Section.of("sweep", f"Sweep over {what.key}", *pictures, sweep_table(what, found, k))


def curves(what: Sweep, found: Sequence[SweepPoint], *keys: str) -> Curves:
    """The points of each curve that have all the keys."""
    return {
        name: [point for point in found if point.curve == name and all(key in point.found for key in keys)]
        for name in what.curves
    }


def beside(what: Sweep, found: Sequence[SweepPoint], key: str) -> dict[str, float]:
    """The value of each model that stands beside the sweep."""
    return {
        point.label: point.found[key] for point in found if point.label in what.beside and key in point.found
    }


def accuracy_picture(what: Sweep, found: Sequence[SweepPoint], k: int) -> drawing.Picture | None:
    """F1 over the swept setting (figure 4.2); the measured disclosed fraction on the second axis."""
    key = f"F1@{k}"
    drawn = curves(what, found, key)
    if not any(drawn.values()):
        return None
    disclosed = any(DISCLOSED in point.found for points in drawn.values() for point in points)

    def paint(figure: drawing.Figure) -> None:
        axes = figure.subplots()
        _over_values(axes, what, drawn, found, key)
        if disclosed:
            _second_axis(axes, what, drawn)
        drawing.curve_legend(figure, drawing.curve_styles(list(drawn)))

    best = {name: max(points, key=lambda p: p.found[key]) for name, points in drawn.items() if points}
    said = ", ".join(
        f"{name} {_number(point, key)} at {what.key} {value_text(point.value)}" for name, point in best.items()
    )
    second = (
        " Dashed, on the right axis: the fraction of a user's positives that left her device at least once, "
        "as measured, mean over users."
        if disclosed
        else ""
    )
    dotted = " Dotted: models that do not have the setting." if beside(what, found, key) else ""
    return drawing.Picture(
        "sweep-accuracy",
        f"{key} over {what.key}",
        f"{title(key)}: means over users{_seeds(found)}.{second}{dotted}",
        f"Best {key} of each: {said}.",
        drawing.draw("sweep-accuracy", 3.6, paint),
    )


def _over_values(axes: drawing.Axes, what: Sweep, drawn: Curves, found: Sequence[SweepPoint], key: str) -> None:
    """The curves of a value, and a dotted line for each model beside them."""
    places = value_places(what)
    for name, level in beside(what, found, key).items():
        axes.axhline(level, color=drawing.MUTED, linewidth=1, linestyle=(0, (1, 2)))
        drawing.note(axes, max(places.values()), level, name)
    for (name, look), points in zip(drawing.curve_styles(list(drawn)).items(), drawn.values()):
        x = [places[value_text(point.value)] for point in points]
        axes.plot(x, [point.found[key] for point in points], label=name, zorder=3, **look.line())
    axes.set_xticks(list(places.values()), list(places))
    axes.set_xlabel(what.key, labelpad=3)
    axes.set_ylabel(key)
    axes.set_ylim(bottom=0)


def _second_axis(axes: drawing.Axes, what: Sweep, drawn: Curves) -> None:
    places = value_places(what)
    right = axes.twinx()
    for (_, look), points in zip(drawing.curve_styles(list(drawn)).items(), drawn.values()):
        known = [point for point in points if DISCLOSED in point.found]
        x = [places[value_text(point.value)] for point in known]
        y = [point.found[DISCLOSED] for point in known]
        right.plot(x, y, color=look.colour, linewidth=1, linestyle=(0, (4, 2.5)), alpha=0.75)
    right.set_ylim(0, 1.04)
    right.set_ylabel("disclosed fraction, measured (dashed)")
    right.grid(visible=False)
    axes.set_zorder(right.get_zorder() + 1)


def value_places(what: Sweep) -> dict[str, float]:
    """Where each value stands along an axis: numbers at their size when evenly spread, others in a row."""
    texts = [value_text(value) for value in what.values]
    numbers = [float(value) for value in what.values if isinstance(value, int | float)]
    steps = [b - a for a, b in pairwise(numbers)]
    if len(numbers) == len(texts) and steps and 0 < max(steps) <= 3 * min(steps):
        return dict(zip(texts, numbers))
    return {text: float(place) for place, text in enumerate(texts)}


def coverage_picture(what: Sweep, found: Sequence[SweepPoint], k: int) -> drawing.Picture | None:
    """Item coverage against precision as the setting grows (figure 4.3)."""
    x, y = f"IC@{k}", f"P@{k}"
    drawn = curves(what, found, x, y)
    if not any(drawn.values()):
        return None

    def paint(figure: drawing.Figure) -> None:
        axes = _paths(figure, what, drawn, x, y)
        for point in found:
            if point.label in what.beside and x in point.found and y in point.found:
                axes.plot([point.found[x]], [point.found[y]], "x", color=drawing.MUTED)
                drawing.note(axes, point.found[x], point.found[y], point.label)
        axes.set_xlabel(f"{x}: {title(x)}", labelpad=3)
        axes.xaxis.set_major_formatter("{x:,.0f}")

    last = value_text(what.values[-1])
    said = "; ".join(
        f"{name} from {_number(points[0], x)} items and {y} {_number(points[0], y)} to "
        f"{_number(points[-1], x)} and {_number(points[-1], y)}"
        for name, points in drawn.items()
        if points
    )
    return drawing.Picture(
        "sweep-coverage",
        f"{y} against {x} along {what.key}",
        f"Each line follows {what.key} through its values; the hollow marker is {what.key} {last}. "
        "Up is more accurate, right covers more of the catalogue.",
        f"Along {what.key}: {said}.",
        drawing.draw("sweep-coverage", 3.6, paint),
    )


def evenness_picture(what: Sweep, found: Sequence[SweepPoint], k: int) -> drawing.Picture | None:
    """G over the swept setting and, where the items have categories, the mean |BD| of the lists."""
    keys = [key for key in (f"G@{k}", MEAN_DISPARITY) if any(curves(what, found, key).values())]
    if not keys:
        return None
    drawn = {key: curves(what, found, key) for key in keys}

    def paint(figure: drawing.Figure) -> None:
        for axes, key in zip(drawing.panel_grid(figure, len(keys), 1, len(keys)), keys):
            _over_values(axes, what, drawn[key], found, key)
        drawing.curve_legend(figure, drawing.curve_styles(list(what.curves)))

    said = "; ".join(
        f"{key} of {name} from {_number(points[0], key)} to {_number(points[-1], key)}"
        for key in keys
        for name, points in drawn[key].items()
        if points
    )
    return drawing.Picture(
        "sweep-evenness",
        f"{' and '.join(keys)} over {what.key}",
        "G: 1 - Gini of how often items are recommended, higher is more even. mean |BD|: how far the lists "
        "depart from the training part's share of a category, mean over categories. Dotted: models without the "
        "setting.",
        f"Along {what.key}: {said}.",
        drawing.draw("sweep-evenness", 3.2, paint),
    )


def _paths(figure: drawing.Figure, what: Sweep, drawn: Curves, x: str, y: str) -> drawing.Axes:
    """A line for each curve through its values, the last one hollow, both ends named."""
    axes, styles = figure.subplots(), drawing.curve_styles(list(drawn))
    for look, points in zip(styles.values(), drawn.values()):
        axes.plot([p.found[x] for p in points], [p.found[y] for p in points], **look.line())
        for point in points[-1:]:
            if value_text(point.value) == value_text(what.values[-1]):
                hollow = {"markerfacecolor": drawing.PAPER, "markeredgecolor": look.colour}
                end = look.line(markeredgewidth=1.3, zorder=4, **hollow)
                axes.plot([point.found[x]], [point.found[y]], **end)
        for point in {point.label: point for point in (*points[:1], *points[-1:])}.values():
            drawing.note(axes, point.found[x], point.found[y], value_text(point.value), look.colour)
    axes.set_ylabel(f"{y}: {title(y)}")
    axes.margins(x=0.06, y=0.1)
    drawing.curve_legend(figure, styles)
    return axes


def _number(point: SweepPoint, key: str) -> str:
    return number(point.found[key], decimals_for([point.found[key]]))


def _seeds(found: Sequence[SweepPoint]) -> str:
    most = max((point.seeds for point in found), default=1)
    return f" and {most} seeds" if most > 1 else ""


def cost_picture(what: Sweep, found: Sequence[SweepPoint], k: int) -> drawing.Picture | None:
    """Precision against communication with the Pareto front (figure 4.6): as the papers count, and in bytes."""
    y = f"P@{k}"
    drawn = curves(what, found, y)
    every = [point for points in drawn.values() for point in points]
    costs = [(key, name, unit) for key, name, unit in COSTS if any(cost(p, key) is not None for p in every)]
    if not costs:
        return None

    def paint(figure: drawing.Figure) -> None:
        row = drawing.panel_grid(figure, len(costs), 1, max(2, len(costs)), sharey=True)
        for axes, one in zip(row, costs):
            _cost_panel(axes, drawn, one, y)
        row[0].set_ylabel(f"{y}: {title(y)}")
        drawing.curve_legend(figure, drawing.curve_styles(list(drawn)))

    front = ", ".join(point.label for point in front_points(every, costs[0][0], y))
    return drawing.Picture(
        "sweep-costs",
        f"{y} against communication",
        "Up is more accurate, left costs less; small dots are all values, the large marker is the best of each "
        "model. The stepped line is the Pareto front of all: none is better in both. TCC counts item vectors "
        "as the papers do (downloads of the whole model included); bytes are those of the codec.",
        f"On the Pareto front of {y} and {costs[0][0]}: {front}.",
        drawing.draw("sweep-costs", 3.6, paint),
    )


def reciprocal_picture(what: Sweep, found: Sequence[SweepPoint], k: int) -> drawing.Picture | None:
    """Precision against the reciprocal cost of an epoch, every value of every curve (FPL, long, figure 4)."""
    x, y = "1/CCE", f"P@{k}"
    known = [replace(one, found={**one.found, x: 1 / one.found["CCE"]}) for one in found if "CCE" in one.found]
    drawn = curves(what, known, x, y)
    front = front_points([point for points in drawn.values() for point in points], "CCE", y)
    if not front:
        return None

    def paint(figure: drawing.Figure) -> None:
        axes = _paths(figure, what, drawn, x, y)
        wide: dict[str, Any] = {"color": drawing.MUTED, "linewidth": 4, "alpha": 0.4, "zorder": 0}
        axes.plot([p.found[x] for p in front], [p.found[y] for p in front], **wide)
        axes.set_xlabel("1 / CCE: one over the vectors exchanged in an epoch", labelpad=3)

    last = value_text(what.values[-1])
    return drawing.Picture(
        "sweep-cce",
        f"{y} against {x}",
        f"Up is more accurate, right costs less in an epoch; each line follows {what.key}, the hollow marker "
        f"is {what.key} {last}. The wide grey line is the Pareto front over all values and models.",
        f"On the Pareto front of {y} and {x}: {', '.join(point.label for point in front)}.",
        drawing.draw("sweep-cce", 3.4, paint),
    )


def _cost_panel(axes: drawing.Axes, drawn: Curves, what: tuple[str, str, float], y: str) -> None:
    key, name, unit = what
    known = [p for points in drawn.values() for p in points if cost(p, key) is not None]
    front = front_points(known, key, y)
    steps = [(unit * (cost(point, key) or 0.0), point.found[y]) for point in front]
    axes.plot(*zip(*steps), drawstyle="steps-post", color=drawing.MUTED, linewidth=1.2)
    sizes = [unit * (cost(point, key) or 0.0) for point in known]
    wide = min(sizes) > 0 and (max(sizes) > WIDE * min(sizes) or "MB" in name)  # bytes: powers of ten
    for (_, look), points in zip(drawing.curve_styles(list(drawn)).items(), drawn.values()):
        here = [point for point in points if point in known]
        x = [unit * (cost(point, key) or 0.0) for point in here]
        axes.plot(x, [p.found[y] for p in here], ".", color=look.colour, markersize=4, alpha=0.7)
        if here:
            best = max(range(len(here)), key=lambda place: here[place].found[y])
            axes.plot([x[best]], [here[best].found[y]], **look.line(markersize=7.5, zorder=4))
            drawing.note(axes, x[best], here[best].found[y], value_text(here[best].value), drawing.INK)
    if wide:
        drawing.logarithmic(axes, "x")
    else:
        drawing.few_ticks(axes, 4)
    axes.set_xlabel(name, labelpad=3)
    axes.margins(x=0.12, y=0.1)


def cost(point: SweepPoint, key: str) -> float | None:
    """A cost of a point; `both` is up and down together, in MB per client."""
    if key != "both":
        return point.found.get(key)
    up, down = point.found.get("kB up/client"), point.found.get("kB down/client")
    return None if up is None or down is None else (up + down) / 1000


def front_points(found: Sequence[SweepPoint], key: str, gain: str) -> list[SweepPoint]:
    """The points on the Pareto front of a cost and a gain, cheapest first."""
    return pareto_front(found, lambda point: cost(point, key), lambda point: point.found.get(gain))


def sweep_table(what: Sweep, found: Sequence[SweepPoint], k: int) -> ReportTable | None:
    """Every value of every model: accuracy, coverage, evenness, the papers' costs and the measured ones."""
    keys = (f"F1@{k}", f"P@{k}", f"IC@{k}", f"G@{k}", MEAN_DISPARITY)
    shown = [key for key in keys if any(key in point.found for point in found)]
    prices = [
        ("TCC", "TCC", "vectors exchanged in all epochs, as the papers count them (table 4.4)"),
        ("both", "MB/client", "measured bytes, up and down, per client"),
        ("kB up/client", "kB up/client", "measured bytes up per client"),
        ("disclosed", "disclosed", "measured: the mean fraction of a user's positives that left her device"),
        ("CCE", "CCE", "vectors exchanged in an epoch (FPL, long version, table 3)"),
    ]
    prices = [one for one in prices if any(cost(point, one[0]) is not None for point in found)]
    ordered = [point for curve in what.curves for point in found if point.curve == curve]
    ordered += [point for point in found if point.label in what.beside]
    marked = [one for one in prices if one[0] in ("CCE", prices[0][0])] if f"P@{k}" in shown else []
    fronts = {  # of the first cost, and of an epoch's
        "front" if place == 0 else f"front, {name}": (name, front_points(ordered, key, f"P@{k}"))
        for place, (key, name, _) in enumerate(marked)
    }
    rows: list[tuple[TableCell, ...]] = []
    for point in ordered:
        cells = [_estimate(point, key, ordered) for key in shown]
        cells += [_cell(cost(point, key), [cost(p, key) for p in ordered]) for key, _, _ in prices]
        value = "" if point.value is None else value_text(point.value)
        marks = (text_cell("●" if point in front else "") for _, front in fronts.values())
        rows.append((text_cell(point.curve), text_cell(value), *cells, *marks))
    if not rows:
        return None
    columns = (
        NAME,
        Column(what.key),
        *(Column(key, title(key)) for key in shown),
        *(Column(name, meaning) for _, name, meaning in prices),
        *(
            Column(head, f"on the Pareto front of P@{k} and {name}", numeric=False)
            for head, (name, _) in fronts.items()
        ),
    )
    notes = tuple(
        f"● in {head}: on the Pareto front of P@{k} and {name}." for head, (name, _) in fronts.items()
    )
    if any(point.seeds > 1 for point in ordered):
        notes += ("In brackets: the 95 % interval over seeds.",)
    if MEAN_DISPARITY in shown:
        notes += ("mean |BD|: bias disparity towards categories without its sign, mean over categories.",)
    return ReportTable("sweep", f"The sweep over {what.key}, value by value", columns, tuple(rows), notes)


def _estimate(point: SweepPoint, key: str, among: Sequence[SweepPoint]) -> TableCell:
    """A metric with its interval over seeds, where several were run."""
    return estimate_cell(point.over_seeds(key), decimals_for([one.found.get(key) for one in among]))


def _cell(value: float | None, among: Sequence[float | None]) -> TableCell:
    return number_cell(value, decimals_for(among))
