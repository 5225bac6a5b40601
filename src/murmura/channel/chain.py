"""The channel: stages with two halves. A device runs them in order, the server undoes them in reverse.

    layout    rows outside the block are dropped; the rest gets its place in a vector of fixed length
    length    L2 clip
    largest   clip of every number
    fixed     fixed point, stochastic rounding
    ring      modulo 2**24 or 2**32, where sums are exact in any order and shares hide what they sum

An algorithm knows of none of them. Overflow cannot happen: a chain is made only if the largest cohort at the
largest values stays below half the ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.channel.layout import VectorLayout
from murmura.channel.ring import Ring
from murmura.channel.shares import SEED_BYTES
from murmura.channel.stages import CoordinateClip, FixedPoint, L2Clip, Stage
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase, Total
from murmura.core.errors import FederationError, SettingError
from murmura.core.kernel import VectorSlice
from murmura.core.message import TableSpec
from murmura.core.rng import Rng, Words
from murmura.core.update import Update

FEWEST_BITS = 8  # of a table that declares its bound, when a large cohort leaves it fewer than `bits`


@dataclass(frozen=True, eq=False)
class Chain:
    """The channel of one phase."""

    settings: ChannelSettings
    layout: VectorLayout
    stages: tuple[Stage, ...]
    ring: Ring
    limits: Floats  # (words,) the largest whole number one device can add
    cohort: int  # no more devices than this in one sum

    @property
    def words(self) -> int:
        """The length of every vector, the count included."""
        return self.ring.words

    @cached_property
    def upload_bytes(self) -> int:
        """What leaves a device in one round: a packed vector, and a seed where there are two aggregators."""
        return self.ring.message_bytes + (SEED_BYTES if self.settings.channel == "secure-sum" else 0)

    @property
    def rows(self) -> int:
        """The rows in one message, the same for everyone."""
        return sum(self.layout.rows(table) for table in self.layout.tables)

    def block(self, round: int) -> Ints:
        """The items whose rows travel in a round."""
        return self.layout.block(round)

    def vector_slice(self, table: str, round: int) -> VectorSlice:
        """Where and how a table travels, for compiled paths."""
        one, here = next(found for found in self.layout.slices() if found[0].name == table)
        place = np.full(one.rows, -1, np.int64)
        rows = self.block(round) if one.space == "item" else np.arange(one.rows)
        place[rows] = here.start + np.arange(len(rows)) * one.width
        bound = _bound(self.settings, one)
        return VectorSlice(place, self.settings.clip, bound, float(bound / self.limits[here.start]))

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half of sums that are not yet in the ring."""
        return self.server(self.ring.wrap(sums), round)

    def device(self, update: Update, rng: Rng, round: int) -> Words:
        """The vector of one device, to be split into shares before it leaves."""
        sent = self.layout.device(update, round)
        for stage in self.stages:
            sent = stage.device(sent, rng)
        return self.ring.device(sent)

    def server(self, total: Words, round: int) -> Total:
        """What the server learns from the sum of the vectors of a round."""
        numbers = self.ring.server(total)
        count = int(numbers[0])
        if not 1 <= count <= self.cohort:
            raise FederationError(
                f"a sum must be of 1 to {self.cohort} devices, but counts {count}; discard the round."
            )
        if (np.abs(numbers) > count * self.limits).any():
            raise FederationError(
                f"a sum of {count} devices must keep their bounds, but does not: one broke them; "
                "discard the round."
            )
        vector: Floats = numbers.astype(np.float64)
        for stage in reversed(self.stages):
            vector = stage.server(vector)
        return self.layout.server(vector, count, round)


def chain(settings: ChannelSettings, phase: Phase, info: FederationInfo, cohort: int) -> Chain:
    """The channel of a phase whose sums are of at most `cohort` devices; refuses what could overflow."""
    if not settings.on:
        raise SettingError("channel must be 'secure-sum' or 'readable' to carry updates, but it is 'none'.")
    if phase.combine != "sum":
        raise SettingError(
            f"the channel carries sums, but phase '{phase.name}' needs each update: {READS_EACH}."
        )
    layout = VectorLayout.of(settings, phase, info)
    bounds, limits = np.ones(layout.words), np.ones(layout.words)
    bounds[1:], limits[1:] = settings.clip, 2.0 ** (settings.bits - 1)
    for table, here in layout.slices():
        bounds[here], limits[here] = _bound(settings, table), 2.0 ** (_bits(settings, table, cohort) - 1)
    most = int((2 ** (settings.ring - 1) - 1) // limits.max())
    if cohort > most:
        fewer = f"take at most {most} clients, fewer bits" if most else "take fewer bits"
        raise SettingError(
            f"{settings.bits} bits of {cohort} clients must fit a ring of {settings.ring} bits, but the sum "
            f"could overflow: {fewer} or ring 32."
        )
    stages = (L2Clip(settings.clip), CoordinateClip(bounds), FixedPoint(bounds / limits))
    return Chain(settings, layout, stages, Ring(settings.ring, layout.words), limits, cohort)


READS_EACH = "it travels as it is, and the server can read each update"


def _bound(settings: ChannelSettings, table: TableSpec) -> float:
    """The largest value of a table: what it declares, within the channel's own."""
    largest = settings.clip if settings.coordinate is None else min(settings.clip, settings.coordinate)
    return largest if table.bound is None else min(table.bound, settings.clip)


def _bits(settings: ChannelSettings, table: TableSpec, cohort: int) -> int:
    """`bits`; a table that declares its bound (counts) gives way to a large cohort."""
    if table.bound is None:
        return settings.bits
    room = settings.ring - 1 - int(cohort).bit_length()
    return max(min(settings.bits, room), min(FEWEST_BITS, settings.bits))
