"""A made-up folder shaped like MNIST: small images whose bright column says the label."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bytes
from murmura.lab.classification.mnist import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS


def idx(array: NDArray[Any]) -> bytes:
    """An array of bytes as an IDX file."""
    head = struct.pack(f">{1 + array.ndim}I", 0x0800 | array.ndim, *array.shape)
    return head + array.astype(np.uint8).tobytes()


def drawn(labels: Bytes, side: int = 12, seed: int = 0) -> Bytes:
    """One image per label: noise, and column `label` bright."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 90, (len(labels), side, side), dtype=np.uint8)
    images[np.arange(len(labels)), :, labels] = 255
    return images


def write_digits(folder: Path, train: int = 600, test: int = 120, packed: bool = True, seed: int = 0) -> Path:
    """The four files, labels at random; `folder` is named like the source to be recognised."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for (images, labels), n in (((TRAIN_IMAGES, TRAIN_LABELS), train), ((TEST_IMAGES, TEST_LABELS), test)):
        label = rng.integers(0, 10, n, dtype=np.uint8)
        for name, array in ((images, drawn(label, seed=seed + n)), (labels, label)):
            content = idx(array)
            path = folder / (name + ".gz" if packed else name)
            path.write_bytes(gzip.compress(content, mtime=0) if packed else content)
    return folder
