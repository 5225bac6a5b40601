"""The seam between shards and whatever runs them: three calls, submit, gather and release.

A task is a pure function of values and of other tasks' results. `near` says where among all shards it belongs,
so that the tasks of one shard can stay where its data are; it changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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


def summed(
    tasks: TaskEngine, function: Callable[..., Any], handles: Iterable[Handle], fan_in: int = FAN_IN
) -> Handle:
    """The sum of at least one result, in the order of submission; few partial sums wait."""
    waiting: list[Handle] = []

    def combined() -> Handle:
        total = tasks.submit(function, *waiting)
        tasks.release(waiting)
        return total

    for handle in handles:
        waiting.append(handle)
        if len(waiting) == fan_in:
            waiting = [combined()]
    return combined()
