"""Sequences of fits side by side: each goes on when the fits of its last step are finished."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")
Steps = Generator[list[T], list[R], A]  # tasks out, their results in, in the same order; an answer at the end


def run_steps(
    pool: Executor,
    work: Callable[[T], R],
    steps: Sequence[Steps[T, R, A]],
    done: Callable[[T, R], None],
    known: Callable[[T], R | None] = lambda task: None,
) -> list[A]:
    """Run several sequences of steps side by side; `done` hears of every task when it is finished.

    Each step is a list of tasks; its sequence goes on when all of them are finished, whatever the others do. A
    task whose result is `known` is not worked on. Where one fails, `done` hears of those that have begun, too.
    """
    answers: dict[int, A] = {}
    asked: dict[int, list[Future[R]]] = {}  # the last step of each sequence
    running: dict[Future[R], T] = {}

    def hear(future: Future[R]) -> None:
        task = running.pop(future)
        if future.exception() is not None:
            begun = [one for one in running if not one.cancel()]
            for one in wait(begun).done:
                if one.exception() is None:
                    done(running[one], one.result())
        done(task, future.result())

    def advance(which: int) -> None:
        one, results = steps[which], [future.result() for future in asked.get(which, ())]
        try:
            tasks = one.send(results) if which in asked else next(one)
        except StopIteration as end:
            answers[which] = end.value
            return
        asked[which] = []
        for task in tasks:
            future = Future[R]() if (found := known(task)) is not None else pool.submit(work, task)
            if found is not None:
                future.set_result(found)
            asked[which].append(future)
            running[future] = task
            if future.done():  # by one worker, this process: told now, not when the whole step is finished
                hear(future)

    while len(answers) < len(steps):
        for which in range(len(steps)):
            while which not in answers and running.keys().isdisjoint(asked.get(which, ())):
                advance(which)
        for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
            hear(future)
    return [answers[which] for which in range(len(steps))]
