"""The page on writing an algorithm is true: its code runs, and its algorithm passes the kit."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "new-algorithm.md"
SHOWN = """
assert fitted.rounds == 1
assert np.nanmean(fitted.ledger.disclosed) < 0.5
assert lists.item.shape == (24, 5)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a reader would lay it out: an algorithm, a script that trains it, a test file."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    blocks = [block for block in blocks if "mf." not in block]  # of the other example
    assert len(blocks) == 3
    place = tmp_path_factory.mktemp("newcomer")
    (place / "pairs.py").write_text(blocks[0], encoding="utf-8")
    (place / "train.py").write_text(f"import numpy as np\nfrom pairs import Pairs\n{blocks[1]}{SHOWN}", "utf-8")
    (place / "test_pairs.py").write_text(f"from pairs import Pairs\n{blocks[2]}", encoding="utf-8")
    return place


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_example_trains(folder: Path) -> None:
    run(folder, "train.py")


def test_the_example_keeps_every_promise(folder: Path) -> None:
    said = run(
        folder,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-c",
        "/dev/null",
        "--rootdir=.",
        "test_pairs.py",
    )
    counts = re.search(r"(\d+) passed, (\d+) skipped", said)
    assert counts, said
    assert (int(counts[1]) >= 9, counts[2]) == (True, "5"), said
    assert "no compiled path: kernel() returns None" in said
    assert "no step for many clients at once: clients_step is not written" in said
    assert "its 1 rounds end before kills" in said


def test_the_example_takes_everything_from_one_import() -> None:
    first = PAGE.read_text(encoding="utf-8").split("```python\n")[1]
    assert set(re.findall(r"from (murmura\S*) import", first)) == {"murmura.federated"}
