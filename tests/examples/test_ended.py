"""An example that started processes ends them when it is told to end, and takes its folder away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.http.processes import PATIENCE

pytestmark = [pytest.mark.process, pytest.mark.smoke]
EXAMPLES = Path(__file__).parents[2] / "examples"


def commands_with(text: str) -> list[str]:
    """The command lines of processes that name this folder, as Linux shows them."""
    shown = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            shown.append(one.read_text(encoding="utf-8", errors="replace"))
        except OSError:  # it has ended
            continue
    return [line for line in shown if text in line]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="what runs is read from /proc")
@pytest.mark.parametrize(("name", "started"), [("federation", 3), ("browser_federation", 3)])
def test_sigterm_ends_what_an_example_started(tmp_path: Path, name: str, started: int) -> None:
    where = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, str(EXAMPLES / f"{name}.py")]
    with subprocess.Popen(command, env=where, stdout=subprocess.DEVNULL) as example:
        try:
            until = time.monotonic() + PATIENCE
            while len(commands_with(str(tmp_path))) < started:
                assert example.poll() is None
                assert time.monotonic() < until
                time.sleep(0.02)
        finally:
            example.terminate()
        assert example.wait(PATIENCE) == 128 + signal.SIGTERM
    assert commands_with(str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []
