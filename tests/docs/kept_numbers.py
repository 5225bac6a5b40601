"""Marks that tie a number on a page to the CSV it comes from, and what they say of a page.

A mark is an invisible comment. After a number, or several:

    .0271<!-- kept: reproductions/fpl-table2.csv; row=Top-Pop; P@10 -->

Above a table, with a cell for each of its columns (empty where nothing is checked):

    <!-- kept: reproductions/fpl-table2.csv; row={1} | | P@10; printed | P@10 -->

The path is below docs/results. `key=value` picks lines of the CSV; {n} is what stands in the n-th cell of the
row, and `key={n}` the longest value of that column with which the cell begins. A word that is no `key=value` is
the column to read, or several, `ours, printed`, for several numbers in one cell; a word that is no column is a
metric, and there may be several too. Without a column it is `ours`; `±` is half the width from low to high. One
line must be left, unless the `mean` or the `sum` of several is asked for. The number must be the kept one,
rounded to the digits that are printed; with `seeds` the cell has one for each seed, and their mean must be it.

A page without marks has a table in a test instead: of each number, its row and column (or the words around it)
and what a mark would say (`cell_problems`, `sentence_problems`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from statistics import fmean
from typing import NamedTuple

from tests.docs.markdown_pages import ROOT, without_blocks

RESULTS = ROOT / "docs" / "results"
MARK = re.compile(r"<!-- kept: (.*?) *-->", re.DOTALL)
NUMBER = re.compile(r"[-\N{MINUS SIGN}]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?(?: ?%)?")
Line = dict[str, str]
OVER: dict[str, Callable[[Iterable[float]], float]] = {"mean": fmean, "sum": sum}


class Claim(NamedTuple):
    """Which line of a file is meant, or what over several, and which columns."""

    file: str
    picks: dict[str, str]
    metrics: tuple[str, ...]
    columns: tuple[str, ...]
    over: str
    seeds: bool  # one number for each seed is printed, and their mean is kept

    @property
    def places(self) -> list[tuple[str, str]]:
        """The metric and the column of every number."""
        return [(metric, column) for metric in self.metrics or ("",) for column in self.columns]

    def lines(self, metric: str) -> list[Line]:
        """The lines meant, of one metric."""
        picks = {**self.picks, **({"metric": metric} if metric else {})}
        return [line for line in lines_of(self.file) if all(line.get(k) == v for k, v in picks.items())]


@cache
def lines_of(file: str) -> list[Line]:
    with (RESULTS / file).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def claim(file: str, text: str, cells: list[str]) -> Claim:
    """Read `key=value; word`; of two parts about one key the later counts."""
    known = lines_of(file)[0]
    picks: dict[str, str] = {}
    metrics: tuple[str, ...] = ()
    columns: tuple[str, ...] = ("ours",)
    over, seeds = "", False
    for part in filter(None, map(str.strip, text.split(";"))):
        names = (part,) if part in known else tuple(name.strip() for name in part.split(","))
        key, _, value = part.partition("=")
        if part in OVER:
            over = part
        elif part == "seeds":
            seeds = True
        elif all(name == "±" or name in known for name in names):
            columns = names
        elif value and key in known:
            picks[key] = _filled(value, cells, {line[key] for line in lines_of(file)})
        else:
            metrics = names
    return Claim(file, picks, metrics, columns, over, seeds)


def _filled(value: str, cells: list[str], known: set[str]) -> str:
    text = re.sub(r"\{(\d+)\}", lambda found: cells[int(found[1]) - 1], value)
    if not re.fullmatch(r"\{\d+\}", value) or text in known:
        return text
    begins = (name for name in known if name and text.lower().startswith(name.lower()))
    return max(begins, key=len, default=text)


def numbers(text: str) -> list[str]:
    """The numbers of a piece of Markdown as they are written; P@10 and T1 have none."""
    return NUMBER.findall(re.sub(r"[A-Za-z]@?\d+", "", text))


def agrees(printed: str, kept: float) -> bool:
    """Whether a number as printed is the kept one, rounded to as many digits."""
    number = re.sub(r"[,% ]", "", printed).replace("\N{MINUS SIGN}", "-")
    mantissa, _, exponent = number.partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    value = 100 * kept if printed.endswith("%") else kept
    return abs(float(number) - value) <= 0.5 * 10.0**-digits * (1 + 1e-9) + 1e-12


def agrees_on_mean(printed: str, kept: float) -> bool:
    """Whether the mean of several numbers is the kept one, each of them rounded; whole numbers are exact."""
    each = [one.rstrip(",").replace(",", "") for one in printed.split()]
    digits = min(len(one.partition(".")[2]) for one in each)
    return abs(fmean(map(float, each)) - kept) <= 0.5 * 10.0 ** -(digits or 3) + 1e-12


def kept(line: Line, column: str) -> float | None:
    """What the line has in a column; None where it has nothing."""
    if column == "±":
        return (float(line["high"]) - float(line["low"])) / 2 if line["low"] else None
    return float(line[column]) if line[column] else None


def problems(text: str) -> list[str]:
    """Every mark of a page's text that does not hold, in a sentence each."""
    page = without_blocks(text)
    return [found for mark in MARK.finditer(page) for found in _of_mark(page, mark)]


def cell_problems(text: str, row: str, column: str, marks: list[str]) -> list[str]:
    """What does not hold of a table's cell: its decimal numbers are those of the marks, in their order."""
    cells = _cells(text, row, column)
    if len(cells) != 1:
        return [f"one cell must be in row '{row}' and column '{column}', but {len(cells)} are; name it anew."]
    return _each(re.findall(r"(?<![\d.])\.\d+", cells[0]), marks, f"row '{row}', column '{column}'")


def sentence_problems(text: str, words: str, mark: str) -> list[str]:
    """What does not hold of the number that stands for {} in these words; spaces and line ends are alike."""
    pattern = r"(\S+(?: %)?)".join(re.escape(part) for part in words.split("{}"))
    printed = [number for found in re.findall(pattern, " ".join(text.split())) for number in numbers(found)]
    return _each(printed, [mark], f"'{words}'")


def _cells(text: str, row: str, column: str) -> list[str]:
    """The cells of a page in the rows that begin with a label, below the heading of a column."""
    found: list[str] = []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in table.splitlines()]
        names = [cell.strip() for cell in head]
        if column in names:
            found += [cells[names.index(column)] for cells in rows if cells[0].strip().startswith(row)]
    return found


def _each(printed: list[str], marks: list[str], place: str) -> list[str]:
    if len(printed) != len(marks):
        return [
            f"{place} must have {len(marks)} numbers, but has {len(printed)}; correct the page or the table."
        ]
    read = [(number, *mark.partition(";")[::2]) for number, mark in zip(printed, marks)]
    return [found for number, file, picks in read for found in _compared(claim(file, picks, []), [number])]


def _of_mark(text: str, mark: re.Match[str]) -> Iterator[str]:
    head, *columns = " ".join(mark[1].split()).split("|")
    file, _, picks = head.partition(";")
    file = file.strip()
    if not (RESULTS / file).is_file():
        yield f"a mark must name a file below docs/results, but it names '{file}'; write its path."
    elif columns:
        yield from _of_table(text[mark.end() :], file, picks, columns)
    else:
        meant = claim(file, picks, [])
        before = MARK.sub("", text[: mark.start()].rpartition("\n\n")[2])
        yield from _compared(meant, numbers(before)[-len(meant.places) :])


def _of_table(after: str, file: str, picks: str, columns: list[str]) -> Iterator[str]:
    table = re.match(r"\s*((?:\|.*\n?)+)", after)
    rows = table[1].splitlines()[2:] if table else []
    if not rows:
        yield f"a mark with columns must stand above a table, but that of {file} does not; move it."
    for row in rows:
        texts = [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip())[1:-1]]
        if len(texts) != len(columns):
            yield f"a mark must have a cell for each column, but {file} has {len(columns)} for {len(texts)}."
            return
        labels = [re.sub(r"[*`]", "", text).replace("\\|", "|") for text in texts]
        for column, text in zip(columns, texts):
            if column.strip():
                yield from _compared(claim(file, f"{picks};{column}", labels), numbers(text))


def _compared(meant: Claim, printed: list[str]) -> Iterator[str]:
    if meant.seeds and len(printed) > 1:
        printed = [" ".join(printed)]
    right = agrees_on_mean if meant.seeds else agrees
    for number, (metric, column) in zip([*printed, *([""] * len(meant.places))], meant.places):
        place = " ".join([meant.file, *meant.picks.values(), metric, column]).replace("  ", " ")
        lines = meant.lines(metric)
        if len(lines) > 1 and not meant.over:
            yield f"a mark must mean one line, but {place} has {len(lines)}; name more of it."
            continue
        value = _value(lines, column, meant.over)
        if (number == "") != (value is None) or (value is not None and not right(number, value)):
            yield f"{place} is {value}, but '{number}' is printed; write what is kept."


def _value(lines: list[Line], column: str, over: str) -> float | None:
    values = [value for line in lines if (value := kept(line, column)) is not None]
    return OVER[over or "mean"](values) if values else None
