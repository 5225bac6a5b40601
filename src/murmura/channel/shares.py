"""Additive shares: two vectors that look random each alone and add up to the secret one.

There is no second message: one share is the expansion of a 32-byte seed (AES-256 in counter mode, a
fresh key each time), the other what is missing. Whoever has only one of them has only noise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from murmura.channel.key_pairs import primitives
from murmura.channel.ring import Ring
from murmura.core.errors import FederationError
from murmura.core.rng import Words

SEED_BYTES = 32
Entropy = Callable[[int], bytes]


def split(vector: Words, ring: Ring, entropy: Entropy = os.urandom) -> tuple[bytes, Words]:
    """(seed, other): `expand(seed, ring)` and `other` add up to the vector. Randomness is the system's."""
    ring.check(vector)
    seed = entropy(SEED_BYTES)
    return seed, ring.wrap((vector - expand(seed, ring)).astype(np.int64))


def expand(seed: bytes, ring: Ring) -> Words:
    """The share that a seed stands for: the key stream of AES-256-CTR from block 0, as words of the ring."""
    return ring.unpack(key_stream(seed).update(bytes(ring.message_bytes)))


def expanded_sum(seeds: Iterable[bytes], ring: Ring) -> Words:
    """The sum of what seeds stand for, through one buffer however many there are."""
    zeros, buffer = bytes(ring.message_bytes), bytearray(ring.message_bytes)
    total = np.zeros(ring.words, ring.word)
    for seed in seeds:
        key_stream(seed).update_into(zeros, buffer)
        total += ring.unpack(buffer)  # modulo 2**32, of which 2**24 is a divisor
    return ring.wrap(total.astype(np.int64))


def key_stream(seed: bytes) -> Any:
    """The key stream of AES-256-CTR from block 0: what it gives is added to zeros."""
    ciphers = primitives("ciphers", "a secure sum")
    if len(seed) != SEED_BYTES:
        raise FederationError(f"the seed of a share must have {SEED_BYTES} bytes, but has {len(seed)}.")
    # a key is used for one vector only, so the counter may begin at 0
    return ciphers.Cipher(ciphers.algorithms.AES256(seed), ciphers.modes.CTR(bytes(16))).encryptor()
