"""NCF's own test rows and candidates, from a made-up file in the authors' format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from murmura.core.catalogue import TEST, VALIDATION
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.settings import as_dict
from murmura.data.splits.registry import AnySplit, split_named
from murmura.data.splits.split_files import load_split, save_split
from murmura.lab.rivals.ncf_files import FILE

# items are numbered by first appearance: 70 is 0, 20 is 1, 50 is 2, 30 is 3
USER, ITEM, TIME = [2, 2, 2, 1, 1, 1], [70, 20, 50, 50, 30, 70], [1, 2, 3, 9, 8, 7]
DATA = Interactions.of(np.array(USER), np.array(ITEM), np.ones(6), np.array(TIME))
LINES = ["(0,3)\t" + "\t".join(["1"] * 99), "(1,0)\t" + "\t".join(["3"] * 99)]


def put(folder: Path, lines: list[str]) -> None:
    (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text("\n".join(lines) + "\n", "ascii")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MURMURA_DATA", str(tmp_path))
    put(tmp_path, LINES)
    return tmp_path


@pytest.mark.parametrize("validation", [False, True])
def test_the_file_says_the_test_rows(validation: bool) -> None:
    rule = split_named("ncf-files", {"validation": validation})
    split = rule.apply(DATA)
    assert np.flatnonzero(split.part == TEST).tolist() == [0, 4]  # (2, 70) and (1, 30): neither is the newest
    held = np.flatnonzero(split.part == VALIDATION).tolist()
    assert held == ([2, 3] if validation else [])  # the newest of the rest
    assert split.name == rule.apply(DATA).name == f"ncf-files(validation={str(validation).lower()})"
    assert TypeAdapter(AnySplit).validate_python(as_dict(rule)) == rule


def test_the_negatives_stand_beside_their_user() -> None:
    rule = split_named("ncf-files")
    found = rule.candidates(rule.apply(DATA))  # type: ignore[attr-defined]
    labels = DATA.items.labels[found]
    assert {int(DATA.users.labels[row]): set(labels[row].tolist()) for row in (0, 1)} == {1: {20}, 2: {30}}
    assert rule.candidates(rule.apply(DATA).selection()) is None  # type: ignore[attr-defined]


def test_round_trip(tmp_path: Path) -> None:
    split = split_named("ncf-files").apply(DATA)
    save_split(tmp_path / "s.npz", split)
    back = load_split(tmp_path / "s.npz", DATA)
    assert (back.name, back.part.tolist()) == (split.name, split.part.tolist())


def test_other_data_and_no_file_are_refused(folder: Path) -> None:
    put(folder, LINES[:1])
    with pytest.raises(DataError, match="must name a row of each user, but names 1"):
        split_named("ncf-files").apply(DATA)
    (folder / FILE).unlink()
    with pytest.raises(DataError, match="it is not there; take it from NCF's repository"):
        split_named("ncf-files").apply(DATA)
