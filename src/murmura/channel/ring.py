"""The last stage: whole numbers modulo 2**24, 2**32 or, in simulations, 2**64: sums have no order there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.channel.layout import SparseVector
from murmura.core.arrays import Bytes, Longs
from murmura.core.errors import FederationError
from murmura.core.rng import Words


@dataclass(frozen=True)
class Ring:
    """Vectors of so many words of so many bits; a word travels in little-endian bytes."""

    bits: int
    words: int

    @property
    def word(self) -> np.dtype[Any]:
        """What holds one word."""
        return np.dtype(np.uint32 if self.bits <= 32 else np.uint64)

    @property
    def message_bytes(self) -> int:
        """One vector as it travels."""
        return self.words * self.bits // 8

    def device(self, *parts: SparseVector) -> Words:
        """A vector of the ring, of parts that have their places apart; word 0 counts its device."""
        vector = np.zeros(self.words, np.int64)
        vector[0] = 1
        for sent in parts:
            vector[sent.place] = sent.value
        return self.wrap(vector)

    def server(self, total: Words) -> Longs:
        """The sum as signed numbers: what is above half the ring was negative."""
        self.check(total)
        signed = total.astype(np.int64)  # of 64 bits the sign is there already
        if self.bits < 64:
            signed[signed >= 2 ** (self.bits - 1)] -= 2**self.bits
        return signed

    def wrap(self, vector: Longs) -> Words:
        """Whole numbers modulo 2**bits."""
        wrapped: Words = (vector & (2**self.bits - 1) if self.bits < 64 else vector).astype(self.word)
        return wrapped

    def add_up(self, vectors: Iterable[Words]) -> Words:
        """The sum; any order gives the same."""
        total = np.zeros(self.words, self.word)
        for vector in vectors:
            self.check(vector)
            total += vector  # modulo 2**32, of which 2**24 is a divisor
        return self.wrap(total.astype(np.int64))

    def check(self, vector: Words) -> None:
        """Refuse what is not a vector of this ring."""
        if vector.dtype != self.word or vector.shape != (self.words,) or (vector >> 8 >> (self.bits - 8)).any():
            raise FederationError(
                f"a vector must hold {self.words} words of {self.bits} bits, but it is {vector.dtype} of shape "
                f"{vector.shape}; both sides need the same configuration."
            )

    def pack(self, vector: Words) -> bytes:
        """The vector as it travels."""
        kind = self.word.newbyteorder("<")
        wide = np.ascontiguousarray(vector, kind).view(np.uint8).reshape(self.words, kind.itemsize)
        return wide[:, : self.bits // 8].tobytes()

    def unpack(self, message: bytes | bytearray) -> Words:
        """The vector that was packed, perhaps as a view of it; refuses another length before it makes one."""
        if len(message) != self.message_bytes:
            raise FederationError(
                f"a packed vector must have {self.message_bytes} bytes, but has {len(message)}; "
                "both sides need the same configuration."
            )
        if self.bits == 8 * self.word.itemsize:
            return np.frombuffer(message, self.word.newbyteorder("<")).astype(self.word, copy=False)
        wide: Bytes = np.zeros((self.words, 4), np.uint8)
        wide[:, : self.bits // 8] = np.frombuffer(message, np.uint8).reshape(self.words, -1)
        return wide.view("<u4").ravel().astype(np.uint32, copy=False)
