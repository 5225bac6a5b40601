"""One self-contained page from a run folder, and its tables as files beside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from murmura.core.files import write_whole
from murmura.report.pages.analyses import TABLES, Analysis, analyses
from murmura.report.pages.command_lines import rerun
from murmura.report.plots.comparison import cost_plot, coverage_plot, metric_dots, people_shares
from murmura.report.plots.device_traffic import traffic_plot
from murmura.report.plots.drawing import Picture
from murmura.report.plots.progress import disclosure_curves, loss_curves
from murmura.report.summary import PairedDifference, Results, better, summarise, title
from murmura.report.tables.comparison import (
    category_table,
    data_table,
    difference_table,
    environment_table,
    ledger_table,
    result_tables,
    seed_table,
    settings_table,
    status_table,
    time_table,
)
from murmura.report.tables.device_traffic import traffic_table
from murmura.report.tables.table import FORMATS, ReportTable, decimals_for, number, to_html, written
from murmura.runs.comparison import ComparisonFolder
from murmura.runs.parts import printable
from murmura.studies.exposure import exposure_sentence
from murmura.studies.order import order_sentence
from murmura.studies.settings_source import rule_sentence

MEDIA = {"csv": "text/csv", "md": "text/markdown", "tex": "application/x-tex", "json": "application/json"}
NAMES = {"csv": "CSV", "md": "Markdown", "tex": "LaTeX", "json": "JSON"}
FACTS = ("categories", "tests", "seeds", "bytes", "ledger", "unfinished", "seconds", "environment")
OURS = re.compile(rf"(results(-at-\d+)?|{'|'.join((*FACTS, *TABLES))})\.\w+")
CROWD = 30  # models that still fit into one chart; a sweep with more has charts of its own


def build_runs(record: ComparisonFolder, out: Path | None = None) -> Path:
    """Write the report of a comparison or a run."""
    folder = record.run.path
    results = summarise(record)
    tables = every_table(record, results)
    more = analyses(folder)
    tables |= {table.name: table for one in more for table in one.tables}
    text = render(record, results, tables, more)
    return write_page(folder, out, text, tables)


def write_page(folder: Path, out: Path | None, text: str, tables: dict[str, ReportTable]) -> Path:
    """Write a page to its place, and its tables beside it."""
    page = folder / "report.html" if out is None else out / "report.html" if out.is_dir() else out
    _write_tables(page.with_name(f"{page.stem}-tables"), tables.values())
    write_whole(page, text.encode())
    return page


def _write_tables(place: Path, tables: Iterable[ReportTable]) -> None:
    """Write every table in every format; a table of an earlier report that has gone is taken away."""
    fresh = {f"{table.name}.{form}": written(table, form) for table in tables for form in FORMATS}
    for name, text in fresh.items():
        write_whole(place / name, text.encode())
    for old in place.iterdir():
        if old.name not in fresh and OURS.fullmatch(old.name):
            old.unlink()


def render(
    record: ComparisonFolder, results: Results, tables: dict[str, ReportTable], more: Sequence[Analysis] = ()
) -> str:
    """The whole page as text; the same folder gives the same text."""
    sections = [
        ("results", "Results", _results(record, results, tables)),
        *((one.name, one.title, figures(one.pictures) + as_html(one.tables)) for one in more if one.first),
        ("plots", "Plots", _plots(record, results)),
        ("cost", "What left the devices", _cost(record, results, tables)),
        ("training", "Training", figures([loss_curves(record)]) if len(record.models) <= CROWD else ""),
        *((one.name, one.title, figures(one.pictures) + as_html(one.tables)) for one in more if not one.first),
        ("tests", "Differences and seeds", in_page(tables, "tests", "seeds", "categories")),
        ("data", "Data", in_page(tables, "data")),
        ("configuration", "Configuration", _configuration(record, tables)),
        ("environment", "Environment", in_page(tables, "environment", "seconds")),
        ("reproduce", "How to reproduce", _reproduce(record)),
    ]
    return document(headline(record), subline(record), sections)


def document(title: str, sub: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """A whole page of sections (id, heading, HTML); those without a body are left out."""
    style = resources.files("murmura.report").joinpath("style.css").read_text(encoding="utf-8")
    kept = [(name, heading, body) for name, heading, body in sections if body]
    contents = "".join(f'<li><a href="#{name}">{escape(heading)}</a></li>' for name, heading, _ in kept)
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(heading)}</h2>\n{body}</section>\n'
        for name, heading, body in kept
    )
    title = escape(title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header><h1>{title}</h1>
<p class="sub">{escape(sub)}</p>
<nav aria-label="Contents"><ul>{contents}</ul></nav></header>
<main>
{body}</main>
</body>
</html>
"""


def _results(record: ComparisonFolder, results: Results, tables: dict[str, ReportTable]) -> str:
    missing = unfinished(record)
    banner = f'<p class="banner" role="status">{escape(missing)}</p>\n' if missing else ""
    order = printable(order_sentence(record.order, record.beside is not None))
    values = {line.label: {key: one.mean for key, one in line.values.items()} for line in results.lines}
    also = (order, printable(rule_sentence(record.rule)), printable(exposure_sentence(values)))
    said = "".join(f'<p class="lead">{escape(one)}</p>\n' for one in (*outcome(results), *also) if one)
    names = [name for name in tables if name.startswith("results")]
    return banner + said + in_page(tables, *names, "unfinished")


def _plots(record: ComparisonFolder, results: Results) -> str:
    if len(record.models) > CROWD:
        return ""
    return figures([*metric_dots(results), coverage_plot(results), people_shares(results)])


def _cost(record: ComparisonFolder, results: Results, tables: dict[str, ReportTable]) -> str:
    if len(record.models) > CROWD:
        return ""
    drawn = figures([traffic_plot(results), cost_plot(results), disclosure_curves(record)])
    return drawn + in_page(tables, "bytes", "ledger")


def in_page(tables: dict[str, ReportTable], *names: str) -> str:
    """The tables of these names, as far as they are there."""
    return as_html(tables[name] for name in names if name in tables)


def as_html(tables: Iterable[ReportTable]) -> str:
    """Tables one below the other, each with links that save it."""
    return "".join(to_html(table, _files(table)) for table in tables)


def _files(table: ReportTable) -> str:
    """Links that save the table from the page itself, wherever it was sent."""
    links = []
    for form in FORMATS:
        coded = base64.b64encode(written(table, form).encode()).decode()
        links.append(
            f'<a download="{table.name}.{form}" href="data:{MEDIA[form]};base64,{coded}">{NAMES[form]}</a>'
        )
    return f' <span class="files">{" · ".join(links)}</span>'


def figures(pictures: Iterable[Picture | None]) -> str:
    """The pictures there are."""
    return "".join(picture.html() for picture in pictures if picture is not None)


def _configuration(record: ComparisonFolder, tables: dict[str, ReportTable]) -> str:
    rest = {key: value for key, value in record.config.items() if key not in {"models", "model"}}
    return f"{in_page(tables, 'settings')}<h3>Everything else</h3>\n{as_yaml(rest)}"


def as_yaml(value: Any) -> str:
    """Plain values as a block of text; nothing where there are none."""
    if not value:
        return ""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    shown = escape("\n".join(map(printable, text.rstrip().split("\n"))))
    return f"<pre>{shown}</pre>\n"


def _reproduce(record: ComparisonFolder) -> str:
    script = escape("\n".join(map(printable, rerun(record).split("\n"))))
    fingerprint = record.data.get("fingerprint")
    starts = printable(str(fingerprint)[:12])
    same = f" The data is the same when its fingerprint begins with {starts}." if fingerprint else ""
    return (
        f"<pre>{script}</pre>\n<p>Data sets are looked for in the folder that --data-dir or MURMURA_DATA names."
        f"{escape(same)} The number of workers changes no result.</p>\n"
    )


def every_table(folder: ComparisonFolder, results: Results) -> dict[str, ReportTable]:
    """All tables that have something to say, by name."""
    tables = [
        *result_tables(folder, results),
        category_table(results),
        difference_table(results),
        seed_table(results),
        traffic_table(results),
        ledger_table(folder),
        status_table(folder),
        data_table(folder),
        settings_table(folder),
        time_table(folder),
        environment_table(folder),
    ]
    return {table.name: table for table in tables if table is not None}


def headline(folder: ComparisonFolder) -> str:
    """What was compared on what."""
    name = printable(folder.source.get("name", "data"))
    if folder.kind == "run":
        return f"{folder.models[0].label} on {name}"
    return f"{len(folder.models)} models on {name}" if len(folder.models) > 1 else f"One model on {name}"


def subline(folder: ComparisonFolder) -> str:
    """Protocol, seeds, version and date, as far as the folder has them."""
    seeds = max((len(model.parts) for model in folder.models), default=1)
    version = folder.environment.get("murmura")
    parts = [
        f"protocol {folder.protocol}",
        "one seed" if seeds == 1 else f"{seeds} seeds",
        f"Murmura {version}" if version else "",
        f"{folder.status} {folder.at.replace('T', ' ').replace('+00:00', ' UTC')}".strip(),
    ]
    return printable(" · ".join(filter(None, parts)))


def unfinished(folder: ComparisonFolder) -> str:
    """How much is there where not all is; "" where all is."""
    done = sum(model.finished for model in folder.models)
    if done == len(folder.models):
        return ""
    if folder.kind == "run" and folder.models[0].parts[0].status == "fitted":
        return "This run is fitted but not evaluated: `murmura evaluate` opens its test part."
    some = [model for model in folder.models if model.done and not model.finished]
    partly = "".join(f" {m.label}: {len(m.done)} of {len(m.parts)} seeds." for m in some)
    return f"{done} of {len(folder.models)} models finished.{partly} The numbers below are of what is there."


def outcome(results: Results) -> list[str]:
    """Who is best, who cannot be told from it, and how far federated models come."""
    key = results.primary
    ranked = results.ranked(key) if key else ()
    if key is None or not ranked:
        return []
    decimals = decimals_for([line.values[key].mean for line in ranked])
    first, value = ranked[0], ranked[0].values[key]
    interval = ""
    if value.low <= value.high:
        interval = f" (95 % interval {number(value.low, decimals)} to {number(value.high, decimals)})"
    shown = number(value.mean, decimals) + interval
    if len(ranked) == 1:
        return [f"{first.label} has a {key} ({title(key)}) of {shown}."]
    tests = [test for test in results.against_best if test.metric == key]
    said = [f"{first.label} has the best {key} ({title(key)}), {shown}.{_rest(tests, len(ranked))}"]
    federated = next((line for line in ranked if line.model.federated), None)
    central = next((line for line in ranked if not line.model.federated), None)
    if federated and central and central.values[key].mean > 0:
        ratio = federated.values[key].mean / central.values[key].mean
        more = better(key) == "higher"
        much = f"reaches {100 * ratio:.0f} % of" if more else f"has {ratio:.2f} times"
        said.append(
            f"The best federated model, {federated.label}, {much} the {key} of {central.label}, the best "
            "centralised one."
        )
    if results.below_mostpop:
        said.append(f"Below MostPop in {key}: {', '.join(line.label for line in results.below_mostpop)}.")
    return said


def _rest(tests: list[PairedDifference], models: int) -> str:
    if len(tests) < models - 1:
        return ""
    near = [test.label for test in tests if not test.sure]
    if not near:
        return " Every other model is worse by more than chance."
    named = near[0] if len(near) == 1 else ", ".join(near[:-1]) + " and " + near[-1]
    return f" Its lead over {named} may be chance."
