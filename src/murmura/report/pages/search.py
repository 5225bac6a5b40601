"""The page of a search: how it went, what was chosen, and what the choice reached on the test part."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from typing import Any

from murmura.engine.run import Run
from murmura.engine.sealed import FILE as OPENED
from murmura.report.pages.comparison import as_yaml, document, figures, in_page, write_page
from murmura.report.plots.progress import history_plot, settings_plot, trials_table
from murmura.report.result_folder import read_object
from murmura.report.tables.table import Column, ReportTable, number_cell, text_cell
from murmura.runs.trials import Trial, read_history
from murmura.studies.search.search_folder import CHOICE, TRIALS, SearchConfig, read_search


def build_search(folder: Path, out: Path | None = None) -> Path:
    """Write the page of a search folder, and its tables beside it."""
    run, config = Run.open(folder), read_search(folder)
    chosen = read_object(run, CHOICE)
    trials = _trials(folder, config, chosen)
    tables = {"trials": trials_table(trials, config.metric)}
    if metrics := read_object(run, "metrics.json"):
        tables["test"] = _test_table(metrics, run.read(OPENED)["at"])
    pictures = [history_plot(trials, config.metric), settings_plot(trials, config.metric)]
    said = _sentence(run, config, chosen, len(trials))
    sections = [
        ("choice", "The choice", f'<p class="lead">{escape(said)}</p>\n'),
        ("test-part", "The test part", in_page(tables, "test")),
        ("history", "How it went", figures(pictures)),
        ("all-trials", "All trials", in_page(tables, "trials")),
        ("data", "Data", as_yaml(read_object(run, "data.json"))),
        ("configuration", "Configuration", as_yaml(run.config)),
        ("environment", "Environment", as_yaml(read_object(run, "environment.json"))),
    ]
    title = f"Search: {config.search} on {config.data.name}"
    subline = f"protocol {config.protocol} · {config.sampler} · {config.metric} on the validation part"
    return write_page(folder, out, document(title, subline, sections), tables)


def _trials(folder: Path, config: SearchConfig, chosen: dict[str, Any]) -> list[Trial]:
    """The trials of this search, as the history keeps them; a shared history has others too."""
    named = chosen.get("history")
    file = Path(named) if named else folder / TRIALS
    shared = {} if file.name == TRIALS else {"data": config.data.name}
    return read_history(file, model=config.search, metric=config.metric, **shared)


def _sentence(run: Run, config: SearchConfig, chosen: dict[str, Any], trials: int) -> str:
    if not chosen:
        return f"This search is {run.status}: {trials} trials are known, nothing has been chosen yet."
    settings = ", ".join(f"{key} = {json.dumps(value)}" for key, value in chosen["settings"].items())
    opened = (
        f" The test part was opened once, at {run.read(OPENED)['at']}, for this choice."
        if run.has(OPENED)
        else " The test part has not been opened."
    )
    return (
        f"{chosen['model']} with {settings or 'its own settings'} reached {config.metric} "
        f"{chosen['value']:.4f} on the validation part, the best of {chosen['trials']} settings.{opened}"
    )


def _test_table(metrics: dict[str, float | None], at: str) -> ReportTable:
    rows = [
        (text_cell(key), number_cell(value, 0 if value is None or math.fabs(value) >= 100 else 4))
        for key, value in metrics.items()
    ]
    columns = (Column("metric", numeric=False), Column("value"))
    return ReportTable("test", "What the choice reached", columns, tuple(rows), (f"Opened {at}.",))
