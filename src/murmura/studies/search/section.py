"""How a search went: every trial, each setting against what it reached, the choice and the test part."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from murmura.report import drawing
from murmura.report.page import Section, as_yaml
from murmura.report.summary import decimals_for
from murmura.report.table import Column, ReportTable, plain_table
from murmura.studies.search.folder import SearchFolder, Trial, best, ranked, side

ACROSS, ROWS_ACROSS = 4, 3  # panels side by side: of models and settings, of the rows of an experiment
TALL = 1.5  # inches of a row's panel
FEW = 6  # values of a setting that are all named
LOG_FROM = 20  # a setting whose largest value is this many times its smallest is drawn by its logarithm


def settings_plot(trials: Sequence[Trial], metric: str) -> drawing.Picture | None:
    """One panel per setting that varies: its values against what they reached."""
    known = [trial for trial in trials if not math.isnan(trial.value)]
    keys = [key for key in _keys(known) if len({str(trial.settings.get(key)) for trial in known}) > 1]
    if not keys:
        return None
    chosen = best(known, metric)
    with drawing.canvas("search-settings", 0.4 + 1.7 * math.ceil(len(keys) / ACROSS)) as made:
        grid = made.panels(len(keys), ACROSS, sharey=True)
        for axes, key in zip(grid, keys):
            _panel(axes, key, known, chosen)
        grid[0].set_ylabel(metric)
    return made.picture(
        "Settings and what they reached",
        f"A point is a trial: the value of a setting across, {metric} on the validation part upwards. The ring "
        "is the choice. Points of one value differ in the other settings.",
        f"{len(known)} trials over {', '.join(keys)}; the choice is {json.dumps(chosen.settings)}.",
    )


def _panel(axes: drawing.Axes, key: str, trials: Sequence[Trial], chosen: Trial) -> None:
    found = [trial.settings.get(key) for trial in trials]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)
    labels = sorted({str(value) for value in found})
    across: list[Any] = found if numeric else [labels.index(str(value)) for value in found]
    winner = list(trials).index(chosen)
    axes.plot(across, [trial.value for trial in trials], "o", color=drawing.CENTRAL, markersize=3.5)
    ring: Any = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": drawing.INK}
    axes.plot([across[winner]], [trials[winner].value], "o", **ring)
    if numeric and min(across) > 0 and max(across) / min(across) >= LOG_FROM:
        drawing.logarithmic(axes, "x")
    elif numeric and len(set(across)) <= FEW:
        axes.set_xticks(sorted(set(across)))
    elif not numeric:
        axes.set_xticks(range(len(labels)), [drawing.short(label) for label in labels])
        axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.set_xlabel(drawing.short(key))


def trials_table(trials: Sequence[Trial], metric: str) -> ReportTable:
    """Every trial, best first."""
    order = ranked(trials, metric)
    keys, decimals, rows = _keys(order), decimals_for([trial.value for trial in order]), list[Sequence[Any]]()
    for place, trial in enumerate(order, start=1):
        own = (json.dumps(trial.settings[key]) if key in trial.settings else "" for key in keys)
        rows.append((place, *own, (trial.value, decimals), (trial.seconds, 1)))
    heads: list[str | Column] = [Column("place"), *keys, Column(metric), Column("seconds")]
    return plain_table("trials", "Trials, best first", heads, rows, "Scored on the validation part.")


def _keys(trials: Sequence[Trial]) -> list[str]:
    return list(dict.fromkeys(key for trial in trials for key in trial.settings))


def search_picture(name: str, tried: Sequence[Trial], metric: str) -> drawing.Picture | None:
    """A panel per row: its trials in order, the best so far as a line; None where nothing was searched."""
    every = {row: [one for one in tried if one.row == row] for row in dict.fromkeys(one.row for one in tried)}
    values = {row: np.array([one.value for one in mine]) for row, mine in every.items()}
    rows = {row: mine for row, mine in every.items() if len(mine) > 1 and not np.isnan(values[row]).all()}
    if not rows:
        return None
    across, better = min(ROWS_ACROSS, len(rows)), np.fmax if side(metric) == "higher" else np.fmin
    height = 0.35 + (TALL if across > 1 else 2.0) * math.ceil(len(rows) / across)
    with drawing.canvas(name, height) as made:
        grid = made.panels(len(rows), across)
        for axes, row in zip(grid, rows):
            steps = range(1, len(rows[row]) + 1)
            best_so_far: dict[str, Any] = {**drawing.STEPPED, "color": drawing.CURVES[0]}
            axes.plot(steps, better.accumulate(values[row]), **best_so_far)
            axes.scatter(steps, values[row], s=7, color=drawing.MUTED, linewidths=0)
            axes.set_title(drawing.short(row))
            drawing.few_ticks(axes, 5, whole=True)
            axes.margins(x=0.04, y=0.12)
        grid[0].set_ylabel(f"{metric} on validation")
    winners = {row: best(mine, metric) for row, mine in rows.items()}
    said = (
        f"{row}: {len(rows[row])} trials, the best {won.value:.4g} in trial {rows[row].index(won) + 1} with "
        f"{json.dumps(won.settings)}"
        for row, won in winners.items()
    )
    caption = (
        f"A point is a setting, in the order they were tried; the line is the best {metric} on the validation "
        "part so far. The test part has no share in it."
    )
    return made.picture("Search history", caption, f"{'; '.join(said)}.")


def headline(search: SearchFolder) -> tuple[str, str]:
    """What was searched on what, and how."""
    how = f"protocol {search.config.get('protocol')} · {search.config.get('sampler')}"
    return f"Search: {search.model} on {search.data}", f"{how} · {search.metric} on the validation part"


def sections(search: SearchFolder) -> list[Section | None]:
    """The page of a search."""
    trials, metric, tested = search.trials, search.metric, search.tested.metrics
    data, environment = (search.run.read_object(name) for name in ("data.json", "environment.json"))
    rows = ((key, (value, 0 if math.fabs(value) >= 100 else 4)) for key, value in tested.items())
    opened = f"Opened {search.opened or ''}."
    test = plain_table("test", "What the choice reached", ("metric", "value"), rows, opened) if tested else None
    history = search_picture("search-history", [replace(one, row=search.model) for one in trials], metric)
    pictures = history, settings_plot(trials, metric)
    return [
        Section.of("choice", "The choice", lead=(_sentence(search),)),
        Section.of("test-part", "The test part", test),
        Section.of("history", "How it went", *pictures),
        Section.of("all-trials", "All trials", trials_table(trials, metric)),
        Section.of("data", "Data", text=as_yaml(data)),
        Section.of("configuration", "Configuration", text=as_yaml(search.config)),
        Section.of("environment", "Environment", text=as_yaml(environment)),
    ]


def _sentence(search: SearchFolder) -> str:
    chosen, trials = search.choice, len(search.trials)
    if chosen is None:
        return f"This search is {search.run.status}: {trials} trials are known, nothing has been chosen yet."
    settings = ", ".join(f"{key} = {json.dumps(value)}" for key, value in chosen.settings.items())
    opened = f"was opened once, at {search.opened}, for this choice" if search.opened else "has not been opened"
    return (
        f"{chosen.model} with {settings or 'its own settings'} reached {search.metric} {chosen.value:.4f} on "
        f"the validation part, the best of {chosen.trials} settings. The test part {opened}."
    )
