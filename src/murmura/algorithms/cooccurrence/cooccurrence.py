"""Item-item models from two exact secure sums. Ours.

Exchange 1, `counts`: how often each item occurs among what people share. Everyone learns it.
Exchange 2, `pairs`: how often two items occur together, of those that occur at least `least` times, in packed
counters (`kernels.proofs.pair_words`). In a secure sum every device proves both: bits, and all pairs of those
bits. Where nothing is proved, the server cuts what is above its bound, and directions that no people's pairs
have: the release goes on, with a note.

The server makes weights between items of the sums, EASE or Item-kNN, as from pooled data: the sum of all
uploads is the pooled matrix. Recency, the discount of popularity and the blend are worked out on the device,
with its whole history; nothing of that leaves.

`parts` cuts the pairs: each part is asked of a public random 1/parts of the devices, for 1/parts of the bytes.

An exact sum tells by itself: the row of an item with one owner is that owner's list. `least` keeps such items
out; that does not protect the owners of an item with which another one always occurs. Noise is the real answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.algorithms.cooccurrence.item_model import (
    CountingMethod,
    PairModel,
    PairModelSettings,
    evenly,
    pair_weights,
    rarest_rows,
    telling,
)
from murmura.algorithms.cooccurrence.next_items import PHASES, order_phases, order_sums, order_widths, ordered
from murmura.algorithms.cooccurrence.release_differences import (
    COMPLETE,
    Release,
    ReleaseDifference,
    carried_over,
    without,
)
from murmura.algorithms.cooccurrence.suspicious_items import (
    alarm_sentence,
    believed,
    copies,
    leap_sentences,
    leaps,
    shrink_pairs,
)
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.claims import CountsClaim, PairsClaim
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
from murmura.core.errors import DataError, SettingError
from murmura.core.features import ItemFeatures
from murmura.core.kernel import Kernel
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.population import Population
from murmura.core.rng import Rng
from murmura.core.settings import Count, settings
from murmura.core.update import Arrays, SparseRows, Update
from murmura.kernels.item_weights import cut_negative
from murmura.kernels.proofs.field import ELEMENT_BYTES, Elements
from murmura.kernels.proofs.pair_words import RankedItems

MOST_BYTES = 400e6  # of one release that a device may send, or receive: the weights of 10,000 items
SAFE = 5  # below it a release says how many items have fewer owners
COUNTERS, DIRECTIONS = "cut counters", "cut directions"  # of what the server keeps to itself: how many
BREACHES = {
    COUNTERS: "counters were above the count of their rarer item",
    DIRECTIONS: "directions were negative",
}
COPIES = "copied rows"  # places of two items each, of those that take part
RARE = "rare items"  # beside accuracy


@lru_cache(maxsize=4)
def _layout(counts: bytes, least: int) -> RankedItems:
    return RankedItems.of(np.frombuffer(counts, np.int64), least)


def layout(counts: Longs, least: int) -> RankedItems:
    """Where the counters stand, worked out once for equal counts."""
    return _layout(np.ascontiguousarray(counts, np.int64).tobytes(), least)


@settings
class Cooccurrence(PairModelSettings, CountingMethod):  # type: ignore[override]
    """Counts, then pairs; the settings of `PairModelSettings` say what is made of them."""

    name: ClassVar[str] = "cooccurrence"
    releases_pairs: ClassVar[bool] = True

    parts: Count = 1  # pairs are asked in so many parts, each of a public random 1/parts of the devices
    # items of one person in a release at most, evenly spread over what she shares, and rows are believed as far
    # as public numbers go; 0: all items, and all rows as they are
    cap: Annotated[int, Field(ge=0)] = 0

    @property
    def tolerated(self) -> int:
        """Malicious devices that no row rests on: of the fewest owners of an item all but `SAFE` may be."""
        return max(0, self.least - SAFE) if self.cap else 0

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """Counts, then pairs; what a sum of pairs holds is known once the counts are public."""
        return _phases(self, info)

    def pair_phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """The exchanges of pairs; what they hold is known once the counts are."""
        if not self.ease and not self.knn:
            return ()
        asked = Phase(
            "pairs", MessageSpec(), repeat=1, receives=MessageSpec(), part=1 / self.parts, follows="counts"
        )
        made = [replace(asked, name=name) for name in self._pair_phases]
        if info.counts is None:
            return tuple(made)
        ranked = layout(info.counts, self.least)
        for number in range(self.parts) if len(ranked) > 1 else ():
            words, rows = ranked.words_of(number, self.parts), ranked.rows_of(number, self.parts)
            if size := words.stop - words.start:
                table = TableSpec("pairs", "dense", size, 1, "uint64")
                claim = self._pairs_claim(info, ranked, rows if self.parts > 1 else None)
                made[number] = replace(made[number], sends=MessageSpec((table,)), claim=claim)
        return tuple(made)

    def check_size(self, info: FederationInfo) -> None:
        """Refuse too many items: the table of weights is theirs squared, and a device sends every pair."""
        counts, n = info.counts, len(info.listed)
        if counts is None and self.cap and not self.features:
            n = min(n, info.clients * info.people * self.cap // self.least)
        elif counts is not None:
            n = len(self.weighed(counts))
        self.refuse_too_large(n)
        if counts is None or not (self.ease or self.knn):
            return
        up = ELEMENT_BYTES * layout(counts, self.least).pairs.words / self.parts
        down = sum(table.rows * table.value_bytes for table in self._weight_tables(n))
        for what, length in (("send", up), ("receive", down)):
            if length > MOST_BYTES:
                raise SettingError(
                    f"a device must {what} at most {MOST_BYTES / 1e6:.0f} MB in one release, but the pairs of "
                    f"{n} items take {length / 1e6:,.0f}; raise least, {self.least} now, for fewer items, or "
                    "take fed-neighbours, whose bytes follow a history."
                )

    def counts_claim(self, info: FederationInfo) -> CountsClaim:
        """Of each person at most `cap` items."""
        items = len(info.listed)
        return CountsClaim(info.listed, info.people, min(self.cap or items, items))

    def _pairs_claim(
        self, info: FederationInfo, ranked: RankedItems, rows: tuple[int, int] | None
    ) -> PairsClaim:
        places = np.searchsorted(info.listed, ranked.items).astype(np.int64)
        return PairsClaim(self.counts_claim(info), places, ranked.counts, rows)

    @property
    def _pair_phases(self) -> tuple[str, ...]:
        return tuple(f"pairs-{n + 1}" for n in range(self.parts)) if self.parts > 1 else ("pairs",)

    def _part(self, phase: str) -> int:
        return self._pair_phases.index(phase)

    def words_of(self, ranked: RankedItems, phase: str) -> slice:
        """Which words travel in a phase."""
        return ranked.words_of(self._part(phase), self.parts)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The counts, and the weights between the items that take part."""
        n = 0 if info.counts is None else len(self.weighed(info.counts))
        counts = TableSpec("counts", "item", info.items, 1, "uint32")
        order = (TableSpec(name, "item", info.items, width) for name, width in order_widths(self).items())
        return MessageSpec((counts, *self._weight_tables(n), *order))

    def _weight_tables(self, n: int) -> tuple[TableSpec, ...]:
        if n < 2 or not (self.ease or self.knn):
            return ()
        k = min(self.k, n - 1)
        knn = TableSpec("neighbours", "dense", n, k, "uint32"), TableSpec("similarity", "dense", n, k)
        ease = (TableSpec("ease", "dense", n, n),)
        exposed = (TableSpec("exposed", "dense", 1, 1, "uint32"),)
        return (*(ease if self.ease else ()), *(knn if self.knn else ()), *exposed)

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known but the features of the items, where they are used."""
        known = info.counts if info.counts is not None else np.zeros(info.items, np.int64)
        features = info.features if self.features else None
        own: dict[str, NDArray[np.generic]] = {}
        if features is not None:
            own = {"start": features.start, "feature": features.feature}
        zeros = np.zeros((info.items, 1), np.uint32)
        return ServerState({"counts": zeros, **self._no_weights(known), **self._no_order(info.items)}, own)

    def _no_weights(self, counts: Longs) -> dict[str, NDArray[np.generic]]:
        tables = self._weight_tables(len(self.weighed(counts)))
        return {table.name: np.zeros((table.rows, table.width), table.dtype) for table in tables}

    def _no_order(self, items: int) -> dict[str, NDArray[np.generic]]:
        return {name: np.zeros((items, width), np.float32) for name, width in order_widths(self).items()}

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """No item was counted yet: one bit for each of each person."""
        self.check_rows(history.value, history.time)
        return self._nothing_counted(info)

    def _nothing_counted(self, info: FederationInfo) -> ClientState:
        return {"counted": np.zeros(-(-info.people * info.items // 8), np.uint8)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """What she shares is counted; then the pairs of what was counted and is still shared."""
        shared = self.shared(history, rng)
        if context.phase == "counts":
            shared = shared.rows(evenly(shared.owners.astype(np.int64), self.cap))
            counted = np.zeros(8 * len(state["counted"]), np.bool_)
            counted[bit_places(shared, context.info)] = True
            ones = np.ones((len(shared), 1), np.uint32)
            sums = {"counts": SparseRows.of(shared.item, ones)}
            return {"counted": np.packbits(counted)}, Update(sums, own=shared.by_person)
        tables = next(phase for phase in self.phases(context.info) if phase.name == context.phase).sends.tables
        if not tables:
            return state, Update()
        bits = np.unpackbits(state["counted"])
        own = shared.rows(bits[bit_places(shared, context.info)].astype(np.bool_))
        if context.phase in PHASES:
            return state, Update(order_sums(self, context, own))
        return state, Update({"pairs": self._packed(context, own)}, own=own.by_person)

    def _packed(self, context: RoundContext, rows: History) -> SparseRows:
        assert context.info.counts is not None
        ranked = layout(context.info.counts, self.least)
        words: Elements = np.zeros(ranked.pairs.words, np.uint64)
        for own in rows.by_person:
            words += ranked.pairs.pack(ranked.own_ranks(own).astype(np.int64))
        sent = words[self.words_of(ranked, context.phase)]
        return SparseRows(np.arange(len(sent), dtype=np.int32), sent[:, None])

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The counts are made public; with the last pairs the weights are."""
        assert isinstance(received, Total)
        if phase == "counts":
            return self._counted(server, received), {}
        if phase in PHASES:
            owners = self._believed_owners(server) if self.cap else None
            made = ServerState(
                {**server.model, **ordered(self, phase, server, received, owners)}, server.private
            )
        else:
            made = self._paired(phase, server, received)
        if phase == (PHASES if self.order else self._pair_phases)[-1]:
            made = replace(made, private={**made.private, COMPLETE: np.ones(1, np.uint8)})
        return made, {}

    def _paired(self, phase: str, server: ServerState, received: Total) -> ServerState:
        number = self._part(phase)
        counts = server.model["counts"][:, 0].astype(np.int64)
        ranked, private = layout(counts, self.least), dict(server.private)
        if "pairs" in received.update.tables:
            sums: Elements = np.asarray(private.get("pairs", np.zeros(ranked.pairs.words)), np.uint64).copy()
            sums[self.words_of(ranked, phase)] = received.update.tables["pairs"].values[:, 0]
            if cut := ranked.pairs.cut(sums):
                private[COUNTERS] = private.get(COUNTERS, np.zeros(1, np.int64)) + cut
            scale = private.get("scale", np.ones(self.parts)).copy()
            scale[number] = float(private["people"][0]) / received.count
            private |= {"pairs": sums, "scale": scale}
        if number < self.parts - 1:
            return ServerState(server.model, private)
        if self.cap:
            people = int(private["people"][0])
            alike = copies(self._table(counts, private), counts[self.weighed(counts)], people)
            private[COPIES] = np.array(alike, np.int32).reshape(-1, 2)
        made, directions = self._solve(counts, private)
        if directions:
            private[DIRECTIONS] = np.array([directions])
        return ServerState({**server.model, **made}, private)

    def _counted(self, server: ServerState, received: Total) -> ServerState:
        known = self.summed_counts(received, len(server.model["counts"]))
        people = np.array([received.count], np.int64)
        # an earlier release, in the window before, is of other sums: they are kept to be told apart, no more
        features = {name: server.private[name] for name in ("start", "feature") if name in server.private}
        counts = {"counts": known[:, None].astype(np.uint32)}
        model = {**counts, **self._no_weights(known), **self._no_order(len(known))}
        return ServerState(model, {**features, **carried_over(server), "people": people})

    def server_unlearn(self, server: ServerState, gone: Mapping[str, Total]) -> ServerState:
        """Exact: sums without them, and the weights that these give."""
        counts, private = without(self.least, server, gone, self.parts + len(order_widths(self)) > 1)
        model = {"counts": counts[:, None].astype(np.uint32), **self._no_weights(counts)}
        return ServerState({**model, **self._solve(counts, private)[0]}, private)

    def breach(self, server: ServerState) -> str:
        """What was cut of the sum of pairs."""
        cut = {name: int(server.private[name][0]) for name in BREACHES if name in server.private}
        found = [f"{cut[name]} of its {BREACHES[name]}" for name in cut]
        if not found:
            return ""
        return (
            "the sum of pairs must be one that whole lists of items add up to, but "
            f"{' and '.join(found)}: one device broke the rules"
        )

    def release_difference(self, server: ServerState) -> str:
        """People, items and pairs then and now, and what that may tell of one person."""
        before = Release.before(server)
        return "" if before is None else ReleaseDifference(before, Release.of(server), self.least).sentence()

    def alarm(self, server: ServerState) -> str:
        """Counts that leapt against the last release, and rows that look copied."""
        before, counts = Release.before(server), server.model["counts"][:, 0].astype(np.int64)
        found, items = list[str](), self.weighed(counts)
        if before is not None:
            leapt = np.intersect1d(items, leaps(before.counts, counts, before.growth(server.private)))
            found += leap_sentences(leapt, before.counts, counts)
        found += [
            f"items {items[a]} and {items[b]} have the same row and hardly a common owner"
            for a, b in server.private.get(COPIES, ())
        ]
        return alarm_sentence(found, self.cap > 0)

    def _believed(self, counts: Longs, private: Arrays) -> Floats:
        """(items,) which part of each row is believed: all, but of counts that leapt and of copied rows."""
        before = Release.before(ServerState({}, private)) if self.cap else None
        if before is None:
            part = np.ones(len(counts))
        else:
            part = believed(before.counts, counts, before.growth(private))
        for pair in private.get(COPIES, ()):
            items = self.weighed(counts)[pair]
            part[items[counts[items].argmin()]] = 0.0
        return part

    def _believed_owners(self, server: ServerState) -> Floats:
        """(items,) how many owners a row of unproved numbers rests on, less those who may be malicious."""
        counts = server.model["counts"][:, 0].astype(np.int64)
        return np.maximum(counts * self._believed(counts, server.private) - self.tolerated, 0.0)

    def _table(self, counts: Longs, private: Arrays) -> Floats:
        """How often two of the items that take part occur together, by ascending number."""
        items, ranked = self.weighed(counts), layout(counts, self.least)
        G: Floats = np.zeros((len(items), len(items)))
        if "pairs" in private:
            place, scale = np.searchsorted(items, ranked.items).astype(np.int32), np.ones(len(ranked))
            for part in range(self.parts):
                scale[slice(*ranked.rows_of(part, self.parts))] = private["scale"][part]
            ranked.pairs.unpack_into(G, private["pairs"], place, scale)
        return G

    def _solve(self, counts: Longs, private: Arrays) -> tuple[dict[str, NDArray[np.generic]], int]:
        """The weights between the items that take part, by ascending number; and how many directions were cut.

        The pairs that were sent are off the diagonal of a sum of x x', on which nobody's counts are above all
        counts: with these, in the same scale, the table has no negative direction if nobody lied.
        """
        items = self.weighed(counts)
        if len(items) < 2:
            return {}, 0
        G, own, cut = self._table(counts, private), counts[items].astype(np.float64), 0
        if self.ease and self.parts == 1 and "pairs" in private:
            cut = cut_negative(G, own * private["scale"][0])
        features = None
        shrink_pairs(G, self._believed(counts, private)[items])
        if self.features:
            labels = ("",) * (int(private["feature"].max(initial=-1)) + 1)
            features = ItemFeatures(labels, private["start"], private["feature"])
        try:
            return pair_weights(self, G, counts, features), cut
        except SettingError:  # pairs of some people stand for those of all: nobody need have lied
            G = self._table(counts, private)
            cut_negative(G, own + self.reg / 2)
            shrink_pairs(G, self._believed(counts, private)[items])
            return pair_weights(self, G, counts, features), cut

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """Nothing to fit: the weights meet any history, also one without times."""
        return self._nothing_counted(context.info)

    def person_scores(self, context: RoundContext, mine: History) -> Singles:
        """The blend of what her items say of all others, the newest first among them."""
        return PairModel.of(self, context.model).scores(mine.item, mine.time)

    def shown(self, model: Arrays) -> dict[str, float]:
        """How many items with fewer than five owners take part, where any may."""
        if self.least >= SAFE:
            return {}
        counts = model["counts"][:, 0]
        return {RARE: int(((counts >= self.least) & (counts < SAFE)).sum())}

    def exposed(self, server: ServerState, owner: Longs, item: Ints) -> int | None:
        """By the pairs: who knows an item with which another one always occurs knows that one too."""
        if "pairs" not in server.private:
            return None
        counts = server.model["counts"][:, 0].astype(np.int64)
        ranked, tells = layout(counts, self.least), np.zeros(len(counts), np.bool_)
        tells[ranked.items] = telling(ranked.pairs.unpack(server.private["pairs"]), ranked.counts)
        there = np.flatnonzero(counts[item] >= max(1, self.least))
        owner, item = owner[there], item[there]
        return int(tells[item[rarest_rows(owner, item, counts)]].sum())

    def kernel(self) -> Kernel | None:
        """All clients at once; real numbers go through the plain loop."""
        if self.order:
            return None
        from murmura.algorithms.cooccurrence.kernel import CooccurrenceKernel

        return CooccurrenceKernel(self)


def bit_places(rows: History | Population, info: FederationInfo) -> Longs:
    """Where the bit of each row's person and item stands in what a client remembers."""
    person = np.zeros(1, np.int64) if rows.person is None else rows.person.astype(np.int64)
    if (most := 1 + int(person.max(initial=0))) > info.people:
        raise DataError(
            f"a client must hold at most {info.people} people here, but holds {most}; take fewer together."
        )
    places: Longs = person * info.items + rows.item
    return places


@lru_cache(maxsize=4)  # every visit asks, and bounds are as long as the vector
def _phases(method: Cooccurrence, info: FederationInfo) -> tuple[Phase, ...]:
    counts = TableSpec("counts", "item", info.items, 1, "uint32", exact=RowBounds(info.people))
    nothing, claim = MessageSpec(), method.counts_claim(info)
    first = Phase("counts", MessageSpec((counts,)), repeat=1, receives=nothing, claim=claim)
    later = (*method.pair_phases(info), *order_phases(method, info))
    return (first, *later[:-1], replace(later[-1], returns=True))
