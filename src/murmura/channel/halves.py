"""How a proved vector is parted between two aggregators: as numbers, or as keys of point functions.

    numbers   seed (32)                    →  the rest of all numbers
    keys      seed (32), corrections       →  seed (32), corrections, the rest of the bits besides the rows

A seed stands for numbers of the field, or for the roots of all trees. Corrections are nonce (16), control bits,
seeds, numbers: the same for both, and alone as random as a seed. All follows from one secret of the device. The
nonce makes the fixed keys of the hashes, others in each upload.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from murmura.channel.field_shares import expand_numbers, pack_numbers, unpack_numbers
from murmura.channel.proof_keys import derived
from murmura.channel.shares import SEED_BYTES, key_stream
from murmura.core.arrays import Bytes
from murmura.core.errors import FederationError
from murmura.kernels.point_functions.aes import round_keys
from murmura.kernels.point_functions.bins import gathered, place_table
from murmura.kernels.point_functions.sizes import BLOCK_BYTES, Bins
from murmura.kernels.point_functions.tree import Corrections, generate
from murmura.kernels.proofs.circuit import Circuit, ProvenVector
from murmura.kernels.proofs.declared_rows import BinnedRows, KeyRows, KeyShare
from murmura.kernels.proofs.field import ELEMENT_BYTES, Elements, add_into, subtracted

NONCE_BYTES = 16


class Halves(Protocol):
    """How vectors of one circuit are parted, and how what two aggregators hold is added up."""

    @property
    def public_bytes(self) -> int:
        """What the seed aggregator gets besides a seed."""

    @property
    def half_bytes(self) -> int:
        """What the vector aggregator gets of the vector."""

    def half(self, vector: Any, secret: bytes) -> bytes:
        """What the vector aggregator gets."""

    def public(self, half: bytes) -> bytes:
        """What of it the seed aggregator gets too."""

    def of_seed(self, seed: bytes, public: bytes) -> Any:
        """The seed aggregator's share of the vector."""

    def of_half(self, half: bytes | memoryview) -> Any:
        """The vector aggregator's; refuses what can be no half."""

    def linked(self, vector: Any) -> Elements:
        """What of a vector says whose it is."""

    def start(self) -> Elements:
        """A sum of nothing."""

    def summed(self, share: Any) -> Any:
        """What is added up of a share."""

    def add(self, sums: Elements, summed: Any) -> None:
        """Add it in place."""

    def released(self, sums: Elements) -> Elements:
        """The half of the sum that is released."""


def halves_of(circuit: Circuit) -> Halves:
    """How vectors of a circuit are parted."""
    return KeyHalves(circuit) if isinstance(circuit, KeyRows) else NumberHalves(cast(ProvenVector, circuit))


def first_seed(secret: bytes) -> bytes:
    """What the seed aggregator gets."""
    return derived(secret, "seed")


@dataclass(frozen=True, eq=False)
class NumberHalves:
    """Numbers: what a seed stands for, and the rest."""

    circuit: ProvenVector
    public_bytes = 0

    @property
    def half_bytes(self) -> int:
        """All numbers."""
        return ELEMENT_BYTES * self.circuit.length

    def half(self, vector: Elements, secret: bytes) -> bytes:
        """The rest."""
        return pack_numbers(subtracted(vector, expand_numbers(first_seed(secret), self.circuit.length)))

    def public(self, half: bytes) -> bytes:
        """Nothing."""
        return b""

    def of_seed(self, seed: bytes, public: bytes) -> Elements:
        """What the seed stands for."""
        return expand_numbers(seed, self.circuit.length)

    def of_half(self, half: bytes | memoryview) -> Elements:
        """The numbers."""
        return unpack_numbers(half, self.circuit.length)

    def linked(self, vector: Elements) -> Elements:
        """Its first numbers."""
        return vector[: self.circuit.linked]

    def start(self) -> Elements:
        """Zeros."""
        return np.zeros(len(self.circuit.released(np.zeros(self.circuit.length, np.uint64))), np.uint64)

    def summed(self, share: Elements) -> Elements:
        """What of it is released."""
        return self.circuit.released(share)

    def add(self, sums: Elements, summed: Elements) -> None:
        """Number by number."""
        add_into(sums, summed)

    def released(self, sums: Elements) -> Elements:
        """The sum as it is."""
        return sums


@dataclass(frozen=True, eq=False)
class KeyHalves:
    """Keys: seeds of the roots, and corrections."""

    circuit: KeyRows

    @property
    def _bins(self) -> Bins:
        return self.circuit.bins

    @property
    def public_bytes(self) -> int:
        """Nonce and corrections."""
        return self._bins.key_bytes(1 + self.circuit.width) - SEED_BYTES

    @property
    def half_bytes(self) -> int:
        """A key, and the rest of the bits."""
        return SEED_BYTES + self.public_bytes + ELEMENT_BYTES * self.circuit.extras

    def half(self, vector: BinnedRows, secret: bytes) -> bytes:
        """The second key; whoever has one alone has bits that look random."""
        bins, seed, other = self._bins, first_seed(secret), derived(secret, "other seed")
        nonce = derived(secret, "nonce")[:NONCE_BYTES]
        extend, convert = fixed_keys(nonce)
        roots = np.stack([_roots(seed, bins), _roots(other, bins)])
        seeds, controls, numbers = generate(extend, convert, roots, vector.at, vector.numbers, bins.depth)
        public = nonce + packed_corrections(controls, seeds) + pack_numbers(numbers)
        rest = subtracted(vector.extras, expand_numbers(derived(seed, "bits"), self.circuit.extras))
        return other + public + pack_numbers(rest)

    def public(self, half: bytes) -> bytes:
        """The corrections."""
        return half[SEED_BYTES : SEED_BYTES + self.public_bytes]

    def of_seed(self, seed: bytes, public: bytes) -> KeyShare:
        """The first key."""
        extras = expand_numbers(derived(seed, "bits"), self.circuit.extras)
        return KeyShare(self._bins, self._corrections(public), _roots(seed, self._bins), 0, extras)

    def of_half(self, half: bytes | memoryview) -> KeyShare:
        """The second key."""
        message = bytes(half)
        end = SEED_BYTES + self.public_bytes
        extras = unpack_numbers(message[end:], self.circuit.extras)
        roots = _roots(message[:SEED_BYTES], self._bins)
        return KeyShare(self._bins, self._corrections(message[SEED_BYTES:end]), roots, 1, extras)

    def _corrections(self, public: bytes) -> Corrections:
        if len(public) != self.public_bytes:
            raise FederationError(f"a key must have {self.public_bytes} bytes, but has {len(public)}.")
        bins, numbers = self._bins, 1 + self.circuit.width
        end = len(public) - ELEMENT_BYTES * bins.count * numbers
        controls, seeds = unpacked_corrections(public[NONCE_BYTES:end], bins.count, bins.depth)
        rows = unpack_numbers(public[end:], bins.count * numbers).reshape(bins.count, numbers)
        return Corrections(*fixed_keys(public[:NONCE_BYTES]), seeds, controls, rows)

    def linked(self, vector: BinnedRows) -> Elements:
        """Which items have a row."""
        return vector.linked

    def start(self) -> Elements:
        """Zeros for every place of every bin."""
        return np.zeros((self._bins.places, 1 + self.circuit.width), np.uint64)

    def summed(self, share: KeyShare) -> KeyShare:
        """The key."""
        return share

    def add(self, sums: Elements, summed: KeyShare) -> None:
        """What a key stands for."""
        summed.add_to(sums)

    def released(self, sums: Elements) -> Elements:
        """Item by item, the sum over its places."""
        return self.circuit.visible(gathered(sums, place_table(self._bins)))


def fixed_keys(nonce: bytes) -> tuple[Elements, Elements]:
    """The keys of both hashes of a tree, as round keys."""
    message = hashlib.sha256(b"murmura point function\0" + nonce).digest()
    extend, convert = np.frombuffer(message, np.uint8).reshape(2, BLOCK_BYTES)
    return round_keys(extend.copy()), round_keys(convert.copy())


def _roots(seed: bytes, bins: Bins) -> Elements:
    message = key_stream(seed).update(bytes(BLOCK_BYTES * bins.count))
    return np.frombuffer(message, "<u8").astype(np.uint64).reshape(bins.count, 2)


def packed_corrections(controls: Bytes, seeds: Elements) -> bytes:
    """Control bits, eight to a byte from the lowest on, then seeds: bin by bin, level by level."""
    return np.packbits(controls.ravel(), bitorder="little").tobytes() + pack_numbers(seeds.ravel())


def unpacked_corrections(message: bytes, bins: int, depth: int) -> tuple[Bytes, Elements]:
    """The control bits and seeds; refuses bits that mean nothing."""
    bits = 2 * bins * depth
    first = -(-bits // 8)
    found = np.unpackbits(np.frombuffer(message[:first], np.uint8), bitorder="little")
    if found[bits:].any():
        raise FederationError("the last bits of a key must be 0, but are not; leave the report out.")
    seeds = np.frombuffer(message[first:], "<u8").astype(np.uint64)
    return found[:bits].reshape(bins, depth, 2), seeds.reshape(bins, depth, 2)
