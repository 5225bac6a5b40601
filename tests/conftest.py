"""What every test may ask for, and what all of them run under."""

import os
from pathlib import Path

import pytest

from tests.hypothesis_profiles import load_profile

load_profile()
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
