"""How long work says how far it is, without knowing who listens."""

from typing import Protocol


class Progress(Protocol):
    """A listener: the command line draws it with the time left, a library call ignores it."""

    def begin(self, task: str, total: int) -> None:
        """A task of `total` steps starts."""
        return

    def advance(self, steps: int = 1) -> None:
        """Some steps of the current task are done."""
        return

    def end(self) -> None:
        """The current task is over."""
        return


class SilentProgress(Progress):
    """Nobody listens."""


SILENT = SilentProgress()
