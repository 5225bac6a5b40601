"""Devices that lie about what they share, and leave out the check that a device makes of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from murmura.channel.field_shares import expand_numbers, pack_numbers
from murmura.channel.halves import halves_of
from murmura.channel.proven_shares import ProvenUpload
from murmura.device import device as device_module
from murmura.device import upload as upload_module
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.field import ELEMENT_BYTES, MODULUS, Elements
from murmura.kernels.proofs.weighted_items import WeightedCounts, WeightedPairs

Lie = Callable[[ProvenVector, Elements], Elements]


def five_more(circuit: ProvenVector, vector: Elements) -> Elements:
    """Five owners more of every item."""
    lie = vector.copy()
    lie[: circuit.linked] += np.uint64(5)
    return lie


def one_less(circuit: ProvenVector, vector: Elements) -> Elements:
    """An owner less of an item the device does not share."""
    lie = vector.copy()
    lie[int(np.flatnonzero(vector[: circuit.linked] == 0)[0])] = MODULUS - 1
    return lie


def a_two(circuit: ProvenVector, vector: Elements) -> Elements:
    """One item twice."""
    lie = vector.copy()
    lie[int(np.flatnonzero(vector[: circuit.linked])[0])] = 2
    return lie


def too_many(circuit: ProvenVector, vector: Elements) -> Elements:
    """Every item once: more than the cap."""
    lie = vector.copy()
    lie[: circuit.linked] = 1
    return lie


def a_pair_more(circuit: ProvenVector, vector: Elements) -> Elements:
    """A pair of items of which the device shares none."""
    assert isinstance(circuit, PairedItems)
    lie = vector.copy()
    lie[circuit.counted.length] += np.uint64(1)
    return lie


def other_items(circuit: ProvenVector, vector: Elements) -> Elements:
    """The true pairs of other items than were counted: valid, but for the link."""
    assert isinstance(circuit, CountedItems | PairedItems)
    own = np.flatnonzero(vector[: circuit.linked])
    return circuit.vector([(own + 1) % circuit.linked if len(own) else own])


def released(circuit: ProvenVector, vector: Elements) -> slice:
    """Where what is summed of a device of one person stands."""
    if isinstance(circuit, WeightedPairs):
        return slice(circuit.length - circuit.released_length, circuit.length)
    assert isinstance(circuit, WeightedCounts)
    return slice(0, circuit.released_length)


def places(circuit: WeightedCounts | WeightedPairs) -> int:
    """How many items there are."""
    return circuit.items if isinstance(circuit, WeightedCounts) else len(circuit.words)


def much_more(circuit: ProvenVector, vector: Elements) -> Elements:
    """Of every item, or of the first pair of every word, a quarter of the longest contribution more."""
    assert isinstance(circuit, WeightedCounts | WeightedPairs)
    lie = vector.copy()
    lie[released(circuit, vector)] += np.uint64(circuit.largest // 4)
    return lie


def a_negative(circuit: ProvenVector, vector: Elements) -> Elements:
    """A number below zero where there was none."""
    lie = vector.copy()
    here = released(circuit, vector)
    lie[here.start + int(np.flatnonzero(vector[here] == 0)[0])] = MODULUS - 1
    return lie


def twice_as_long(circuit: ProvenVector, vector: Elements) -> Elements:
    """The same history with twice its weight, by bits that say so, and no slack."""
    assert isinstance(circuit, WeightedCounts | WeightedPairs)
    larger = replace(circuit, largest=2 * circuit.largest)
    if isinstance(larger, WeightedPairs):
        larger = replace(larger, heaviest=2 * larger.heaviest)
    lie, here = vector.copy(), released(circuit, vector)
    own = np.flatnonzero(vector[: places(circuit)])
    lie[here] = larger.released(larger.vector([own]))
    if isinstance(circuit, WeightedPairs):
        lie[places(circuit) : 2 * places(circuit)] *= np.uint64(2)
    return lie


def every_item(circuit: ProvenVector, vector: Elements) -> Elements:
    """All items with the weight of somebody with one: the numbers are in range, their length is not."""
    assert isinstance(circuit, WeightedCounts | WeightedPairs)
    one = circuit.vector([np.array([0])])
    if isinstance(circuit, WeightedCounts):
        one[: places(circuit)] = one[0]
        return one
    one[: places(circuit)] = 1
    one[places(circuit) : 2 * places(circuit)] = one[places(circuit)]
    weight = int(one[places(circuit)])
    one[released(circuit, vector)] = circuit.words.pack(np.arange(places(circuit)), weight)
    return one


@dataclass(frozen=True, eq=False)
class LyingUpload(ProvenUpload):
    """An upload that its device does not check."""

    def _check(self, proof: Elements, r: Elements) -> None:
        pass


@dataclass(frozen=True, eq=False)
class ReplayedUpload(LyingUpload):
    """The proof was made for another challenge."""

    def second(self, half: bytes, challenge: bytes, check: bytes) -> bytes:
        before = super().second(half, bytes(32), check)
        return before[:32] + challenge + before[64:]


@dataclass(frozen=True, eq=False)
class SwappedUpload(LyingUpload):
    """Both aggregators get the half of the seed."""

    def half(self) -> bytes:
        length = halves_of(self.circuit).half_bytes // ELEMENT_BYTES
        return pack_numbers(expand_numbers(self.seed, length))


@dataclass(frozen=True, eq=False)
class UncheckedUpload(LyingUpload):
    """Its sender makes up what the seed aggregator has found, so that both shares of the check fit."""

    def second(self, half: bytes, challenge: bytes, check: bytes) -> bytes:
        whole, invented = super().second(half, challenge, check), np.random.default_rng(1).bytes(len(check))
        return whole[:64] + invented + whole[64 + len(check) :]


def lying(
    monkeypatch: pytest.MonkeyPatch,
    phase: str,
    lie: Lie | None,
    kind: type[ProvenUpload] = LyingUpload,
) -> None:
    """The next device that is asked in this phase lies; it does not sit out what it did not count either."""
    told: list[int] = []

    def made(circuit: ProvenVector, vector: Elements, secret: bytes) -> ProvenUpload:
        if told or isinstance(circuit, PairedItems | WeightedPairs) != (phase == "pairs"):
            return ProvenUpload(circuit, vector, secret)
        told.append(1)
        return kind(circuit, vector if lie is None else lie(circuit, vector), secret)

    monkeypatch.setattr(upload_module, "ProvenUpload", made)
    monkeypatch.setattr(device_module, "link_of", lambda before, *_: before)
