"""Populations of very many clients: the same bytes again, a structure that can be learned, constant memory."""

from pathlib import Path

import numpy as np
import pytest

from murmura.core.arrays import Ints, Longs
from murmura.core.errors import DataError
from murmura.data.populations import PopulationFiles
from murmura.data.sources.synthetic import SyntheticSettings, write_synthetic
from tests.cli.processes import murmura

PLAN = SyntheticSettings(users=1_000, items=200, interactions=12_345, groups=4, taste=0.8, skew=0.8, seed=5)


def rows_of(files: PopulationFiles) -> tuple[Longs, Ints]:
    rows = files.read(0, files.clients)
    return np.repeat(np.arange(files.clients), np.diff(rows.start)), np.asarray(rows.item)


def test_same_plan_same_bytes_and_every_row_is_there(tmp_path: Path) -> None:
    one, same = (write_synthetic(tmp_path / name, PLAN, size=300) for name in ("a", "b"))
    assert one.fingerprint == same.fingerprint
    assert (one.clients, one.rows, one.items) == (1_000, 12_345, 200)
    assert {p.name: p.read_bytes() for p in (tmp_path / "a").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "b").iterdir()
    }
    user, item = rows_of(one)
    assert len(np.unique(user * 200 + item)) == 12_345
    assert np.bincount(user, minlength=1_000).min() >= 1
    np.testing.assert_array_equal(one.counts, np.bincount(item, minlength=200))
    assert not list((tmp_path / "a").glob("*.value.npy"))


def test_a_range_is_drawn_by_itself(tmp_path: Path) -> None:
    """The first ranges of a longer population of the same activity are those of the shorter one."""
    longer = SyntheticSettings(**{**vars(PLAN), "users": 2_000, "interactions": 24_690})
    short, long = write_synthetic(tmp_path / "a", PLAN, 500), write_synthetic(tmp_path / "b", longer, 500)
    np.testing.assert_array_equal(short.read(0, 1_000).item, long.read(0, 1_000).item)


def test_popular_items_and_tastes_are_there_to_be_learned(tmp_path: Path) -> None:
    """Two people of one taste share more items than chance has it; without tastes they do not."""

    def beyond_popularity(taste: float, name: str) -> float:
        files = write_synthetic(tmp_path / name, SyntheticSettings(**{**vars(PLAN), "taste": taste}), 500)
        user, item = rows_of(files)
        seen = np.zeros((files.clients, files.items))
        seen[user, item] = 1
        expected = np.outer(seen.sum(axis=1), seen.mean(axis=0))
        left = seen - expected / expected.sum(axis=1, keepdims=True) * seen.sum(axis=1, keepdims=True)
        return float(np.linalg.svd(left, compute_uv=False)[2] / np.linalg.svd(left, compute_uv=False)[20])

    assert beyond_popularity(0.9, "tastes") > 2 > 1.5 > beyond_popularity(0.0, "none")
    counts = np.sort(PopulationFiles.open(tmp_path / "none").counts)[::-1]
    assert counts[:20].sum() > 3 * counts[-20:].sum()


def test_command_writes_a_population_once(tmp_path: Path) -> None:
    sizes = ("--users", "50", "--interactions", "400")
    made = murmura("data", "synth", "made", "--population", *sizes, cwd=tmp_path)
    assert "400 rows of 50 clients" in made.stderr
    assert PopulationFiles.open(tmp_path / "made").rows == 400
    with pytest.raises(DataError, match="must be empty, but holds a population"):
        write_synthetic(tmp_path / "made", PLAN)
