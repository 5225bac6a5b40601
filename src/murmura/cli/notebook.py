"""Progress for those who call Murmura from Python: bars in a terminal, one line of HTML in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from murmura.cli import console
from murmura.core.progress import Progress, SilentProgress

APART = 0.2  # seconds between two drawings


class NotebookBar(SilentProgress):
    """`core.progress.Progress` as one element of a notebook's output that is drawn anew."""

    def __init__(self, ipython: Any) -> None:
        self.ipython, self.handle = ipython, None
        self.task, self.total, self.done = "", 1, 0
        self.begun = self.drawn = 0.0
        self.outer: list[tuple[str, int, int, float]] = []  # tasks around the current one

    def begin(self, task: str, total: int) -> None:
        """A new bar."""
        self.outer.append((self.task, self.total, self.done, self.begun))
        self.task, self.total, self.done, self.begun = task, max(1, total), 0, time.monotonic()
        self._draw()

    def advance(self, steps: int = 1) -> None:
        """Move it."""
        self.done += steps
        if time.monotonic() - self.drawn >= APART:
            self._draw()

    def end(self) -> None:
        """The task is over: back to the one around it; what the last one was stays to be read."""
        self._draw()
        around = self.outer.pop() if self.outer else ("", 1, 0, 0.0)
        if around[0]:
            self.task, self.total, self.done, self.begun = around

    def html(self, now: float) -> str:
        """The bar with what is done and the time left."""
        left = (now - self.begun) * (self.total - self.done) / self.done if self.done else 0.0
        told = f"{self.done} of {self.total}" + (f", about {left:.0f} s left" if left >= 1 else "")
        return f'{escape(self.task)} <progress value="{self.done}" max="{self.total}"></progress> {told}'

    def _draw(self) -> None:
        self.drawn = time.monotonic()
        shown = self.ipython.display.HTML(self.html(self.drawn))
        if self.handle is None:
            self.handle = self.ipython.display.display(shown, display_id=True)
        else:
            self.handle.update(shown)


@contextmanager
def progress() -> Iterator[Progress]:
    """Who listens to `fit`, `search` and `compare` with `progress=`: drawn where somebody can see it."""
    found = sys.modules.get("IPython")  # there already where a notebook calls, and imported by nobody else
    if found is not None and hasattr(found.get_ipython(), "kernel"):
        import_module(f"{found.__name__}.display")  # a module of its own
        yield NotebookBar(found)
        return
    with console.progress() as bar:
        yield bar
