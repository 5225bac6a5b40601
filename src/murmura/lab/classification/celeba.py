"""CelebA: photos of celebrities (Liu et al., "Deep Learning Face Attributes in the Wild", ICCV 2015).

Every celebrity holds her own photos; the label is whether she smiles, the quality whether the photo is sharp.
As in chapter 5 of Ferrara's thesis half of the photos take part, drawn at random, resized to 64 x 64; only
those are decoded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from murmura.core.arrays import Bools, Bytes, Longs
from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError, MissingExtraError
from murmura.core.interactions import Interactions, SampleTable
from murmura.data.sources.source import Source, SourceFile, SourceFolder
from murmura.data.tables.text_file import TextFile

ATTRIBUTES, IDENTITIES, PHOTOS = "list_attr_celeba.txt", "identity_CelebA.txt", "img_align_celeba"
LABEL, DEFECT = "Smiling", "Blurry"
SHARE, SEED = 0.5, 42  # of the photos that take part
SIDE = 64
WIDEST = 4096  # pixels on a side that are decoded


def read(folder: SourceFolder) -> Dataset:
    """Half of the photos with their labels; who they are of is who holds them."""
    photo, smiles, sharp = _attributes(folder.text(ATTRIBUTES))
    owner = _identities(folder.text(IDENTITIES), photo)
    drawn = np.random.default_rng(SEED).permutation(len(photo))[: max(1, int(SHARE * len(photo)))]
    drawn = drawn[np.argsort(photo[drawn])]
    shown, good = _decoded(folder, photo[drawn].tolist())
    kept = drawn[good]
    rows = Interactions.of(owner[kept], photo[kept], smiles[kept].astype(np.float64))
    place = np.arange(len(kept), dtype=np.int32)  # photos ascend, and so do the items' codes
    samples = SampleTable(2, shown[good], place, sharp[kept].astype(np.float64))
    folder.notes.append(f"{len(kept):,} of {len(photo):,} photos take part, drawn at random (seed {SEED}).")
    with_photos = Interactions(
        rows.users, rows.items, rows.user, rows.item, rows.value, rows.time, samples=samples
    )
    return folder.dataset(with_photos, Catalogue(rows.items))


def _attributes(text: TextFile) -> tuple[Longs, Bools, Bools]:
    """Every photo's number, whether it shows a smile, and whether it is sharp."""
    lines = text.content.decode().splitlines()
    names = lines[1].split() if len(lines) > 1 else []
    missing = [name for name in (LABEL, DEFECT) if name not in names]
    if missing or lines[0].strip() != str(len(lines) - 2):
        lacks = f"no attribute {missing[0]}" if missing else f"{len(lines) - 2} photos after '{lines[0]}'"
        raise DataError(
            f"{text.path}: it must begin with the number of photos, then the names of attributes, but has "
            f"{lacks}; get it again."
        )
    places, photo, values = [names.index(LABEL), names.index(DEFECT)], [], []
    for number, line in enumerate(lines[2:], start=3):
        name, *given = line.split() or [""]
        if len(given) != len(names) or not {given[place] for place in places} <= {"1", "-1"}:
            raise DataError(
                f"{text.path}, line {number}: a photo must have {len(names)} attributes of 1 or -1, but has "
                f"{len(given)}; get the file again."
            )
        photo.append(_number(text.path, number, name))
        values.append([given[place] == "1" for place in places])
    found: Bools = np.array(values, np.bool_).reshape(len(values), 2)
    return _distinct(text.path, photo), found[:, 0], ~found[:, 1]


def _identities(text: TextFile, photo: Longs) -> Longs:
    """Who every photo is of."""
    whose: dict[int, int] = {}
    for number, line in enumerate(text.content.decode().splitlines(), start=1):
        fields = line.split()
        if len(fields) != 2 or not fields[1].isascii() or not fields[1].isdecimal() or len(fields[1]) > 9:
            raise DataError(
                f"{text.path}, line {number}: it must be a photo and a number, but is '{line[:40]}'."
            )
        whose[_number(text.path, number, fields[0])] = int(fields[1])
    unknown = [one for one in photo.tolist() if one not in whose]
    if unknown:
        raise DataError(
            f"{text.path}: every photo must be of somebody, but {len(unknown)} are of nobody, such as "
            f"{_file(unknown[0])}; get the file again."
        )
    return np.array([whose[one] for one in photo.tolist()], np.int64)


def _number(path: Path, line: int, name: str) -> int:
    """The 1 of 000001.jpg."""
    digits = name.removesuffix(".jpg")
    if len(digits) != 6 or not (digits.isascii() and digits.isdecimal()) or digits == name:
        raise DataError(f"{path}, line {line}: a photo must be named like 000001.jpg, but is '{name[:40]}'.")
    return int(digits)


def _distinct(path: Path, photo: Sequence[int]) -> Longs:
    numbers = np.array(photo, np.int64)
    if not len(numbers) or len(np.unique(numbers)) < len(numbers):
        raise DataError(f"{path}: it must name some photos, each once, but does not; get the file again.")
    return numbers


def _file(photo: int) -> str:
    return f"{photo:06}.jpg"


def _decoded(folder: SourceFolder, photos: Sequence[int]) -> tuple[Bytes, Bools]:
    """The photos as one array, and which of them could be read; all must be unless bad ones are skipped."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise MissingExtraError("reading the photos of CelebA", "images") from None
    shown: Bytes = np.zeros((len(photos), SIDE, SIDE, 3), np.uint8)
    paths = [folder.path / PHOTOS / _file(photo) for photo in photos]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(partial(_decode, shown), range(len(paths)), paths))
    bad = [(path, why) for path, why in zip(paths, problems) if why]
    if bad and (len(bad) == len(paths) or not folder.skip_bad):
        path, why = bad[0]
        raise DataError(
            f"{path}: it must be a photo in JPEG format, but {why} ({len(bad)} such files); get it again or "
            "skip bad rows (skip_bad, --skip-bad)."
        )
    if bad:
        folder.notes.append(f"{PHOTOS}: left out {len(bad)} photos that cannot be read.")
    return shown, np.array([not why for why in problems], np.bool_)


def _decode(shown: Bytes, place: int, path: Path) -> str:
    """Put a photo into its place; says why where it cannot be read."""
    from PIL import Image

    try:
        with Image.open(path, formats=("JPEG",)) as photo:
            if max(photo.size) > WIDEST:
                return f"has {photo.size[0]} x {photo.size[1]} pixels"
            small = photo.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
            shown[place] = np.asarray(small)
    except FileNotFoundError:
        return "is not there"
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return "cannot be decoded"
    return ""


CELEBA = Source(
    "celeba", "CelebA, photos of celebrities: samples with labels (smiling), for classifiers",
    "Multimedia Laboratory, The Chinese University of Hong Kong", "non-commercial research use",
    "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
    (SourceFile(ATTRIBUTES), SourceFile(IDENTITIES), SourceFile(PHOTOS)),
    read,
)  # fmt: skip
