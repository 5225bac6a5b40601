"""Arithmetic secret sharing among n servers (thesis definition 3.8): all n shares together are the vector.

A share that is not the last is the expansion of a seed, so another server costs an upload 32 bytes more.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from murmura.channel.ring import Ring
from murmura.channel.shares import SEED_BYTES, Entropy, expand, expanded_sum
from murmura.core.errors import SettingError
from murmura.core.rng import Words
from murmura.lab.protections.sum_protocol import NOBODY, DropOuts, SumProtocol, SumSession


def split_among(
    vector: Words, ring: Ring, parties: int, entropy: Entropy = os.urandom
) -> tuple[list[bytes], Words]:
    """(seeds, rest): what parties - 1 seeds stand for and the rest add up to the vector."""
    ring.check(vector)
    seeds = [entropy(SEED_BYTES) for _ in range(parties - 1)]
    return seeds, ring.wrap(vector.astype(np.int64) - expanded_sum(seeds, ring))


def joined(seeds: Sequence[bytes], rest: Words, ring: Ring) -> Words:
    """The vector that was split."""
    return ring.add_up([*(expand(seed, ring) for seed in seeds), rest])


def three_shares() -> AdditiveShares:
    """The protocol with three servers."""
    return AdditiveShares(3)


@dataclass(frozen=True)
class AdditiveShares(SumProtocol):
    """n servers that each add up one share of everyone."""

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

    def begin(self, clients: Collection[int], ring: Ring, lost: DropOuts = NOBODY) -> SumSession:
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
