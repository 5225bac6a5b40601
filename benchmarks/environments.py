"""Rivals that cannot live in this environment: each has one of its own, made on first use and kept."""

import os
import signal
import subprocess
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import murmura
from benchmarks.sides import Skipped

FOLDER = Path(__file__).parent.parent / "build" / "rivals"  # `make clean` removes it
MINUTES = 15.0  # an installation that takes longer is given up


def interpreter(name: str, *requirements: str) -> Path:
    """The Python of the environment with these packages; where it has none of a package, it takes ours.

    Torch, numpy and Murmura itself are so the same on both sides.
    """
    folder = FOLDER / name
    python, made = folder / "bin" / "python", folder / "requirements"
    wanted = "\n".join(requirements)
    if made.exists() and made.read_text() == wanted:
        return python
    venv.create(folder, clear=True, with_pip=True)
    run([str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", *requirements], MINUTES)
    beside = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)})) / "beside.pth"
    beside.write_text(f"{Path(murmura.__file__).parent.parent}\n{sysconfig.get_path('purelib')}\n")
    made.write_text(wanted)
    return python


def run(command: list[str], minutes: float = 5.0, environment: Mapping[str, str] | None = None) -> None:
    """Run a command to its end; a row whose command fails or hangs is skipped, with its last words."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = process.communicate(timeout=60 * minutes)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # what it started hangs as well
        process.communicate()
        raise Skipped(f"'{' '.join(command[:4])}' took more than {minutes:g} minutes") from None
    if process.returncode:
        said = (errors or out).strip().splitlines()
        raise Skipped(said[-1] if said else f"'{' '.join(command[:4])}' ended with {process.returncode}")
