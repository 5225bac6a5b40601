"""What people have together, released once with noise. Ours.

Exchange 1, `counts`: every device adds 1 / sqrt(n) for each of its n items, a vector of length 1 or, by
rounding and among devices of several people, less. The items of the largest noisy counts are the core.
Exchange 2, `pairs`: x x' / n over the core, again of length 1 at most. Noise is measured by that length, so
that one release bounds what both sums reveal of a person with all she has. A tenth of what may be revealed
goes to the counts.

The server cuts entries that honest people do not make, keeps the strongest directions and solves EASE with them
(Steck: Embarrassingly shallow autoencoders for sparse data, WWW 2019); all of that is done to what is public
anyway. With G = V diag(w) V' + rest and s = w / (w + reg), P = (G + reg I)^-1 is (I - V diag(s) V') / reg
without the rest, so that with A = V diag(sqrt s) the weight from i to j is A_i . A_j / (1 - |A_j|^2): one row
of A for each item is all a device needs. Without directions only the counts are asked for: the most popular
items, for federations too small for anything else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from threadpoolctl import threadpool_limits

from murmura.algorithms.cooccurrence.item_model import CountingMethod, WeightBlend
from murmura.algorithms.cooccurrence.release_differences import COMPLETE, EARLIER
from murmura.algorithms.cooccurrence.suspicious_items import (
    alarm_sentence,
    believed,
    leap_sentences,
    shrink_pairs,
)
from murmura.baselines.information import recency
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.channel import NoiseForecast
from murmura.core.claims import WeightedCountsClaim, WeightedPairsClaim
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
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.settings import Count, Positive, settings
from murmura.core.update import SparseRows, Update

if TYPE_CHECKING:
    from collections.abc import Mapping

    from murmura.core.kernel import Kernel

SCALE = 10.0  # public counts are whole: people of 100 items each would be counted as they are
COUNTS_BUDGET = 0.1
FEWEST, CLIENTS_PER_ITEM = 200, 4  # of the core
MOST_TOGETHER = 0.5  # of sqrt(G_ii G_jj): beyond, an entry is cut. Few people who lie together stand out there
NOISE = 3.0  # deviations of an entry: what noise alone makes is left, as cutting it would cut what is true too
SHRINK = 0.5  # of the noise edge: what noise adds to a direction, more or less, is taken off
ENOUGH = 0.75  # of the noise edge: where the strongest direction promises less, noise drowns it
MORE = 1.15  # times the noise among more people, as delta is smaller among them
FEW = 8  # times less than the mean: people with fewer items weigh no more in pairs
SUMMED, BELIEVED = (
    "summed",
    "believed",
)  # of what the server keeps: counts as summed, and which part is believed
EFFECTIVE = 0.1  # of all items, 1 / sum of q^2 before counts are known: data sets have .13 to .35


@settings
class PrivateCooccurrence(CountingMethod):
    """Normalised sums that bear noise.

    Pairs are of the items with the largest counts: a quarter as many as there are people, as the more items the
    more noise, at least 200 and at most `core_items`.
    """

    name: ClassVar[str] = "private-cooccurrence"
    bears_noise: ClassVar[bool] = True

    core_items: Count = 1000  # pairs are of the most frequent items, at most so many
    # directions kept of the pairs; 0: no pairs, the most popular items
    eigenvectors: Annotated[int, Field(ge=0)] = 64
    people_per_reg: Positive = 60.0  # the ridge of EASE is the number of people over this

    def core_size(self, info: FederationInfo) -> int:
        """How many items take part in pairs."""
        most = max(FEWEST, info.clients // CLIENTS_PER_ITEM)
        return min(self.core_items, most, len(info.listed)) if self.eigenvectors else 0

    def core(self, info: FederationInfo) -> Ints:
        """Ascending: the items of the largest public counts, of equals those of lower number."""
        counts = np.zeros(info.items, np.int64) if info.counts is None else info.counts
        return largest(counts, info.listed, self.core_size(info))

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """Counts, then pairs of the core."""
        most = float(info.people)  # of one number: each person adds at most 1
        counts = TableSpec("counts", "item", info.items, 1, bound=most)
        alone = Phase(
            "counts",
            MessageSpec((counts,)),
            repeat=1,
            receives=MessageSpec(),
            longest=1.0,
            claim=WeightedCountsClaim(info.listed, info.people),
            returns=True,
        )
        if not self.eigenvectors:
            return (alone,)
        pairs = TableSpec("pairs", "dense", triangle(self.core_size(info)), 1, bound=most)
        few = max(1, info.interactions // (FEW * info.clients * info.people))
        second = replace(
            alone,
            name="pairs",
            sends=MessageSpec((pairs,)),
            follows="counts",
            budget=1 - COUNTS_BUDGET,
            claim=WeightedPairsClaim(self.core(info), info.people, few),
        )
        return replace(alone, budget=COUNTS_BUDGET, returns=False), second

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The counts, and a vector for each item of the core."""
        counts = TableSpec("counts", "item", info.items, 1, "uint32")
        factors = TableSpec("factors", "dense", self.core_size(info), self.eigenvectors)
        return MessageSpec((counts, factors) if self.eigenvectors else (counts,))

    def summed_counts(self, received: Total, items: int) -> Longs:
        """Whole numbers in proportion to the noisy counts, none below 0."""
        table = received.update.tables["counts"]
        counts = np.zeros(items, np.int64)
        counts[table.index] = np.rint(SCALE * np.maximum(table.values[:, 0].astype(np.float64), 0.0))
        return counts

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        counts: NDArray[np.generic] = np.zeros((info.items, 1), np.uint32)
        own = {"listed": info.listed}
        if not self.eigenvectors:
            return ServerState({"counts": counts}, own)
        return ServerState({"counts": counts, "factors": self._no_factors(self.core_size(info))}, own)

    def _no_factors(self, n: int) -> Singles:
        return np.zeros((n, self.eigenvectors), np.float32)

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """Nothing is kept."""
        self.check_rows(history.value, history.time)
        return {}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """1 / sqrt(n) for each item she shares; or x x' / n over those of them that are in the core."""
        shared = self.shared(history, rng)
        each = shared.by_person
        if context.phase == "counts":
            made = (SparseRows(own, np.full((len(own), 1), len(own) ** -0.5, np.float32)) for own in each)
            return state, Update({"counts": sum(made, SparseRows.empty(1))}, own=each)
        core = self.core(context.info)
        total = np.zeros((triangle(len(core)), 1), np.float32)
        for own in each:
            ranks = np.searchsorted(core, own[np.isin(own, core)]).astype(np.int32)
            total[pair_places(ranks, len(core)), 0] += pair_values(len(ranks))
        rows = np.arange(len(total), dtype=np.int32)
        return state, Update({"pairs": SparseRows(rows, total)}, own=each)

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The counts are made public; with the pairs the vectors of the core are."""
        assert isinstance(received, Total)
        kept = server.private
        if phase == "counts":
            summed = self.summed_counts(received, len(server.model["counts"]))
            kept = self._compared(server, summed, received)
            if self.eigenvectors:
                none = {"factors": self._no_factors(len(server.model["factors"]))}
                return ServerState({"counts": summed[:, None].astype(np.uint32), **none}, kept), {}
            counts = np.rint(summed * kept[BELIEVED])[:, None].astype(np.uint32)
            return ServerState({"counts": counts}, {**kept, COMPLETE: np.ones(1, np.uint8)}), {}
        n, upper = len(server.model["factors"]), received.update.tables["pairs"].values[:, 0]
        G = cut_entries(symmetric(upper.astype(np.float64), n), received.noise)
        if BELIEVED in kept:  # not where an earlier version has summed the counts
            shrink_pairs(G, kept[BELIEVED][largest(kept[SUMMED], kept["listed"], n)])
        A = item_factors(G, self.eigenvectors, received.count / self.people_per_reg, received.noise)
        return ServerState({**server.model, "factors": A}, {**kept, COMPLETE: np.ones(1, np.uint8)}), {}

    def _compared(self, server: ServerState, summed: Longs, received: Total) -> dict[str, NDArray[Any]]:
        """What the server keeps of a release: its counts, those before, and which part of them is believed."""
        kept, part = server.private, np.ones(len(summed))
        last = {name: values for name, values in kept.items() if name.startswith(EARLIER)}
        if COMPLETE in kept:
            last = {EARLIER + name: kept[name] for name in ("people", SUMMED) if SUMMED in kept}
        if last:
            growth = received.count / float(last[EARLIER + "people"][0])
            part = believed(last[EARLIER + SUMMED] / SCALE, summed / SCALE, growth, received.noise)
        people = np.array([received.count], np.int64)
        listed = kept.get("listed", np.arange(len(summed), dtype=np.int32))
        return {**last, "listed": listed, "people": people, SUMMED: summed, BELIEVED: part}

    def alarm(self, server: ServerState) -> str:
        """Counts that leapt against the last release."""
        kept = server.private
        leapt = np.flatnonzero(kept.get(BELIEVED, np.ones(0)) < 1).astype(np.int32)
        before, now = (kept.get(name, np.zeros(0)) / SCALE for name in (EARLIER + SUMMED, SUMMED))
        return alarm_sentence(leap_sentences(leapt, before, now))

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """Nothing to fit: the model meets any history, also one without times."""
        return {}

    def person_scores(self, context: RoundContext, mine: History) -> Singles:
        """What her items of the core say of all of it; other items follow by count."""
        counts = context.model["counts"][:, 0].astype(np.int64)
        if not self.eigenvectors or context.info.counts is None:
            return counts.astype(np.float32)
        core, time = self.core(context.info), mine.time
        gone = np.zeros(len(mine), np.int64) if time is None else time
        weight = recency(gone, self.recency) if self.recency else np.ones(len(mine))
        known = np.isin(mine.item, core)
        ranks = np.searchsorted(core, mine.item[known]).astype(np.int32)
        scores = low_rank_scores(np.asarray(context.model["factors"], np.float32), ranks, weight[known])
        return WeightBlend(core, counts, (), self.discount).scores(mine.item, weight, [(1.0, scores)])

    def server_unlearn(self, server: ServerState, gone: Mapping[str, Total]) -> ServerState:
        """Nobody is subtracted from what has noise in it: it never told more of her than epsilon allows."""
        raise SettingError(
            "people can be taken out of exact sums, but those of this release are rounded, or noisy; epsilon "
            "bounds what noisy ones tell of anybody, and the next release is made without who has left."
        )

    def expected_counts(self, data: Interactions) -> Longs:
        """The public counts there would be without noise."""
        held = np.maximum(np.bincount(data.user, minlength=data.n_users), 1)
        counts = np.bincount(data.item, held[data.user] ** -0.5, minlength=data.n_items)
        whole: Longs = np.rint(SCALE * counts).astype(np.int64)
        return whole

    def noise_outlook(
        self, info: FederationInfo, sigmas: Mapping[str, float], noisy: bool
    ) -> NoiseForecast | None:
        """The strongest direction that public counts promise, beside the largest that noise alone has.

        With c the sum of x / sqrt(n) over N people, the strongest direction of their pairs has at least
        |c|^2 / N (Cauchy and Schwarz); what noise adds to |c|^2 is taken off. A symmetric table of noise, sigma
        on the diagonal and sigma / sqrt 2 off it, has directions up to the edge sigma sqrt(2 K). Before there
        are counts the rows that people may have are spread over few items, which promises too much.
        """
        if "pairs" not in sigmas:
            return None
        if info.counts is None:
            few = max(1.0, EFFECTIVE * len(info.listed))
            signal = min(1.0, info.interactions / info.clients / few) * info.clients
        else:
            squares = float(((info.counts[info.listed] / SCALE) ** 2).sum())
            added = len(info.listed) * sigmas["counts"] ** 2 if noisy else 0.0
            signal = max(0.0, squares - added) / info.clients
        noise = ENOUGH * noise_edge(sigmas["pairs"], self.core_size(info))
        return NoiseForecast("the strongest common direction", signal, noise, self._enough(info, signal, noise))

    def _enough(self, info: FederationInfo, signal: float, noise: float) -> int | None:
        """How many people like these noise would not drown: it grows with the root of the core alone."""
        if not signal:
            return None
        each, edge = signal / info.clients, MORE * noise / self.core_size(info) ** 0.5
        people = info.clients
        while each * people < edge * self.core_size(replace(info, clients=people)) ** 0.5:
            people = people * 11 // 10 + 1
        step: int = 10 ** max(0, len(str(people)) - 2)
        return -(-people // step) * step

    def kernel(self) -> Kernel:
        """All clients at once."""
        from murmura.algorithms.cooccurrence.kernel import PrivateCooccurrenceKernel

        return PrivateCooccurrenceKernel(self)


def largest(counts: Longs, listed: Ints, n: int) -> Ints:
    """Ascending: the n listed items of the largest counts, of equals those of lower number."""
    order = np.argsort(-counts[listed], kind="stable")[:n]
    return np.sort(listed[order])


def triangle(n: int) -> int:
    """How many pairs a <= b of n there are."""
    return n * (n + 1) // 2


def pair_places(ranks: Ints, n: int) -> Longs:
    """Where the pairs a <= b of ascending ranks stand in the upper triangle, row by row: ascending."""
    a, b = np.triu_indices(len(ranks))
    first, second = ranks[a].astype(np.int64), ranks[b].astype(np.int64)
    return first * n - first * (first - 1) // 2 + second - first


def pair_values(n: int) -> Singles:
    """x x' / n of someone with n items, in that order: sqrt 2 off the diagonal, of length 1 in all."""
    a, b = np.triu_indices(n)
    values: Singles = (np.where(a == b, 1.0, np.sqrt(2.0)) / max(n, 1)).astype(np.float32)
    return values


def symmetric(upper: Floats, n: int) -> Floats:
    """(n, n) the table whose upper triangle was summed up."""
    G = np.zeros((n, n))
    G[np.triu_indices(n)] = upper
    G[np.triu_indices(n, 1)] /= np.sqrt(2.0)
    return G + np.triu(G, 1).T


def noise_edge(sigma: float, n: int) -> float:
    """The strongest direction of noise alone, sigma on the diagonal of (n, n) and sigma / sqrt 2 off it."""
    return float(sigma * np.sqrt(2.0 * n))


def cut_entries(G: Floats, sigma: float) -> Floats:
    """Entries off the diagonal no larger than honest people make them, or noise of sigma on the diagonal."""
    own = np.sqrt(np.maximum(G.diagonal(), 0.0))
    most = np.maximum(MOST_TOGETHER * np.outer(own, own), NOISE * sigma / np.sqrt(2.0))
    cut = np.clip(G, -most, most)
    np.fill_diagonal(cut, G.diagonal())
    return cut


def item_factors(G: Floats, rank: int, reg: float, sigma: float) -> Singles:
    """A: (n, rank), from the strongest directions, less what noise adds to them; zeros fill it up."""
    from scipy.linalg import eigh

    n, A = len(G), np.zeros((len(G), rank))
    few = min(rank, n)
    with threadpool_limits(1, "blas"):
        w, V = eigh(G, subset_by_index=(n - few, n - 1))
    w = np.maximum(w - SHRINK * noise_edge(sigma, n), 0.0)
    share = w / (w + reg)
    A[:, :few] = (V * np.sqrt(share))[:, ::-1]
    factors: Singles = A.astype(np.float32)
    return factors


def low_rank_scores(A: Singles, own: Ints, weight: Floats) -> Singles:
    """(n,) the scores of all items for someone with these, each of this weight; her own say nothing here."""
    taste = weight.astype(np.float32) @ A[own]
    scores: Singles = (A @ taste) / (1 - np.einsum("nf,nf->n", A, A))
    return scores
