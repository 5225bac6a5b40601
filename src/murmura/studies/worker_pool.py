"""Independent fits in worker processes, here or on a cluster: one thread each, gone with their parent."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar
from uuid import uuid4

from murmura.core.errors import FederationError

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")
Steps = Generator[list[T], list[R], A]  # tasks out, their results in, in the same order; an answer at the end
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


REPETITIONS = 3  # of a task whose worker was lost; one that ends its worker each time is given up then

_held: dict[str, Any] = {}  # what the tasks of this worker have in common, by who sent them
_whose: ContextVar[str] = ContextVar("whose", default="")  # the name of the task at work; "": a process of ours


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
    """Worker processes; one that is killed begins anew and repeats what it was at, the others go on.

    Each is a pool of its own, so it is known whose task ended it. `begin` is called once in every process
    before its first task.
    """

    def __init__(self, count: int, begin: Callable[[], None], said: Callable[[str], None]) -> None:
        self._begin, self._said, self._ending = begin, said, False
        self._threads, self._idle = ThreadPoolExecutor(count), SimpleQueue[ProcessPoolExecutor]()
        for _ in range(count):
            self._idle.put(self._new())

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have it called by a process, and again by another where that one is lost."""
        return self._threads.submit(self._repeated, partial(fn, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the processes end."""
        self._ending = True
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        while not self._idle.empty():
            self._idle.get().shutdown(wait)

    def _repeated(self, call: Callable[[], Any]) -> Any:
        """In a thread, of which there are as many as processes: what a process answers."""
        process = self._idle.get()
        try:
            for left in reversed(range(REPETITIONS + 1)):
                try:
                    return process.submit(call).result()
                except BrokenProcessPool:
                    process = self._new()
                    if not left or self._ending:
                        break
                    self._said("a worker process was killed; what it was at is repeated")
        finally:
            self._idle.put(process)
        raise FederationError(
            f"a fit must not end its worker process, but one did so {REPETITIONS + 1 - left} times; take fewer "
            "--workers, so that each has more memory, or smaller settings."
        )

    def _new(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, mp_context=spawn, initializer=_follow, initargs=(self._begin,))


class NamedExecutor(Executor):
    """Another executor, whose tasks find what is held by this name in a worker that others share."""

    def __init__(self, inner: Executor, name: str) -> None:
        self._inner, self._name = inner, name

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have it called."""
        return self._inner.submit(_call_named, self._name, partial(fn, *args, **kwargs))


def _call_named(name: str, call: Callable[[], Any]) -> Any:
    """In a worker."""
    before = _whose.set(name)
    try:
        return call()
    finally:
        _whose.reset(before)


def held() -> Any:
    """What the tasks of this worker have in common: it came once, before the first of them."""
    return _held.get(_whose.get())


def _hold(name: str, common: Any) -> None:
    _held[name] = common


def _let_go(name: str) -> None:
    _held.pop(name, None)


@contextmanager
def processes(workers: int | Workers, common: Any = None) -> Iterator[Executor]:
    """Worker processes, of this machine or of a cluster; with one worker this process itself.

    `common` is sent to every worker once; its tasks find it by `held`.
    """
    wanted = Workers.of(workers)
    if wanted.alone:
        whose, before = _whose.get(), held()
        _hold(whose, common)
        try:
            yield InlineExecutor()
        finally:
            _hold(whose, before)
        return
    if wanted.cluster:
        from murmura.runtimes.dask import BeginWorker, dask_executor

        name = uuid4().hex  # others may be at work on the same cluster
        begin = BeginWorker(partial(_hold, name, common), partial(_let_go, name))
        with dask_executor(wanted.cluster, wanted.tls, begin, name, wanted.said) as executor:
            yield NamedExecutor(executor, name)
        return
    with _one_thread_each():
        pool = ProcessWorkers(wanted.count, partial(_hold, "", common), wanted.said)
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
