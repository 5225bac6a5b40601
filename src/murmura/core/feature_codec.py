"""Item features as bytes: what a device downloads once, named by its hash.

'm' 'f' version, then one zlib stream of: the numbers of items, features and pairs (4 bytes each, little end);
how many features each item has; its features, each less the one before it; these numbers byte plane by byte
plane, as the high ones are nearly all zero; the labels, a line each. A reader trusts no length.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.errors import FederationError
from murmura.core.features import ItemFeatures

MAGIC = b"mf\x01"
LARGEST = 1 << 26  # bytes unpacked: more is nobody's catalogue, and a reader needs some fifteen times as many
_SIZES = struct.Struct("<III")


def encode_features(features: ItemFeatures) -> bytes:
    """The bytes that everyone downloads."""
    counts, pairs = np.diff(features.start), features.feature.astype(np.int64)
    steps = np.diff(pairs, prepend=0)
    first = features.start[:-1][counts > 0]
    steps[first] = pairs[first]
    if any("\n" in label for label in features.labels):
        raise FederationError("the label of a feature must be one line, but one has several; rename it.")
    text = "\n".join(features.labels).encode()
    raw = _SIZES.pack(features.items, len(features), len(pairs)) + _planes(counts) + _planes(steps) + text
    if len(raw) > LARGEST:
        raise FederationError(
            f"item features must have at most {LARGEST:,} bytes for devices to read, but have {len(raw):,}; "
            "keep fewer features."
        )
    return MAGIC + zlib.compress(raw, 9)


def decode_features(content: bytes) -> ItemFeatures:
    """The features in such bytes; refuses anything else."""
    packed = zlib.decompressobj()
    try:
        raw = packed.decompress(content[len(MAGIC) :], LARGEST) if content.startswith(MAGIC) else b""
    except zlib.error:
        raw = b""
    if len(raw) < _SIZES.size or not packed.eof or packed.unused_data:
        raise FederationError("item features must be in the form of docs/wire.md, but are not.")
    items, features, pairs = _SIZES.unpack_from(raw)
    text_at = _SIZES.size + 4 * (items + pairs)
    if text_at > len(raw):
        raise FederationError("item features must be as long as they say, but are shorter.")
    counts = _numbers(raw, _SIZES.size, items)
    steps = _numbers(raw, _SIZES.size + 4 * items, pairs)
    if counts.sum() != pairs or features > pairs:
        raise FederationError("item features must have the counts they state, but have others.")
    labels = _labels(raw[text_at:], features)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    total = np.cumsum(steps)
    before = np.concatenate([[0], total])[start[:-1]]
    feature = total - np.repeat(before, counts)
    within = np.ones(pairs, np.bool_)
    within[start[:-1][counts > 0]] = False
    if pairs and (feature.max() >= features or (steps[within] == 0).any()):
        raise FederationError("the features of an item must ascend and be known ones, but are not.")
    return ItemFeatures(labels, start, feature.astype(np.int32))


def _planes(numbers: Longs) -> bytes:
    return numbers.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()


def _numbers(raw: bytes, at: int, n: int) -> Longs:
    planes = np.frombuffer(raw, np.uint8, 4 * n, at).reshape(4, n)
    return np.ascontiguousarray(planes.T).view("<u4").reshape(-1).astype(np.int64)


def _labels(text: bytes, n: int) -> tuple[str, ...]:
    """So many lines; they are counted first, as a list of them takes far more memory than their bytes."""
    if text.count(b"\n") != max(n - 1, 0) or (text and not n):
        raise FederationError("item features must have a label each, a line long, but have not.")
    try:
        return tuple(text.decode().split("\n")) if n else ()
    except UnicodeDecodeError:
        raise FederationError("the labels of item features must be UTF-8, but are not.") from None
