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
from murmura.report.plots.search_history import history_plot, settings_plot, trials_table
from murmura.report.tables.table import Column, ReportTable, number_cell, text_cell
from murmura.studies.search.search_folder import CHOICE, TRIALS, SearchConfig, read_search
from murmura.studies.search.trials import Trial, read_history


def build_search(folder: Path, out: Path | None = None) -> Path:
    """Write the page of a search folder, and its tables beside it."""
    run, config = Run.open(folder), read_search(folder)
    chosen = run.read(CHOICE) if run.has(CHOICE) else None
    trials = _trials(folder, config, chosen)
    tables = {"trials": trials_table(trials, config.metric)}
    metrics = run.read("metrics.json") if run.has("metrics.json") else {}
    if metrics:
        tables["test"] = _test_table(metrics, run.read(OPENED)["at"])
    pictures = [history_plot(trials, config.metric), settings_plot(trials, config.metric)]
    sections = [
        (
            "choice",
            "The choice",
            f'<p class="lead">{escape(_sentence(run, config, chosen, len(trials)))}</p>\n',
        ),
        ("test-part", "The test part", in_page(tables, "test")),
        ("history", "How it went", figures(pictures)),
        ("all-trials", "All trials", in_page(tables, "trials")),
        ("data", "Data", as_yaml(run.read("data.json") if run.has("data.json") else {})),
        ("configuration", "Configuration", as_yaml(run.config)),
        (
            "environment",
            "Environment",
            as_yaml(run.read("environment.json") if run.has("environment.json") else {}),
        ),
    ]
    title = f"Search: {config.search} on {config.data.name}"
    subline = f"protocol {config.protocol} · {config.sampler} · {config.metric} on the validation part"
    return write_page(folder, out, document(title, subline, sections), tables)


def _trials(folder: Path, config: SearchConfig, chosen: dict[str, Any] | None) -> list[Trial]:
    """The trials of this search, as the history keeps them; a shared history has others too."""
    named = (chosen or {}).get("history")
    file = Path(named) if named else folder / TRIALS
    if not file.exists():
        return []
    data = config.data.name
    return [
        Trial(json.loads(row["settings"]), float(row["value"]), float(row["seconds"]))
        for row in read_history(file)
        if row["model"] == config.search and row["metric"] == config.metric
        and (file.name == TRIALS or row["data"] == data)
    ]  # fmt: skip


def _sentence(run: Run, config: SearchConfig, chosen: dict[str, Any] | None, trials: int) -> str:
    if chosen is None:
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
