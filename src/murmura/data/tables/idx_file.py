"""IDX files: whole arrays of unsigned bytes, as MNIST is distributed."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from murmura.core.arrays import Bytes
from murmura.core.errors import DataError

UNSIGNED_BYTE = 0x08
MOST = 2**31  # bytes an array may have


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
