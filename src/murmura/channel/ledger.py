"""What left the devices: rows and bytes exact to the codec, and how much of each history was disclosed.

What a training will cost a device follows from items, sizes and settings alone, before anything is sent.

The papers' own cost measures stand beside the measured ones: FPL, long version, eq. (9)-(11), and thesis 4.6.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from murmura.channel.circuits import circuit_of, weighted_circuit
from murmura.channel.layout import VectorLayout
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.proven_shares import first_bytes, payload_bytes
from murmura.core.arrays import Floats, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.claims import WeightedClaim
from murmura.core.contract import Algorithm, FederationInfo, Phase
from murmura.core.message import MessageSpec, released_counts_bytes
from murmura.core.population import Population, Tally
from murmura.core.schedule import Schedule
from murmura.kernels.point_functions.sizes import Bins, is_read_shorter
from murmura.kernels.proofs.circuit import Circuit

FEATURES = "features disclosed"
EXPOSED = "exposed people"  # of whom whoever knows their rarest item in exact sums learns another one
POINTS = {"least": 0.0, "q10": 0.1, "median": 0.5, "q90": 0.9, "most": 1.0}


@dataclass(frozen=True)
class LedgerLine:
    """One round, or one epoch of a schedule with very many rounds: its traffic, and the disclosure so far."""

    rounds: int  # rounds done when the line was written
    epoch: int
    visits: int
    rows_up: int
    bytes_up: int
    rows_down: int
    bytes_down: int
    disclosed_mean: float  # over people: the fraction of their positives disclosed at least once so far
    disclosed_least: float
    disclosed_q10: float
    disclosed_median: float
    disclosed_q90: float
    disclosed_most: float


TRAFFIC = ("visits", "rows_up", "bytes_up", "rows_down", "bytes_down")


@dataclass(frozen=True, eq=False)
class Ledger:
    """The record of one training."""

    lines: tuple[LedgerLine, ...]
    totals: dict[str, int]  # visits, rows and bytes up and down
    disclosed: Floats  # (clients,) the fraction of their positives ever disclosed; nan without any
    item_rows: Longs  # (items,) how often a row of each item was sent
    papers: dict[str, float]  # CCE, TCC, freshness, normalised freshness
    channel: str = ""  # what updates went through, and who can read them
    features: Floats | None = None  # (clients,) the fraction of their features of items that ever left
    reveals: Mapping[str, str] = field(default_factory=dict)  # what else was sent, and what that tells
    privacy: Mapping[str, Any] = field(default_factory=dict)  # what noise bounds, for whom; {}: nothing does
    exposed: int | None = None  # people; None: no sums of pairs without noise were released
    final_bytes: int = 0  # what all clients download after the last round, to rank with the model it led to

    def summary(self) -> dict[str, Any]:
        """Totals, the distribution of the disclosed fraction, and the papers' measures, as plain values."""
        features = {} if self.features is None else {FEATURES: spread(self.features)}
        disclosed = {"disclosed": spread(self.disclosed), **features}
        reveals = {"reveals": dict(self.reveals)} if self.reveals else {}
        own = {"clients": len(self.disclosed), **self.totals, "final_bytes_down": self.final_bytes}
        privacy = {"privacy": dict(self.privacy)} if self.privacy else {}
        exposed = {} if self.exposed is None else {EXPOSED: self.exposed}
        return {**own, **disclosed, **exposed, **self.papers, "channel": self.channel, **privacy, **reveals}

    def rows(self) -> list[dict[str, Any]]:
        """The lines as plain values, for a table."""
        return [asdict(line) for line in self.lines]

    def records(self, items: Iterable[Any]) -> dict[str, Any]:
        """The files of a run folder: an object, or a table as (header, rows); `items` are own ids."""
        lines = self.rows()
        return {
            "ledger.json": self.summary(),
            "rounds.csv": (
                [field.name for field in fields(LedgerLine)],
                [tuple(line.values()) for line in lines],
            ),
            "item_rows.csv": (["item", "sent"], zip(items, self.item_rows.tolist())),
        }

    def cost(self) -> dict[str, float]:
        """What a comparison shows beside accuracy: epsilon, mean disclosed fractions, kilobytes per client.

        The download of the model a client ranks with is part of what it costs.
        """
        clients, down = max(1, len(self.disclosed)), self.totals["bytes_down"] + self.final_bytes
        return {
            **({"epsilon": float(self.privacy["epsilon"])} if self.privacy else {}),
            "disclosed": spread(self.disclosed)["mean"],
            **({} if self.features is None else {FEATURES: spread(self.features)["mean"]}),
            **({} if self.exposed is None else {EXPOSED: float(self.exposed)}),
            "kB up/client": self.totals["bytes_up"] / 1000 / clients,
            "kB down/client": down / 1000 / clients,
        }


def spread(fractions: Floats) -> dict[str, float]:
    """Mean, extremes, deciles and median over the people who have any positive."""
    return spread_of(*histogram(fractions))


def histogram(fractions: Floats) -> tuple[Floats, Longs]:
    """The different fractions, ascending, and how many people have each; people without positives in none."""
    return np.unique(fractions[~np.isnan(fractions)], return_counts=True)


def spread_of(values: Floats, people: Longs) -> dict[str, float]:
    """The same of a histogram: it can be added up from parts of the people, with the same bits."""
    n = int(people.sum())
    if not n:
        return {"mean": 0.0, **dict.fromkeys(POINTS, 0.0)}
    places = {name: int(q * (n - 1) + 0.5) for name, q in POINTS.items()}
    upto = np.cumsum(people)
    points = {name: float(values[np.searchsorted(upto, p, side="right")]) for name, p in places.items()}
    return {"mean": float((values * people).sum() / n), **points}


def fractions(tally: Tally, people: Population) -> Floats:
    """The fraction of each client's positives disclosed so far; nan for a client without positives."""
    held = np.diff(people.start)
    return np.where(held > 0, tally.disclosed / np.maximum(held, 1), np.nan)


def traffic(tally: Tally) -> dict[str, int]:
    """Visits, rows and bytes so far."""
    return {name: getattr(tally, name) for name in TRAFFIC}


def write_line(
    now: Mapping[str, int], before: Mapping[str, int], disclosed: Mapping[str, float], rounds: int, epoch: int
) -> LedgerLine:
    """The next line: the traffic beyond what there was before, and the spread of what is disclosed so far."""
    here: dict[str, Any] = {name: now[name] - before[name] for name in TRAFFIC}
    here |= {f"disclosed_{name}": value for name, value in disclosed.items()}
    return LedgerLine(rounds=rounds, epoch=epoch, **here)


def communication_cost(rounds: float, clients: int, items: int, triples: float, pi: float) -> float:
    """CCE = rpe * |U-| * (|I| + T (1 + pi)): vectors exchanged in one epoch (FPL, long version, eq. 9-10)."""
    return rounds * clients * (items + triples * (1 + pi))


def normalised_freshness(rounds: float, interactions: int) -> float:
    """nFRSH = rpe / X+: models delivered per epoch, over those of sequential training (eq. 11)."""
    return rounds / interactions


def paper_costs(
    rounds_per_epoch: int,
    total_rounds: int,
    clients: int,
    items: int,
    triples: float,
    pi: float,
    interactions: int,
) -> dict[str, float]:
    """CCE, TCC = CCE * epochs (thesis, table 4.4), freshness = rpe, and normalised freshness."""
    cce = communication_cost(rounds_per_epoch, clients, items, triples, pi)
    return {
        "CCE": cce,
        "TCC": cce * total_rounds / rounds_per_epoch,
        "freshness": float(rounds_per_epoch),
        "normalised freshness": normalised_freshness(rounds_per_epoch, interactions),
    }


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
        sent = _sent(phase, phases, info, channel)
        found.append(ExchangeCost(phase.name, often * phase.part, asked + sent, down))
    asked, down = read(algorithm.ranking_tables(whole), listed)
    return DeviceCosts((*found, ExchangeCost("model", 1.0, asked, down)))


def read_bytes(algorithm: Algorithm, spec: MessageSpec, items: int) -> tuple[int, int]:
    """Bytes up and down of reading own rows of item tables in private, or of fetching whole tables."""
    row, rows = sum(table.value_bytes for table in spec.tables), min(algorithm.reads_rows, items)
    if not row or not rows or not is_read_shorter(items, rows, row):
        return 0, spec.model_bytes(items)
    bins = Bins(items, rows)
    return 2 * bins.query_bytes, 2 * bins.answer_bytes(row) + bins.top_bytes


def _circuit_of(
    phase: Phase, phases: tuple[Phase, ...], info: FederationInfo, channel: ChannelSettings
) -> Circuit | None:
    """What is proved of what a visit sends; noise decides how long the weights of a noisy claim are."""
    if phase.claim is None or channel.channel != "secure-sum":
        return None
    if not isinstance(phase.claim, WeightedClaim):
        return circuit_of(phase.claim, bool(phase.follows))
    answers = {one.name: one.repeat or 1 for one in phases}
    multiplier = NoiseTerms.of(channel, phases, answers, info.clients).of_phase(phase.name)
    return weighted_circuit(phase.claim, channel.bits, info.clients, multiplier)


def _sent(phase: Phase, phases: tuple[Phase, ...], info: FederationInfo, channel: ChannelSettings) -> int:
    """What a visit sends through the channel; 0 where there is none, as rows follow the history."""
    if not channel.on or phase.combine != "sum":
        return 0
    if (circuit := _circuit_of(phase, phases, info, channel)) is not None:
        follows = bool(phase.follows and circuit.linked)
        return first_bytes(circuit) + payload_bytes(circuit, follows)
    return VectorLayout.of(channel, phase, info).words * channel.ring // 8
