"""MNIST: 70,000 images of handwritten digits (LeCun, Bottou, Bengio and Haffner, Proc. IEEE 86(11), 1998).

The samples lie in two files and belong to nobody: a split of the family `partition` deals them to clients.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from murmura.core.arrays import Bytes
from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError
from murmura.core.interactions import TEST_FILE, TRAIN_FILE, Interactions, SampleTable, Vocabulary
from murmura.data.sources.source import Source, SourceFile, SourceFolder

CLASSES = 10
TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
UNSIGNED_BYTE = 0x08
MOST = 2**31  # bytes an array of an IDX file may have


def read(folder: SourceFolder) -> Dataset:
    """The training samples, then the test samples, numbered from 0; whose they are is the file's name."""
    parts = _pair(folder, TRAIN_IMAGES, TRAIN_LABELS), _pair(folder, TEST_IMAGES, TEST_LABELS)
    images, labels = zip(*parts)
    if images[0].shape[1:] != images[1].shape[1:]:
        raise DataError(
            f"{folder.path}: images must be of one size, but those of training are {images[0].shape[1:]} and "
            f"those of the test {images[1].shape[1:]}; download the files again."
        )
    users = Vocabulary(np.array(sorted((TRAIN_FILE, TEST_FILE))))
    owner = np.repeat(users.index((TRAIN_FILE, TEST_FILE)), [len(part) for part in labels])
    sample = np.arange(len(owner), dtype=np.int32)
    items = Vocabulary(sample.astype(np.int64))
    shown = SampleTable(CLASSES, np.concatenate(images), sample)
    rows = Interactions(users, items, owner, sample, np.concatenate(labels), samples=shown)
    return folder.dataset(rows, Catalogue(items))


def _pair(folder: SourceFolder, *names: str) -> tuple[Bytes, Bytes]:
    """The images of a part and their labels."""
    images = read_idx(folder.path / names[0], folder.content(names[0]), 3)
    labels = read_idx(folder.path / names[1], folder.content(names[1]), 1)
    if len(images) != len(labels):
        raise DataError(
            f"{folder.path}: every image must have a label, but {names[0]} has {len(images):,} images and "
            f"{names[1]} {len(labels):,} labels; download both again."
        )
    if labels.max() >= CLASSES:
        first = int(np.argmax(labels >= CLASSES))
        raise DataError(
            f"{folder.path / names[1]}: labels must be below {CLASSES}, but number {first} is {labels[first]}; "
            "download it again."
        )
    return images, labels


def read_idx(path: Path, content: bytes, dimensions: int) -> Bytes:
    """The array an IDX file holds; refused unless magic number, dimensions and length agree exactly."""
    head = 4 + 4 * dimensions
    if len(content) < head:
        raise DataError(
            f"{path}: an IDX file of {dimensions} dimensions must begin with {head} bytes, but it has "
            f"{len(content)}; download it again."
        )
    magic, *shape = struct.unpack(f">{1 + dimensions}I", content[:head])
    wanted = UNSIGNED_BYTE << 8 | dimensions
    if magic != wanted:
        raise DataError(
            f"{path}: an IDX file of bytes in {dimensions} dimensions must begin with the magic number "
            f"{wanted}, but begins with {magic}; check that the files are not exchanged."
        )
    size = math.prod(shape)
    if not 0 < size <= MOST:
        raise DataError(
            f"{path}: the array must have between 1 and {MOST:,} bytes, but its dimensions "
            f"{' x '.join(map(str, shape))} make {size:,}; download it again."
        )
    if len(content) - head != size:
        raise DataError(
            f"{path}: the dimensions {' x '.join(map(str, shape))} need {size:,} bytes, but "
            f"{len(content) - head:,} follow them; download it again."
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)


# the sha256 are of the unpacked files: the same digits are offered in gzip files of more than one kind
MNIST = Source(
    "mnist", "MNIST handwritten digits: samples with labels, for classifiers",
    "Y. LeCun, C. Cortes and C. J. C. Burges", "CC BY-SA 3.0",
    "https://yann.lecun.com/exdb/mnist/",
    (
        SourceFile(TRAIN_IMAGES, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
        SourceFile(TRAIN_LABELS, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        SourceFile(TEST_IMAGES, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
        SourceFile(TEST_LABELS, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ),
    read,
)  # fmt: skip
