"""A. Shamir, "How to share a secret", CACM 1979: any t of n shares give the secret, fewer tell nothing of it.

A secret of 32 bytes is the value at 0 of a random polynomial of degree t - 1 over the field of the smallest
prime above 2**256; share x is its value at x. (The thesis, 3.4.2, says degree R for R points; it takes R - 1.)

For simulations: Python's whole numbers do not take the same time for all values. The package `shamirs` computes
the same (the tests compare), .4 s for a secret of 67 shares; here the weights of a set of holders are worked
out once for all secrets they hold.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache

from murmura.channel.shares import Entropy
from murmura.core.errors import FederationError

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
