"""The page of a reproduction, and its numbers as small CSV and Markdown files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from murmura.audit.known_ratings import SHARES
from murmura.core.files import write_whole
from murmura.engine.run import Run
from murmura.evaluation.intervals import Interval
from murmura.report.build import analyses
from murmura.report.drawing import require_report
from murmura.report.page import Section, document
from murmura.report.papers.numbers import (
    ReproducedNumber,
    Values,
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
from murmura.report.sections.audits import hints_table
from murmura.report.sections.convergence import convergence_section
from murmura.report.sections.facts import environment_table
from murmura.report.sections.search import search_picture
from murmura.report.table import ReportTable, to_csv, to_markdown
from murmura.runs.comparison import read_runs
from murmura.runs.parts import printable
from murmura.studies.audits.audit import read_audits
from murmura.studies.data_facts import DataFacts
from murmura.studies.papers.experiments import Experiment, calculated_costs
from murmura.studies.papers.kept import SECTION, KeptResult, checkout, code_version, result_of, written
from murmura.studies.papers.reproduce import ExperimentPlace

HEADER = ("experiment", "data", "row", "metric", "printed", "ours", "low", "high", "difference", "p", "verdict")


def write(
    shown: Experiment,
    places: Sequence[ExperimentPlace],
    out: Path,
    described: Mapping[str, DataFacts] | None = None,
) -> list[Path]:
    """Write `<name>.html`, `.csv`, `.md`, `.json`, and of every data set trials and guesses; returns the files.

    `described` are the data sets of an experiment that is a table of them.
    """
    require_report()
    parts = [_Part(shown, place) for place in places]
    known = [_of_counts(shown, data) for data in shown.counts if data not in {place.data for place in places}]
    counted = [numbers(shown, data, facts) for data, facts in (described or {}).items()]
    found = [one for part in parts for one in part.found] + [one for some in known + counted for one in some]
    sections = {Path(part.place.data).stem: part.tables for part in parts}
    sections |= {some[0].data: [data_table(shown, some[0].data, some)] for some in counted}
    sections |= {some[0].data: metric_tables(shown, some[0].data, some) for some in known}
    files = {
        f"{shown.name}.html": _page(shown, parts, known, places, counted),
        f"{shown.name}.csv": _csv(shown, found),
        f"{shown.name}.md": _markdown(shown, places, sections) + _absent(shown, counted),
        f"{shown.name}.json": written(shown, [*map(result_of, places), *_untrained(shown, known, counted)]),
        **{
            f"{shown.name}-{Path(part.place.data).stem}-trials.csv": to_csv(part.trials)
            for part in parts
            if part.tried
        },
        **{
            f"{shown.name}-{Path(part.place.data).stem}-shares.csv": to_csv(part.guesses)
            for part in parts
            if part.guesses is not None
        },
    }
    for name, text in files.items():
        write_whole(out / Path(name).name, text.encode())
    return [out / Path(name).name for name in files]


class _Part:
    """What one data set adds to the page."""

    def __init__(self, shown: Experiment, place: ExperimentPlace) -> None:
        place = replace(place, experiment=shown.shows(place.experiment))
        values, results = measured(place, shown.analyses, shown.shown_rows)
        self.place, self.metric = place, place.experiment.metric
        self.found = numbers(shown, place.data, values, results)
        self.tried = read_trials(place)
        self.trials = trial_table(place, self.tried)
        # the table of a sweep has it all
        swept = "sweep" in shown.analyses and place.data not in shown.printed
        self.metrics = [] if swept else metric_tables(shown, place.data, self.found)
        more = analyses(place.runs, place.experiment.against, shown.shown_rows)
        more += filter(None, [convergence_section(self.tried, self.metric)])
        more = [one for one in more if one.name in shown.analyses]
        tests = [self._apart(table) for table in row_tests(shown, results)]
        self.pictures = [picture.renamed(self._id(picture.name)) for one in more for picture in one.pictures]
        drawn = [self._apart(table) for one in more for table in one.tables]
        self.guesses = _guesses(place) if "audit" in shown.analyses else None
        self.metrics += tests
        self.more = [*drawn, choice_table(place, self.tried)]

    def _id(self, name: str) -> str:
        """The name of a table or picture, apart from that of another data set on the same page."""
        return f"{name}-{slug(self.place.data)}"

    def _apart(self, table: ReportTable) -> ReportTable:
        return replace(table, name=self._id(table.name))

    @property
    def tables(self) -> list[ReportTable]:
        """All tables of its Markdown."""
        return [*self.metrics, *self.more, time_table([self.place])]

    @property
    def section(self) -> Section | None:
        """The numbers, the analyses the experiment is about, the search."""
        history = search_picture(self._id("search"), self.tried, self.metric)
        parts = (*self.metrics, *self.pictures, *self.more, history)
        return Section.of(slug(self.place.data), self.place.data, *parts, lead=(_summary(self.found),))


def _guesses(place: ExperimentPlace) -> ReportTable | None:
    """What was guessed at every share of what was known before, where one method was attacked."""
    audits = list(read_audits(Run.open(place.runs)).values())
    return hints_table(audits[0], SHARES) if len(audits) == 1 else None


def _summary(found: Sequence[ReproducedNumber]) -> str:
    words = [one.verdict.word for one in found if one.verdict.word]
    if not words:
        return "The paper prints no number for this data set."
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    return f"Of {len(words)} printed numbers: " + ", ".join(f"{n} {word}" for word, n in counts.items()) + "."


def _page(
    shown: Experiment,
    parts: Sequence[_Part],
    known: Sequence[list[ReproducedNumber]],
    places: Sequence[ExperimentPlace],
    counted: Sequence[list[ReproducedNumber]],
) -> str:
    sections = [Section.of("says", "What the paper says", lead=(shown.says,) if shown.says else ())]
    sections += [part.section for part in parts]
    for some in known:
        lead = "Calculated from the size of the data set as the paper prints it; nothing was trained."
        tables = metric_tables(shown, some[0].data, some)
        sections.append(_untrained_section(f"{some[0].data}, calculated", some, lead, tables))
    for some in counted:
        lead = "Counted on the data; nothing was trained."
        sections.append(_untrained_section(some[0].data, some, lead, [data_table(shown, some[0].data, some)]))
    absent = _absent(shown, counted).strip()
    sections.append(Section.of("absent", "Not here", lead=(absent,) if absent else ()))
    if places:
        facts = time_table(places), environment_table(read_runs(places[0].runs))
        sections.append(Section.of("cost", "Cost and environment", *facts))
    sections.append(Section.of("again", "How to run it", text=_commands(shown, places)))
    return document(f"{shown.name}: {shown.title}", shown.paper, sections)


def _untrained_section(
    title: str, some: Sequence[ReproducedNumber], lead: str, tables: Sequence[ReportTable]
) -> Section | None:
    return Section.of(slug(some[0].data), title, *tables, lead=(f"{lead} {_summary(some)}",))


def _untrained(
    shown: Experiment, known: Sequence[list[ReproducedNumber]], counted: Sequence[list[ReproducedNumber]]
) -> list[KeptResult]:
    """What is told of numbers for which nothing was run: of a printed size, or of the data itself."""
    code, today = code_version(checkout()), date.today().isoformat()
    ways = [(some, {"calculated": True}) for some in known] + [(some, {"counted": True}) for some in counted]
    return [KeptResult(some[0].data, today, code, shown.seeds, **way) for some, way in ways]


def _of_counts(shown: Experiment, data: str) -> list[ReproducedNumber]:
    """What can be said about a data set that is not here but whose size is printed."""
    found: Values = {
        row: {key: Interval(value) for key, value in values.items()}
        for row, values in calculated_costs(shown, data).items()
    }
    return numbers(shown, data, found)


def _csv(shown: Experiment, found: Sequence[ReproducedNumber]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for one in found:
        p = "" if one.test is None else f"{one.test.p_t:.3g}"
        values = [one.printed, one.ours.mean, one.ours.low, one.ours.high, one.difference]
        cells = ["" if value is None or value != value else f"{value:.6g}" for value in values]
        writer.writerow([shown.name, one.data, printable(one.row), one.metric, *cells, p, one.verdict.word])
    return text.getvalue()


def _markdown(
    shown: Experiment, places: Sequence[ExperimentPlace], sections: Mapping[str, Sequence[ReportTable]]
) -> str:
    """A head, and a section for every data set, which `murmura reproduce keep` can set beside others."""
    head = f"# {shown.name}: {shown.title}\n\n{shown.paper}. What was found: {shown.docs}.\n"
    parts = [head]
    for data, tables in sections.items():
        ran = [place for place in places if Path(place.data).stem == data]
        command = "".join(f"    {line}\n" for line in _commands(shown, ran).split("\n"))
        parts += [f"{SECTION}{data}\n", command, *map(to_markdown, tables)]
    return "\n".join(parts)


def _absent(shown: Experiment, counted: Sequence[list[ReproducedNumber]]) -> str:
    """The data sets of a table of data that are not here, with where to read how to get them."""
    here = {some[0].data for some in counted}
    missing = [data for data in shown.data if data not in here] if shown.of_data else []
    how = f"`murmura reproduce show {shown.name}` says what to get."
    return f"\nNot here: {', '.join(missing)}. {how}\n" if missing else ""


def _commands(shown: Experiment, places: Sequence[ExperimentPlace]) -> str:
    command = f"murmura reproduce run {shown.name}"
    quick = [" --quick" if place.folder.name.endswith("-quick") else "" for place in places]
    lines = [f"{command} --data {place.data}{flag}" for place, flag in zip(places, quick)]
    return "\n".join(lines or [command])
