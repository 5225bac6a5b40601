"""What training went like, what one device sends and downloads, and what accuracy that buys; the ledger."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.engine.part_files import ordered
from murmura.engine.run_folder import RoundTable, Run
from murmura.evaluation.registry import title
from murmura.evaluation.significance import Interval
from murmura.report import drawing
from murmura.report.drawing import CENTRAL, FEDERATED, Axes, Picture, canvas, few_ticks, note, short
from murmura.report.page import Compared, Section
from murmura.report.sections.facts import value_cell
from murmura.report.sections.metrics import cost_plot, front, metric_caption, upwards
from murmura.report.summary import ModelSummary, Results, decimals_for, is_number
from murmura.report.table import Column, ReportTable, TableCell, number_cell, plain_table
from murmura.studies.compare.folder import ComparisonFolder, ModelRuns

MOST = 200  # points of a curve
TIMES = ("epoch", "round", "rounds", "step")
CURVES_ACROSS = 4  # panels side by side
Curve = tuple[str, Floats, Floats]  # what runs along, its values, and those of a column


def training_section(compared: Compared) -> Section | None:
    """The losses, where methods wrote them."""
    if compared.crowded:
        return None
    caption = (
        "Loss over epochs or rounds, one line per seed. The losses of different methods are not comparable."
    )
    drawn = _training_picture(compared.folder, "loss", "Loss", "Loss", caption, "loss")
    return Section.of("training", "Training", drawn)


def curve(rounds: RoundTable | None, column: str) -> Curve | None:
    """A column over what runs along, at most MOST points; None where there are none."""
    if rounds is None or column not in rounds.columns:
        return None
    values = rounds.values[:, rounds.columns.index(column)]
    along, steps = _time(rounds)
    known = np.flatnonzero(np.isfinite(values) & np.isfinite(steps))
    if not len(known):
        return None
    kept = known[thinned(len(known))]
    return along, steps[kept], values[kept]


def thinned(points: int) -> Longs:
    """The places of at most MOST of so many points, evenly spread, the first and the last among them."""
    return np.unique(np.linspace(0, points - 1, min(MOST, points)).round().astype(np.int64))


def _time(rounds: RoundTable) -> tuple[str, Floats]:
    """The first column of TIMES that only grows; otherwise the number of the line."""
    for name in TIMES:
        if name in rounds.columns:
            steps: Floats = rounds.values[:, rounds.columns.index(name)]
            if (np.diff(steps) > 0).all():
                return name, steps
    return "line", np.arange(1.0, len(rounds.values) + 1)


def _training_picture(
    folder: ComparisonFolder, name: str, title: str, measured: str, caption: str, column: str, *band: str
) -> Picture | None:
    """A panel for every model that wrote the column, perhaps with a band; None where none did."""
    drawn = []
    for model in folder.models:
        known = [(part.rounds, found) for part in model.parts if (found := curve(part.rounds, column))]
        drawn += [(model, known)] if known else []
    if not drawn:
        return None
    with canvas(name, 0.35 + 1.45 * math.ceil(len(drawn) / CURVES_ACROSS)) as made:
        for axes, (model, known) in zip(made.panels(len(drawn), CURVES_ACROSS), drawn):
            if band:
                _band(axes, *(curve(known[0][0], one) for one in band))
            for _, (along, steps, values) in known:
                colour, marker = FEDERATED if model.federated else CENTRAL, "o" if len(values) == 1 else ""
                axes.plot(steps, values, marker=marker, color=colour, linewidth=1.1, markersize=4)
                axes.set_xlabel(along, fontsize=7.5)
            axes.set_title(short(model.label))
            few_ticks(axes, 4, 4, whole=True)
    ends = ((model.label, known[0][1][2]) for model, known in drawn)
    said = "; ".join(f"{label} from {values[0]:.4g} to {values[-1]:.4g}" for label, values in ends)
    return made.picture(title, caption, f"{measured} of the first seed, first to last line: {said}.")


def _band(axes: Axes, low: Curve | None, high: Curve | None) -> None:
    """Of fractions: between two of their quantiles."""
    if low and high and len(low[1]) == len(high[1]):
        axes.fill_between(low[1], low[2], high[2], color=FEDERATED, alpha=0.2, linewidth=0)
    axes.set_ylim(0, 1.04)


UP, DOWN = "kB up/client", "kB down/client"


def section(compared: Compared) -> Section | None:
    """Bytes, other costs and disclosure of federated models; nothing of a crowd that fits into no chart."""
    if compared.crowded:
        return None
    found, folder = compared.results, compared.folder
    caption = (
        "The fraction of a user's positives that has left her device at least once: the mean over users, one "
        "line per seed; the band leaves out the tenth of users with the least and the tenth with the most."
    )
    title, measured = "Disclosed so far", "Mean disclosed fraction"
    columns = (f"disclosed_{one}" for one in ("mean", "q10", "q90"))
    disclosed = _training_picture(folder, "disclosed", title, measured, caption, *columns)
    drawn = traffic_plot(found), cost_plot(found), disclosed
    return Section.of("cost", "What left the devices", *drawn, traffic_table(found), ledger_table(folder))


# what a device pays in all, the model it ranks with included, and in one visit
PRICES = tuple(f"kB{way} per {what}" for what in ("device", "visit") for way in (" up", " down", ""))
VISITS, FINAL = "visits of a device", "final kB"  # FINAL: of the model it ranks with alone
ACROSS = 3
HEIGHT = 3.0  # inches of a row of panels


def priced(results: Results) -> list[ModelSummary]:
    """The models that have the primary metric and counted their bytes, best first; prices are values too."""
    found = ((line, device_traffic(line.model)) for line in results.ranked(results.primary or ""))
    return [
        replace(line, values=line.values | {name: Interval(value) for name, value in traffic.items()})
        for line, traffic in found
        if traffic is not None
    ]


def device_traffic(model: ModelRuns) -> dict[str, float] | None:
    """PRICES, VISITS and FINAL of a federated model, means over its seeds; None where none counted bytes.

    NaN where the folder does not say.
    """
    counted = [part for part in model.done if UP in part.metrics and DOWN in part.metrics]
    if not counted:
        return None
    found = [_of_run(part) for part in counted]
    up, down, up_visit, down_visit, *more = (math.fsum(values) / len(found) for values in zip(*found))
    prices = up, down, up + down, up_visit, down_visit, up_visit + down_visit
    return dict(zip((*PRICES, VISITS, FINAL), (*prices, *more)))


def _of_run(part: Run) -> tuple[float, ...]:
    """Up and down in all, up and down in a visit, visits, and the final model."""
    up, down, ledger = part.metrics[UP], part.metrics[DOWN], part.ledger or {}
    visits, sent = _number(ledger, "visits"), _number(ledger, "bytes_up")
    received, final = _number(ledger, "bytes_down"), _number(ledger, "final_bytes_down", 0.0)
    clients = _number(ledger, "clients")
    if not (visits > 0 and clients > 0):
        return up, down, *[math.nan] * 4
    each = 1000.0 * visits
    return up, down, sent / each, received / each, visits / clients, final / 1000 / clients


def _number(ledger: Mapping[str, Any], key: str, missing: float = math.nan) -> float:
    """A number of the ledger, which may be anybody's file."""
    value = ledger.get(key, missing)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def traffic_plot(results: Results) -> drawing.Picture | None:
    """A panel for each price that a device pays; nothing where no model counted bytes."""
    key, lines = results.primary, priced(results)
    if key is None or not lines:
        return None
    prices = [price for price in PRICES if any(is_number(line.values[price]) for line in lines)]
    central = [line for line in results.ranked(key) if not line.model.federated]
    # what the federated models and the best centralised one need of the axis; who is far below is left out
    means = [line.values[key].mean for line in (*lines, *central[:1])]
    margin = 0.2 * (max(means) - min(means)) or 0.1 * abs(means[0]) or 1.0
    low, high = min(means) - margin, max(means) + margin
    inside = [line for line in central if low <= line.values[key].mean <= high]
    with drawing.canvas("bytes", HEIGHT * math.ceil(len(prices) / ACROSS)) as made:
        for place, axes in enumerate(made.panels(len(prices), ACROSS, sharey=True)):
            axes.set_ylim(low, high)  # before any name is placed
            _price_panel(axes, lines, prices[place], key)
            for line in inside:
                level: dict[str, Any] = {**drawing.DOTTED, "color": drawing.CENTRAL, "linewidth": 0.9}
                axes.axhline(line.values[key].mean, zorder=0, **level)
                if place % ACROSS == 0:  # named at its left end where there is room
                    at = axes.get_xlim()[0], line.values[key].mean
                    note(axes, *at, drawing.short(line.label), drawing.CENTRAL, 7)
            if place % ACROSS == 0:
                axes.set_ylabel(key)
    both = "kB per device"
    names = ", ".join(line.label for line in front(lines, both, key))
    apart = ", ".join(line.label for line in central if line not in inside)
    compared = " Dotted lines are centralised models, to which everyone's data was moved" if central else ""
    compared += f" ({apart} not shown)." if apart else "." if central else ""
    return made.picture(
        f"{key} against bytes",
        f"Means of {key} (intervals: above). {upwards(key)}, left moves fewer bytes, in powers of "
        "ten. Per device: the whole training, and the model it ranks with. Filled, on the stepped line: the "
        f"Pareto front, whom no other federated model beats in both.{compared}",
        f"On the Pareto front of {key} and {both}: {names}. {metric_caption(results, key)}",
    )


def _price_panel(axes: drawing.Axes, lines: Sequence[ModelSummary], price: str, key: str) -> None:
    """Every model with this price; those on the front filled."""
    known = [line for line in lines if line.values[price].mean > 0]
    best = front(lines, price, key)
    steps = [line.values for line in best if line in known]
    axes.plot([one[price].mean for one in steps], [one[key].mean for one in steps], **drawing.STEPPED)
    filled = {"color": drawing.FEDERATED, "markeredgecolor": drawing.PAPER, "markeredgewidth": 0.7}
    hollow = {"color": drawing.PAPER, "markeredgecolor": drawing.FEDERATED, "markeredgewidth": 1.2}
    for line in known:
        look: dict[str, Any] = filled if line in best else hollow
        axes.plot([line.values[price].mean], [line.values[key].mean], "D", markersize=6, **look)
    axes.margins(x=0.14)
    drawing.logarithmic(axes, "x")
    axes.set_xlabel(price)
    for line in known:
        at = line.values[price].mean, line.values[key].mean
        note(axes, *at, drawing.short(line.label), drawing.INK, 8)


def traffic_table(results: Results) -> ReportTable | None:
    """One line for each federated model, best first; nothing where no model counted bytes."""
    key, lines = results.primary, priced(results)
    if key is None or not lines:
        return None

    def cells(name: str) -> list[TableCell]:
        values = [line.values[name].mean for line in lines]
        best = front(lines, name, key) if name in PRICES else []
        marks = ("∗" if line in best else "" for line in lines)
        decimals = decimals_for(values)
        return [replace(number_cell(value, decimals), mark=mark) for value, mark in zip(values, marks)]

    shown = (key, *PRICES, VISITS, FINAL)
    final = "of the bytes down per device: the model it ranks with after the last round"
    heads = {"model": "", **dict.fromkeys(shown, ""), key: title(key), FINAL: final}
    note = (
        f"∗ on the Pareto front of {key} and these bytes: no other federated model is at least as good in both "
        "and better in one. Bytes are exact to the message, without the headers of a network."
    )
    rows = zip([line.label for line in lines], *map(cells, shown))
    return plain_table("bytes", f"{key} against bytes", heads, rows, note)


def ledger_table(folder: ComparisonFolder) -> ReportTable | None:
    """What left the devices, from the ledgers of first finished seeds; of many models one row for each."""
    ledgers = [(m.label, m.done[0].ledger) for m in folder.models if m.done and m.done[0].ledger is not None]
    flat = {label: dict(_flat(ledger)) for label, ledger in ledgers}
    keys = ordered([list(found) for found in flat.values()])
    if not keys:
        return None
    if len(flat) > ACROSS:  # a row for each model
        head, across = "model", keys
        rows = [(label, *(value_cell(found.get(key)) for key in keys)) for label, found in flat.items()]
    else:
        head, across = "what left the devices", tuple(flat)
        rows = [(key, *(value_cell(found.get(key)) for found in flat.values())) for key in keys]
    heads: list[str | Column] = [head, *map(Column, across)]
    return plain_table("ledger", "The ledger", heads, rows, "One run per model: its first seed.")


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Nested keys joined by a dot; a long list of numbers becomes its count, least, middle and most."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and len(value) > 12 and all(isinstance(one, int | float) for one in value):
        least, middle, most = (sorted(value)[place] for place in (0, len(value) // 2, -1))
        yield path, f"{len(value)} values: {least:g}, median {middle:g}, {most:g}"
    else:
        yield path, value
