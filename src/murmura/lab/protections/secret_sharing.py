"""Secret sharing: any t of n shares, or all of them, give the secret; fewer tell nothing of it.

A. Shamir, "How to share a secret", CACM 1979: any t of n shares give the secret, fewer tell nothing of it.

A secret of 32 bytes is the value at 0 of a random polynomial of degree t - 1 over the field of the smallest
prime above 2**256; share x is its value at x. (The thesis, 3.4.2, says degree R for R points; it takes R - 1.)

For simulations: Python's whole numbers do not take the same time for all values. The package `shamirs` computes
the same (the tests compare), .4 s for a secret of 67 shares; here the weights of a set of holders are worked
out once for all secrets they hold.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from murmura.channel import shares as additive
from murmura.channel.ring import Ring
from murmura.channel.shares import Entropy, expanded_sum
from murmura.core.errors import FederationError, SettingError
from murmura.core.rng import Words
from murmura.lab.protections.sum_protocol import NO_DROPOUTS, DropOuts, SumProtocol, SumSession

PRIME = 2**256 + 297
SHARE_BYTES = 33
_SECRET_BYTES = 32


def split(
    secret: bytes, holders: Sequence[int], threshold: int, entropy: Entropy = os.urandom
) -> dict[int, int]:
    """The share of every holder, numbered from 1; any `threshold` of them give the secret."""
    if len(secret) != _SECRET_BYTES:
        raise FederationError(f"a secret must have {_SECRET_BYTES} bytes, but has {len(secret)}.")
    if not 1 <= threshold <= len(holders):
        raise FederationError(
            f"the threshold of {len(holders)} shares must be from 1 to {len(holders)}, but is {threshold}."
        )
    if min(holders) < 1 or len(set(holders)) < len(holders):
        raise FederationError("holders must have numbers of their own, from 1: the share of 0 is the secret.")
    # 64 bytes modulo a number of 257 bits: uniform but for 2**-255
    coefficients = [int.from_bytes(entropy(64), "little") % PRIME for _ in range(threshold - 1)]
    shares = {}
    for holder in holders:
        value = 0
        for coefficient in reversed(coefficients):
            value = (value + coefficient) * holder % PRIME
        shares[holder] = (value + int.from_bytes(secret, "little")) % PRIME
    return shares


def join(shares: Mapping[int, int], threshold: int) -> bytes:
    """The secret that the first `threshold` of these shares give; refuses fewer, and shares that give none."""
    if len(shares) < threshold:
        raise FederationError(f"a secret needs {threshold} shares, but there are {len(shares)}.")
    taken = tuple(sorted(shares)[:threshold])
    value = sum(weight * shares[holder] for holder, weight in zip(taken, _weights(taken))) % PRIME
    if value >= 2**256:
        raise FederationError("shares must be of one secret, but these are not; discard the round.")
    return value.to_bytes(_SECRET_BYTES, "little")


@lru_cache(maxsize=256)
def _weights(holders: tuple[int, ...]) -> tuple[int, ...]:
    """The Lagrange weights of a set of holders for the value at 0."""
    weights = []
    for holder in holders:
        above, below = 1, 1
        for other in holders:
            if other != holder:
                above, below = above * other % PRIME, below * (other - holder) % PRIME
        weights.append(above * pow(below, -1, PRIME) % PRIME)
    return tuple(weights)


def split_among(
    vector: Words, ring: Ring, parties: int, entropy: Entropy = os.urandom
) -> tuple[list[bytes], Words]:
    """(seeds, rest): what parties - 1 seeds stand for and the rest add up to the vector."""
    seeds = list[bytes]()
    while len(seeds) < parties - 1:
        seed, vector = additive.split(vector, ring, entropy)
        seeds.append(seed)
    return seeds, vector


def three_shares() -> AdditiveShares:
    """The protocol with three servers."""
    return AdditiveShares(3)


@dataclass(frozen=True)
class AdditiveShares(SumProtocol):
    """n servers that each add up one share of everyone.

    Arithmetic secret sharing among n servers (thesis definition 3.8): all n shares together are the vector.

    A share that is not the last is the expansion of a seed, so another server costs an upload 32 bytes more.
    """

    name: ClassVar[str] = "additive shares"
    sees: ClassVar[Mapping[str, str]] = {
        "each server": "a share that is random alone",
        "all servers but one, together": "nothing of a device",
        "all servers together": "each update",
    }
    dropouts: ClassVar[str] = "a device that sends nothing is not in the sum; nobody is asked again"

    parties: int = 2

    def __post_init__(self) -> None:
        if self.parties < 2:
            raise SettingError(f"shares must go to at least 2 parties, but there are {self.parties}.")

    def begin(self, clients: Collection[int], ring: Ring, lost: DropOuts = NO_DROPOUTS) -> SumSession:
        """Nothing has to be agreed on before the upload."""
        return _SharedSum(ring, self.parties)


class _SharedSum(SumSession):
    def __init__(self, ring: Ring, parties: int) -> None:
        super().__init__(ring)
        self.parties, self.rests = parties, np.zeros(ring.words, np.uint32)
        self.seeds: list[list[bytes]] = [[] for _ in range(parties - 1)]

    def _add(self, client: int, vector: Words) -> None:
        with self.cost.at("device"):
            seeds, rest = split_among(vector, self.ring, self.parties)
            message = self.ring.pack(rest)
        self.cost.bytes_up += len(message) + sum(map(len, seeds))
        with self.cost.at("server"):
            for held, seed in zip(self.seeds, seeds):
                held.append(seed)
            self.rests += self.ring.unpack(message)  # modulo 2**32, of which 2**24 is a divisor

    def _total(self) -> Words:
        with self.cost.at("server"):
            expanded = (expanded_sum(held, self.ring) for held in self.seeds)
            return self.ring.add_up([*expanded, self.ring.wrap(self.rests.astype(np.int64))])
