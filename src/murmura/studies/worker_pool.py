"""Independent fits in worker processes, here or on a cluster: one thread each, gone with their parent."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")
Steps = Generator[list[T], list[R], A]  # tasks out, their results in, in the same order; an answer at the end
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


REPETITIONS = 3  # of a task whose worker was lost; one that ends its worker each time is given up then

_held: Any = None  # what the tasks of this worker have in common


@dataclass(frozen=True)
class Workers:
    """Who does independent work: so many processes here, or the workers of a cluster. They change no result."""

    count: int = 1
    cluster: str = ""  # "local:2" or the address of a Dask scheduler; "": processes of this machine
    tls: Path | None = None
    said: Callable[[str], None] = field(default=lambda sentence: None, compare=False)  # a worker was lost

    @staticmethod
    def of(workers: int | Workers) -> Workers:
        """A number is so many processes."""
        return workers if isinstance(workers, Workers) else Workers(workers)

    @property
    def size(self) -> int:
        """How many there are, as far as this process can tell."""
        here = self.cluster.removeprefix("local:")
        return int(here) if here != self.cluster and here.isdecimal() else self.count

    @property
    def alone(self) -> bool:
        """Whether this process does everything itself."""
        return self.count == 1 and not self.cluster


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


class ProcessWorkers(Executor):
    """Worker processes; where one is killed, all begin anew and repeat what they were at.

    `begin` is called once in every process before its first task.
    """

    def __init__(self, count: int, begin: Callable[[], None], said: Callable[[str], None]) -> None:
        self._count, self._begin, self._said = count, begin, said
        self._lock, self._pool = threading.Lock(), self._new()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have it called by a process, and again by another where that one is lost."""
        wanted: Future[Any] = Future()
        self._send(wanted, partial(fn, *args, **kwargs), REPETITIONS)
        return wanted

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the processes end."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def _send(self, wanted: Future[Any], call: Callable[[], Any], left: int) -> None:
        with self._lock:
            try:
                running = self._pool.submit(call)
            except BrokenProcessPool:  # a moment before those at work hear of it
                self._renew()
                running = self._pool.submit(call)
            pool = self._pool
        running.add_done_callback(partial(self._ended, wanted, call, left, pool))

    def _ended(
        self, wanted: Future[Any], call: Callable[[], Any], left: int, pool: Executor, running: Future[Any]
    ) -> None:
        if running.cancelled():
            wanted.cancel()
        elif (error := running.exception()) is None:
            wanted.set_result(running.result())
        elif isinstance(error, BrokenProcessPool) and left:
            with self._lock:
                if self._pool is pool:  # the first to hear of it
                    self._renew()
            self._send(wanted, call, left - 1)
        else:
            wanted.set_exception(error)

    def _renew(self) -> None:
        self._pool = self._new()
        self._said("a worker process was killed; what the workers were at is repeated")

    def _new(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._count, mp_context=spawn, initializer=_follow, initargs=(self._begin,))


def held() -> Any:
    """What the tasks of this worker have in common: it came once, before the first of them."""
    return _held


def _hold(common: Any) -> None:
    global _held
    _held = common


@contextmanager
def processes(workers: int | Workers, common: Any = None) -> Iterator[Executor]:
    """Worker processes, of this machine or of a cluster; with one worker this process itself.

    `common` is sent to every worker once; its tasks find it by `held`.
    """
    wanted = Workers.of(workers)
    if wanted.alone:
        before = held()
        _hold(common)
        try:
            yield InlineExecutor()
        finally:
            _hold(before)
        return
    if wanted.cluster:
        from murmura.runtimes.dask import dask_executor

        with dask_executor(wanted.cluster, wanted.tls, partial(_hold, common), wanted.said) as executor:
            yield executor
        return
    with _one_thread_each():
        pool = ProcessWorkers(wanted.count, partial(_hold, common), wanted.said)
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Libraries read it when a worker loads them."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
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


def _follow(begin: Callable[[], None]) -> None:
    """End with the parent: a worker whose parent was killed would otherwise wait for work for ever."""
    begin()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)
