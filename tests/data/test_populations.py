"""A population on disk reads back as it was written, however it is cut, and stores nothing that is constant."""

from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import DataError
from murmura.data.populations import PopulationFiles, PopulationWriter, Rows, write_population

CLIENTS, ITEMS = 500, 40


def made(seed: int = 0, **columns: object) -> Rows:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 7, CLIENTS)
    item = np.concatenate([np.sort(rng.choice(ITEMS, n, replace=False)) for n in sizes]).astype(np.int32)
    return Rows(np.concatenate([[0], np.cumsum(sizes)]), item, **columns)  # type: ignore[arg-type]


def whole(rows: Rows) -> Rows:
    rng = np.random.default_rng(1)
    n, clients = len(rows.item), rows.clients
    value, consent = rng.random(n), (rng.random(n) < 0.5).astype(np.float64)
    secret = rng.integers(0, 2**32, (clients, 2), dtype=np.uint32)
    return Rows(rows.start, rows.item, value, consent, np.arange(n), None, secret, rng.random(clients) < 0.9)


@pytest.mark.parametrize("size", [7, 123, 1_000])
def test_any_range_reads_back(size: int, tmp_path: Path) -> None:
    rows = whole(made())
    held = write_population(tmp_path / "p", rows, ITEMS, size)
    assert (held.clients, held.rows, held.items) == (CLIENTS, len(rows.item), ITEMS)
    assert (held.counts == np.bincount(rows.item, minlength=ITEMS)).all()
    for first, last in ((0, CLIENTS), (3, 4), (100, 300), (CLIENTS - 1, CLIENTS)):
        got, want = held.read(first, last), rows.cut(first, last)
        assert got.start.tolist() == want.start.tolist()
        assert got.item.tolist() == want.item.tolist()
        for name, column in want.columns.items():
            assert np.array_equal(got.columns.get(name, np.ones(len(column))), column), name


def test_what_is_one_everywhere_has_no_file(tmp_path: Path) -> None:
    rows = made()
    ones = np.ones(len(rows.item))
    plain = write_population(tmp_path / "a", rows, ITEMS)
    said = write_population(
        tmp_path / "b", Rows(rows.start, rows.item, ones, ones, statistics=np.ones(CLIENTS, np.bool_)), ITEMS
    )
    assert plain.fingerprint == said.fingerprint
    assert sorted(p.name for p in (tmp_path / "b").iterdir()) == sorted(
        ["0000000000.item.npy", "0000000000.length.npy", "counts.npy", "population.json"]
    )
    assert said.read(0, CLIENTS).columns == {}


def test_a_part_that_differs_is_stored_and_the_rest_is_one(tmp_path: Path) -> None:
    rows = made()
    value = np.ones(len(rows.item))
    value[-1] = 3.0
    held = write_population(tmp_path / "p", Rows(rows.start, rows.item, value), ITEMS, 100)
    assert [("value" in one.columns) for one in held.ranges] == [False, False, False, False, True]
    assert held.read(0, CLIENTS).value is not None
    assert np.array_equal(held.read(0, CLIENTS).value, value)  # type: ignore[arg-type]


def test_other_rows_have_another_fingerprint(tmp_path: Path) -> None:
    prints = {write_population(tmp_path / str(seed), made(seed), ITEMS).fingerprint for seed in range(3)}
    prints.add(write_population(tmp_path / "cut", made(0), ITEMS, 60).fingerprint)  # the same for any cut
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ([1, 40], "items must be 0 to 39"),
        ([-1, 2], "items must be"),
        ([2, 2], "ascending"),
        ([3, 1], "ascending"),
    ],
)
def test_refuses_rows_no_client_can_hold(item: list[int], said: str, tmp_path: Path) -> None:
    writer = PopulationWriter(tmp_path, ITEMS)
    with pytest.raises(DataError, match=said):
        writer.add(Rows(np.array([0, 0, 2]), np.array(item, np.int32)))


def test_an_unfinished_population_is_none(tmp_path: Path) -> None:
    PopulationWriter(tmp_path, ITEMS).add(made())
    with pytest.raises(DataError, match=r"must hold a finished population.*synth OUT --population"):
        PopulationFiles.open(tmp_path)


def test_a_finished_one_is_not_written_over(tmp_path: Path) -> None:
    held = write_population(tmp_path, made(), ITEMS)
    with pytest.raises(DataError, match="must be empty"):
        PopulationWriter(tmp_path, ITEMS)
    with pytest.raises(DataError, match="were asked for"):
        held.read(0, CLIENTS + 1)
