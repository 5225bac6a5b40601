"""A process that is given training rows and nothing else: what it makes cannot depend on a held-out row.

It is a new interpreter; the files of the data are closed to it, and so is `load`, before anything else is
imported into it: whoever opens them is refused and remembered. Functions and values are sent to it by pickle.
"""

from __future__ import annotations

import multiprocessing.spawn
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from murmura.core.errors import LeakError

BOOT = "from murmura.lab.leaks.isolated_process import serve; serve()"


@dataclass(frozen=True)
class ProcessReply:
    """What a call gave, or why it failed; and what was opened although it is closed."""

    value: Any
    error: str
    touched: tuple[str, ...]


Call = Callable[..., ProcessReply]


@contextmanager
def isolated(closed: Sequence[Path]) -> Iterator[Call]:
    """A process for the block: `call(function, *arguments)` runs there; nothing under `closed` opens."""
    environment = {name: value for name, value in os.environ.items() if name != "MURMURA_DATA"}
    prepared = multiprocessing.spawn.get_preparation_data("isolated")
    prepared.pop("authkey", None)  # not needed, and not to be written to a pipe
    process = subprocess.Popen(
        [sys.executable, "-c", BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    into, out = process.stdin, process.stdout
    try:
        _send(into, os.getpid())
        _send(into, [str(path.resolve()) for path in closed])
        _send(into, prepared)

        def call(function: Callable[..., Any], *arguments: Any) -> ProcessReply:
            _send(into, (function, arguments))
            try:
                reply: ProcessReply = pickle.load(out)
            except EOFError:
                return ProcessReply(None, f"the process ended with code {process.wait()}", ())
            return reply

        yield call
    finally:
        into.close()
        process.wait()
        out.close()


def serve() -> None:
    """The other end: close the files, then do what is sent until nothing more comes."""
    into, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a method prints must not mix with the answers
    touched: list[str] = []
    threading.Thread(target=_end_after, args=(pickle.load(into),), daemon=True).start()
    _close(pickle.load(into), touched)
    try:
        # the caller's main module, which may define methods: imported after the files are closed
        multiprocessing.spawn.prepare(pickle.load(into))
        broken = ""
    except Exception as error:
        broken = f"{type(error).__name__}: {error}"
    while True:
        try:
            function, arguments = pickle.load(into)
        except EOFError:
            return
        except Exception as error:
            broken = broken or f"{type(error).__name__}: {error}"
            function, arguments = None, ()
        value, reason = None, broken
        if not broken:
            try:
                value = function(*arguments)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
        _send(out, ProcessReply(value, reason, tuple(dict.fromkeys(touched))))


def _end_after(parent: int) -> None:
    """A caller that was killed reads no answer: what is at work ends with it."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _close(paths: list[str], touched: list[str]) -> None:
    """From now on, refuse to load a data set or to open what lies under the paths, and remember who tried."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "murmura.load":
            wanted = str(arguments[0])
        elif event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            wanted = os.path.realpath(os.fsdecode(arguments[0]))
            if not any(wanted == path or wanted.startswith(path + os.sep) for path in paths):
                return
        else:
            return
        touched.append(wanted)
        raise LeakError(f"a method must learn from the rows it is given, but it opened {wanted}.")

    sys.addaudithook(hook)


def _send(to: IO[bytes], value: Any) -> None:
    pickle.dump(value, to)
    to.flush()
