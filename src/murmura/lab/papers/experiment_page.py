"""The page of a reproduction, its numbers and tables as small CSV files, and the page that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from murmura.engine.part_files import printable
from murmura.engine.run_folder import Run
from murmura.evaluation.significance import Interval
from murmura.lab.analyses.training_sections import convergence_section
from murmura.lab.audits.audit import read_audits
from murmura.lab.audits.judge import SHARES
from murmura.lab.audits.section import hints_table
from murmura.lab.papers.data_facts import DataFacts
from murmura.lab.papers.experiments import Experiment, calculated_costs
from murmura.lab.papers.numbers import (
    ReproducedNumber,
    choice_table,
    data_table,
    measured,
    metric_tables,
    numbers,
    read_trials,
    row_tests,
    slug,
    time_table,
    trial_table,
)
from murmura.lab.papers.published_results import HEADER as LINE
from murmura.lab.papers.published_results import (
    TABLES,
    PublishedResult,
    absent,
    checkout,
    code_version,
    published_page,
    result_of,
    table_lines,
    written,
)
from murmura.lab.papers.reproduce import ExperimentPlace
from murmura.report.build import analyses
from murmura.report.drawing import require_report
from murmura.report.page import Section, document
from murmura.report.sections.facts import environment_table
from murmura.report.table import ReportTable, to_csv
from murmura.studies.compare.folder import read_runs
from murmura.studies.search.section import search_picture

HEADER = ("experiment", "data", "row", "metric", "printed", "ours", "low", "high", "difference", "p", "verdict")
PRINTED_AS = "printed as"  # a column where the paper has another name for a metric than we


def write(
    shown: Experiment,
    places: Sequence[ExperimentPlace],
    out: Path,
    described: Mapping[str, DataFacts] | None = None,
) -> list[Path]:
    """Write `<name>.html`, `.csv`, `-tables.csv`, `.json`, `.md`, and of every data set trials and guesses.

    `described` are the data sets of an experiment that is a table of them.
    """
    require_report()
    parts = [_trained(shown, place) for place in places]
    for data in shown.counts:  # it is not here, but its size is printed
        if data not in {place.data for place in places}:
            costs = calculated_costs(shown, data).items()
            facts = {row: {key: Interval(value) for key, value in own.items()} for row, own in costs}
            parts.append(_untrained(shown, data, facts, counted=False))
    parts += [_untrained(shown, data, facts, counted=True) for data, facts in (described or {}).items()]
    page = _page(shown, parts, places, absent(shown, described or {}))
    shares = {
        f"{shown.name}-{Path(part.name).name}-{end}.csv": to_csv(table)
        for end in ("trials", "shares")
        for part in parts
        if (table := part.files.get(end)) is not None
    }
    kept, names = Run(out), [f"{shown.name}{end}" for end in (".html", ".csv", TABLES, ".json", ".md")]
    kept.write(names[0], page)
    header = (*HEADER, *([PRINTED_AS] if shown.printed_as else ()))
    kept.write_table(names[1], header, [_row(shown, one) for part in parts for one in part.found])
    kept.write_table(names[2], LINE, table_lines((part.name, part.command, part.tables) for part in parts))
    kept.write(names[3], written(shown, [part.kept for part in parts]))
    for name, text in shares.items():
        kept.write(name, text)
    kept.write(names[4], published_page(shown, out))
    return [out / name for name in (*names[:4], *shares, names[4])]


@dataclass(frozen=True)
class _Part:
    """What one data set adds to the page and its files."""

    name: str  # of the data set; of a file its own, without the folder
    found: Sequence[ReproducedNumber]
    tables: Sequence[ReportTable]  # of its Markdown
    section: Section | None
    command: str
    kept: PublishedResult
    files: Mapping[str, ReportTable | None] = field(default_factory=dict)  # CSV of their own


def _trained(shown: Experiment, place: ExperimentPlace) -> _Part:
    """The numbers, the analyses the experiment is about, the search."""
    kept, place = result_of(place), replace(place, experiment=shown.shows(place.experiment))
    data, metric, tried = place.data, place.experiment.metric, read_trials(place)
    values, results = measured(place, shown.analyses, shown.shown_rows)
    found = numbers(shown, data, values, results)

    def apart(name: str) -> str:
        """The name of a table or picture, apart from that of another data set on the same page."""
        return f"{name}-{slug(data)}"

    every = (
        *analyses(place.runs, place.experiment.against, shown.shown_rows),
        convergence_section(tried, metric),
    )
    more = [one for one in every if one is not None and one.name in shown.analyses]
    drawn, tests = (table for one in more for table in one.tables), row_tests(shown, results)
    swept = "sweep" in shown.analyses and data not in shown.printed  # the table of a sweep has it all
    metrics = [] if swept else metric_tables(shown, data, found)
    metrics += [replace(table, name=apart(table.name)) for table in tests]
    rest = [*(replace(table, name=apart(table.name)) for table in drawn), choice_table(place, tried)]
    pictures = [picture.renamed(apart(picture.name)) for one in more for picture in one.pictures]
    parts = (*metrics, *pictures, *rest, search_picture(apart("search"), tried, metric))
    return _Part(
        Path(data).stem,
        found,
        [*metrics, *rest, time_table([place])],
        Section.of(slug(data), data, *parts, lead=(_summary(found),)),
        _commands(shown, [place]),
        kept,
        {
            "trials": trial_table(place, tried) if tried else None,
            "shares": _guesses(place) if "audit" in shown.analyses else None,
        },
    )


def _untrained(shown: Experiment, data: str, facts: DataFacts, counted: bool) -> _Part:
    """Numbers for which nothing was run: counted in the data itself, or calculated from its printed size."""
    found = numbers(shown, data, facts)
    tables = [data_table(shown, data, found)] if counted else metric_tables(shown, data, found)
    how = (
        "Counted on the data" if counted else "Calculated from the size of the data set as the paper prints it"
    )
    title, lead = data if counted else f"{data}, calculated", f"{how}; nothing was trained. {_summary(found)}"
    today, code = date.today().isoformat(), code_version(checkout())
    kept = PublishedResult(data, today, code, shown.seeds, calculated=not counted, counted=counted)
    section = Section.of(slug(data), title, *tables, lead=(lead,))
    return _Part(data, found, tables, section, _commands(shown, []), kept)


def _guesses(place: ExperimentPlace) -> ReportTable | None:
    """What was guessed at every share of what was known before, where one method was attacked."""
    audits = list(read_audits(Run.open(place.runs)).values())
    return hints_table(audits[0], SHARES) if len(audits) == 1 else None


def _summary(found: Sequence[ReproducedNumber]) -> str:
    words = [one.word for one in found if one.word]
    if not words:
        return "The paper prints no number for this data set."
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    return f"Of {len(words)} printed numbers: " + ", ".join(f"{n} {word}" for word, n in counts.items()) + "."


def _page(shown: Experiment, parts: Sequence[_Part], places: Sequence[ExperimentPlace], absent: str) -> str:
    sections = [Section.of("says", "What the paper says", lead=(shown.says,) if shown.says else ())]
    sections += [part.section for part in parts]
    sections.append(Section.of("absent", "Not here", lead=(absent,) if absent else ()))
    if places:
        facts = time_table(places), environment_table(read_runs(places[0].runs))
        sections.append(Section.of("cost", "Cost and environment", *facts))
    sections.append(Section.of("again", "How to run it", text=_commands(shown, places)))
    return document(f"{shown.name}: {shown.title}", shown.paper, sections)


def _row(shown: Experiment, one: ReproducedNumber) -> list[str]:
    """A line of the CSV file."""
    p = "" if one.test is None else f"{one.test.p_t:.3g}"
    values = [one.printed, one.ours.mean, one.ours.low, one.ours.high, one.difference]
    cells = ["" if value is None or value != value else f"{value:.6g}" for value in values]
    called = [shown.printed_as.get(one.metric, one.metric) if one.printed is not None else ""]
    line = [shown.name, one.data, printable(one.row), one.metric, *cells, p, one.word]
    return line + (called if shown.printed_as else [])


def _commands(shown: Experiment, places: Sequence[ExperimentPlace]) -> str:
    command = f"murmura reproduce run {shown.name}"
    quick = [" --quick" if place.folder.name.endswith("-quick") else "" for place in places]
    lines = [f"{command} --data {place.data}{flag}" for place, flag in zip(places, quick)]
    return "\n".join(lines or [command])
