"""What every test may ask for."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets; without it the test is skipped."""
    named = os.environ.get("MURMURA_DATA")
    if not named or not Path(named).is_dir():
        pytest.skip("MURMURA_DATA names no folder: the real data sets are not here")
    return Path(named)
