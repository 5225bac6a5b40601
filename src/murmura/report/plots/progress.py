"""How training went: one small panel per model, one line per seed.

How a search went: every trial in its order, the best so far, and each setting against what it reached.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from murmura.core.arrays import Floats
from murmura.report.plots.drawing import (
    CENTRAL,
    CURVES,
    FEDERATED,
    INK,
    MUTED,
    Picture,
    draw,
    panel_grid,
    short,
)
from murmura.report.tables.table import Column, ReportTable, decimals_for, number_cell, text_cell
from murmura.runs.comparison import ComparisonFolder, ModelRuns
from murmura.runs.run import RoundTable
from murmura.runs.trials import Side, Trial, best, best_place, ranked, side

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 200  # points of a curve
TIMES = ("epoch", "round", "rounds", "step")
ACROSS, ROWS_ACROSS = 4, 3  # panels side by side: of models and settings, of the rows of an experiment
TALL = 1.5  # inches of a row's panel
LOG_FROM = 20  # a setting whose largest value is this many times its smallest is drawn by its logarithm


def loss_curves(folder: ComparisonFolder) -> Picture | None:
    """The loss of every model that wrote one, over its epochs or rounds; each panel has its own scale."""
    caption = (
        "Loss over epochs or rounds, one line per seed. The losses of different methods are not comparable."
    )
    return _training_picture(folder, "loss", "loss", "Loss", "Loss", caption, _training_panel)


def disclosure_curves(folder: ComparisonFolder) -> Picture | None:
    """How much of the users' positives has left their devices so far, as training goes on."""
    caption = (
        "The fraction of a user's positives that has left her device at least once: the mean over users, one "
        "line per seed; the band leaves out the tenth of users with the least and the tenth with the most."
    )
    title, measured = "Disclosed so far", "Mean disclosed fraction"
    return _training_picture(folder, "disclosed", "disclosed_mean", title, measured, caption, _disclosed_panel)


def curve(rounds: RoundTable | None, column: str) -> tuple[str, Floats, Floats] | None:
    """What runs along, its values and the column's, at most MOST points; None where there are none."""
    if rounds is None or column not in rounds.columns:
        return None
    values = rounds.values[:, rounds.columns.index(column)]
    along, steps = _time(rounds)
    known = np.flatnonzero(np.isfinite(values) & np.isfinite(steps))
    if not len(known):
        return None
    kept = known[np.unique(np.linspace(0, len(known) - 1, min(MOST, len(known))).round().astype(int))]
    return along, steps[kept], values[kept]


def _time(rounds: RoundTable) -> tuple[str, Floats]:
    """The first column of TIMES that only grows; otherwise the number of the line."""
    for name in TIMES:
        if name in rounds.columns:
            steps: Floats = rounds.values[:, rounds.columns.index(name)]
            if (np.diff(steps) > 0).all():
                return name, steps
    return "line", np.arange(1.0, len(rounds.values) + 1)


def _training_picture(
    folder: ComparisonFolder,
    name: str,
    column: str,
    title: str,
    measured: str,
    caption: str,
    paint_one: Callable[[Axes, ModelRuns, str], None],
) -> Picture | None:
    """A panel for every model that wrote the column; None where none did."""
    models = [model for model in folder.models if any(curve(part.rounds, column) for part in model.parts)]
    if not models:
        return None
    down = math.ceil(len(models) / ACROSS)
    height = 0.35 + 1.45 * down

    def paint(figure: Figure) -> None:
        figure.subplots_adjust(0.06, 0.3 / height, 0.985, 1 - 0.25 / height, wspace=0.25, hspace=0.5)
        for axes, model in zip(panel_grid(figure, len(models), down, ACROSS), models):
            paint_one(axes, model, column)

    alt = f"{measured} of the first seed, first to last line: {_ends(models, column)}."
    return Picture(name, title, caption, alt, draw(name, height, paint))


def _training_panel(axes: Axes, model: ModelRuns, column: str) -> None:
    from matplotlib.ticker import MaxNLocator

    colour = FEDERATED if model.federated else CENTRAL
    for part in model.parts:
        found = curve(part.rounds, column)
        if found:
            along, steps, values = found
            marker = "o" if len(values) == 1 else ""
            axes.plot(steps, values, marker=marker, color=colour, linewidth=1.1, markersize=4)
            axes.set_xlabel(along, fontsize=7.5, labelpad=1)
    axes.set_title(short(model.label))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4))


def _disclosed_panel(axes: Axes, model: ModelRuns, column: str) -> None:
    first = next(part.rounds for part in model.parts if curve(part.rounds, column))
    low, high = curve(first, "disclosed_q10"), curve(first, "disclosed_q90")
    if low and high and len(low[1]) == len(high[1]):
        axes.fill_between(low[1], low[2], high[2], color=FEDERATED, alpha=0.2, linewidth=0)
    _training_panel(axes, model, column)
    axes.set_ylim(0, 1.04)


def _ends(models: Sequence[ModelRuns], column: str) -> str:
    ends = []
    for model in models:
        *_, values = next(filter(None, (curve(part.rounds, column) for part in model.parts)))
        ends.append(f"{model.label} from {values[0]:.4g} to {values[-1]:.4g}")
    return "; ".join(ends)


def history_plot(trials: Sequence[Trial], metric: str, name: str = "search-history") -> Picture | None:
    """The value of every trial, and the best of the trials up to it."""
    known = [trial for trial in trials if not math.isnan(trial.value)]
    if not known:
        return None
    places = range(1, len(known) + 1)
    values = [trial.value for trial in known]
    tops = best_so_far(values, side(metric))

    def paint(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = figure.subplots()
        figure.subplots_adjust(0.07, 0.17, 0.985, 0.96)
        axes.step(places, tops, where="post", color=INK, linewidth=1.2)
        axes.plot(places, values, "o", color=CENTRAL, markersize=4)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.set_xlabel("trial")
        axes.set_ylabel(f"{metric} on validation")

    winner = best(known, metric)
    return Picture(
        name,
        "Search history",
        f"A point is a setting, in the order they were tried; the line is the best {metric} on the validation "
        "part so far. The test part has no share in it.",
        f"{len(known)} trials; the best so far goes from {tops[0]:.4g} to {tops[-1]:.4g}, reached in trial "
        f"{values.index(winner.value) + 1} with {json.dumps(winner.settings)}.",
        draw(name, 2.4, paint),
    )


def best_so_far(values: Sequence[float], better: Side) -> list[float]:
    """After each value the best up to it."""
    return [values[best_place(values[: place + 1], better)] for place in range(len(values))]


def settings_plot(trials: Sequence[Trial], metric: str, name: str = "search-settings") -> Picture | None:
    """One panel per setting that varies: its values against what they reached."""
    known = [trial for trial in trials if not math.isnan(trial.value)]
    keys = [key for key in _keys(known) if len({str(trial.settings.get(key)) for trial in known}) > 1]
    if not keys:
        return None
    down, chosen = math.ceil(len(keys) / ACROSS), best(known, metric)
    height = 0.4 + 1.7 * down

    def paint(figure: Figure) -> None:
        figure.subplots_adjust(0.07, 0.38 / height, 0.985, 1 - 0.1 / height, wspace=0.12, hspace=0.5)
        grid = panel_grid(figure, len(keys), down, ACROSS, sharey=True)
        for axes, key in zip(grid, keys):
            _panel(axes, key, known, chosen)
        grid[0].set_ylabel(metric)

    return Picture(
        name,
        "Settings and what they reached",
        f"A point is a trial: the value of a setting across, {metric} on the validation part upwards. The ring "
        "is the choice. Points of one value differ in the other settings.",
        f"{len(known)} trials over {', '.join(keys)}; the choice is {json.dumps(chosen.settings)}.",
        draw(name, height, paint),
    )


def _panel(axes: Axes, key: str, trials: Sequence[Trial], chosen: Trial) -> None:
    found = [trial.settings.get(key) for trial in trials]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)
    labels = sorted({str(value) for value in found})
    across: list[Any] = found if numeric else [labels.index(str(value)) for value in found]
    winner = list(trials).index(chosen)
    axes.plot(across, [trial.value for trial in trials], "o", color=CENTRAL, markersize=3.5)
    ring: Any = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": INK}
    axes.plot([across[winner]], [trials[winner].value], "o", **ring)
    if numeric and min(across) > 0 and max(across) / min(across) >= LOG_FROM:
        axes.set_xscale("log")
    elif not numeric:
        axes.set_xticks(range(len(labels)), [short(label) for label in labels])
        axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axes.set_xlabel(short(key), color=MUTED, labelpad=1)


def trials_table(trials: Sequence[Trial], metric: str, name: str = "trials") -> ReportTable:
    """Every trial, best first."""
    order = ranked(trials, metric)
    keys = _keys(order)
    decimals = decimals_for([trial.value for trial in order])
    columns = (
        Column("place"),
        *(Column(key, numeric=False) for key in keys),
        Column(metric),
        Column("seconds"),
    )
    rows = [
        (
            number_cell(place),
            *(text_cell(json.dumps(trial.settings[key]) if key in trial.settings else "") for key in keys),
            number_cell(trial.value, decimals),
            number_cell(trial.seconds, 1),
        )
        for place, trial in enumerate(order, start=1)
    ]
    return ReportTable(name, "Trials, best first", columns, tuple(rows), ("Scored on the validation part.",))


def _keys(trials: Sequence[Trial]) -> list[str]:
    return list(dict.fromkeys(key for trial in trials for key in trial.settings))


def search_picture(name: str, tried: Sequence[Trial], metric: str) -> Picture | None:
    """A panel per row: its trials in order, the best so far as a line; None where nothing was searched."""
    rows = {row: [one for one in tried if one.row == row] for row in dict.fromkeys(one.row for one in tried)}
    rows = {row: mine for row, mine in rows.items() if len(mine) > 1}
    if not rows:
        return None
    down, better = math.ceil(len(rows) / ROWS_ACROSS), side(metric)
    height = 0.35 + TALL * down

    def paint(figure: Figure) -> None:
        grid = panel_grid(figure, len(rows), down, ROWS_ACROSS)
        figure.subplots_adjust(0.06, 0.32 / height, 0.985, 1 - 0.3 / height, wspace=0.24, hspace=0.62)
        for axes, (row, mine) in zip(grid, rows.items()):
            _row_panel(axes, row, [one.value for one in mine], better)

    reached = {row: best_so_far([one.value for one in mine], better)[-1] for row, mine in rows.items()}
    alt = "; ".join(f"{row}: best of {len(rows[row])} trials {value:.4g}" for row, value in reached.items())
    caption = f"{metric} on the validation part, trial by trial; the line is the best so far."
    return Picture(name, "Search history", caption, alt, draw(name, height, paint))


def _row_panel(axes: Axes, row: str, values: list[float], better: Side) -> None:
    from matplotlib.ticker import MaxNLocator

    known = [(place + 1, value) for place, value in enumerate(values) if not math.isnan(value)]
    so_far = best_so_far(values, better)
    axes.plot(range(1, len(values) + 1), so_far, color=CURVES[0], linewidth=1.2, drawstyle="steps-post")
    axes.scatter([place for place, _ in known], [value for _, value in known], s=7, color=MUTED, linewidths=0)
    axes.set_title(short(row))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.margins(x=0.04, y=0.12)
