"""What every test may ask for, and what all of them run under."""

import os
import platform
from pathlib import Path

import pytest

from tests.hypothesis_profiles import load_profile

load_profile()
os.environ.pop("COLUMNS", None)  # the runner's own screen, by which tables of commands would be laid out


# of the kit, whole federations each: of some algorithms in `make test`, of all in `make test-all`
LONG = ("test_the_wire_gives_the_bits_of_the_simulation", "test_a_channel_gives_the_same_bits_on_every_path")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Whoever asks for the real data sets is marked so, and what is long of the kit."""
    if "data_dir" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.data)
    if item.name in LONG:
        item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the tests took of the processor, workers and all their processes included, and which it is."""
    used = os.times()
    minutes = (used.user + used.system + used.children_user + used.children_system) / 60
    terminalreporter.write_line(f"{minutes:.1f} minutes of CPU time on {processor()}")


def processor() -> str:
    """The model, as the system names it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets; without it the test is skipped."""
    named = os.environ.get("MURMURA_DATA")
    if not named or not Path(named).is_dir():
        pytest.skip("MURMURA_DATA names no folder: the real data sets are not here")
    return Path(named)
