"""Independent fits in worker processes: one thread each, gone when their parent is gone."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")
Steps = Generator[list[T], list[R], A]  # tasks out, their results in, in the same order; an answer at the end
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class InlineExecutor(Executor):
    """The same interface in this process: for one worker."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run it now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """One after the other, each when its result is asked for: what was done before a kill is known."""
        return map(fn, *iterables)


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Worker processes; with one worker this process itself."""
    if workers == 1:
        yield InlineExecutor()
        return
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # read by the libraries when a worker loads them
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_follow_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run_steps(
    pool: Executor, work: Callable[[T], R], steps: Sequence[Steps[T, R, A]], done: Callable[[T, R], None]
) -> list[A]:
    """Run several sequences of steps side by side; `done` hears of every task when it is finished.

    Each step is a list of tasks; its sequence goes on when all of them are finished, whatever the others do.
    """
    answers: dict[int, A] = {}
    waiting: dict[int, list[R | None]] = {}
    running: dict[Future[R], tuple[int, int, T]] = {}
    heard: set[Future[R]] = set()

    def hear(future: Future[R]) -> R:
        result = future.result()
        if future not in heard:
            heard.add(future)
            done(running[future][2], result)
        return result

    def advance(which: int, results: list[R] | None) -> None:
        tasks: list[T] = []
        while not tasks:  # a step without a task is finished at once
            try:
                tasks = steps[which].send(results) if results is not None else next(steps[which])
            except StopIteration as end:
                answers[which] = end.value
                return
            results = []
        waiting[which] = [None] * len(tasks)
        for place, task in enumerate(tasks):
            future = pool.submit(work, task)
            running[future] = (which, place, task)
            if future.done():  # by one worker, this process: told now, not when the whole step is finished
                hear(future)

    for which in range(len(steps)):
        advance(which, None)
    while running:
        finished, _ = wait(list(running), return_when=FIRST_COMPLETED)
        for future in finished:
            result = hear(future)
            which, place, _ = running.pop(future)
            waiting[which][place] = result
            if all(one is not None for one in waiting[which]):
                advance(which, [one for one in waiting[which] if one is not None])
    return [answers[which] for which in range(len(steps))]


def _follow_parent() -> None:
    """End with the parent: a worker whose parent was killed would otherwise wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)
