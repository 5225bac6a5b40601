"""CelebA's layout on a small made-up folder: who holds which photo, what it shows, and bad files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.catalogue import Dataset
from murmura.core.errors import DataError, MissingExtraError
from murmura.core.interactions import SampleTable
from murmura.data.sources.registry import load, recognise
from murmura.engine.prepared import prepare
from murmura.engine.protocol import protocol
from murmura.lab.classification.celeba import ATTRIBUTES, IDENTITIES, PHOTOS

Image = pytest.importorskip("PIL.Image", reason="the extra images is not installed")
PEOPLE, EACH = 6, 20
N = PEOPLE * EACH


def owner(photo: int) -> int:
    return 1000 + (photo * 7) % PEOPLE


def smiles(photo: int) -> bool:
    return photo % 3 == 0


def blurry(photo: int) -> bool:
    return photo % 5 == 0


def colour(photo: int) -> tuple[int, int, int]:
    """A smile is bright; the other channels tell the photos apart."""
    return (220 if smiles(photo) else 30, photo, 255 - photo)


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    folder = tmp_path / "celeba"
    (folder / PHOTOS).mkdir(parents=True)
    lines = [str(N), "Bald Blurry Smiling Young"]
    for photo in range(1, N + 1):
        lines.append(f"{photo:06}.jpg  1 {'1' if blurry(photo) else '-1'}  {'1' if smiles(photo) else '-1'} -1")
        Image.new("RGB", (178, 218), colour(photo)).save(folder / PHOTOS / f"{photo:06}.jpg", quality=95)
    (folder / ATTRIBUTES).write_text("\n".join(lines) + "\n", encoding="utf-8")
    whose = "".join(f"{photo:06}.jpg {owner(photo)}\n" for photo in range(1, N + 1))
    (folder / IDENTITIES).write_text(whose, encoding="utf-8")
    return folder


def table(found: Dataset) -> SampleTable:
    samples = found.interactions.samples
    assert samples is not None
    assert samples.quality is not None
    return samples


def test_half_of_the_photos_with_what_they_show(faces: Path) -> None:
    assert recognise(faces).name == "celeba"
    found = load("celeba", faces.parent)
    data, samples = found.interactions, table(found)
    assert len(data) == N // 2
    assert samples.task == ((64, 64, 3), 2)
    assert found.notes == ("60 of 120 photos take part, drawn at random (seed 42).",)
    photos = data.items.labels[data.item].tolist()
    assert data.users.labels[data.user].tolist() == list(map(owner, photos))
    assert data.value.tolist() == [float(smiles(photo)) for photo in photos]
    sharp = samples.qualities(data.item)
    assert sharp is not None
    assert sharp.tolist() == [float(not blurry(photo)) for photo in photos]
    middle = samples.inputs(data.item)[:, 32, 32].astype(int)
    assert np.abs(middle - np.array(list(map(colour, photos)))).max() <= 4  # of JPEG's rounding
    again = load("celeba", faces.parent)
    assert again.interactions.fingerprint == data.fingerprint
    assert table(again).fingerprint == samples.fingerprint


def test_the_protocol_of_the_thesis(faces: Path) -> None:
    found = load(faces)
    rules = protocol("default", found)
    assert rules.name == "celeba"
    ready = prepare(found, rules)
    train = ready.split.train
    assert (train.user_counts + 0 >= 4).all()  # of five photos one is held out
    assert ready.describe()["test rows"] == sum(n // 5 for n in found.interactions.user_counts if n >= 5)
    assert train.samples is not None
    own = train.items.labels[train.item].tolist()
    bright = train.samples.inputs(train.item)[:, 32, 32, 0] > 128
    assert bright.tolist() == list(map(smiles, own))


def test_people_with_few_photos_are_left_out(faces: Path) -> None:
    text = (faces / IDENTITIES).read_text("utf-8")
    (faces / IDENTITIES).write_text(text.replace("000001.jpg 1001", "000001.jpg 7"), encoding="utf-8")
    ready = prepare(load(faces), protocol("celeba", load(faces)))
    assert 7 not in ready.split.data.users.labels


def test_it_is_described_as_samples(faces: Path) -> None:
    facts = json.loads(CliRunner().invoke(app, ["data", "describe", str(faces), "--json"]).stdout)
    assert facts["samples"] == 60
    assert facts["holders"] == PEOPLE
    assert facts["shape"] == [64, 64, 3]
    assert set(facts["samples_per_class"]) == {"0", "1"}
    assert 0 < facts["quality"] < 1


def drawn(faces: Path) -> str:
    data = load(faces).interactions
    return f"{data.items.labels[0]:06}.jpg"


@pytest.mark.parametrize("what", ["gone", "text", "cut short", "another format", "huge"])
def test_a_photo_that_cannot_be_read(faces: Path, what: str) -> None:
    path = faces / PHOTOS / drawn(faces)
    whole = path.read_bytes()
    path.unlink()
    if what == "text":
        path.write_text("no photo", encoding="utf-8")
    elif what == "cut short":
        path.write_bytes(whole[: len(whole) // 2])
    elif what == "another format":
        Image.new("RGB", (9, 9)).save(path, format="PNG")
    elif what == "huge":
        Image.new("L", (4097, 1)).save(path, format="JPEG")
    with pytest.raises(DataError, match=rf"{path.name}: it must be a photo in JPEG format, but .*1 such files"):
        load(faces)
    found = load(faces, skip_bad=True)
    assert len(found.interactions) == 59
    assert f"{PHOTOS}: left out 1 photos that cannot be read." in found.notes
    photos = found.interactions.items.labels[found.interactions.item].tolist()
    shown = table(found).inputs(found.interactions.item)[:, 32, 32, 1].astype(int)
    assert np.abs(shown - np.array(photos)).max() <= 4  # the others are still themselves


BAD: dict[str, tuple[str, Any, str]] = {
    "a wrong count": (ATTRIBUTES, ("120\n", "121\n"), "120 photos after '121'"),
    "no smile": (ATTRIBUTES, ("Smiling", "Grinning"), "no attribute Smiling"),
    "too few attributes": (
        ATTRIBUTES,
        ("000002.jpg  1 ", "000002.jpg "),
        "line 4: a photo must have 4 attributes",
    ),
    "another value": (
        ATTRIBUTES,
        ("000002.jpg  1 -1  -1", "000002.jpg  1 -1  0"),
        "line 4: a photo must have 4",
    ),
    "a name": (ATTRIBUTES, ("000002.jpg", "../../x.jpg"), "line 4: a photo must be named like 000001.jpg"),
    "a photo twice": (ATTRIBUTES, ("000002.jpg", "000003.jpg"), "it must name some photos, each once"),
    "nobody": (IDENTITIES, ("000002.jpg 1002\n", ""), "1 are of nobody, such as 000002.jpg"),
    "no number": (IDENTITIES, ("000002.jpg 1002", "000002.jpg x"), "line 2: it must be a photo and a number"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_file_is_refused_in_one_sentence(faces: Path, case: str) -> None:
    name, (old, new), sentence = BAD[case]
    text = (faces / name).read_text("utf-8")
    assert old in text
    (faces / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=sentence):
        load(faces)


def test_without_the_decoder_the_extra_is_named(faces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'murmura\[images\]'"):
        load(faces)
