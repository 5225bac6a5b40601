"""The channel of one phase: stages with two halves. A device runs them in order, the server undoes them.

A phase that proves a claim has a `ProvenChain`, of whole numbers that nothing changes, or a `WeightedChain`,
where noise is added. All others have a `RoundedChain`, which clips and rounds. `phase_chains.chain` makes the
one that a phase needs. An algorithm knows of none of the stages.

A sum is believed only as far as honest devices can have made it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.layout import VectorLayout
from murmura.channel.noise import NoiseSource
from murmura.channel.ring import Ring
from murmura.channel.shares import Entropy
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Total
from murmura.core.errors import FederationError
from murmura.core.kernel import CompiledChannel, VectorSlice, WeightedSum
from murmura.core.rng import Rng
from murmura.core.update import Update
from murmura.kernels.proofs.circuit import Circuit

ROLES = ("seed", "vector")  # the two aggregators


@dataclass(frozen=True, eq=False)
class Chain(CompiledChannel):
    """The channel of one phase."""

    settings: ChannelSettings
    phase: str
    layout: VectorLayout
    ring: Ring
    cohort: int  # no more devices than this in one sum
    # of a simulation, which adds the noise of both aggregators itself
    source: NoiseSource | None = field(default=None, kw_only=True)

    @property
    def circuit(self) -> Circuit | None:
        """What a device proves of its vector to two aggregators; None: nothing."""
        return None

    @property
    def weighted(self) -> WeightedSum | None:
        """What is summed where each person has one weight."""
        return None

    @property
    def words(self) -> int:
        """The length of every vector, the count included."""
        return self.ring.words

    @property
    def released_bytes(self) -> int:
        """One half of a sum as it travels."""
        return self.ring.message_bytes

    def add_up(self, halves: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """The sum of what several shares release, or of two halves."""
        return self.ring.add_up(halves)

    def pack_total(self, total: NDArray[Any]) -> bytes:
        """One half of a sum, or a whole one, as it travels."""
        return self.ring.pack(total)

    def unpack_total(self, message: bytes) -> NDArray[Any]:
        """The half that was packed; refuses another length."""
        return self.ring.unpack(message)

    def with_noise(self, half: NDArray[Any], entropy: Entropy) -> NDArray[Any]:
        """One aggregator's half of a sum, with the whole noise."""
        return self.ring.wrap(half.astype(np.int64) + self.noise(entropy))

    def vector(self, update: Update) -> NDArray[Any]:
        """What a device shares and proves; refuses where nothing is proved."""
        raise FederationError(f"phase '{self.phase}' must be proved to have such a vector, but is not.")

    @property
    @abstractmethod
    def upload_bytes(self) -> int:
        """What leaves a device in one round, before it is sealed.

        Other protocols add what they send besides once a sum is finished.
        """

    @property
    def rows(self) -> int:
        """The rows in one message, the same for everyone."""
        return sum(self.layout.rows(table) for table in self.layout.sends.tables)

    def block(self, round: int) -> Ints:
        """The items whose rows travel in a round."""
        return self.layout.block(round)

    @property
    @abstractmethod
    def noisy(self) -> bool:
        """Whether aggregators add noise."""

    @property
    @abstractmethod
    def noise_in_sum(self) -> float:
        """Standard deviation, in every number, of what two aggregators add; 0 without noise."""

    @abstractmethod
    def noise(self, entropy: Entropy) -> NDArray[Any]:
        """What one aggregator adds to its half of a sum: the whole noise, whatever the other one adds."""

    @abstractmethod
    def device(self, update: Update, rng: Rng, round: int) -> NDArray[Any]:
        """The vector of one device as a simulation adds it up: word 0 counts it."""

    def server(self, total: NDArray[Any], round: int) -> Total:
        """What the server learns from the sum of the vectors of a round; refuses what is not possible."""
        received, breach = self.possible(total, round)
        if breach:
            raise FederationError(f"{breach}; discard the round.")
        return received

    @abstractmethod
    def possible(self, total: NDArray[Any], round: int, devices: int | None = None) -> tuple[Total, str]:
        """The sum, cut to what honest devices can add, and the first bound it broke; "" of an honest sum.

        `devices` are how many it is of, where that is known; else the sum's own count is believed.
        """


@dataclass(frozen=True, eq=False)
class ChainOfSum(CompiledChannel):
    """A chain whose sum is treated in another way; the vectors of the devices stay the same."""

    chain: Chain

    @property
    def words(self) -> int:
        """The length of a vector."""
        return self.chain.words

    @property
    def weighted(self) -> WeightedSum | None:
        """What is summed where each person has one weight."""
        return self.chain.weighted

    def block(self, round: int) -> Ints:
        """The items whose rows travel."""
        return self.chain.block(round)

    def vector_slice(self, table: str, round: int) -> VectorSlice:
        """Where and how a table travels."""
        return self.chain.vector_slice(table, round)
