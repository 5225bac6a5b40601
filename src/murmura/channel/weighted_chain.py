"""The channel of a phase whose noisy sum is proved: what is sent are products of bits and one weight a person.

    layout    the numbers that are known of a sum: of every item on offer, or of every pair a <= b
    circuit   the vector that is shared; what is released of it are weighted bits, or the words of their pairs
    field     modulo p, where the sum of what is valid and its noise does not wrap
    noise     by each aggregator, discrete Gaussian, to its half of the sum: where there is epsilon

A weight is a whole number of steps, 1 / `largest` of the longest contribution each. It is rounded down, by
nobody's coins: a device that is honest sends no vector longer than 1, and one that is not proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.chain import ROLES
from murmura.channel.circuits import weighted_circuit
from murmura.channel.layout import VectorLayout
from murmura.channel.noise import FARTHEST, SMALLEST, NoiseSource, discrete_gaussian
from murmura.channel.proven_chain import ProvenChain
from murmura.channel.ring import Ring
from murmura.channel.rounded_chain import noise_length, shortened
from murmura.channel.shares import Entropy
from murmura.core.arrays import Floats, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.claims import WeightedCountsClaim, WeightedPairsClaim
from murmura.core.contract import FederationInfo, Phase, Total
from murmura.core.errors import FederationError, SettingError
from murmura.core.kernel import WeightedSum
from murmura.core.rng import Rng
from murmura.core.update import Update
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.field import Elements
from murmura.kernels.proofs.weighted_items import WeightedCounts, WeightedPairs, off_diagonal


@dataclass(frozen=True, eq=False)
class WeightedChain(ProvenChain):
    """The channel of one phase whose updates are weighted bits, or their pairs."""

    product: WeightedCounts | WeightedPairs
    sigma: int  # standard deviation of the noise each aggregator adds, in steps; 0: none

    @property
    def circuit(self) -> ProvenVector:
        """What is shared and proved."""
        return self.product

    @property
    def weighted(self) -> WeightedSum:
        """How much histories add."""
        return self.product

    @property
    def rows(self) -> int:
        """The numbers that travel, the same for everyone."""
        return self.released

    @property
    def noisy(self) -> bool:
        """Whether aggregators add noise."""
        return self.sigma > 0

    @property
    def noise_in_sum(self) -> float:
        """Standard deviation, in every number, of what two aggregators add; 0 without noise."""
        return math.sqrt(2.0) * self.sigma / self.product.largest

    def noise(self, entropy: Entropy) -> Elements:
        """What one aggregator adds to its half of a sum, modulo p: whole, whatever the other one adds."""
        if not self.noisy:
            return super().noise(entropy)
        return self.product.noise(self.sigma, partial(discrete_gaussian, entropy=entropy))

    def device(self, update: Update, rng: Rng, round: int) -> Elements:
        """What is released of a device's vector, behind a 1 that counts the device."""
        return np.append(np.ones(1, np.uint64), self.product.released(self.vector(update)))

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half of sums of `device` vectors, after the noise of both aggregators."""
        total = sums.astype(np.uint64)
        if self.noisy:
            if self.source is None:
                raise FederationError("a simulated sum with noise must have a source of it, but has none.")
            noise = (self.noise(self.source(role, self.phase, round)) for role in ROLES)
            total[1:] = self.add_up((total[1:], *noise))
        return self.server(total, round)

    def possible(self, total: NDArray[Any], round: int, devices: int | None = None) -> tuple[Total, str]:
        """The sum of so many devices, cut to what they can add and what noise can make of it.

        Proofs bound what devices add, and nothing what an aggregator does.
        """
        numbers, count, said = self.counted(total, devices)
        found = self.product.steps(numbers)
        most = count * self.product.most + FARTHEST * self.sigma
        largest = np.full(len(found), float(most))
        if isinstance(self.product, WeightedPairs):
            largest *= math.sqrt(2.0)
        if (np.abs(found) > largest).any():
            said.append(f"a sum of {count} devices must keep their bounds, but an aggregator broke them")
            np.clip(found, -largest, largest, out=found)
        values: Floats = found / self.product.largest
        by, long = shortened(values, count + self.noise_length, count)
        vector = np.append(np.zeros(1), by * values)
        summed = self.layout.server(vector, count, round)
        return replace(summed, noise=self.noise_in_sum), [*said, *long, ""][0]

    @cached_property
    def noise_length(self) -> float:
        """What the noise of two aggregators is no longer than, but for a probability below 2^-64."""
        widest = self.sigma + 2 * self.noisy  # off a diagonal the deviation is rounded up
        return noise_length(np.full(self.layout.words - 1, widest / self.product.largest))


def weighted_chain(
    settings: ChannelSettings,
    phase: Phase,
    info: FederationInfo,
    cohort: int,
    multiplier: float = 0.0,
    source: NoiseSource | None = None,
) -> WeightedChain:
    """The channel of a phase with a weighted claim; refuses noise that no aggregator can draw."""
    claim = phase.claim
    assert isinstance(claim, WeightedCountsClaim | WeightedPairsClaim)
    circuit = weighted_circuit(claim, settings.bits, cohort, multiplier)
    sigma = math.ceil(multiplier * circuit.largest)
    smallest = off_diagonal(sigma) if isinstance(circuit, WeightedPairs) else sigma
    if multiplier and smallest < SMALLEST:
        raise SettingError(
            f"noise must be at least {SMALLEST} steps, but is {smallest}; raise bits, {settings.bits} now, or "
            "lower epsilon."
        )
    if not circuit.largest:
        raise SettingError("noise must leave room for contributions, but does not; raise epsilon.")
    layout, ring = VectorLayout.of(settings, phase, info), Ring(64, 1 + circuit.released_length)
    base = (settings, phase.name, layout, ring, cohort, claim, False)
    return WeightedChain(*base, circuit, sigma, source=source)
