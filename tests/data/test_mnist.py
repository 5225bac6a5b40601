"""MNIST: samples with labels from IDX files, and one sentence for every way such a file can be wrong."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.errors import DataError
from murmura.data.sources.registry import load, recognise
from murmura.lab.classification.mnist import TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS, read_idx
from tests.data.digits import idx, write_digits
from tests.hypothesis_profiles import examples


def test_the_real_files(data_dir: Path) -> None:
    if not (data_dir / "mnist").is_dir():
        pytest.skip("mnist is not in the data folder")
    found = load("mnist", data_dir)
    data, samples = found.interactions, found.interactions.samples
    assert samples is not None
    assert found.notes == ()  # among others: every sha256 is the owner's
    assert data.users.labels.tolist() == ["test", "train"]
    assert data.user_counts.tolist() == [10_000, 60_000]
    assert samples.stored.shape == (70_000, 28, 28)
    assert samples.task == ((28, 28), 10)
    assert np.bincount(data.value[:60_000].astype(int)).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert data.value[:5].tolist() == [5, 0, 4, 1, 9]
    assert data.value[60_000:60_005].tolist() == [7, 2, 1, 0, 4]
    assert round(float(samples.stored[:60_000].mean()) / 255, 4) == 0.1307  # the mean everybody normalises with


@pytest.mark.parametrize("packed", [True, False])
def test_files_may_be_gzipped(tmp_path: Path, packed: bool) -> None:
    folder = write_digits(tmp_path / "digits", 30, 20, packed)
    assert recognise(folder).name == "mnist"
    found = load(folder)
    samples = found.interactions.samples
    assert samples is not None
    assert len(samples) == 50
    assert len(found.notes) == 4  # of another sha256 than the owner's
    assert found.interactions.users.labels[found.interactions.user[[0, 29, 30]]].tolist() == [
        "train", "train", "test",
    ]  # fmt: skip
    brightest = samples.inputs(found.interactions.item).sum(axis=1).argmax(axis=1)
    assert (brightest == found.interactions.value).all()


def test_what_is_shown_is_part_of_the_fingerprint_of_samples(tmp_path: Path) -> None:
    one, same = (load(write_digits(tmp_path / name)).interactions.samples for name in "ab")
    (tmp_path / "b" / f"{TRAIN_IMAGES}.gz").unlink()
    (tmp_path / "b" / TRAIN_IMAGES).write_bytes(idx(np.zeros((600, 12, 12))))
    other = load(tmp_path / "b").interactions.samples
    assert one is not None and same is not None and other is not None  # noqa: PT018
    assert one.fingerprint == same.fingerprint != other.fingerprint


LABELS = np.arange(10, dtype=np.uint8)
BAD = {
    "cut short": (idx(LABELS)[:-1], "need 10 bytes, but 9 follow"),
    "trailing bytes": (idx(LABELS) + b"\0", "need 10 bytes, but 11 follow"),
    "no header": (idx(LABELS)[:7], "must begin with 8 bytes, but it has 7"),
    "empty": (b"", "must begin with 8 bytes, but it has 0"),
    "another magic number": (b"\0\0\x0d\x01" + idx(LABELS)[4:], "magic number 2049, but begins with 3329"),
    "images for labels": (idx(np.zeros((10, 2, 2))), "magic number 2049, but begins with 2051"),
    "nothing inside": (idx(np.zeros(0)), "between 1 and"),
    "too much": (struct.pack(">2I", 0x801, 2**32 - 1), "between 1 and"),
    "a label above nine": (idx(np.arange(1, 11)), "labels must be below 10, but number 9 is 10"),
    "too few": (idx(LABELS[:9]), "10 images and train-labels-idx1-ubyte 9 labels"),
    "a broken gzip file": (gzip.compress(idx(LABELS))[:-9], "ubyte.gz: the gzip file is"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_file_is_refused_in_one_sentence(tmp_path: Path, case: str) -> None:
    content, sentence = BAD[case]
    folder = write_digits(tmp_path / "mnist", 10, 10)
    (folder / f"{TRAIN_LABELS}.gz").write_bytes(content)
    with pytest.raises(DataError, match=sentence) as caught:
        load(folder)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_images_of_two_sizes_are_refused(tmp_path: Path) -> None:
    folder = write_digits(tmp_path / "mnist", 10, 10)
    (folder / f"{TRAIN_IMAGES}.gz").write_bytes(idx(np.zeros((10, 3, 3))))
    with pytest.raises(DataError, match="images must be of one size"):
        load(folder)


def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    folder = write_digits(tmp_path / "mnist", 10, 10)
    (folder / f"{TEST_LABELS}.gz").unlink()
    with pytest.raises(DataError, match=r"mnist needs t10k-labels-idx1-ubyte, .* LeCun"):
        load("mnist", tmp_path)


@examples()
@given(content=st.binary(max_size=64), dimensions=st.integers(1, 3))
def test_no_bytes_make_the_reader_fail_otherwise(content: bytes, dimensions: int) -> None:
    try:
        found = read_idx(Path("x"), content, dimensions)
    except DataError:
        return
    assert found.tobytes() == content[4 + 4 * dimensions :]


def test_samples_are_described_as_samples(tmp_path: Path) -> None:
    folder = write_digits(tmp_path / "mnist", 30, 20)
    result = CliRunner().invoke(app, ["data", "describe", str(folder), "--json"])
    facts = json.loads(result.stdout)
    assert facts["samples"] == 50
    assert facts["samples_per_holder"] == {"test": 20, "train": 30}
    assert facts["shape"] == [12, 12]
    assert sum(facts["samples_per_class"].values()) == 50
    assert not {"density", "values", "rows_per_item"} & set(facts)
    shown = CliRunner().invoke(app, ["data", "describe", str(folder)]).stdout
    assert "12 x 12" in shown
    assert "test: 20, train: 30" in shown


@pytest.mark.parametrize("command", [["convert"], ["split", "--out"]])
def test_no_table_is_made_of_samples(tmp_path: Path, command: list[str]) -> None:
    folder = write_digits(tmp_path / "mnist", 30, 20)
    words = ["data", command[0], str(folder), *command[1:], str(tmp_path / "out.csv")]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, DataError)
    assert "has samples with labels" in str(result.exception)
    assert not (tmp_path / "out.csv").exists()
