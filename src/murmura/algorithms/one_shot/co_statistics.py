"""Item co-statistics that can be summed in secret: the whole of what `fedsplit-svd` approximates. Ours.

Exchange 0 sums ratings and people; mu comes back. Exchange 1 sums, over everyone, x_i x_j, x_i m_j and m_i m_j
of every pair of items, x being a rating less mu and less the person's bias, and m one where there is a rating.
It is large, so it travels in blocks of item rows, one sum per block; nothing comes back in between. The server
reads no single update: a secure sum hides every one.

With x = r - mu - b_u - b_i, S_ij the sum of x_ui x_uj over the people who rated both i and j, and N_ij how many
those are, S_ij / (N_ij + shrink) estimates how two items covary; and who rates i also rating j says how alike
the items are, whatever the ratings. The leading directions of both are the patterns: a person's ratings are
then regressed on them with a ridge, which is the mean of a Gaussian process with these two covariances.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.algorithms.fedsplit.groups import too_large, unable
from murmura.algorithms.one_shot.ridge_rater import RidgeRater, centred
from murmura.algorithms.pattern_rater import MU, mu_of
from murmura.algorithms.preset import GROUPS, Preset
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import (
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import DataError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import Count, Fraction, Positive, settings
from murmura.core.update import Arrays, SparseRows, Update

PAIRS = ("xx", "xm", "mm")
SPREAD = 20.0  # ratings added to an item's number where similarities by who rated are normalised


@settings
class PatternSettings:
    """What the server makes of co-statistics."""

    rating_patterns: Count = 20  # directions of what ratings say
    mask_patterns: Count = 20  # directions of who rated what
    rating_weight: Positive = 0.3  # the standard deviation, in stars, that each kind may explain of a rating
    mask_weight: Positive = 0.7  # the same of who rated what
    shrink: Positive = 300.0  # pairs of ratings that count as no covariance at all
    own: Fraction = 0.3  # the part of an item's variance that is not noise

    @property
    def patterns(self) -> int:
        """How many numbers describe an item."""
        return self.rating_patterns + self.mask_patterns


@settings
class CoStatistics(PatternSettings, RidgeRater):
    """Patterns from summed products of items; no update needs to be read."""

    name: ClassVar[str] = "co-statistics"
    releases_pairs: ClassVar[bool] = True

    block: Count = 64  # rows of items in one upload

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of means, then one sum per block of items."""
        tables = tuple(TableSpec(name, "item", info.items, info.items, self.precision) for name in PAIRS)
        means = MessageSpec(scalars=("ratings", "sum", "people"))
        before = self._blocks(info.items) - 1
        first = Phase("means", means, repeat=1, receives=MessageSpec())
        pairs = Phase("pairs", MessageSpec(tables), repeat=before, receives=MessageSpec((MU,)))
        last = Phase("last pairs", MessageSpec(tables), repeat=1, receives=MessageSpec((MU,)), returns=True)
        return (first, pairs, last) if before else (first, last)

    def _blocks(self, items: int) -> int:
        return -(-items // self.block)

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known; the sums are gathered where nobody else reads them."""
        sums = {name: np.zeros((info.items, info.items), self.precision) for name in PAIRS}
        return ServerState(super().server_init(info, rng).model, {**sums, "people": np.zeros(1)})

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Means; then the products of the block's items with all items, of the shared ratings alone."""
        own = history.rows(history.open_rows(rng))
        if context.phase == "means":
            people = float(len(np.unique(own.owners)))
            totals = {"ratings": float(len(own)), "sum": float(own.value.sum()), "people": people}
            return state, Update(scalars=totals)
        first = self.block * ((context.round - 1) % self._blocks(context.info.items))
        return state, Update(self._products(context, own, first))

    def _products(self, context: RoundContext, own: History, first: int) -> dict[str, SparseRows]:
        """Rows first, first + 1, ... of the three sums."""
        items, column = np.unique(own.item, return_inverse=True)
        _, person = np.unique(own.owners, return_inverse=True)
        x, m = (np.zeros((person.max(initial=-1) + 1, len(items))) for _ in range(2))
        x[person, column] = centred(own, person, mu_of(context.model), self.shrink_bias)
        m[person, column] = 1.0
        here = np.flatnonzero((items >= first) & (items < first + self.block))
        made = {}
        for name, left, right in (("xx", x, x), ("xm", x, m), ("mm", m, m)):
            rows = np.zeros((len(here), context.info.items), self.precision)
            rows[:, items] = left[:, here].T @ right
            made[name] = SparseRows(items[here].astype(np.int32), rows)
        return made

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The mean of all ratings; then the sums, block by block, and after the last the patterns."""
        assert isinstance(received, Total)
        if phase == "means":
            sums = received.update.scalars
            mu = np.array([sums["sum"] / max(1.0, sums["ratings"])])
            people = np.array([sums["people"]])
            return ServerState({**server.model, "mu": mu}, {**server.private, "people": people}), {}
        private = dict(server.private)
        for name in PAIRS:
            rows, private[name] = received.update.tables[name], server.private[name].copy()
            private[name][rows.index] = rows.values
        if phase == "pairs":
            return ServerState(server.model, private), {}
        return ServerState({**server.model, **self._model(private)}, private), {}

    def _model(self, sums: Arrays) -> Arrays:
        """Biases and patterns: the products of x - b_i m follow from those of x and m."""
        xx, xm, N = (sums[name].astype(np.float64) for name in PAIRS)
        b = np.diag(xm) / (np.diag(N) + self.shrink_bias)
        crossed = xm * b[None, :]
        S = xx - crossed - crossed.T + N * np.outer(b, b)
        patterns = item_patterns(S, N, int(sums["people"][0]), self)
        return {"b": b.astype(self.precision), "patterns": patterns.astype(self.precision)}


def item_patterns(S: Floats, N: Floats, people: int, chosen: PatternSettings) -> Floats:
    """The patterns of every item, (items, patterns), centred over ratings: they do not double a user bias."""
    counts = np.diag(N).copy()
    with threadpool_limits(1, "blas"):
        covariance = S / (np.maximum(N, 0.0) + chosen.shrink)
        np.fill_diagonal(covariance, chosen.own * np.diag(covariance))
        size = np.sqrt(counts + SPREAD)
        together = (N - np.outer(counts, counts) / max(people, 1)) / np.outer(size, size)
        parts = (
            chosen.rating_weight * _unit(_leading(covariance, chosen.rating_patterns), counts),
            chosen.mask_weight * _unit(_leading(together, chosen.mask_patterns), counts),
        )
    found = np.hstack(parts)
    centred: Floats = found - (counts / max(counts.sum(), 1.0)) @ found
    return centred


def _leading(matrix: Floats, k: int) -> Floats:
    """The k leading eigenvectors, as long as the roots of their eigenvalues; zero beyond the positive ones."""
    from scipy.linalg import eigh

    n = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(max(0, n - k), n - 1))
    found = np.zeros((n, k))
    found[:, : len(values)] = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return found


def _unit(patterns: Floats, counts: Floats) -> Floats:
    """Scaled so that a rating's patterns have length 1 on average."""
    length = np.sqrt(counts @ np.square(patterns).sum(axis=1) / max(counts.sum(), 1.0))
    scaled: Floats = patterns / length if length > 0 else patterns
    return scaled


@settings
class FedSplitSvd(PatternSettings, RidgeRater):
    """One exchange of singular vectors between groups. The server reads every update.

    FedSPLIT's exchange with another update: singular vectors of ratings and of who rated what. Ours.

    Exchange 0 is the paper's: the groups' means in, their mean mu out. In exchange 1 a group takes the leading
    k singular vectors of [X, c M] side by side, X its ratings less mu and less each person's bias, M who rated
    what, and sends their item parts V s with every item's sum of X and number of ratings: 2 k + 2 numbers per
    item. Products of these parts add up over groups to approximate co-statistics of all people, X' X, M' M and
    X' M, exactly so when k is the size of the group. `co_statistics` says what becomes of them.
    """

    name: ClassVar[str] = "fedsplit-svd"

    factors: Count = 6  # k: singular vectors of a group
    mask_scale: Positive = 1.0  # c: how much who rated what counts beside the ratings

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of means, then updates."""
        items = TableSpec("items", "item", info.items, 2 * self.factors + 2, self.precision)
        means = MessageSpec(scalars=("mean", "groups", "people"))
        return (
            Phase("means", means, repeat=1, receives=MessageSpec()),
            Phase("factors", MessageSpec((items,)), "each", 1, receives=MessageSpec((MU,)), returns=True),
        )

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        return ServerState(super().server_init(info, rng).model, {"people": np.zeros(1)})

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """The mean rating of a group; then its update. Nothing is made from a rating that is not shared."""
        rows = history.rows(history.open_rows(rng))
        why = unable(rows)
        if context.phase == "means":
            mean = 0.0 if why else float(rows.value.mean())
            people = 0.0 if why else float(len(rows.people))
            return state, Update(scalars={"mean": mean, "groups": float(mean > 0), "people": people})
        if why:
            raise DataError(why)
        items, numbers = self._sent_rows(rows, mu_of(context.model))
        return state, Update({"items": SparseRows(items, numbers.astype(self.precision))})

    def _sent_rows(self, history: History, mu: float) -> tuple[Ints, Floats]:
        """Which items, and per item k numbers of the ratings, k of the mask, the sum of X, the ratings."""
        items, column = np.unique(history.item, return_inverse=True)
        _, person = np.unique(history.owners, return_inverse=True)
        x = centred(history, person, mu, self.shrink_bias)
        J = np.zeros((person.max() + 1, 2, len(items)))
        J[person, 0, column], J[person, 1, column] = x, self.mask_scale
        flat = J.reshape(len(J), -1)
        with threadpool_limits(1, "blas"):
            _, U = np.linalg.eigh(flat @ flat.T)
            parts = (flat.T @ U[:, ::-1][:, : self.factors]).reshape(2, len(items), -1)
        wide = ((0, 0), (0, self.factors - parts.shape[2]))
        ratings, mask = np.pad(parts[0], wide), np.pad(parts[1], wide) / self.mask_scale
        sums = (np.bincount(column, x), np.bincount(column).astype(np.float64))
        return items.astype(np.int32), np.column_stack([ratings, mask, *sums])

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Updates without an item, or with an item without a rating."""
        values = update.tables["items"].values
        if not len(values):
            return "a group must send at least one item it has rated, but sent none."
        if values[:, -1].min() < 1:
            return f"an item must be sent with at least 1 rating, but one has {values[:, -1].min():g}."
        return too_large(values)

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The mean of means; then co-statistics from all updates, and the patterns from those."""
        if phase == "means":
            assert isinstance(received, Total)
            sums = received.update.scalars
            mu = np.array([sums["mean"] / max(1.0, sums["groups"])])
            return ServerState({**server.model, "mu": mu}, {"people": np.array([sums["people"]])}), {}
        assert isinstance(received, IndividualUpdates)
        sent = [received.updates[client].tables["items"] for client in sorted(received.updates)]
        b, S, N = self._co_statistics(sent, len(server.model["b"]))
        patterns = item_patterns(S, N, int(server.private["people"][0]), self)
        model = {"patterns": patterns.astype(self.precision), "b": b.astype(self.precision)}
        return ServerState({**server.model, **model}, server.private), {}

    def _co_statistics(self, sent: list[SparseRows], items: int) -> tuple[Floats, Floats, Floats]:
        """The bias of every item, and S and N of all pairs, as far as the updates tell."""
        k = self.factors
        sums, counts = np.zeros(items), np.zeros(items)
        for rows in sent:
            sums[rows.index] += rows.values[:, 2 * k]
            counts[rows.index] += rows.values[:, 2 * k + 1]
        b = sums / (counts + self.shrink_bias)
        ratings, mask = (np.zeros((items, k * len(sent))) for _ in range(2))
        for n, rows in enumerate(sent):
            here = slice(n * k, (n + 1) * k)
            mask[rows.index, here] = rows.values[:, k : 2 * k]
            ratings[rows.index, here] = rows.values[:, :k] - b[rows.index, None] * mask[rows.index, here]
        with threadpool_limits(1, "blas"):
            S, N = ratings @ ratings.T, mask @ mask.T
        np.fill_diagonal(N, counts)
        return b, S, N


FEDSPLIT_SVD = Preset(
    "fedsplit-svd",
    FedSplitSvd,
    "Ours: singular vectors of ratings and of who rated what in place of non-negative factors.",
    parts=GROUPS,
)
CO_STATISTICS = Preset(
    "co-statistics",
    CoStatistics,
    "Ours: summed products of item pairs; the groups only say over whom errors are averaged.",
    parts=GROUPS,
    fixed=Schedule(clients="all", rounds_per_epoch=16, epochs=1),  # the sums are large: saved every 16 blocks
)
