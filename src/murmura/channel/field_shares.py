"""Additive shares over the field of p = 2⁶⁴ − 2³² + 1: vectors that are proved travel in them.

A share that is a seed stands for the words of its key stream in little-endian bytes, less those that are p or
more: these are skipped, as the rest is then uniform in the field. A word in four billion is skipped.
"""

from __future__ import annotations

import numpy as np

from murmura.channel.shares import key_stream
from murmura.core.errors import FederationError
from murmura.kernels.proofs.field import ELEMENT_BYTES, MODULUS, Elements

_P = np.uint64(MODULUS)


def expand_numbers(seed: bytes, count: int) -> Elements:
    """The first so many numbers of the field that a seed stands for."""
    stream, found, missing = key_stream(seed), [], count
    while missing:
        words = np.frombuffer(stream.update(bytes(ELEMENT_BYTES * missing)), "<u8")
        small = words < _P
        found.append(words if small.all() else words[small])
        missing -= len(found[-1])
    if len(found) == 1:
        return found[0].astype(np.uint64, copy=False)
    return np.concatenate([np.zeros(0, np.uint64), *found])


def pack_numbers(numbers: Elements) -> bytes:
    """As they travel: 8 little-endian bytes each."""
    return np.ascontiguousarray(numbers, "<u8").tobytes()


def unpack_numbers(message: bytes | memoryview, count: int) -> Elements:
    """The numbers; refuses another count, and words that are no numbers of the field."""
    if len(message) != ELEMENT_BYTES * count:
        raise FederationError(
            f"{count} numbers must have {ELEMENT_BYTES * count} bytes, but have {len(message)}; both sides "
            "need the same configuration."
        )
    numbers = np.frombuffer(message, "<u8").astype(np.uint64, copy=False)
    if (numbers >= _P).any():
        raise FederationError(f"a number of a share must be below {MODULUS}, but is not; leave the report out.")
    return numbers
