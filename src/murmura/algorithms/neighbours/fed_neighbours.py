"""Neighbours of items from four sums whose bytes follow a history, not the catalogue. Ours.

Every device adds one row for each of at most `cap` of its items; n is how many these are, c how often an item
occurs. Only items that occur `least` times take part after the first exchange.

    counts     1                                                            -> c
    sketch     t = mean of c_j^-1/2 s_j over her items j, s_j random signs  -> Y, and Q R = C^-1/2 Y
    sketch-2   the same with Q in place of s                                -> candidates for pairs
    pairs      her weight, for each candidate of the row that she has too   -> G

The model is a list of the `k` largest W_ij = G_ij / (c_i^own c_j^other) for every item i: the formula of
RP3beta (Paudel, Christoffel, Newell and Bernstein, TiiS 2017) where people weigh 1 / n. Only pairs of at least
`least_pairs` people are published, and the sum itself says so (`row_numbers.PersonWeights`). A device ranks
with the rows of its own items, and reads nothing else of the model at any visit.

A household of one device is one person here: each item counts once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from murmura.algorithms.cooccurrence.item_model import CountingMethod, evenly, rarest_rows
from murmura.algorithms.neighbours import item_lists
from murmura.algorithms.neighbours.row_numbers import CandidateCounters, PersonWeights, SketchNumbers, Weight
from murmura.algorithms.preset import Preset
from murmura.baselines.information import recency
from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.claims import RowsClaim
from murmura.core.consent import Consent
from murmura.core.contract import (
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import MemoryLimitError, SettingError
from murmura.core.kernel import Kernel
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.model import NO_ITEM, ScoreTerms
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Count, Fraction, Positive, settings
from murmura.core.update import Arrays, SparseRows, Update
from murmura.kernels.proofs.field import ELEMENT_BYTES, Elements

MODEL = ("neighbours", "similarity")  # what a device ranks with


@settings
class FedNeighbours(CountingMethod):
    """Counts, two sketches, pairs of candidates."""

    name: ClassVar[str] = "fed-neighbours"
    releases_pairs: ClassVar[bool] = True

    weight: Weight = "inverse"  # of a person of n items: one, root (1 / sqrt n) or inverse (1 / n)
    own_power: Fraction = 0.6  # of the count of the item that she has
    other_power: Fraction = 0.4  # of the count of its neighbour
    k: Count = 200  # neighbours of an item
    least: Count = 5  # rarer items take part in nothing after the counts
    least_pairs: Count = 3  # people that a published pair is of at least
    cap: Annotated[int, Field(ge=2)] = 100  # items of one person in the sums, and rows that a device reads
    rank: Annotated[int, Field(ge=1, le=512)] = 64  # directions of a sketch
    words: Count = 64  # numbers of 64 bits in a row of pairs
    most_candidates: Count = 360  # of a row
    memory_gb: Positive = 8.0  # of the machine that sums up and finds candidates

    def __post_init__(self) -> None:
        if self.discount:
            raise SettingError(
                f"discount must be 0 for {self.name}, but it is {self.discount:g}; raise other_power instead."
            )

    @property
    def reads_rows(self) -> int:
        """A visit reads so many rows of the model, its own items', and no others."""
        return self.cap

    def ranking_tables(self, model: MessageSpec) -> MessageSpec:
        """The lists of her own items; counts of all are for who has no item yet."""
        return MessageSpec(tuple(table for table in model.tables if table.name in MODEL))

    def public_counts(self, model: Arrays) -> Longs | None:
        """A device reads the counts of its own items: no width or length follows from those of all."""
        return None

    def knows_counts(self, phase: Phase) -> bool:
        """Nobody downloads the counts of all items for a visit."""
        return False

    def check_size(self, info: FederationInfo) -> None:
        """Refuse sums and candidates that the server could not hold."""
        row = 3 * ELEMENT_BYTES * self.words + 8 * self.most_candidates + 8 * self.k + 40 * self.rank
        needed = (len(info.listed) * row + 16 * item_lists.BLOCK * len(info.listed)) / 1e9
        if needed > self.memory_gb:
            enough = math.ceil(10 * needed) / 10  # what is rounded down is refused again
            raise MemoryLimitError(
                f"memory_gb must be at least {enough} for the sums of {len(info.listed)} items, but it is "
                f"{self.memory_gb:g}; raise it, or lower words or most_candidates."
            )

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """Counts, two sketches, pairs; nothing of it follows from the counts."""
        return _phases(self, info)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The counts, and what a visit reads of its own rows: directions, candidates, neighbours."""
        return MessageSpec(
            (TableSpec("counts", "item", info.items, 1, "uint32"), *self.row_tables(info).values())
        )

    def row_tables(self, info: FederationInfo) -> dict[str, TableSpec]:
        """What is read by rows."""
        each = item_lists.in_a_word(info.items)
        widths = {"candidates": self.most_candidates, "neighbours": self.k}
        lists = {
            name: TableSpec(name, "item", info.items, -(-width // each), "uint64")
            for name, width in widths.items()
        }
        directions = TableSpec("directions", "item", info.items, self.rank, "float16")
        similarity = TableSpec("similarity", "item", info.items, self.k, "float16")
        return {"directions": directions, **lists, "similarity": similarity}

    @property
    def person_weights(self) -> PersonWeights:
        """How much people count, and when a pair is of enough of them."""
        return PersonWeights(self.weight, self.least_pairs)

    def part(self, counts: Longs) -> Bools:
        """(items,) which take part after the counts."""
        taking: Bools = counts >= self.least
        return taking

    def sketch_numbers(self, info: FederationInfo) -> SketchNumbers:
        """What a row of a sketch holds."""
        return SketchNumbers(self.rank, info.clients)

    def counters(self, counts: Longs) -> CandidateCounters:
        """Where the counters of candidates stand."""
        return _counters(self, np.ascontiguousarray(counts, np.int64).tobytes())

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        return ServerState(self._nothing(info.items), {"clients": np.array([info.clients])})

    def _nothing(self, items: int) -> Arrays:
        info = FederationInfo(items, np.arange(items, dtype=np.int32), 1, 1)
        return {t.name: np.zeros((items, t.width), t.dtype) for t in self.publishes(info).tables}

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """No item was counted yet: one bit for each."""
        self.check_rows(history.value, history.time)
        return {"counted": np.zeros(-(-info.items // 8), np.uint8)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """A row for each item that she shares; later for each counted one, of zeros where it is too rare."""
        shared, info = np.unique(self.shared(history, rng).item), context.info
        if context.phase == "counts":
            own = shared[evenly(np.zeros(len(shared), np.int64), self.cap)]
            bits = np.zeros(8 * len(state["counted"]), np.bool_)
            bits[own] = True
            sent = SparseRows(own, np.ones((len(own), 1), np.uint32))
            return {"counted": np.packbits(bits)}, Update({"counts": sent}, own=(own,))
        counted = shared[np.unpackbits(state["counted"], count=info.items).astype(np.bool_)[shared]]
        active = self.part(known_counts(context.model))[counted]
        own, rows = counted[active], np.zeros((len(counted), self._width(context)), np.uint64)
        rows[:, 0] = 1
        if len(own):
            made = self._pairs(context, own) if context.phase == "pairs" else self._sketched(context, own, rng)
            rows[active, 1:] = made
        return state, Update({context.phase: SparseRows(counted, rows)}, own=(counted,))

    def _width(self, context: RoundContext) -> int:
        return 1 + (self.words if context.phase == "pairs" else self.sketch_numbers(context.info).width)

    def _sketched(self, context: RoundContext, own: Ints, rng: Rng) -> Elements:
        """The mean of her items' public rows, the same for each of them."""
        numbers, total = self.sketch_numbers(context.info), np.zeros(self.rank)
        for row in self.public_rows(context, own):  # one after the other, as compiled
            total += row
        u = rng.stream(Purpose.ROUNDING).words_at(np.arange(self.rank)).astype(np.float64) * 2.0**-32
        return numbers.pack(numbers.rounded(total / len(own), u))

    def public_rows(self, context: RoundContext, items: Ints) -> Floats:
        """What a sketch means over."""
        if context.phase == "sketch":
            return item_lists.first_rows(items, known_counts(context.model), self.least, self.rank)
        return np.asarray(context.model["directions"][items], np.float64)

    def _scale(self, counts: Longs) -> Floats:
        return item_lists.item_scale(counts, self.part(counts))

    def _pairs(self, context: RoundContext, own: Ints) -> Elements:
        """Her weight in the counter of each candidate that she has too."""
        info = context.info
        counters, rows = self.counters(known_counts(context.model)), np.zeros((len(own), self.words), np.uint64)
        named = item_lists.unpacked(context.model["candidates"][own], info.items, self.most_candidates)
        weight = np.uint64(self.person_weights.of(len(own)))
        for at, item in enumerate(own.tolist()):
            slots = np.flatnonzero(np.isin(named[at], own))
            digit = (slots % counters.digits[item]).astype(np.uint64)
            np.add.at(rows[at], slots // counters.digits[item], weight * counters.bases[item] ** digit)
        return rows

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Counts, directions, candidates and lists, each made public with its sum."""
        assert isinstance(received, Total)
        items = len(server.model["counts"])
        if phase == "counts":
            known = self.summed_counts(received, items)
            model = {**self._nothing(items), "counts": known[:, None].astype(np.uint32)}
            return ServerState(model, server.private), {}
        counts, rows = known_counts(server.model), received.update.tables[phase]
        if phase == "pairs":
            return ServerState({**server.model, **self._lists(server.model, counts, rows)}, server.private), {}
        numbers = SketchNumbers(self.rank, int(server.private["clients"][0]))
        sums, scale = numbers.sums(rows.values[:, 1:]), self._scale(counts)
        Y = np.zeros((items, self.rank))
        Y[rows.index] = sums
        if phase == "sketch":
            made = {"directions": item_lists.directions(Y, scale)}
            return ServerState({**server.model, **made}, server.private), {}
        named = self._candidates(server.model, Y, counts, scale)
        return ServerState({**server.model, "candidates": item_lists.packed(named, items)}, server.private), {}

    def _candidates(self, model: Arrays, Y: Floats, counts: Longs, scale: Floats) -> Ints:
        points = item_lists.item_points(Y, np.asarray(model["directions"], np.float64), scale)
        capacity = self.counters(counts).capacity
        named = item_lists.candidates(points, counts, self.part(counts), capacity)
        wide = np.full((len(counts), self.most_candidates), NO_ITEM, np.int32)
        wide[:, : named.shape[1]] = named
        return wide

    def _lists(self, model: Arrays, counts: Longs, rows: SparseRows) -> Arrays:
        items = len(counts)
        found = np.full((items, self.k), NO_ITEM, np.int32)
        similar, powers = np.zeros((items, self.k), np.float16), (self.own_power, self.other_power)
        for first in range(0, len(rows), item_lists.BLOCK):
            here = rows.index[first : first + item_lists.BLOCK]
            sums = self.counters(counts).unpack(here, rows.values[first : first + item_lists.BLOCK, 1:])
            named = item_lists.unpacked(model["candidates"][here], items, self.most_candidates)[
                :, : sums.shape[1]
            ]
            enough = self.person_weights.enough(sums)
            each = sums / self.person_weights.most
            weight = item_lists.pair_weights(each, enough, counts, named, here, powers)
            best, value = item_lists.nearest(weight, named, self.k)
            found[here, : best.shape[1]], similar[here, : best.shape[1]] = best, value
        return {"neighbours": item_lists.packed(found, items), "similarity": similar}

    def person_scores(self, context: RoundContext, mine: History) -> Floats:
        """What the lists of her own items say of all others; where they say nothing what is popular."""
        near, value = self._votes(context, mine)
        there = near >= 0
        if not there.any():
            return context.model["counts"][:, 0].astype(np.float64)
        return np.bincount(near[there], value[there], minlength=context.info.items).astype(np.float64)

    def _votes(self, context: RoundContext, mine: History) -> tuple[Ints, Floats]:
        own, weight = self._read(mine)
        near = item_lists.unpacked(context.model["neighbours"][own], context.info.items, self.k)
        return near, np.asarray(context.model["similarity"][own], np.float64) * weight[:, None]

    def _read(self, mine: History) -> tuple[Ints, Floats]:
        """The items whose rows she reads, and how much each counts: the newest where that matters."""
        weight = np.ones(len(mine))
        if self.recency and mine.time is not None:
            weight = recency(mine.time, self.recency)
        if len(mine) <= self.cap:
            return mine.item, weight
        chosen = evenly(np.zeros(len(mine), np.int64), self.cap)
        if self.recency:
            chosen = np.argsort(np.argsort(-weight, kind="stable")) < self.cap
        return mine.item[chosen], weight[chosen]

    def client_terms(self, context: RoundContext, state: ClientState, history: History) -> ScoreTerms | None:
        """What each of her items adds."""
        mine, items = history.rows(self.takes(history.value)), context.info.items
        near, value = self._votes(context, mine)
        row, column = np.nonzero(near >= 0)
        if not len(row):
            return ScoreTerms.of_popularity(context.model["counts"][:, 0])
        terms: Floats = np.zeros((len(near), items))
        terms[row, near[row, column]] = value[row, column]
        return ScoreTerms.of_items(self._read(mine)[0], np.arange(items), terms)

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """Nothing to fit: the lists meet any history."""
        return {"counted": np.zeros(-(-context.info.items // 8), np.uint8)}

    def exposed(self, server: ServerState, owner: Longs, item: Ints) -> int | None:
        """By what is published: who knows an item all owners of which have another one knows that too."""
        counts = known_counts(server.model)
        if not server.model["neighbours"].any():
            return None
        near = item_lists.unpacked(server.model["neighbours"], len(counts), self.k)
        a, b = self.own_power, self.other_power
        others = np.maximum(counts[np.maximum(near, 0)], 1)
        sums = server.model["similarity"].astype(np.float64) * np.maximum(counts, 1)[:, None] ** a * others**b
        users = self.person_weights.users(np.rint(sums * self.person_weights.most).astype(np.int64))
        tells = np.zeros(len(counts), np.bool_)
        row, column = np.nonzero((near >= 0) & (users == others))
        tells[near[row, column]] = True
        row, _ = np.nonzero((near >= 0) & (users == counts[:, None]))
        tells[row] = True
        there = np.flatnonzero(counts[item] > 0)
        owner, item = owner[there], item[there]
        return int(tells[item[rarest_rows(owner, item, counts)]].sum())

    def kernel(self) -> Kernel:
        """All clients at once."""
        from murmura.algorithms.neighbours.kernel import NeighboursKernel

        return NeighboursKernel(self)


def known_counts(model: Arrays) -> Longs:
    """How often each item occurs."""
    counts: Longs = model["counts"][:, 0].astype(np.int64)
    return counts


@lru_cache(maxsize=4)
def _counters(method: FedNeighbours, counts: bytes) -> CandidateCounters:
    known = np.frombuffer(counts, np.int64)
    most = min(method.most_candidates, max(1, int(method.part(known).sum()) - 1))
    return CandidateCounters.of(known, method.part(known), method.person_weights, method.words, most)


@lru_cache(maxsize=4)  # every visit asks
def _phases(method: FedNeighbours, info: FederationInfo) -> tuple[Phase, ...]:
    counts = TableSpec("counts", "item", info.items, 1, "uint32", exact=RowBounds(1))
    cap, known = min(method.cap, len(info.listed)), TableSpec("counts", "item", info.items, 1, "uint32")
    made = [Phase("counts", MessageSpec((counts,)), repeat=1, receives=MessageSpec())]
    tables, width = method.row_tables(info), method.sketch_numbers(info).width
    reads = {"sketch": (), "sketch-2": (tables["directions"],), "pairs": (tables["candidates"],)}
    for name, read in reads.items():
        wide = method.words if name == "pairs" else width  # behind a 1, as the claim says
        sends, receives = TableSpec(name, "item", info.items, 1 + wide, "uint64"), MessageSpec((known, *read))
        asked = Phase(name, MessageSpec((sends,)), repeat=1, receives=receives, follows="counts")
        made.append(replace(asked, claim=RowsClaim(info.listed, cap, wide), returns=name == "pairs"))
    return (replace(made[0], claim=RowsClaim(info.listed, cap, 0)), *made[1:])


FED_NEIGHBOURS = Preset(
    "fed-neighbours",
    FedNeighbours,
    "fed-neighbours: neighbours of items from four sums, for catalogues of 10,000 items and more.",
    {"channel": "secure-sum"},
    parts=(Consent, ChannelSettings),
)
