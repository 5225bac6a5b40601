"""A sweep: accuracy over a setting (thesis, figure 4.2), against coverage (4.3) and costs (4.6, table 4.4).

Per epoch: FPL, long version, figure 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError
from murmura.evaluation.registry import pareto_front, title
from murmura.evaluation.significance import seed_interval
from murmura.lab.analyses.item_exposure import MEAN_DISPARITY, exposure
from murmura.lab.sweep.folder import SweepPoint, entry_points, value_text
from murmura.report import drawing
from murmura.report.drawing import Picture, canvas
from murmura.report.page import Compared, Section
from murmura.report.summary import decimals_for
from murmura.report.table import NAME, Column, ReportTable, estimate_cell, number, plain_table
from murmura.studies.compare.folder import ComparisonFolder, Sweep

DISCLOSED, BOTH, RECIPROCAL = "disclosed", "MB/client", "1/CCE"
PLACE = "place"  # of a value along its axis
WIDE = 30  # costs that differ by more than this factor get a logarithmic axis
COSTS = {
    "TCC": "vectors exchanged in all epochs, as the papers count them (table 4.4)",
    BOTH: "measured bytes, up and down, per client",
    "kB up/client": "measured bytes up per client",
    DISCLOSED: "measured: the mean fraction of a user's positives that left her device",
    "CCE": "vectors exchanged in an epoch (FPL, long version, table 3)",
}
AXES = {  # of costs that are drawn: their unit and its name
    "TCC": (1e-9, "TCC (papers): 10⁹ vectors exchanged"),
    BOTH: (1.0, "measured: MB per client, both ways"),
    "kB up/client": (1e-3, "measured: MB up per client"),
    DISCLOSED: (1.0, "measured: disclosed fraction"),
}
Curves = dict[str, list[SweepPoint]]  # curve -> its points that have what is drawn, in the order of the values


def section(compared: Compared) -> Section | None:
    """Where a setting was swept."""
    what = compared.folder.sweep
    if what is None:
        return None
    found = SweepCurves.of(compared.folder, what)
    pictures = found.accuracy(), found.coverage(), found.evenness(), found.costs(), found.reciprocal()
    return Section.of("sweep", f"Sweep over {what.key}", *pictures, found.table())


def swept(folder: Path) -> ReportTable | None:
    """The table of a sweep's folder."""
    comparison = ComparisonFolder.open(folder)
    if comparison.sweep is None:
        raise RunError(f"{folder} must be the folder of a sweep, but is another; run `murmura sweep`.")
    return SweepCurves.of(comparison, comparison.sweep).table()


def value_places(what: Sweep) -> dict[str, float]:
    """Where each value stands along an axis: numbers at their size when evenly spread, others in a row."""
    texts = [value_text(value) for value in what.values]
    numbers = [float(value) for value in what.values if isinstance(value, int | float)]
    steps = [b - a for a, b in pairwise(numbers)]
    if len(numbers) == len(texts) and steps and 0 < max(steps) <= 3 * min(steps):
        return dict(zip(texts, numbers))
    return {text: float(place) for place, text in enumerate(texts)}


def number_at(point: SweepPoint, key: str) -> str:
    """A value of a point in words."""
    return number(point.found[key], decimals_for([point.found[key]]))


def plot_points(axes: drawing.Axes, points: Sequence[SweepPoint], x: str, y: str, **look: Any) -> None:
    """A line through the points, or a marker at each."""
    axes.plot([point.found[x] for point in points], [point.found[y] for point in points], **look)


@dataclass(frozen=True, eq=False)
class SweepCurves:
    """The points of a sweep, and what there is to show of them."""

    what: Sweep
    points: Sequence[SweepPoint]
    k: int

    @staticmethod
    def of(comparison: ComparisonFolder, what: Sweep) -> SweepCurves:
        """The entries with what follows from theirs: |BD| of lists, places and costs along axes."""
        places, (_, bias), made = value_places(what), exposure(comparison), []
        for one in entry_points(comparison):
            found, each = dict(one.found), one.each
            if bias and one.label in bias.each_seed:
                of_seeds = bias.mean_disparities(one.label)
                found[MEAN_DISPARITY] = seed_interval(of_seeds).mean
                each = tuple(own | {MEAN_DISPARITY: value} for own, value in zip(each, of_seeds))
            if (value := value_text(one.value)) in places:
                found[PLACE] = places[value]
            if "kB up/client" in found and "kB down/client" in found:
                found[BOTH] = (found["kB up/client"] + found["kB down/client"]) / 1000
            if "CCE" in found:
                found[RECIPROCAL] = 1 / found["CCE"]
            found |= {axis: unit * found[key] for key, (unit, axis) in AXES.items() if key in found}
            made.append(replace(one, found=found, each=each))
        return SweepCurves(what, made, comparison.cutoff)

    @cached_property
    def styles(self) -> dict[str, dict[str, Any]]:
        """A look for each curve."""
        return drawing.curve_styles(list(self.what.curves))

    def curves(self, *keys: str) -> Curves:
        """The points of each curve that have all the keys; nothing where no point has."""
        having = [point for point in self.points if point.found.keys() >= {*keys}]
        drawn = {name: [point for point in having if point.curve == name] for name in self.what.curves}
        return drawn if any(drawn.values()) else {}

    def unswept(self, *keys: str) -> list[SweepPoint]:
        """The models that stand beside the sweep and have all the keys."""
        return [p for p in self.points if p.label in self.what.beside and p.found.keys() >= {*keys}]

    def front(self, cost: str, gain: str, *others: SweepPoint) -> list[SweepPoint]:
        """The points of all curves, and others, on the Pareto front of a cost and a gain, cheapest first."""
        points = [*(point for own in self.curves().values() for point in own), *others]
        return pareto_front(points, lambda point: point.found.get(cost), lambda point: point.found.get(gain))

    def accuracy(self) -> Picture | None:
        """F1 over the swept setting (figure 4.2); the measured disclosed fraction on the second axis."""
        key, setting = f"F1@{self.k}", self.what.key
        if not (drawn := self.curves(key)):
            return None
        disclosed = self.curves(key, DISCLOSED)
        with canvas("sweep-accuracy", 3.6, self.styles) as made:
            self._over_values(made.axes, key)
            if disclosed:
                right = made.axes.twinx()
                dashed: dict[str, Any] = {"linewidth": 1, "linestyle": (0, (4, 2.5)), "alpha": 0.75}
                for name, points in disclosed.items():
                    plot_points(right, points, PLACE, DISCLOSED, color=self.styles[name]["color"], **dashed)
                right.set(ylabel="disclosed fraction, measured (dashed)", ylim=(0, 1.04))
                right.grid(visible=False)
                made.axes.set_zorder(right.get_zorder() + 1)
        best = [max(points, key=lambda point: point.found[key]) for points in drawn.values() if points]
        said = ", ".join(f"{p.curve} {number_at(p, key)} at {setting} {value_text(p.value)}" for p in best)
        seeds = max(point.seeds for point in self.points)
        second = (
            " Dashed, on the right axis: the fraction of a user's positives that left her device at least "
            "once, as measured, mean over users."
        )
        dotted = " Dotted: models that do not have the setting." if self.unswept(key) else ""
        return made.picture(
            f"{key} over {setting}",
            f"{title(key)}: means over users{f' and {seeds} seeds' if seeds > 1 else ''}."
            f"{second if disclosed else ''}{dotted}",
            f"Best {key} of each: {said}.",
        )

    def _over_values(self, axes: drawing.Axes, key: str) -> None:
        """The curves of a value, and a dotted line for each model beside them."""
        places = value_places(self.what)
        for point in self.unswept(key):
            axes.axhline(point.found[key], **drawing.DOTTED)
            drawing.note(axes, max(places.values()), point.found[key], point.label)
        for name, points in self.curves(key).items():
            plot_points(axes, points, PLACE, key, zorder=3, **self.styles[name])
        axes.set_xticks(list(places.values()), list(places))
        axes.set(xlabel=self.what.key, ylabel=key, ylim=(0, None))

    def evenness(self) -> Picture | None:
        """G over the swept setting and, where the items have categories, the mean |BD| of the lists."""
        drawn = {key: found for key in (f"G@{self.k}", MEAN_DISPARITY) if (found := self.curves(key))}
        if not drawn:
            return None
        with canvas("sweep-evenness", 3.2, self.styles) as made:
            for axes, key in zip(made.panels(len(drawn), len(drawn)), drawn):
                self._over_values(axes, key)
        said = (
            f"{key} of {name} from {number_at(points[0], key)} to {number_at(points[-1], key)}"
            for key, found in drawn.items()
            for name, points in found.items()
            if points
        )
        return made.picture(
            f"{' and '.join(drawn)} over {self.what.key}",
            "G: 1 - Gini of how often items are recommended, higher is more even. mean |BD|: how far the lists "
            "depart from the training part's share of a category, mean over categories. Dotted: models without "
            "the setting.",
            f"Along {self.what.key}: {'; '.join(said)}.",
        )

    def coverage(self) -> Picture | None:
        """Item coverage against precision as the setting grows (figure 4.3)."""
        x, y, setting = f"IC@{self.k}", f"P@{self.k}", self.what.key
        if not (drawn := self.curves(x, y)):
            return None
        with canvas("sweep-coverage", 3.6, self.styles) as made:
            self._paths(made.axes, x, y, f"{x}: {title(x)}")
            for point in self.unswept(x, y):
                plot_points(made.axes, [point], x, y, marker="x", linestyle="None", color=drawing.MUTED)
                drawing.note(made.axes, point.found[x], point.found[y], point.label)
            made.axes.xaxis.set_major_formatter("{x:,.0f}")
        said = (
            f"{name} from {number_at(points[0], x)} items and {y} {number_at(points[0], y)} to "
            f"{number_at(points[-1], x)} and {number_at(points[-1], y)}"
            for name, points in drawn.items()
            if points
        )
        return made.picture(
            f"{y} against {x} along {setting}",
            f"Each line follows {setting} through its values; the hollow marker is {setting} {self._last}. "
            "Up is more accurate, right covers more of the catalogue.",
            f"Along {setting}: {'; '.join(said)}.",
        )

    def reciprocal(self) -> Picture | None:
        """Precision against the reciprocal cost of an epoch, all values of all curves (FPL, long, figure 4)."""
        x, y, setting = RECIPROCAL, f"P@{self.k}", self.what.key
        if not (front := self.front("CCE", y)):
            return None
        with canvas("sweep-cce", 3.4, self.styles) as made:
            self._paths(made.axes, x, y, "1 / CCE: one over the vectors exchanged in an epoch")
            plot_points(made.axes, front, x, y, color=drawing.MUTED, linewidth=4, alpha=0.4, zorder=0)
        return made.picture(
            f"{y} against {x}",
            f"Up is more accurate, right costs less in an epoch; each line follows {setting}, the hollow "
            f"marker is {setting} {self._last}. The wide grey line is the Pareto front over all values and "
            "models.",
            f"On the Pareto front of {y} and {x}: {', '.join(point.label for point in front)}.",
        )

    @property
    def _last(self) -> str:
        return value_text(self.what.values[-1])

    def _paths(self, axes: drawing.Axes, x: str, y: str, name: str) -> None:
        """A line for each curve through its values, the last one hollow, both ends named."""
        for curve, points in self.curves(x, y).items():
            look = self.styles[curve]
            plot_points(axes, points, x, y, **look)
            if points and value_text(points[-1].value) == self._last:
                hollow = {"markerfacecolor": drawing.PAPER, "markeredgecolor": look["color"], "zorder": 4}
                plot_points(axes, points[-1:], x, y, **look | hollow | {"markeredgewidth": 1.3})
            for point in {point.label: point for point in (*points[:1], *points[-1:])}.values():
                drawing.note(axes, point.found[x], point.found[y], value_text(point.value), look["color"])
        axes.set(xlabel=name, ylabel=f"{y}: {title(y)}")
        axes.margins(x=0.06, y=0.1)

    def costs(self) -> Picture | None:
        """Precision against communication with the Pareto front (figure 4.6): the papers' count, and bytes."""
        y = f"P@{self.k}"
        costs = [axis for key, (_, axis) in AXES.items() if self.curves(key, y)]
        if not costs:
            return None
        with canvas("sweep-costs", 3.6, self.styles) as made:
            row = made.row(len(costs))
            for axes, name in zip(row, costs):
                self._cost_panel(axes, name, y)
            row[0].set_ylabel(f"{y}: {title(y)}")
        first = next(key for key, (_, axis) in AXES.items() if axis == costs[0])
        return made.picture(
            f"{y} against communication",
            "Up is more accurate, left costs less; small dots are all values, the large marker is the best of "
            "each model. The stepped line is the Pareto front of all: none is better in both. TCC counts item "
            "vectors as the papers do (downloads of the whole model included); bytes are those of the codec.",
            f"On the Pareto front of {y} and {first}: {', '.join(p.label for p in self.front(first, y))}.",
        )

    def _cost_panel(self, axes: drawing.Axes, x: str, y: str) -> None:
        drawn = self.curves(x, y)
        plot_points(axes, self.front(x, y), x, y, **drawing.STEPPED)
        for name, points in drawn.items():
            look = self.styles[name]
            dots: dict[str, Any] = {"marker": ".", "linestyle": "None", "markersize": 4, "alpha": 0.7}
            plot_points(axes, points, x, y, color=look["color"], **dots)
            for best in sorted(points, key=lambda point: -point.found[y])[:1]:
                plot_points(axes, [best], x, y, **look | {"markersize": 7.5, "zorder": 4})
                drawing.note(axes, best.found[x], best.found[y], value_text(best.value), drawing.INK)
        sizes = [point.found[x] for points in drawn.values() for point in points]
        if min(sizes) > 0 and (max(sizes) > WIDE * min(sizes) or "MB" in x):  # bytes: powers of ten
            drawing.logarithmic(axes, "x")
        else:
            drawing.few_ticks(axes, 4)
        axes.set_xlabel(x)
        axes.margins(x=0.12, y=0.1)

    def table(self) -> ReportTable | None:
        """Every value of every model: accuracy, coverage, evenness, the papers' costs and the measured ones."""
        gain = f"P@{self.k}"
        ordered = [*(point for points in self.curves().values() for point in points), *self.unswept()]
        if not ordered:
            return None
        known = {key for point in ordered for key in point.found}
        keys = (f"F1@{self.k}", gain, f"IC@{self.k}", f"G@{self.k}", MEAN_DISPARITY)
        metrics = {key: title(key) for key in keys if key in known}
        costs = {key: meaning for key, meaning in COSTS.items() if key in known}
        marked = [key for key in costs if key in (next(iter(costs)), "CCE")] if gain in metrics else []
        fronts = {  # of the first cost, and of an epoch's
            f"front, {key}" if place else "front": (key, self.front(key, gain, *self.unswept()))
            for place, key in enumerate(marked)
        }
        digits = {key: decimals_for([point.found.get(key) for point in ordered]) for key in (*metrics, *costs)}
        rows = [
            (
                point.curve,
                "" if point.value is None else value_text(point.value),
                *(estimate_cell(point.over_seeds(key), digits[key]) for key in metrics),
                *((point.found.get(key), digits[key]) for key in costs),
                *("●" if point in front else "" for _, front in fronts.values()),
            )
            for point in ordered
        ]
        on_front = {head: f"on the Pareto front of {gain} and {key}" for head, (key, _) in fronts.items()}
        notes = [f"● in {head}: {meaning}." for head, meaning in on_front.items()]
        if any(point.seeds > 1 for point in ordered):
            notes.append("In brackets: the 95 % interval over seeds.")
        if MEAN_DISPARITY in metrics:
            notes.append("mean |BD|: bias disparity towards categories without its sign, mean over categories.")
        heads = [
            *(NAME, Column(self.what.key)),
            *(Column(key, meaning) for key, meaning in (metrics | costs).items()),
            *(Column(head, meaning, numeric=False) for head, meaning in on_front.items()),
        ]
        about = f"The sweep over {self.what.key}, value by value"
        return plain_table("sweep", about, heads, rows, *notes)
