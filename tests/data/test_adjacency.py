"""Adjacency lists: a line is a user and her items; validation rows may stand in the training file as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmura import load
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.data.sources.synthetic import synth
from murmura.engine.prepared import PreparedData, prepare
from murmura.engine.protocol import protocol


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def pairs(data: Interactions) -> set[tuple[int, int]]:
    users, items = data.users.labels[data.user], data.items.labels[data.item]
    return set(zip(users.tolist(), items.tolist()))


def prepared(mine: Path) -> PreparedData:
    data = load(str(mine))
    return prepare(data, protocol("published", data))


def test_validation_rows_inside_training_are_taken_out_to_choose(tmp_path: Path) -> None:
    mine = folder(tmp_path, train="0 5 6 7\n2 5 9\n3 7 9\n", valid="0 7\n", test="0 9\n2 \n3 5\n")
    data = load(str(mine))
    ready = prepare(data, protocol("published", data))
    assert pairs(ready.split.train) == {(0, 5), (0, 6), (0, 7), (2, 5), (2, 9), (3, 7), (3, 9)}
    chosen = ready.selection().split
    assert pairs(chosen.train) == pairs(ready.split.train) - {(0, 7)}
    assert pairs(chosen.test) == {(0, 7)}
    assert pairs(ready.open(None, {}).test) == {(0, 9), (3, 5)}


def test_validation_rows_of_their_own_are_trained_on_in_the_end(tmp_path: Path) -> None:
    mine = folder(tmp_path, train="0 5 6\n1 5 7\n2 6 7\n", valid="0 7\n", test="1 6\n")
    data = load(str(mine))
    ready = prepare(data, protocol(f"split:{mine}", data))
    assert (0, 7) in pairs(ready.split.train)


def test_a_folder_is_its_own_data_set(tmp_path: Path) -> None:
    mine = folder(tmp_path, train="0 5\n1 6\n", test="0 6\n")
    assert load(str(mine)).name == tmp_path.name


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"train": "0 5 x\n", "test": "0 6\n"}, r"train.txt, line 1: a line must be a user and her items"),
        ({"train": "0 5\n1 6\n", "test": "0 5\n"}, r"test.txt: the pair of user 0 and item 5 is in two parts"),
        (
            {"train": "0 5\n1 6\n", "valid": "0 6\n", "test": "0 6\n"},
            r"test.txt: the pair of user 0 and item 6 is in two parts",
        ),
        ({"train": "", "test": "0 6\n"}, r"the file must hold rows, but it is empty"),
    ],
)
def test_what_is_refused(tmp_path: Path, files: dict[str, str], why: str) -> None:
    mine = folder(tmp_path, **files)
    with pytest.raises(DataError, match=why):
        prepared(mine)


def test_data_without_a_folder_has_no_published_split() -> None:
    with pytest.raises(SettingError, match="takes the split in the folder of the data"):
        protocol("published", synth(users=20, items=10, interactions=100))


def test_gowalla_has_the_published_rows(data_dir: Path) -> None:
    if not (data_dir / "gowalla").is_dir():
        pytest.skip("gowalla is not here")
    data = load("gowalla")
    ready = prepare(data, protocol("published", data))
    counts = ready.describe()
    assert (counts["users"], counts["items"]) == (29_858, 40_981)
    assert (counts["train rows"], counts["test rows"]) == (810_128, 217_242)
    assert len(ready.selection().split.train) == 719_081
    assert data.notes == ()
