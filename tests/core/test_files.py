"""A file is there completely or not at all."""

from pathlib import Path

import pytest

from murmura.core.errors import DataError, RunError
from murmura.core.files import whole_file


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "deep" / "model.npz"
    with whole_file(target) as file:
        file.write(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunError, match="No space left"), whole_file(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in target.parent.iterdir()] == ["model.npz"]


def test_an_error_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError), whole_file(tmp_path / "a") as file:
        file.writelines([b"half", "text"])  # type: ignore[list-item]
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="cannot be written"), whole_file(tmp_path / "file" / "a", DataError):
        pass
