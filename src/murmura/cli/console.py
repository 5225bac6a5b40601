"""What a person sees: messages and progress on stderr, tables on stdout. Light until it draws."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from murmura.core.progress import SILENT, Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.table import Table

WIDTH = 160  # of a table that goes into a file or a pipe; COLUMNS says otherwise


@dataclass
class Console:
    """How the command line speaks; set once from the global flags."""

    quiet: bool = False
    verbose: bool = False
    color: bool = True
    insecure: bool = False  # plain HTTP beyond this machine is allowed: every line says so


CONSOLE = Console()


def say(text: str, always: bool = False) -> None:
    """A message for the person, not part of the data."""
    if always or not CONSOLE.quiet:
        text += " [insecure]" if CONSOLE.insecure else ""
        width = shutil.get_terminal_size().columns
        if sys.stderr.isatty() and len(text) >= width and "\n" not in text:  # no word is broken at the edge
            text = textwrap.fill(text, width - 1, break_long_words=False, break_on_hyphens=False)
        sys.stderr.write(f"{text}\n")


def tell(line: Mapping[str, Any], sentence: str, as_json: bool) -> None:
    """What has just become known: one JSON object on stdout, or a sentence for the person."""
    if as_json:
        sys.stdout.write(json.dumps({**line, "insecure": True} if CONSOLE.insecure else dict(line)) + "\n")
        sys.stdout.flush()
    else:
        say(sentence)


def plain(text: str) -> str:
    """A text for a cell of a table as it stands: `murmura[neural]` is no mark-up."""
    from rich.markup import escape

    return escape(text)


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    text: bool | Sequence[str] = False,
    note: str = "",
) -> None:
    """A table on stdout: the first column is text, the others are numbers unless they are `text` as well.

    `text` says so of all columns, or of those it names; the note stands below. Where numbers need more than the
    width there is, their columns go on in a second part below, under the same first column.
    """
    from rich.console import Console as Screen

    wide = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or WIDTH)
    screen = Screen(no_color=not CONSOLE.color, width=wide, highlight=False)
    words = set(columns if text is True else text or ()) | set(columns[:1])
    parts = [range(len(columns))] if text is True else _parts(columns, rows, words, screen.width)
    for place, part in enumerate(parts):
        shown = [[row[at] for at in part] for row in rows]
        screen.print(_drawn([columns[at] for at in part], shown, words, "" if place else title))
    if note:
        screen.print(note, markup=False)


def _parts(
    columns: Sequence[str], rows: Sequence[Sequence[str]], words: set[str], width: int
) -> list[Sequence[int]]:
    """Which columns stand side by side: as many as the width holds, the first one in every part.

    Above a column of words the heading may break.
    """
    from rich.text import Text

    each = [
        max(Text.from_markup(cell).cell_len for cell in column[column[0] in words and len(column) > 1 :]) + 3
        for column in zip(columns, *rows)
    ]
    parts: list[list[int]] = [[0]]
    for at in range(1, len(columns)):
        if len(parts[-1]) > 1 and sum(each[one] for one in parts[-1]) + each[at] >= width:
            parts.append([0])
        parts[-1].append(at)
    return [*parts]


def _drawn(heads: Sequence[str], rows: Sequence[Sequence[str]], words: set[str], title: str) -> Table:
    from rich import box
    from rich.table import Table

    drawn = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for place, column in enumerate(heads):
        drawn.add_column(
            column, justify="left" if column in words else "right", no_wrap=place == 0 or column not in words
        )
    for row in rows:
        drawn.add_row(*row)
    return drawn


class ProgressBars:
    """`core.progress.Progress` drawn, a task inside another below it: steps, time left, rate of bytes."""

    def __init__(self, bars: Bars) -> None:
        self.bars, self.tasks, self.latest = bars, list[Any](), 1

    def begin(self, task: str, total: int) -> None:
        """A new bar."""
        self.tasks.append(self.bars.add_task(task, total=total, carried=0, rate=""))

    def advance(self, steps: int = 1) -> None:
        """Move it."""
        self.latest = steps
        if self.tasks:
            self.bars.advance(self.tasks[-1], steps)

    def carried(self, length: int) -> None:
        """Say how many bytes each of the latest steps took, and a second so far."""
        if not self.tasks:
            return
        task = next(one for one in self.bars.tasks if one.id == self.tasks[-1])
        carried = task.fields["carried"] + length
        rate = f"{size(length / max(1, self.latest))} each, {size(carried / max(task.elapsed or 0, 1e-3))}/s"
        self.bars.update(task.id, carried=carried, rate=rate)

    def end(self) -> None:
        """Take it away."""
        if self.tasks:
            self.bars.remove_task(self.tasks.pop())


def size(length: float) -> str:
    """Bytes for a person: 999 B, 1.2 kB, 34.4 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if length < 999.5 or unit == "GB":
            break
        length /= 1000
    return f"{length:,.0f} {unit}" if unit == "B" or length >= 99.95 else f"{length:.1f} {unit}"


@contextmanager
def progress() -> Iterator[Progress]:
    """Progress bars on stderr while the block runs; silent when quiet or when nobody watches."""
    if CONSOLE.quiet or not sys.stderr.isatty():
        yield SILENT
        return
    from rich.console import Console as Screen

    with drawn_bars(Screen(stderr=True, no_color=not CONSOLE.color)) as bars:
        yield ProgressBars(bars)


def drawn_bars(screen: Any) -> Bars:
    """The columns of a bar: what, how far, of how many, time left, bytes; 80 characters hold them."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    what = TextColumn(
        "{task.description}", table_column=Column(max_width=28, no_wrap=True, overflow="ellipsis")
    )
    rate = TextColumn("{task.fields[rate]}", table_column=Column(no_wrap=True))
    columns = (what, BarColumn(8), MofNCompleteColumn(), TimeRemainingColumn(compact=True), rate)
    return Bars(*columns, console=screen, transient=True)
