"""The command line as a user meets it: its entry point in this process, and now and then a real process."""

import io
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from murmura.cli.app import main
from murmura.cli.console import CONSOLE

ENTRY = "from murmura.cli.app import main; main()"
MURMURA = [sys.executable, "-c", ENTRY]
PATIENCE = 1200.0  # seconds of a busy machine: only what hangs takes longer
Done = subprocess.CompletedProcess[str]

# Stands still, so that it can be killed in the middle however slow or fast the machine is.
STANDS_STILL = """
import os, signal, sys
name, left = sys.argv.pop(1), int(sys.argv.pop(1))
def hook(event, args):
    global left
    writes = event == "open" and isinstance(args[1], str) and args[1][:1] in ("a", "w")
    if (writes and str(args[0]).endswith(name)) or (event == "os.rename" and str(args[1]).endswith(name)):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
sys.addaudithook(hook)
"""


def environment(data_dir: Path | None = None) -> dict[str, str]:
    """That of the tests, with these data sets and no others."""
    kept = {key: value for key, value in os.environ.items() if key != "MURMURA_DATA"}
    return kept if data_dir is None else {**kept, "MURMURA_DATA": str(data_dir)}


def murmura(*arguments: str, cwd: Path, data_dir: Path | None = None) -> Done:
    """What `murmura ARGUMENTS` would print and return, without the two seconds a process takes to begin.

    Folder, environment, streams and flags are those of a new process, and those of the tests again afterwards.
    """
    words = ["murmura", *arguments]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with (
        chdir(cwd),
        mock.patch.dict(os.environ, environment(data_dir), clear=True),
        mock.patch.object(sys, "argv", words),
        mock.patch.multiple(CONSOLE, quiet=False, verbose=False, color=True),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
    ):
        code = exit_code()
    for stream in streams:
        stream.seek(0)
    return Done(words, code, *(stream.read() for stream in streams))


def exit_code() -> int:
    """The number the interpreter would end with."""
    try:
        main()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else leaving.code is not None
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def murmura_process(*arguments: str, cwd: Path, data_dir: Path | None = None) -> Done:
    """The same as a process of its own."""
    command = [*MURMURA, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment(data_dir), check=False
    )


def killed_at(name: str, times: int, *arguments: str, cwd: Path, code: str = ENTRY) -> None:
    """A process that is struck down when, for the n-th time, it is about to write a file of this name."""
    command = [sys.executable, "-c", STANDS_STILL + code, name, str(times), *arguments]
    with subprocess.Popen(command, cwd=cwd, env=environment(), stdout=subprocess.DEVNULL) as running:

        def stopped() -> bool:
            ended = os.waitid(os.P_PID, running.pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
            assert ended is None or ended.si_code == os.CLD_STOPPED, f"it never wrote {name} {times} times"
            return ended is not None

        wait_for(stopped)
        running.kill()


def wait_for(what: Callable[[], bool], running: subprocess.Popen[Any] | None = None) -> None:
    """Until it is so; a process that ends before is a failure."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert running is None or running.poll() is None, "it ended before it happened"
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    """The processes that the main thread of another has started, as Linux shows them."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(one) for one in text.split()]


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


def ratings(folder: Path, users: int = 30, items: int = 40) -> Path:
    """A CSV of two taste groups, twelve rows each."""
    lines = ["user,item,rating,time"]
    for user in range(users):
        for step in range(12):
            item = (user % 2) * items // 2 + (user // 2 + step * 3) % (items // 2)
            lines.append(f"u{user:02d},m{item:02d},{1 + (user + step) % 5},{1000 + step}")
    path = folder / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
