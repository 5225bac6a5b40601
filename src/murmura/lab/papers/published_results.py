"""Which tables and figures are kept, and from which run: `<name>.json` beside the CSV of each.

A checkout has them in docs/results/reproductions; an installed package does not carry them.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from itertools import groupby
from pathlib import Path
from textwrap import indent

from pydantic import TypeAdapter, ValidationError

from murmura.core.errors import RunError
from murmura.core.version import __version__
from murmura.engine.run_folder import Run
from murmura.lab.papers.experiments import Experiment, experiment, experiment_names
from murmura.lab.papers.numbers import is_of_the_data
from murmura.lab.papers.reproduce import ExperimentPlace
from murmura.report.table import Column, ReportTable, TableCell, to_markdown

PLACE = Path("docs") / "results" / "reproductions"
TABLES = "-tables.csv"  # ends the name of the file with what a page shows


@dataclass(frozen=True)
class PublishedResult:
    """What an experiment's numbers on one data set come from."""

    data: str
    date: str  # on which its run ended
    code: str  # the commit that wrote it; the version, where it was no checkout
    seeds: int
    fits: int = 0
    cpu_minutes: float = 0.0
    quick: bool = False
    calculated: bool = False  # from the size of the data as printed: nothing was trained
    counted: bool = False  # in the data set itself: nothing was trained
    fewest: int = 0  # seeds of the rows that have fewer than the others; 0: all have as many

    def text(self) -> str:
        """In a few words."""
        if self.calculated:
            return f"calculated from its printed size ({self.date}, {self.code})"
        if self.counted:
            return f"counted ({self.date}, {self.code})"
        what = "only --quick" if self.quick else "kept"
        seeds = f"{self.seeds} seed{'s' if self.seeds > 1 else ''}"
        seeds = f"{self.fewest} to {seeds}" if self.fewest else seeds
        return f"{what}: {self.date}, {self.code}, {self.minutes} CPU min, {seeds}"

    @property
    def minutes(self) -> str:
        """CPU minutes, with a decimal where they are few."""
        return f"{self.cpu_minutes:.0f}" if self.cpu_minutes >= 10 else f"{self.cpu_minutes:.1f}"


def checkout(package: Path | None = None) -> Path | None:
    """The sources' folder; None where the package is installed."""
    root = (package or Path(str(resources.files("murmura")))).parents[1]
    return root if (root / PLACE).is_dir() else None


def saved_results() -> Path | None:
    """The folder of kept results in a checkout; None where the package is installed."""
    root = checkout()
    return root and root / PLACE


def code_version(root: Path | None) -> str:
    """The commit of a checkout, or the version of the package."""
    if root is None:
        return f"version {__version__}"
    asked = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return f"version {__version__}"


def result_of(place: ExperimentPlace) -> PublishedResult:
    """What the files of a run say of it."""
    total, seeds = place.kept.spent, place.experiment.seeds
    fewest = min((row.seeds or seeds for row in place.experiment.rows.values()), default=seeds)
    return PublishedResult(
        data=Path(place.data).stem,
        date=str(Run(place.runs).read("status.json")["at"])[:10],
        code=code_version(checkout()),
        seeds=seeds,
        fits=round(total.fits),
        cpu_minutes=round(total.cpu / 60, 1),
        quick=place.folder.name.endswith("-quick"),
        fewest=fewest if fewest < seeds else 0,
    )


def written(shown: Experiment, found: list[PublishedResult]) -> str:
    """The text of `<name>.json`."""
    return json.dumps({"experiment": shown.name, "results": [asdict(one) for one in found]}, indent=1) + "\n"


def published_results(name: str, folder: Path) -> dict[str, PublishedResult]:
    """What is kept of an experiment in a folder: data set -> its run."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["results"]
        results = TypeAdapter(list[PublishedResult]).validate_python(found)
    except (ValueError, KeyError, TypeError, ValidationError):
        raise RunError(f"{path} is damaged: run `murmura reproduce run {name}` and keep its files.") from None
    return {one.data: one for one in results}


def cost_before(ran: Experiment, data: str) -> PublishedResult | None:
    """The kept whole run of an experiment on a data set, which says how long it will take."""
    kept = saved_results()
    known = published_results(ran.name, kept).get(data) if kept else None
    return known if known and not (known.quick or known.calculated or known.counted) else None


def shares_with(shown: Experiment, data: str) -> Experiment:
    """The experiment whose run is shown on a data set: on one the paper does not have, the first it names."""
    bases = [] if shown.rows else list(shown.same_run_as.values())
    whose = shown.same_run_as.get(data) or next(iter(bases), None)
    return shown if whose is None else experiment(whose)


def unique_verdicts(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Verdicts on printed numbers of trained models, and on sizes and costs that follow from the data.

    A number that two tables print of the same run counts once.
    """
    trained, facts = dict[tuple[str, ...], str](), dict[tuple[str, ...], str]()
    for name in filter(set(experiment_names()).__contains__, (file.stem for file in folder.glob("*.csv"))):
        shown = experiment(name)
        columns = dict.fromkeys(("data", "row", "metric", "verdict"), str)
        for data, row, metric, word in Run(folder).read_columns(f"{name}.csv", **columns):
            if word:
                base = shares_with(shown, data).name
                (facts if is_of_the_data(metric) else trained)[base, data, row, metric] = word
    return Counter(trained.values()), Counter(facts.values())


def publish(shown: Experiment, out: Path, place: Path) -> list[Path]:
    """Put what a run wrote into `out` beside what `place` has of other data sets; returns the files.

    Of a data set that is kept already, the new result takes the place of the old one.
    """
    made, kept = Run(out), Run(place)
    new, old = published_results(shown.name, out), published_results(shown.name, place)
    if not new or any(one.quick for one in new.values()):
        has = "one with --quick" if new else "none"
        raise RunError(
            f"{out} must hold a whole run of {shown.name}, but has {has}: `murmura reproduce run` makes it."
        )
    stays = [data for data in old if data not in new]
    found = old | new
    order = [data for data in dict.fromkeys((*shown.data, *shown.also, *found)) if data in found]
    tables = {name: made.read_table(name) for name in (f"{shown.name}.csv", f"{shown.name}{TABLES}")}
    for name, (header, rows) in tables.items():
        before, lines = kept.read_table(name) if stays else (header, [])
        if before != header:
            raise RunError(
                f"{place / name} must have today's columns, but has not: run {shown.name} on "
                f"{', '.join(sorted(stays))} again."
            )
        column = header.index("data")
        rows += [row for row in lines if row[column] in stays]
        rows.sort(key=lambda row: order.index(row[column]))
    texts = {
        f"{shown.name}.json": written(shown, [found[data] for data in order]),
        **_auxiliary_files(shown, out, new),
    }
    for name, (header, rows) in tables.items():
        kept.write_table(name, header, rows)
    for name, text in texts.items():
        kept.write(name, text)
    return [place / name for name in (*tables, *texts)]


def _auxiliary_files(shown: Experiment, out: Path, new: Iterable[str]) -> dict[str, str]:
    """Guesses of an audit, and the trials of a run: they are kept once, with the experiment whose run it is."""
    names = [
        f"{shown.name}-{data}-{kind}.csv"
        for data in new
        for kind in ("shares", "trials")
        if kind == "shares" or shares_with(shown, data).name == shown.name
    ]
    return {name: (out / name).read_text(encoding="utf-8") for name in names if (out / name).is_file()}


HEADER = ("data", "part", "cells")  # parts: command, title, heads, sides (1: numbers), row, note
_INTERVAL = re.compile(r"(.*) \[([\d\N{MINUS SIGN}][^\[\]]*)\]")


def table_lines(parts: Iterable[tuple[str, str, Iterable[ReportTable]]]) -> list[list[str]]:
    """What a page shows: of each data set its command and its tables."""
    lines = []
    for data, command, tables in parts:
        lines += [[data, "command", line] for line in command.splitlines()]
        for table in tables:
            lines.append([data, "title", table.title])
            lines.append([data, "heads", *(column.title for column in table.columns)])
            lines.append([data, "sides", *(str(int(column.numeric)) for column in table.columns)])
            lines += [[data, "row", *map(_shown, row)] for row in table.rows]
            lines += [[data, "note", note] for note in table.notes]
    return lines


def published_page(shown: Experiment, folder: Path) -> str:
    """The head, and a section for every data set the folder has."""
    header, lines = Run(folder).read_table(f"{shown.name}{TABLES}")
    if tuple(header) != HEADER:
        path = folder / f"{shown.name}{TABLES}"
        raise RunError(f"{path} must have the columns {', '.join(HEADER)}; run the experiment again.")
    parts = [f"# {shown.name}: {shown.title}\n\n{shown.paper}. What was found: {shown.docs}.\n"]
    for data, own in groupby(lines, lambda line: line[0]):
        commands, *tables = _split(own)
        command = "\n".join(line for (line,) in commands["command"])
        parts += [f"## {data}\n\n{indent(command, '    ')}\n", *(to_markdown(_table(one)) for one in tables)]
    missing = absent(shown, {line[0] for line in lines})
    return "\n".join([*parts, *([f"{missing}\n"] if missing else [])])


def absent(shown: Experiment, here: Container[str]) -> str:
    """The data sets of a table of data that are not here, with where to read how to get them."""
    missing = [data for data in shown.data if data not in here] if shown.of_data else []
    how = f"`murmura reproduce show {shown.name}` says what to get."
    return f"Not here: {', '.join(missing)}. {how}" if missing else ""


def _split(lines: Iterable[Sequence[str]]) -> list[dict[str, list[list[str]]]]:
    """What stands before the first table, and each table from its title to the next: by part its lines."""
    found = [defaultdict[str, list[list[str]]](list)]
    for _, part, *cells in lines:
        if part == "title":
            found.append(defaultdict(list))
        found[-1][part].append(cells)
    return [*found]


def _table(lines: Mapping[str, list[list[str]]]) -> ReportTable:
    columns = tuple(Column(head, numeric=side == "1") for head, side in zip(*lines["heads"], *lines["sides"]))
    rows = tuple(tuple(map(_cell, cells)) for cells in lines["row"])
    return ReportTable("", lines["title"][0][0], columns, rows, tuple(note for (note,) in lines["note"]))


def _shown(cell: TableCell) -> str:
    """The text of a cell, its mark and its interval."""
    return " ".join(filter(None, [cell.text + cell.mark, cell.interval and f"[{cell.interval}]"]))


def _cell(text: str) -> TableCell:
    found = _INTERVAL.fullmatch(text)
    return TableCell(None, found[1], interval=found[2]) if found else TableCell(None, text)
