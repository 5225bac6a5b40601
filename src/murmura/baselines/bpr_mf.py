"""Rendle, Freudenthaler, Gantner and Schmidt-Thieme: BPR, Bayesian personalized ranking (UAI 2009).

Matrix factorisation, score(u, i) = p_u . q_i + b_i. Regularisation and first values are those of FPL (SAC 2021)
and FedeRank (ECIR 2021), whose centralised twin this is: the decay stands inside the bracket that alpha
multiplies, reg = alpha / 20 for p_u and q_i, a tenth of it for q_j, none for b; all start as N(0, 0.1^2).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from murmura.baselines.base import EpochBaseline, Pairs
from murmura.baselines.shared_models import FactorModel, normal_tables
from murmura.core.arrays import Ints, Longs, Singles
from murmura.core.consent import NonDisclosurePolicy, undisclosed_rows
from murmura.core.errors import DivergenceError
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Words, client_secrets, guest_secret, server_secret
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.kernels.factorisation.sgd import BprRates, train_triples, train_user_triples
from murmura.kernels.factorisation.triple_sampling import UserItems, draw_grouped, draw_others, draw_places
from murmura.kernels.philox import permute

FOLD_IN_PASSES = 10
INIT_STD = 0.1
Order = Literal["user-grouped", "uniform", "user-uniform"]
Triples = tuple[Ints, Ints, Ints]  # who, her own item, another item

CHUNK = 1 << 18  # triples drawn before they are trained on
_WHO, _ROW, _OTHER = 0, 1, 2  # the streams of a chunk of independent triples


@dataclass(frozen=True, eq=False)
class BprModel(FactorModel):
    """Vectors learned from pairs."""

    def fold_in(self, own: Ints) -> Singles:
        """Ten passes of the steps of training, the items held still; the draws are always the same."""
        p = self.first_vector(own)
        owned = UserItems.newcomer(own, np.flatnonzero(self.candidates))
        users = np.flatnonzero(owned.can_compare(self.train.n_items))
        for done in range(FOLD_IN_PASSES if len(users) else 0):
            secrets = guest_secret(0)[None, :]
            for _, pos, neg in grouped(owned, self.train.n_items, secrets, done, users, Purpose.FOLD_IN):
                train_user_triples(pos, neg, p, self.Q, self.b, self.method.rates())
        return p

    def first_vector(self, own: Ints) -> Singles:
        """Where the passes for someone new begin: at 0."""
        return np.zeros(self.Q.shape[1], np.float32)


class PairwiseBaseline(EpochBaseline[BprModel]):
    """What is learned from triples by BPR; the settings are stated by each method, after its own."""

    model: ClassVar[type[BprModel]]
    alpha: float
    reg: float | None
    order: Order

    @abstractmethod
    def first_tables(self, train: Interactions, seed: int) -> tuple[Singles, Singles, Singles]:
        """P (users, factors), Q (items, factors) and b (items,) before the first step."""

    def shared(self, train: Interactions, seed: int) -> Interactions:
        """The rows that are learned from; all of them by default. Lists never hold what is in `train`."""
        return train

    def training(self, train: Interactions, seed: int) -> Iterator[BprModel]:
        """Stochastic gradient steps, one triple after the other."""
        owned, rates = UserItems.of(self.shared(train, seed)), self.rates()
        P, Q, b = self.first_tables(train, seed)
        able = np.flatnonzero(owned.can_compare(train.n_items))
        for epoch in range(1, self.epochs + 1):
            for who, pos, neg in self._draw(owned, train.n_items, seed, epoch, able):
                train_triples(who, pos, neg, P, Q, b, rates)
            self._refuse_divergence(epoch, P, Q, b)
            yield self.model(train, P, Q, b, self)

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> Pairs:
        """The other items of an epoch's triples."""
        drawn = list(self.triples(train, seed, epoch))
        return np.concatenate([who for who, _, _ in drawn]), np.concatenate([neg for _, _, neg in drawn])

    def triples(self, train: Interactions, seed: int, epoch: int) -> Iterator[Triples]:
        """What `fit` learns from in an epoch, in its order."""
        owned = UserItems.of(self.shared(train, seed))
        able = np.flatnonzero(owned.can_compare(train.n_items))
        return self._draw(owned, train.n_items, seed, epoch, able)

    def rates(self) -> BprRates:
        """The learning rate and the decays."""
        return BprRates.of(np.float32, self.alpha, self.alpha / 20 if self.reg is None else self.reg)

    def _refuse_divergence(self, epoch: int, *tables: Singles) -> None:
        if not all(np.isfinite(table).all() for table in tables):
            raise DivergenceError(
                f"{self.name}.alpha must be small enough for training to stay finite, but with {self.alpha:g} "
                f"it diverged in epoch {epoch}; lower it, or raise {self.name}.reg."
            )

    def _draw(self, owned: UserItems, n_items: int, seed: int, epoch: int, able: Longs) -> Iterator[Triples]:
        """The triples of one epoch, in the stated order."""
        server = server_secret(seed)
        if self.order != "user-grouped":
            return independent(owned, server, epoch, able, by_user=self.order == "user-uniform")
        users = able.copy()
        permute(users, server, np.uint64(epoch), np.uint64(Purpose.SELECT), np.uint64(0))
        return grouped(owned, n_items, client_secrets(seed, len(owned.start) - 1), epoch, users)


@settings
class BprMf(PairwiseBaseline):
    """Matrix factorisation that ranks an own item above another one; as many triples an epoch as training rows.

    `order` says which triples follow each other. user-grouped: the users in a random order, each with as many
    triples as she has rows; the fastest. uniform: every triple starts from a row drawn among all, as in the
    paper. user-uniform: from a user drawn among all, as in MyMediaLite and FPL. The other item is drawn among
    the training items the user does not have.
    """

    name = "bpr-mf"
    model = BprModel

    factors: Count = 20  # length of the vectors
    alpha: Positive = 0.05  # learning rate
    reg: NonNegative | None = None  # None: alpha / 20
    epochs: Count = 20  # each has as many triples as training rows
    order: Order = "user-grouped"  # which triples follow each other
    pi: Annotated[float, Field(gt=0, le=1)] = 1.0  # the fraction of everybody's rows that is learned from
    hides: NonDisclosurePolicy = "random"  # what is left out: `core.consent`

    def shared(self, train: Interactions, seed: int) -> Interactions:
        """Without what people keep back, which is unknown here: it may be drawn as the other item."""
        if self.pi == 1.0:
            return train
        pi, secrets = np.full(train.n_users, self.pi), client_secrets(seed, train.n_users)
        hidden = undisclosed_rows(self.hides, train, pi, secrets)
        return train.rows(np.sort(train.by_user.order[~hidden]))

    def first_tables(self, train: Interactions, seed: int) -> tuple[Singles, Singles, Singles]:
        """Independent normals."""
        shapes = (train.n_items, self.factors), (train.n_items,), (train.n_users, self.factors)
        Q, b, P = normal_tables(seed, INIT_STD, *shapes)
        return P, Q, b


def grouped(
    owned: UserItems, n_items: int, secrets: Words, epoch: int, users: Longs, purpose: Purpose = Purpose.TRIPLES
) -> Iterator[Triples]:
    """User after user, each with as many triples as rows, drawn from the stream of her own secret."""
    ends = np.cumsum(owned.start[users + 1] - owned.start[users])
    chunk_of = (ends - 1) // CHUNK
    own, words = np.zeros(n_items, np.bool_), np.empty(1 << 13, np.uint32)
    for chunk in np.split(users, np.flatnonzero(np.diff(chunk_of)) + 1):
        size = int((owned.start[chunk + 1] - owned.start[chunk]).sum())
        who, pos, neg = (np.empty(size, np.int32) for _ in range(3))
        draw_grouped(chunk, owned, secrets, np.uint64(epoch), np.uint64(purpose), own, words, who, pos, neg)
        yield who, pos, neg


def independent(owned: UserItems, server: Words, epoch: int, users: Longs, by_user: bool) -> Iterator[Triples]:
    """Triples that know nothing of each other: from a row drawn among all, or `by_user` from a user drawn."""
    counts = np.diff(owned.start)
    user_of = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    rows = np.flatnonzero(np.isin(user_of, users))
    words = np.empty(1 << 10, np.uint32)
    for chunk, first in enumerate(range(0, len(rows), CHUNK)):
        size = min(CHUNK, len(rows) - first)

        def draw(bounds: Longs, stream: int, chunk: int = chunk) -> Longs:
            out = np.empty(len(bounds), np.int64)
            draw_places(bounds, server, np.uint64(epoch), _purpose(chunk, stream), words, out)
            return out

        if by_user:
            drawn = users[draw(np.full(size, len(users)), _WHO)]
            row = owned.start[drawn] + draw(counts[drawn], _ROW)
        else:
            row = rows[draw(np.full(size, len(rows)), _ROW)]
        who, neg = user_of[row], np.empty(size, np.int32)
        draw_others(owned, server, np.uint64(epoch), _purpose(chunk, _OTHER), words, who, neg)
        yield who, owned.item[row], neg


def _purpose(chunk: int, stream: int) -> np.uint64:
    return np.uint64(Purpose.OWN + 3 * chunk + stream)
