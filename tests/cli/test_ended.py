"""A command that is told to end takes the processes it started with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import MURMURA, PATIENCE, alive, children, environment, wait_for

pytestmark = [
    pytest.mark.process,
    pytest.mark.smoke,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for the processes in /proc"),
]
APART = """
from murmura.lab.leaks.isolated_process import isolated
with isolated([]) as call:
    call(exec, "import pathlib, time; pathlib.Path('begun').touch(); time.sleep(3600)")
"""


@pytest.mark.parametrize(
    ("command", "begun", "started"),
    [
        ([*MURMURA, "demo", "--out", "here", "--workers", "2"], "here", 2),
        ([sys.executable, "-c", APART], "begun", 1),  # what `murmura check-leaks` trains in
    ],
)
def test_sigterm_ends_what_a_command_started(
    tmp_path: Path, command: list[str], begun: str, started: int
) -> None:
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: (tmp_path / begun).exists() and len(children(process.pid)) >= started, process)
        working = children(process.pid)
        process.terminate()
        assert process.wait(PATIENCE) != 0
    wait_for(lambda: not any(map(alive, working)))
