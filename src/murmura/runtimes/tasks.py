"""The seam between shards and whatever runs them: three calls, submit, gather and release.

A task is a pure function of values and of other tasks' results. `near` says where among all shards it belongs,
so that the tasks of one shard can stay where its data are; it changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Handle = Any  # stands for the result of a task, here or on another machine
Near = tuple[int, int]  # shard number s of S
FAN_IN = 8  # partial sums that one task adds


@dataclass(eq=False)
class _Result:
    value: Any


class TaskEngine:
    """Runs every task at once, in this process; another one runs them elsewhere."""

    def submit(self, function: Callable[..., Any], *arguments: Any, near: Near | None = None) -> Handle:
        """Have a function called; handles among the arguments stand for their results."""
        return _Result(function(*(one.value if isinstance(one, _Result) else one for one in arguments)))

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """The results, once they are there."""
        return [handle.value for handle in handles]

    def release(self, handles: Sequence[Handle]) -> None:
        """These results are needed no more, but by tasks that have been submitted."""
        for handle in handles:
            handle.value = None


@dataclass(eq=False)
class SumTree:
    """Adds results up as they are submitted, so that few partial sums wait; the order is that of submission."""

    tasks: TaskEngine
    function: Callable[..., Any]
    fan_in: int = FAN_IN
    _levels: list[list[Handle]] = field(default_factory=list)

    def add(self, handle: Handle, level: int = 0) -> None:
        """One more."""
        if level == len(self._levels):
            self._levels.append([])
        waiting = self._levels[level]
        waiting.append(handle)
        if len(waiting) == self.fan_in:
            self._levels[level] = []
            self.add(self._combined(waiting), level + 1)

    def total(self) -> Handle:
        """The sum of all that were added, at least one."""
        rest: list[Handle] = []
        for waiting in self._levels:  # what is lower came later
            rest = [*waiting, *([self._combined(rest)] if len(rest) > 1 else rest)]
        return self._combined(rest)

    def _combined(self, handles: list[Handle]) -> Handle:
        combined = self.tasks.submit(self.function, *handles)
        self.tasks.release(handles)
        return combined
