"""An environment of its own has what it asks for and the rest from ours; what cannot be made is skipped."""

import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import pytest
from benchmarks.sides import Skipped

import murmura
from benchmarks import __main__ as command
from benchmarks import environments

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "FOLDER", tmp_path / "rivals")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def wheel(folder: Path) -> Path:
    """A package of one line."""
    path, about = folder / "rival-1.0-py3-none-any.whl", "rival-1.0.dist-info"
    with ZipFile(path, "w") as archive:
        archive.writestr("rival.py", "ANSWER = 42\n")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return path


def test_a_rival_is_installed_once_beside_what_we_have(tmp_path: Path) -> None:
    package = str(wheel(tmp_path))
    python = environments.interpreter("one", package)
    made = python.stat().st_ctime_ns
    asked = "import rival, numpy, murmura; print(rival.ANSWER, murmura.__file__)"
    said = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert said == ["42", murmura.__file__]
    assert subprocess.run([sys.executable, "-c", "import rival"], capture_output=True, check=False).returncode
    assert environments.interpreter("one", package) == python
    assert python.stat().st_ctime_ns == made


def test_a_rival_that_cannot_be_had_is_skipped_with_the_reason() -> None:
    with pytest.raises(Skipped, match="No matching distribution found for no-such-rival"):
        environments.interpreter("none", "no-such-rival==1.0")
    assert not (environments.FOLDER / "none" / "requirements").exists(), "nothing to be taken for complete"


def test_a_script_that_fails_is_skipped_with_its_last_words() -> None:
    with pytest.raises(Skipped, match="RuntimeError: no such backend"):
        environments.run([sys.executable, "-c", "raise RuntimeError('no such backend')"])


def test_a_script_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    started = f"import subprocess; print(subprocess.Popen({sleeper}).pid, file=open('pid', 'w', buffering=1))"
    hanging = f"import os; os.chdir({str(tmp_path)!r}); {started}; subprocess.run({sleeper})"
    before = time.monotonic()
    with pytest.raises(Skipped, match=r"took more than 0\.1 minutes"):
        environments.run([sys.executable, "-c", hanging], 0.1)
    started_by_it = int((tmp_path / "pid").read_text())
    while running(started_by_it):  # for as long as it sleeps, had it not been ended
        time.sleep(0.01)
    assert time.monotonic() - before < 600, "it was ended, it did not end"


def running(process: int) -> bool:
    """Whether it has not ended; one that nobody has waited for yet has."""
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_skipped_row_says_why_and_misses_no_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    def skip(*_: object) -> None:
        raise Skipped("there is no ray here")

    monkeypatch.setattr("benchmarks.sides.measure", skip)
    line, reached = command.row("fedavg:flower")
    assert reached
    assert "| skipped |" in line
    assert "there is no ray here" in line
    assert line.count("|") == command.HEAD.count("|")
