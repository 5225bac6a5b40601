"""What a person sees: messages and progress on stderr, tables on stdout. Light until it draws."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from murmura.core.progress import SILENT, Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars


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
        sys.stderr.write(f"{text}{' [insecure]' if CONSOLE.insecure else ''}\n")


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

    `text` says so of all columns, or of those it names; the note stands below.
    """
    from rich import box
    from rich.console import Console as Screen
    from rich.table import Table

    drawn = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    drawn.caption, drawn.caption_justify, drawn.caption_style = note or None, "left", ""
    words = set(columns if text is True else text or ()) | set(columns[:1])
    for place, column in enumerate(columns):
        drawn.add_column(column, justify="left" if column in words else "right", no_wrap=place == 0)
    for row in rows:
        drawn.add_row(*row)
    wide = None if sys.stdout.isatty() else 160
    Screen(no_color=not CONSOLE.color, width=wide, highlight=False).print(drawn)


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
    """Bytes for a person: 999 B, 1.2 kB, 34 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if length < 999.5 or unit == "GB":
            break
        length /= 1000
    return f"{length:,.0f} {unit}" if unit == "B" or length >= 9.95 else f"{length:.1f} {unit}"


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
