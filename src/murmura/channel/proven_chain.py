"""The channel of a phase that proves a claim: whole numbers that no stage changes.

    layout    the numbers that are summed: of every item on offer, or the words of pairs
    circuit   in a secure sum the vector that is shared, of which those numbers are one part
    field     modulo p = 2⁶⁴ − 2³² + 1, where the sum of what is valid does not wrap

A simulation adds the summed numbers alone, in 64 bits: a sum of valid vectors is below p, so both give the same
numbers. It counts the bytes of the proofs and leaves their arithmetic out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from murmura.channel.chain import Chain
from murmura.channel.circuits import circuit_of
from murmura.channel.field_shares import pack_numbers, unpack_numbers
from murmura.channel.proven_shares import first_bytes, payload_bytes
from murmura.channel.shares import Entropy
from murmura.core.arrays import Longs
from murmura.core.claims import Claim, WeightedClaim
from murmura.core.contract import Total
from murmura.core.errors import FederationError
from murmura.core.kernel import VectorSlice
from murmura.core.message import LARGEST, TableSpec
from murmura.core.rng import Rng
from murmura.core.update import SparseRows, Update
from murmura.kernels.proofs.circuit import Circuit, ProvenVector
from murmura.kernels.proofs.declared_rows import DeclaredRows, DenseRows, KeyRows
from murmura.kernels.proofs.field import ELEMENT_BYTES, Elements, add_into


@dataclass(frozen=True, eq=False)
class ProvenChain(Chain):
    """The channel of one phase whose updates are what a claim says."""

    claim: Claim
    follows: bool  # whether its bits are held against those of an exchange before

    @property
    def circuit(self) -> Circuit | None:
        """Of a secure sum; a server that reads each update checks no proof."""
        return self._circuit if self.settings.channel == "secure-sum" else None

    @cached_property
    def _circuit(self) -> Circuit:
        assert not isinstance(self.claim, WeightedClaim)
        return circuit_of(self.claim, self.follows)

    @property
    def encoding(self) -> str:
        """How what is proved travels."""
        return "keys" if isinstance(self.circuit, KeyRows) else "dense"

    @property
    def proven(self) -> ProvenVector:
        """The circuit, where there must be one."""
        if self.circuit is None:
            raise FederationError(
                f"phase '{self.phase}' must be a secure sum to be proved, but is "
                f"'{self.settings.channel}'; both sides need the same configuration."
            )
        return cast(ProvenVector, self.circuit)

    @property
    def released(self) -> int:
        """How many numbers are summed."""
        return self.words - 1

    @property
    def released_bytes(self) -> int:
        """One half of a sum as it travels."""
        return ELEMENT_BYTES * self.released

    @cached_property
    def upload_bytes(self) -> int:
        """Seed, commitment, and half of vector and proof; where nothing is proved, the numbers alone."""
        if self.circuit is None:
            return self.ring.message_bytes
        return first_bytes(self.circuit) + payload_bytes(self.circuit, self.follows)

    @property
    def noisy(self) -> bool:
        """Exact sums are not."""
        return False

    @property
    def noise_in_sum(self) -> float:
        """As little."""
        return 0.0

    def vector_slice(self, table: str, round: int) -> VectorSlice:
        """Where a table stands, for compiled paths: as it is."""
        place = self.layout.places(table, round)[-1]
        return VectorSlice(place, np.inf, np.inf, 1.0)

    def device(self, update: Update, rng: Rng, round: int) -> Elements:
        """The numbers that are summed, behind a 1 that counts the device."""
        vector = np.zeros(self.words, np.uint64)
        vector[0] = 1
        if isinstance(self._circuit, DeclaredRows):
            index, numbers = self._circuit.checked(*self._rows_of(update))
            placed = np.zeros((len(self.claim.items), numbers.shape[1]), np.uint64)
            placed[index] = numbers
            vector[1:] = self._circuit.visible(placed)
            return vector
        for table, here in self.layout.slices():
            rows = update.tables[table.name]
            row = np.searchsorted(self.block(round), rows.index) if table.space == "item" else rows.index
            vector[here].reshape(-1, table.width)[row] = rows.values
        return vector

    def _rows_of(self, update: Update) -> tuple[Longs, Elements]:
        """The rows of the only table: their places among the items of the claim."""
        (rows,) = update.tables.values()
        there = np.isin(rows.index, self.claim.items)
        index = np.searchsorted(self.claim.items, rows.index[there]).astype(np.int64)
        return index, rows.values[there].astype(np.uint64)

    def vector(self, update: Update) -> Any:
        """What a device shares and proves."""
        circuit = self.circuit
        if isinstance(circuit, DenseRows | KeyRows):
            return circuit.of_rows(*self._rows_of(update))
        items, people = self.claim.items, self.claim.people
        if len(update.own) > people:
            raise FederationError(
                f"a device must be of at most {people} people here, but {len(update.own)} share something; "
                "take fewer people together."
            )
        places = [np.searchsorted(items, own[np.isin(own, items)]) for own in update.own]
        return self.proven.vector([np.sort(one).astype(np.int64) for one in places])

    def add_up(self, halves: Iterable[Elements]) -> Elements:
        """The sum of what several shares release, or of two halves."""
        total = np.zeros(self.released, np.uint64)
        for half in halves:
            add_into(total, half)
        return total

    def noise(self, entropy: Entropy) -> Elements:
        """What one aggregator adds to its half of a sum, modulo p."""
        return np.zeros(self.released, np.uint64)

    def pack_total(self, total: Elements) -> bytes:
        """One half of a sum, or a whole one, as it travels."""
        return pack_numbers(total)

    def with_noise(self, half: Elements, entropy: Entropy) -> Elements:
        """One aggregator's half of a sum, with the whole noise."""
        return self.add_up((half, self.noise(entropy)))

    def unpack_total(self, message: bytes | memoryview) -> Elements:
        """The half that was packed; refuses another length, and words that are no numbers of the field."""
        return unpack_numbers(message, self.released)

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half of sums of `device` vectors, added in 64 bits."""
        return self.server(self.ring.wrap(sums), round)

    def possible(self, total: NDArray[Any], round: int, devices: int | None = None) -> tuple[Total, str]:
        """The sum of so many devices, and what no devices can have added; words are for their method to read.

        A total with one number more begins with its own count: that of a simulation.
        """
        numbers, count, said = self.counted(total, devices)
        update = Update({t.name: self._rows(t, here, numbers, round) for t, here in self.layout.slices()})
        received = Total(update, count)
        said += (found := self.layout.sends.beyond(update, count))
        if found:
            received = replace(received, update=self.layout.sends.nearest(update, count, 8 * ELEMENT_BYTES))
        return received, said[0] if said else ""

    def counted(self, total: NDArray[Any], devices: int | None) -> tuple[Elements, int, list[str]]:
        """The numbers of a sum, of how many devices it is, and what is to be said of that."""
        numbers = np.asarray(total, np.uint64)
        said = list[str]()
        if len(numbers) == self.words:
            counted, numbers = int(numbers[0]), numbers[1:]
            devices = counted if devices is None else devices
            if not 1 <= counted <= self.cohort:
                said.append(f"a sum must be of 1 to {self.cohort} devices, but counts {counted}")
            elif counted != devices:
                said.append(f"a sum of {devices} reports must count as many devices, but counts {counted}")
        assert devices is not None, "a sum without a count must be of a known number of devices"
        return numbers, min(max(devices, 1), self.cohort), said

    def _rows(self, table: TableSpec, here: slice, numbers: Elements, round: int) -> SparseRows:
        """A table of a sum; a row of zeros is left out, as nobody sent it."""
        values = numbers[here.start - 1 : here.stop - 1].reshape(-1, table.width)
        if table.space == "dense":
            return SparseRows(np.arange(len(values), dtype=np.int32), values.astype(table.dtype))
        there = values.any(axis=1)
        kept = values[there] if table.dtype == "uint64" else np.minimum(values[there], LARGEST)
        return SparseRows(self.block(round)[there], kept.astype(table.dtype))
