"""A model file is whole or absent, and nothing else is taken for one."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from murmura.baselines.base import load_model, save_model
from murmura.baselines.unpersonalised import MostPop
from murmura.core.errors import DataError
from murmura.core.files import read_archive, write_archive
from murmura.core.interactions import Interactions
from tests.baselines.kit import scattered


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.npz"
    save_model(path, MostPop(), MostPop().fit(scattered()))
    return path


def rewritten(saved: Path, **changes: object) -> Path:
    """The same file with another header."""
    arrays, header = read_archive(saved)
    write_archive(saved, arrays, header | changes)
    return saved


def test_times_and_number_ids_survive(tmp_path: Path) -> None:
    train = Interactions.of(np.array([5, 3, 5]), np.array([70, 60, 60]), None, np.array([3, 2, 1]))
    save_model(tmp_path / "m", MostPop(), MostPop().fit(train))
    _, model = load_model(tmp_path / "m")
    assert model.train.fingerprint == train.fingerprint
    assert model.recommend_ids([3], 2) == {3: [70]}


def test_the_file_is_one_and_the_folder_otherwise_clean(saved: Path) -> None:
    assert [path.name for path in saved.parent.iterdir()] == ["model.npz"]


def test_a_failed_write_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full_disk)
    with pytest.raises(DataError, match=r"cannot be written \(no space left on device\)"):
        save_model(saved, MostPop(), MostPop().fit(scattered()))
    assert saved.read_bytes() == before
    assert len(list(saved.parent.iterdir())) == 1


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 not really", b"user,item\n1,2\n", b"\x93NUMPY\x01\x00v\x00{"]
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is damaged or foreign; fit it again"):
        load_model(path)


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    write_archive(tmp_path / "y.npz", {}, {"format": "other"})
    with zipfile.ZipFile(tmp_path / "z.npz", "w") as archive:
        archive.writestr("meta.json", "[1]")
    np.save(tmp_path / "w.npz.npy", np.zeros(3))
    for name in ("x.npz", "y.npz", "z.npz", "w.npz.npy"):
        with pytest.raises(DataError, match="is damaged or foreign"):
            load_model(tmp_path / name)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    pickled = io.BytesIO()
    np.save(pickled, np.array([{"a": 1}], object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        archive.writestr("meta.json", '{"format": "murmura-model", "version": 2, "model": "mostpop"}')
        archive.writestr("users.npy", pickled.getvalue())
    with pytest.raises(DataError, match="is damaged or foreign"):
        load_model(tmp_path / "p.npz")


def test_every_kind_of_damage_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    for cut in range(1, len(whole), len(whole) // 23):
        saved.write_bytes(whole[:cut])
        with pytest.raises(DataError):
            load_model(saved)
    body = whole.index(b"count.npy") + 200  # inside the counts: the checksum of the archive must notice
    saved.write_bytes(whole[:body] + bytes([whole[body] ^ 1]) + whole[body + 1 :])
    with pytest.raises(DataError):
        load_model(saved)


def test_an_absent_file_a_newer_version_and_an_unknown_model_are_named(saved: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.npz is not there; check the path"):
        load_model(saved.parent / "nowhere.npz")
    with pytest.raises(DataError, match="but it is version 3 of 'mostpop'; use the Murmura that wrote it"):
        load_model(rewritten(saved, version=3))
    with pytest.raises(DataError, match="but it is version 2 of 'oracle'"):
        load_model(rewritten(saved, version=2, model="oracle"))
    with pytest.raises(DataError, match=r"not a usable model: unknown setting 'mostpop\.k'"):
        load_model(rewritten(saved, model="mostpop", settings={"k": 3}))
