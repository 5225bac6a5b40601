"""How long work says how far it is, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A listener: the command line draws it with the time left, a library call ignores it.

    A task may begin inside another one; `advance`, `carried` and `end` are about the innermost.
    """

    def begin(self, task: str, total: int) -> None:
        """A task of `total` steps starts; its name says what a step is: epochs, rounds."""
        return

    def advance(self, steps: int = 1) -> None:
        """Some steps of the current task are done."""
        return

    def carried(self, length: int) -> None:
        """So many bytes went up and down the network since this was last said."""
        return

    def end(self) -> None:
        """The current task is over."""
        return


class SilentProgress(Progress):
    """Nobody listens."""


class NamedProgress:
    """Tells a listener whose tasks these are: "bpr-mf: epochs"."""

    def __init__(self, listener: Progress, name: str) -> None:
        self.listener, self.name = listener, name
        self.advance, self.carried, self.end = listener.advance, listener.carried, listener.end

    def begin(self, task: str, total: int) -> None:
        """With the name before it."""
        self.listener.begin(f"{self.name}: {task}", total)


SILENT = SilentProgress()
