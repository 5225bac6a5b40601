"""J. H. Cheon et al., "Homomorphic encryption for arithmetic of approximate numbers" (CKKS), ASIACRYPT 2017.

Devices encrypt their vectors to a key holder; the server adds ciphertexts it cannot read and hands over the sum
alone. The numbers of a ring are whole, so the sum is rounded to whole numbers: the error of the scheme is far
below one half, and the sum comes out to the bit.

Degree 8192 and two primes of 60 bits (one to compute with, one that SEAL keeps for keys) have 128 bits of
security. Sums of a ring are below 2**32, and 2**32 times the scale must stay below half the first prime.

The key holder must not be the server, nor a device: whoever has the key and the ciphertexts reads everyone. It
publishes whole numbers, never what it decrypted: the errors tell of the key (Li, Micciancio, EUROCRYPT 2021).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from murmura.channel.ring import Ring
from murmura.core.errors import FederationError, MissingExtraError
from murmura.core.rng import Words
from murmura.lab.protections.sum_protocol import NO_DROPOUTS, DropOuts, SumSession

try:
    import tenseal
except ModuleNotFoundError:
    tenseal = None

DEGREE, PRIMES, SCALE = 8192, (60, 60), 2.0**26
SLOTS = DEGREE // 2
_DOUBT = 0.25  # farther than this from a whole number, and the sum is not believed


class Ckks(SumSession):
    """One server adds, one key holder makes the keys and decrypts the sum; everyone gets the public one."""

    name: ClassVar[str] = "CKKS"
    sees: ClassVar[Mapping[str, str]] = {
        "server": "ciphertexts",
        "key holder": "the sum",
        "server and key holder together": "each update",
    }
    dropouts: ClassVar[str] = (
        "a device that sends nothing is not in the sum; without the key holder there is none"
    )

    def __init__(self, clients: Collection[int], ring: Ring, lost: DropOuts = NO_DROPOUTS) -> None:
        if tenseal is None:
            raise MissingExtraError("homomorphic encryption", "he")
        super().__init__(clients, ring, lost)
        self._keys = tenseal.context(tenseal.SCHEME_TYPE.CKKS, DEGREE, coeff_mod_bit_sizes=list(PRIMES))
        self._keys.global_scale = SCALE
        self.public = self._keys.serialize(save_secret_key=False, save_galois_keys=False, save_relin_keys=False)
        self._public = tenseal.context_from(self.public)
        self.sum: list[Any] = []  # ciphertexts
        self.error = 0.0  # how far the decrypted sum was from whole numbers, at most

    def _add(self, client: int, vector: Words) -> None:
        with self.cost.at("device"):
            numbers = self.ring.server(vector).astype(np.float64)  # signed, as small as they can be
            parts = np.split(numbers, range(SLOTS, len(numbers), SLOTS))
            messages = [tenseal.ckks_vector(self._public, part).serialize() for part in parts]
        self.cost.bytes_up += sum(map(len, messages))
        with self.cost.at("server"):
            opened = [tenseal.ckks_vector_from(self._public, message) for message in messages]
            self.sum = [one + other for one, other in zip(self.sum, opened)] if self.sum else opened

    def _total(self) -> Words:
        with self.cost.at("server"):
            messages = [part.serialize() for part in self.sum]
        with self.cost.at("server"):  # the key holder is one
            decrypted = np.concatenate(
                [tenseal.ckks_vector_from(self._keys, message).decrypt() for message in messages]
            )
        whole = np.rint(decrypted)
        self.error = float(np.abs(decrypted - whole).max())
        if self.error > _DOUBT:
            raise FederationError(
                f"an encrypted sum must be within {_DOUBT} of whole numbers, but is {self.error:.3g} away: "
                "a device broke its bounds; discard the round."
            )
        return self.ring.wrap(whole.astype(np.int64))
