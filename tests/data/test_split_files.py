"""Saved splits: the same again over the same data, refused over any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.data.sources.synthetic import synth
from murmura.data.splits.registry import SPLITS
from murmura.data.splits.split_files import describe_split, load_split, save_split
from murmura.data.splits.temporal import TemporalHoldout

DATA = synth(users=40, items=30, interactions=300).interactions


@pytest.mark.parametrize("kind", [kind for kind in SPLITS if not kind.startswith("partition-")])
def test_round_trip(tmp_path: Path, kind: str) -> None:
    split = SPLITS[kind]().apply(DATA)
    save_split(tmp_path / "new" / "s.npz", split)
    back = load_split(tmp_path / "new" / "s.npz", DATA)
    assert back.name == split.name
    assert (back.part == split.part).all()
    about = describe_split(tmp_path / "new" / "s.npz")
    assert about["rows"] == 300
    assert about["test"] == len(split.test)
    assert about["fingerprint"] == DATA.fingerprint


def test_other_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    save_split(path, TemporalHoldout().apply(DATA))
    shifted = Interactions(DATA.users, DATA.items, DATA.user, DATA.item, DATA.value + 1, DATA.time)
    for other in (shifted, DATA.rows(np.arange(len(DATA))[::-1].copy()), synth(seed=1).interactions):
        with pytest.raises(DataError, match="the split belongs to data with fingerprint"):
            load_split(path, other)


def test_no_file_and_other_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file; make it with `murmura data split`"):
        load_split(tmp_path / "s.npz", DATA)
    with pytest.raises(DataError, match="cannot be read as one"):
        load_split(tmp_path, DATA)
    np.savez(tmp_path / "other.npz", part=np.zeros(300, np.uint8), about=np.array('{"format": "other"}'))
    with pytest.raises(DataError, match=r"must be a saved split \(murmura-split-1\)"):
        load_split(tmp_path / "other.npz", DATA)


def test_a_split_of_the_wrong_shape(tmp_path: Path) -> None:
    about = f'{{"format": "murmura-split-1", "name": "x", "fingerprint": "{DATA.fingerprint}"}}'
    for part in (np.zeros(299, np.uint8), np.full(300, 7, np.uint8), np.zeros(300)):
        np.savez(tmp_path / "s.npz", part=part, about=np.array(about))
        with pytest.raises(DataError, match="must say the part of 300 rows"):
            load_split(tmp_path / "s.npz", DATA)
    np.savez(tmp_path / "pickled.npz", part=np.array([object()]), about=np.array(about))
    with pytest.raises(DataError, match="cannot be read as one"):  # no pickle is ever opened
        load_split(tmp_path / "pickled.npz", DATA)


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.npz"
    save_split(path, TemporalHoldout().apply(DATA))
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(DataError, match="No space left on device"):
        save_split(path, TemporalHoldout(test=0.5).apply(DATA))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.npz"]
