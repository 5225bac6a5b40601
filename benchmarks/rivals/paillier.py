"""P. Paillier, EUROCRYPT 1999, by the package `phe`: sums of ciphertexts, words of a ring side by side in each.

A rival, measured: it is under another licence than ours and thousands of times as slow as shares.
"""

from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np

from murmura.channel.ring import Ring
from murmura.core.rng import Words
from murmura.lab.protections.sum_protocol import NO_DROPOUTS, DropOuts, SumSession

KEY_BITS = 2048


class Paillier(SumSession):
    """One server multiplies ciphertexts, one key holder decrypts the product: the sum."""

    name: ClassVar[str] = "Paillier"
    sees: ClassVar = {"server": "ciphertexts", "key holder": "the sum", "both together": "each update"}
    dropouts: ClassVar[str] = (
        "a device that sends nothing is not in the sum; without the key holder there is none"
    )

    def __init__(self, clients: Collection[int], ring: Ring, lost: DropOuts = NO_DROPOUTS) -> None:
        from phe import generate_paillier_keypair

        super().__init__(clients, ring, lost)
        self.public, self._private = generate_paillier_keypair(n_length=KEY_BITS)
        self.slot = ring.bits + len(clients).bit_length()  # sums of so many words do not reach the next slot
        self.each = (KEY_BITS - 1) // self.slot
        self.sum: list[int] = []

    def _add(self, client: int, vector: Words) -> None:
        from phe.util import mulmod

        with self.cost.at("device"):
            words = vector.tolist()
            parts = [words[at : at + self.each] for at in range(0, len(words), self.each)]
            sent = [self.public.raw_encrypt(self._packed(part)) for part in parts]
        self.cost.bytes_up += len(sent) * (2 * KEY_BITS // 8)
        with self.cost.at("server"):
            pairs = zip(self.sum or [1] * len(sent), sent)
            self.sum = [int(mulmod(one, other, self.public.nsquare)) for one, other in pairs]

    def _packed(self, words: list[int]) -> int:
        return sum(word << (self.slot * at) for at, word in enumerate(words))

    def _total(self) -> Words:
        total: list[Any] = []
        with self.cost.at("server"):
            for cipher in self.sum:
                packed = int(self._private.raw_decrypt(cipher))
                total += [(packed >> (self.slot * at)) % 2**self.slot for at in range(self.each)]
        return self.ring.wrap(np.array(total[: self.ring.words], np.int64))
