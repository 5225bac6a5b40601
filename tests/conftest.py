"""What every test may ask for."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every machine, however slow it is; `make test-properties` draws new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets; without it the test is skipped."""
    named = os.environ.get("MURMURA_DATA")
    if not named or not Path(named).is_dir():
        pytest.skip("MURMURA_DATA names no folder: the real data sets are not here")
    return Path(named)
