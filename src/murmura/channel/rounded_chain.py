"""The channel of sums that are clipped and rounded.

    layout    rows outside the block are dropped; the rest gets its place in a vector of fixed length
    length    L2 clip
    largest   clip of every number
    fixed     fixed point, stochastic rounding
    ring      modulo 2**24, 2**32 or 2**64, where sums are exact in any order and shares hide what they sum
    noise     by each aggregator, in whole numbers of the ring, to its half of the sum: where there is epsilon

Tables that are declared exact go from the layout to the ring as they are. An algorithm knows of none of the
stages. Overflow cannot happen: a chain is made only if the largest cohort at the largest values stays below
half the ring, and exact numbers, which are never negative, below the whole of it.

A sum is believed only as far as honest devices can have made it: every number, the length of all that is
clipped, and every exact row is held against what so many of them can add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.chain import ROLES, Chain
from murmura.channel.layout import SparseVector, VectorLayout
from murmura.channel.noise import FARTHEST, LARGEST, SMALLEST, NoiseSource, discrete_gaussian
from murmura.channel.ring import Ring
from murmura.channel.shares import SEED_BYTES, Entropy
from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase, Total
from murmura.core.errors import FederationError, SettingError
from murmura.core.kernel import VectorSlice
from murmura.core.message import TableSpec
from murmura.core.rng import Purpose, Rng, Words
from murmura.core.settings import changed
from murmura.core.update import Update

_ARITHMETIC = 1e-6  # of a length: the rounding of floating-point numbers, far below any step
FEWEST_BITS = 8  # of a table that declares its bound, when a large cohort leaves it fewer than `bits`


@dataclass(frozen=True, eq=False)
class RoundedChain(Chain):
    """The channel of one phase, in fixed point."""

    bounds: Floats  # (words,) the largest value of one number
    steps: Floats  # (words,) fixed-point numbers are multiples of these
    longest_rounded: float  # a vector that rounding has made longer is rounded towards zero instead
    limits: Floats  # (words,) the largest whole number one device can add, of all that is not exact
    exact: Bools  # (words,) what crosses untouched
    sigma: Longs  # (words,) standard deviation of the noise each aggregator adds, in steps; 0: none

    @cached_property
    def upload_bytes(self) -> int:
        """A packed vector, and a seed where there are two aggregators."""
        return self.ring.message_bytes + (SEED_BYTES if self.settings.channel == "secure-sum" else 0)

    def vector_slice(self, table: str, round: int) -> VectorSlice:
        """Where and how a table travels, for compiled paths."""
        one, here, place = self.layout.places(table, round)
        if one.exact is not None:  # no clip, and whole numbers are multiples of 1: rounding leaves them
            return VectorSlice(place, np.inf, float(one.exact.largest), 1.0)
        bound, longest = _bound(self.settings, one), self.settings.clip if self.noisy else np.inf
        return VectorSlice(place, self.settings.clip, bound, float(bound / self.limits[here.start]), longest)

    @property
    def noisy(self) -> bool:
        """Whether aggregators add noise."""
        return bool(self.sigma.any())

    def noise(self, entropy: Entropy) -> Longs:
        """What one aggregator adds to its half of a sum: the whole noise, whatever the other one adds."""
        drawn = np.zeros(self.words, np.int64)
        for sigma in np.unique(self.sigma[self.sigma > 0]).tolist():
            there = np.flatnonzero(self.sigma == sigma)
            drawn[there] = discrete_gaussian(sigma, len(there), entropy)
        return drawn

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half of sums that are not yet in the ring, after the noise of both aggregators."""
        if self.noisy:
            if self.source is None:
                raise FederationError("a simulated sum with noise must have a source of it, but has none.")
            sums = sums + sum(self.noise(self.source(role, self.phase, round)) for role in ROLES)
        return self.server(self.ring.wrap(sums), round)

    def device(self, update: Update, rng: Rng, round: int) -> Words:
        """The vector of one device, to be split into shares before it leaves."""
        whole, sent = self.layout.device(update, round).parted(self.exact)
        return self.ring.device(whole, self.whole_numbers(sent, rng))

    def whole_numbers(self, sent: SparseVector, rng: Rng) -> SparseVector:
        """The clips and the rounding, of the numbers of one device."""
        bound = self.bounds[sent.place]
        clipped = np.clip(self.shortened(sent.value), -bound, bound)
        return replace(sent, value=self.rounded(replace(sent, value=clipped), rng))

    def shortened(self, values: Floats) -> Floats:
        """L2: a longer vector is shortened to the clip; one too long to be measured becomes zero."""
        norm, most = l2_length(values), self.settings.clip
        return values if norm <= most else values * (most / norm)

    def rounded(self, sent: SparseVector, rng: Rng) -> Floats:
        """Stochastic rounding, right on average: floor(x / step + u), u uniform in [0, 1) in steps of 2**-32.

        The draws come from the device's own stream, one word per place of the vector, so that a simulation and
        a real device round alike. They hide nothing and need not: what hides is the share.
        """
        u = rng.stream(Purpose.ROUNDING).words_at(sent.place) * 2.0**-32
        steps = self.steps[sent.place]
        numbers: Floats = np.floor(sent.value / steps + u)
        if l2_length(numbers * steps) > self.longest_rounded:
            numbers = np.trunc(sent.value / steps)
        return numbers

    def possible(self, total: NDArray[Any], round: int, devices: int | None = None) -> tuple[Total, str]:
        """The sum, cut to what honest devices can add, and the first bound it broke; "" of an honest sum.

        `devices` are how many it is of, where that is known; else the sum's own count is believed. What noise
        and rounding can make is never cut, but for a probability below 2^-64. Packed counters stay as they are:
        only their method can take them apart.
        """
        numbers = self.ring.server(total)
        numbers[self.exact] = total[self.exact]  # never negative: they have the whole ring
        counted, said = int(numbers[0]), list[str]()
        count = min(max(counted, 1), self.cohort) if devices is None else devices
        if not 1 <= counted <= self.cohort:
            said.append(f"a sum must be of 1 to {self.cohort} devices, but counts {counted}")
        elif counted != count:
            said.append(f"a sum of {count} reports must count as many devices, but counts {counted}")
        most = count * self.limits + FARTHEST * self.sigma
        if (beyond := np.abs(numbers[1:]) > most[1:]).any():
            said.append(f"a sum of {count} devices must keep their bounds, but does not: one broke them")
            there = np.flatnonzero(beyond) + 1
            numbers[there] = np.sign(numbers[there]) * most[there].astype(np.int64)
        vector: Floats = numbers.astype(np.float64) * self.steps
        said += self._shorten(vector, count)
        summed = self.layout.server(vector, count, round)
        said += (found := self.layout.sends.beyond(summed.update, count))
        if found:
            summed = replace(summed, update=self.layout.sends.nearest(summed.update, count, self.ring.bits))
        return replace(summed, noise=self.noise_in_sum), said[0] if said else ""

    @cached_property
    def noise_in_sum(self) -> float:
        """Standard deviation, in every number, of what two aggregators add; 0 without noise."""
        each = self.sigma.astype(np.float64) * self.steps
        return float(np.sqrt(2.0) * each.max(initial=0.0))

    @cached_property
    def rounding(self) -> float:
        """The L2 length of one step in every number that is rounded: no device's rounding is longer."""
        return float(np.sqrt((self.steps[1:][~self.exact[1:]] ** 2).sum()))

    def longest(self, count: int) -> float:
        """The longest sum of so many honest devices: what they send after the clip, and what rounding adds.

        A rounding moves each of n numbers by less than its step s, so one device's vector by less than S = |s|,
        and a sum by less than count S. The moves of all devices are independent and 0 on average, each of
        variance s^2 / 4 at most: their sum has a mean length of at most S sqrt(count) / 2, and by McDiarmid's
        inequality is longer than that by S sqrt(count 32 ln 2) with a probability below 2^-64.
        """
        random = np.sqrt(count) * (0.5 + np.sqrt(32 * np.log(2.0)))
        rounded = self.rounding * min(float(count), float(random))
        return count * self.settings.clip + rounded + self.noise_length

    @cached_property
    def noise_length(self) -> float:
        """What the noise of two aggregators is no longer than, but for a probability below 2^-64."""
        return noise_length(self.sigma.astype(np.float64) * self.steps)

    def _shorten(self, vector: Floats, count: int) -> list[str]:
        """Cut the vector of a sum, in place, to what so many devices can make it long; what is to be said."""
        there = ~self.exact
        there[0] = False
        by, said = shortened(vector[there], self.longest(count), count)
        vector[there] *= by
        return said


def rounded_chain(
    settings: ChannelSettings,
    phase: Phase,
    info: FederationInfo,
    cohort: int,
    multiplier: float = 0.0,
    source: NoiseSource | None = None,
) -> RoundedChain:
    """The channel of a phase whose sums are of at most `cohort` devices; refuses what could overflow.

    Each aggregator adds noise of `multiplier` times the clip to every number; a simulation draws it by
    `source`.
    """
    if not settings.on:
        raise SettingError("channel must be 'secure-sum' or 'readable' to carry updates, but it is 'none'.")
    if phase.combine != "sum":
        raise SettingError(
            f"the channel carries sums, but phase '{phase.name}' needs each update: {READS_EACH}."
        )
    if phase.longest is not None and phase.longest < settings.clip:
        settings = changed(settings, clip=phase.longest)
    layout = VectorLayout.of(settings, phase, info)
    phase.sends.check_room(settings.ring, cohort)
    bounds, limits, exact = np.ones(layout.words), np.ones(layout.words), np.zeros(layout.words, np.bool_)
    bounds[1:], limits[1:] = settings.clip, _limit(settings, settings.bits, settings.clip, multiplier)
    for table, here in layout.slices():
        if table.exact is not None:
            bounds[here], limits[here], exact[here] = 1.0, 1.0, True
        else:
            bound, bits = _bound(settings, table), _bits(settings, table, cohort)
            bounds[here], limits[here] = bound, _limit(settings, bits, bound, multiplier)
    sigma = np.ceil(multiplier * settings.clip / (bounds / limits)).astype(np.int64)
    sigma[0] = 0  # how many devices there are is known to whoever asks for the sum
    if multiplier and sigma[1:].min(initial=SMALLEST) < SMALLEST:
        raise SettingError(
            f"noise must be at least {SMALLEST} steps, but is {int(sigma[1:].min())}; raise bits, "
            f"{settings.bits} now, or lower epsilon."
        )
    if sigma.max() > LARGEST:
        raise SettingError(f"noise must be at most {LARGEST} steps, but is {int(sigma.max())}; raise epsilon.")
    most = int((2 ** (settings.ring - 1) - 1 - FARTHEST * sigma.max()) // limits.max())
    if cohort > most:
        fewer = f"take at most {most} clients, fewer bits" if most else "take fewer bits"
        raise SettingError(
            f"{settings.bits} bits of {cohort} clients must fit a ring of {settings.ring} bits, but the sum "
            f"could overflow: {fewer}{_larger(settings.ring)}."
        )
    longest = settings.clip if multiplier else np.inf
    steps, ring = bounds / limits, Ring(settings.ring, layout.words)
    limits[exact] = np.inf
    base = (settings, phase.name, layout, ring, cohort)
    return RoundedChain(*base, bounds, steps, longest, limits, exact, sigma, source=source)


def l2_length(values: Floats) -> float:
    """L2; the squares are added one after the other, so that every language finds the same bits."""
    with np.errstate(over="ignore"):
        squares = np.cumsum(values * values)
    return float(np.sqrt(squares[-1])) if len(squares) else 0.0


def noise_length(each: Floats) -> float:
    """What the noise of two aggregators is no longer than, but for a probability below 2^-64.

    `each` is the standard deviation of one aggregator's in every number.
    """
    spread = np.sqrt((each**2).sum()) + each.max(initial=0.0) * np.sqrt(128 * np.log(2.0))
    return float(np.sqrt(2.0) * spread)


def shortened(values: Floats, most: float, count: int) -> tuple[float, list[str]]:
    """What a sum is multiplied by so that it is no longer than that, and what is to be said."""
    length = float(np.sqrt((values**2).sum()))
    if length <= most * (1 + _ARITHMETIC):
        return 1.0, []
    bound = f"a sum of {count} devices must be at most {most:.6g} long"
    by = float(np.floor(most / length / _ARITHMETIC) * _ARITHMETIC)  # the same on every processor
    return by, [f"{bound}, but is {length:.6g}: one broke its clip"]


READS_EACH = "it travels as it is, and the server can read each update"


def _larger(ring: int) -> str:
    """What else helps where a sum could overflow."""
    return {24: " or ring 32", 32: ", or ring 64 in a simulation"}.get(ring, "")


def _bound(settings: ChannelSettings, table: TableSpec) -> float:
    """The largest value of a table: what it declares, within the channel's own."""
    largest = settings.clip if settings.coordinate is None else min(settings.clip, settings.coordinate)
    return largest if table.bound is None else min(table.bound, settings.clip)


def _limit(settings: ChannelSettings, bits: int, bound: float, multiplier: float) -> float:
    """The largest whole number of so many bits; of fewer, where the noise is coarser than their steps."""
    limit = 2.0 ** (bits - 1)
    if multiplier:
        limit = min(limit, 2.0 ** np.floor(np.log2(LARGEST * bound / (multiplier * settings.clip))))
    return float(max(limit, 2.0))


def _bits(settings: ChannelSettings, table: TableSpec, cohort: int) -> int:
    """`bits`; a table that declares its bound (counts) gives way to a large cohort."""
    if table.bound is None:
        return settings.bits
    available = settings.ring - 1 - int(cohort).bit_length()
    return max(min(settings.bits, available), min(FEWEST_BITS, settings.bits))
