"""The page of a search: how it went, what was chosen, and what the choice reached on the test part."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path

from murmura.report.pages.comparison import as_yaml, document, figures, in_page, write_page
from murmura.report.plots.progress import history_plot, settings_plot, trials_table
from murmura.report.tables.table import Column, ReportTable, number_cell, text_cell
from murmura.runs.parts import read_object
from murmura.runs.search import SearchFolder


def build_search(search: SearchFolder, out: Path | None = None) -> Path:
    """Write the page of a search, and its tables beside it."""
    run, config, trials = search.run, search.config, search.trials
    tables = {"trials": trials_table(trials, search.metric)}
    if metrics := search.tested.metrics:
        tables["test"] = _test_table(metrics, search.opened or "")
    pictures = [history_plot(trials, search.metric), settings_plot(trials, search.metric)]
    sections = [
        ("choice", "The choice", f'<p class="lead">{escape(_sentence(search))}</p>\n'),
        ("test-part", "The test part", in_page(tables, "test")),
        ("history", "How it went", figures(pictures)),
        ("all-trials", "All trials", in_page(tables, "trials")),
        ("data", "Data", as_yaml(read_object(run, "data.json"))),
        ("configuration", "Configuration", as_yaml(config)),
        ("environment", "Environment", as_yaml(read_object(run, "environment.json"))),
    ]
    title = f"Search: {search.model} on {search.data}"
    subline = (
        f"protocol {config.get('protocol')} · {config.get('sampler')} · {search.metric} on the validation part"
    )
    return write_page(run.path, out, document(title, subline, sections), tables)


def _sentence(search: SearchFolder) -> str:
    chosen, trials = search.choice, len(search.trials)
    if chosen is None:
        return f"This search is {search.run.status}: {trials} trials are known, nothing has been chosen yet."
    settings = ", ".join(f"{key} = {json.dumps(value)}" for key, value in chosen.settings.items())
    opened = (
        f" The test part was opened once, at {search.opened}, for this choice."
        if search.opened
        else " The test part has not been opened."
    )
    return (
        f"{chosen.model} with {settings or 'its own settings'} reached {search.metric} "
        f"{chosen.value:.4f} on the validation part, the best of {chosen.trials} settings.{opened}"
    )


def _test_table(metrics: dict[str, float], at: str) -> ReportTable:
    rows = [
        (text_cell(key), number_cell(value, 0 if math.fabs(value) >= 100 else 4))
        for key, value in metrics.items()
    ]
    columns = (Column("metric", numeric=False), Column("value"))
    return ReportTable("test", "What the choice reached", columns, tuple(rows), (f"Opened {at}.",))
