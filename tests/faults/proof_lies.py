"""Devices that lie about what they share, and leave out the check that a device makes of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from murmura.channel.field_shares import expand_numbers, pack_numbers
from murmura.channel.halves import halves_of
from murmura.channel.proven_shares import ProvenUpload
from murmura.device import device as device_module
from murmura.device import upload as upload_module
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.counted_items import CountedItems
from murmura.kernels.proofs.field import ELEMENT_BYTES, MODULUS, Elements
from murmura.kernels.proofs.paired_items import PairedItems

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
        if told or isinstance(circuit, PairedItems) != (phase == "pairs"):
            return ProvenUpload(circuit, vector, secret)
        told.append(1)
        return kind(circuit, vector if lie is None else lie(circuit, vector), secret)

    monkeypatch.setattr(upload_module, "ProvenUpload", made)
    monkeypatch.setattr(device_module, "link_of", lambda before, *_: before)
