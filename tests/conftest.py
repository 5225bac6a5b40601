"""What every test may ask for, and what all of them run under."""

import hashlib
import os
from pathlib import Path

import pytest

from tests.hypothesis_profiles import load_profile

ROOT = Path(__file__).parents[1]


def compiled_sources() -> str:
    """A name for the sources that end up in compiled loops."""
    rooms = (ROOT / "src" / "murmura" / room for room in ("core", "kernels"))
    files = sorted(path for room in rooms for path in room.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


load_profile()
# Compiled once for all workers, processes and runs. The compiler looks only at the file of a loop itself, so
# that the folder must be another one when a loop or a constant that it takes from elsewhere is edited.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "kernels" / compiled_sources()))
os.environ.pop("COLUMNS", None)  # the runner's own screen, by which tables of commands would be laid out


def pytest_itemcollected(item: pytest.Item) -> None:
    """Whoever asks for the real data sets is marked so."""
    if "data_dir" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.data)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets; without it the test is skipped."""
    named = os.environ.get("MURMURA_DATA")
    if not named or not Path(named).is_dir():
        pytest.skip("MURMURA_DATA names no folder: the real data sets are not here")
    return Path(named)
