"""One writer at a time in a folder, whoever it is and however it ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from murmura.core import locks
from murmura.core.errors import RunError
from murmura.core.locks import NAME, is_empty, locked

HOLD = """
import subprocess, sys
from pathlib import Path
from murmura.core.locks import locked

with locked(Path(sys.argv[1])):
    worker = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=0)
    print(worker.pid, flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the folder and a worker process, until it is killed."""
    words = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_second_holder_is_refused_in_one_sentence_and_the_first_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with locked(folder):
        with pytest.raises(RunError) as refused, locked(folder):
            raise AssertionError("it had the folder")
        assert is_empty(folder)
    said = rf"{re.escape(str(folder))} must be used by one command at a time, but another is at work in it "
    said += rf"\(process {os.getpid()}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC\); wait for it, .*\."
    assert re.fullmatch(said, str(refused.value)), refused.value
    assert list(tmp_path.iterdir()) == []
    with locked(folder):
        (folder / "result").write_text("kept")
    assert [path.name for path in folder.iterdir()] == ["result"]
    with pytest.raises(RunError, match="must be a folder"), locked(folder / "result"):
        raise AssertionError("a file is no folder")


@pytest.mark.process
def test_a_killed_holder_holds_nothing_although_its_worker_lives(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        with pytest.raises(RunError, match=f"process {process.pid}, since"), locked(tmp_path):
            raise AssertionError("it had the folder")
        process.kill()
        process.wait()
        os.kill(worker, 0)  # it is still there
        assert (tmp_path / NAME).exists()
        with locked(tmp_path):
            assert f"process {os.getpid()}," in (tmp_path / NAME).read_text()
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("checked", [True, False])
def test_the_lock_of_a_removed_file_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bool
) -> None:
    """Someone opened the file just before its holder removed it; meanwhile another has a new one."""
    (tmp_path / "result").write_text("kept")
    with locked(tmp_path):
        late = [os.open(tmp_path / NAME, os.O_RDWR)]
    really = locks._open
    if not checked:
        monkeypatch.setattr(locks, "_is_at", lambda handle, path: True)
    with locked(tmp_path):
        monkeypatch.setattr(locks, "_open", lambda path, mode: late.pop() if late else really(path, mode))
        try:
            with locked(tmp_path):
                two = True
        except RunError:
            two = False
    assert two is not checked
