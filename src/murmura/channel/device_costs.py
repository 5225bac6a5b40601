"""What a training will cost a device, from items, sizes and settings alone: told before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from murmura.channel.circuits import circuit_of
from murmura.channel.layout import VectorLayout
from murmura.channel.proven_shares import first_bytes, payload_bytes
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.message import MessageSpec, released_counts_bytes
from murmura.core.schedule import Schedule
from murmura.kernels.point_functions.sizes import Bins, is_read_shorter

if TYPE_CHECKING:
    from murmura.core.contract import Algorithm

WORTH_SAYING = 10e6  # bytes up or down: what a phone notices


@dataclass(frozen=True)
class ExchangeCost:
    """One exchange of a device."""

    phase: str
    visits: float  # of one device, on average
    up: int  # bytes of a visit
    down: int


@dataclass(frozen=True)
class DeviceCosts:
    """A whole training of a device."""

    exchanges: tuple[ExchangeCost, ...]  # the last is the download of the model it ranks with

    @property
    def up(self) -> float:
        """Bytes a device sends; 0 where updates travel as they are."""
        return sum(one.visits * one.up for one in self.exchanges)

    @property
    def down(self) -> float:
        """Bytes it receives, the whole model at each visit that reads it."""
        return sum(one.visits * one.down for one in self.exchanges)

    @property
    def large(self) -> bool:
        """Whether a phone would notice."""
        return max(self.up, self.down) > WORTH_SAYING

    def sentence(self) -> str:
        """For people."""
        sent = f"sends {self.up / 1e6:,.1f} MB and " if self.up else ""
        return f"a device {sent}receives at most {self.down / 1e6:,.1f} MB in all"


def device_costs(
    algorithm: Algorithm,
    info: FederationInfo,
    schedule: Schedule,
    channel: ChannelSettings,
    private_reads: bool = False,
) -> DeviceCosts:
    """Before counts are public, as if all items occurred equally often: then counters need most room.

    Of a method that reads rows alone with `private_reads`; without, its devices download whole tables.
    """
    read = partial(read_bytes, algorithm) if private_reads else lambda spec, items: (0, spec.model_bytes(items))
    if info.counts is None and algorithm.releases_counts:
        even = np.zeros(info.items, np.int64)
        even[info.listed] = -(-info.interactions // max(1, len(info.listed)))
        info = replace(info, counts=even)
    phases, listed = algorithm.phases(info), len(info.listed)
    whole = channel.downloads(algorithm.publishes(info))
    training = [phase for phase in phases if phase.repeat is None]
    rounds = schedule.total_rounds(info, algorithm.visit_examples(info)) if training else 0
    visits = rounds * schedule.cohort(info) / info.clients if training else 0.0
    found = []
    for phase in phases:
        needed = whole if phase.receives is None else channel.downloads(phase.receives)
        asked, down = read(needed, listed) if phase.fetches_model else (0, 0)
        down += released_counts_bytes(info.items) if algorithm.knows_counts(phase) else 0
        often = visits if phase.repeat is None else float(phase.repeat)
        found.append(ExchangeCost(phase.name, often * phase.part, asked + _sent(phase, info, channel), down))
    asked, down = read(algorithm.ranking_tables(whole), listed)
    return DeviceCosts((*found, ExchangeCost("model", 1.0, asked, down)))


def read_bytes(algorithm: Algorithm, spec: MessageSpec, items: int) -> tuple[int, int]:
    """Bytes up and down of reading own rows of item tables in private, or of fetching whole tables."""
    row, rows = sum(table.value_bytes for table in spec.tables), min(algorithm.reads_rows, items)
    if not row or not rows or not is_read_shorter(items, rows, row):
        return 0, spec.model_bytes(items)
    bins = Bins(items, rows)
    return 2 * bins.query_bytes, 2 * bins.answer_bytes(row) + bins.top_bytes


def _sent(phase: Phase, info: FederationInfo, channel: ChannelSettings) -> int:
    """What a visit sends through the channel; 0 where there is none, as rows follow the history."""
    if not channel.on or phase.combine != "sum":
        return 0
    if phase.claim is not None and channel.channel == "secure-sum":
        circuit = circuit_of(phase.claim, bool(phase.follows))
        return first_bytes(circuit) + payload_bytes(circuit, bool(phase.follows))
    return VectorLayout.of(channel, phase, info).words * channel.ring // 8
