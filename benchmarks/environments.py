"""Rivals that cannot live in this environment: each has one of its own, made on first use and kept."""

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import murmura
from benchmarks.sides import Skipped

FOLDER = Path(__file__).parent.parent / "build" / "rivals"  # `make clean` removes it
MINUTES = 15.0  # an installation or a run that takes longer is given up


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
    run([str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", *requirements])
    beside = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)})) / "beside.pth"
    beside.write_text(f"{Path(murmura.__file__).parent.parent}\n{sysconfig.get_path('purelib')}\n")
    made.write_text(wanted)
    return python


def run(command: list[str], **environment: str) -> None:
    """Run a command to its end; a row whose command fails is skipped, with its last words."""
    known = {**os.environ, **environment}
    try:
        done = subprocess.run(
            command, env=known, capture_output=True, text=True, timeout=60 * MINUTES, check=False
        )
    except subprocess.TimeoutExpired:
        raise Skipped(f"'{' '.join(command[:4])}' took more than {MINUTES:g} minutes") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Skipped(said[-1] if said else f"'{' '.join(command[:4])}' ended with {done.returncode}")
