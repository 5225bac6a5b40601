"""Independent fits in worker processes, here or on a cluster: one thread each, gone with their parent."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar
from uuid import uuid4

from murmura.core.errors import FederationError

T = TypeVar("T")
R = TypeVar("R")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
REPETITIONS = 3  # of a task whose worker was lost; one that ends its worker each time is given up then

_beginning = threading.Lock()  # of a worker process, while the environment of this one is changed
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


Send = Callable[[Callable[[], Any]], Future[Any]]  # has a call made somewhere


class WorkerPool(Executor):
    """An executor that knows how many tasks it does at once, at the moment, and who does them."""

    def __init__(self, size: Callable[[], int], send: Send) -> None:
        self.size, self._send = size, send

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have it called."""
        return self._send(partial(fn, *args, **kwargs))


class InlineExecutor(WorkerPool):
    """The same interface in this process: for one worker."""

    def __init__(self) -> None:
        super().__init__(lambda: 1, _now)

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """One after the other, each when its result is asked for: what was done before a kill is known."""
        return map(fn, *iterables)


def _now(call: Callable[[], Any]) -> Future[Any]:
    future: Future[Any] = Future()
    try:
        future.set_result(call())
    except Exception as error:
        future.set_exception(error)
    return future


@contextmanager
def _local(count: int, begin: Callable[[], None], said: Callable[[str], None]) -> Iterator[WorkerPool]:
    """Worker processes here; one that is killed begins anew and repeats what it was at, the others go on.

    Each is a pool of its own, so it is known whose task ended it. `begin` is called once in every process
    before its first task.
    """
    idle, ending = SimpleQueue[ProcessPoolExecutor](), threading.Event()

    def new() -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        made = ProcessPoolExecutor(1, mp_context=spawn, initializer=_follow, initargs=(begin,))
        with _one_thread_each():  # what it loads takes one thread, what this one loads takes its own
            made.submit(int)
        return made

    def repeated(call: Callable[[], Any]) -> Any:
        process = idle.get()
        try:
            for left in reversed(range(REPETITIONS + 1)):
                try:
                    return process.submit(call).result()
                except BrokenProcessPool:
                    process = new()
                    if not left or ending.is_set():
                        break
                    said("a worker process was killed; what it was at is repeated")
        finally:
            idle.put(process)
        raise FederationError(
            f"a fit must not end its worker process, but one did so {REPETITIONS + 1 - left} times; take fewer "
            "--workers, so that each has more memory, or smaller settings."
        )

    for _ in range(count):
        idle.put(new())
    threads = ThreadPoolExecutor(count)
    try:
        yield WorkerPool(lambda: count, lambda call: threads.submit(repeated, call))
    finally:
        ending.set()
        threads.shutdown(wait=True, cancel_futures=True)
        while not idle.empty():
            idle.get().shutdown()


def _call_named(name: str, call: Callable[[], Any]) -> Any:
    """In a worker that others share: its task finds what is held by this name."""
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
def processes(workers: int | Workers, common: Any = None) -> Iterator[WorkerPool]:
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
        with dask_executor(wanted.cluster, wanted.tls, begin, name, wanted.said) as (executor, size):
            yield WorkerPool(size, lambda call: executor.submit(_call_named, name, call))
        return
    with _local(wanted.count, partial(_hold, "", common), wanted.said) as pool:
        yield pool


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Libraries read it when a worker, which begins now, loads them."""
    with _beginning:
        before = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
        os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
        try:
            yield
        finally:
            for name in ONE_THREAD:
                del os.environ[name]
            os.environ.update(before)


def as_finished(
    pool: WorkerPool,
    calls: Iterable[tuple[T, Callable[[], R]]],
    expected: tuple[type[BaseException], ...] = (),
) -> Iterator[tuple[T, Future[R]]]:
    """What came of every call, beside what it is for, as they are finished; few results wait at a time.

    After one that failed no more is begun, and it comes last: what the others were at is not lost with it. An
    `expected` failure is a result like others.
    """
    left, running, failed = iter(calls), dict[Future[R], T](), list[tuple[T, Future[R]]]()
    while True:
        free = 0 if failed else max(0, pool.size() + 2 - len(running))  # workers may have been lost
        running |= {pool.submit(call): key for key, call in islice(left, free)}
        if not running:
            break
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        one = next(future for future in running if future in finished)
        key = running.pop(one)
        if one.exception() is None or isinstance(one.exception(), expected):
            yield key, one
        else:
            failed.append((key, one))
    yield from failed


def _follow(begin: Callable[[], None]) -> None:
    """End with the parent: a worker whose parent was killed would otherwise wait for work for ever."""
    begin()
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)
