"""Rendle, Krichene, Zhang and Anderson: Neural collaborative filtering vs. matrix factorization (RecSys 2020).

Logistic loss with sampled negatives; score(u, i) = mu + c_u + b_i + p_u . q_i is the logit of "u has i". By
default we depart from the paper in one point: a sampled negative is never one of the user's own training items.
With `negatives_from=all` it may be, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from murmura.baselines.base import EpochBaseline, Pairs
from murmura.baselines.shared_models import FactorModel, normal_tables
from murmura.core.arrays import Ints, Longs, Singles
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Words, guest_secret, server_secret
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.kernels.factorisation.triple_sampling import UserItems, draw_others
from murmura.kernels.philox import permute
from murmura.lab.rivals.loops import train_pairs, train_user_pairs

FOLD_IN_PASSES = 10
INIT_STD = 0.1


@dataclass(frozen=True, eq=False)
class MfModel(FactorModel):
    """Vectors and biases of a logistic model."""

    c: Singles  # (users,)
    mu: Singles  # (1,)
    learned: ClassVar[tuple[str, ...]] = (*FactorModel.learned, "c", "mu")

    def score(self, users: Ints) -> Singles:
        """The logit of every pair."""
        scores = super().score(users)
        scores += (self.c[users] + self.mu)[:, None]
        return scores

    def fold_in(self, own: Ints) -> Singles:
        """From 0, ten passes of the steps of training, the items held still; the draws are always the same."""
        p, c = np.zeros(self.Q.shape[1], np.float32), np.zeros(1, np.float32)
        owned = UserItems.newcomer(own, np.flatnonzero(self.candidates))
        able, drawn_from = owned.can_compare(self.train.n_items)[0], self.method.drawn_from(owned)
        alpha, reg = np.float32(self.method.alpha), np.float32(self.method.reg)
        for done in range(FOLD_IN_PASSES if able else 0):
            rows = np.arange(len(own))
            permute(rows, guest_secret(0), np.uint64(done), np.uint64(Purpose.SELECT), np.uint64(0))
            who = np.zeros(len(own), np.int32)
            neg = _negatives(drawn_from, guest_secret(0), done, who, self.method.negatives)
            train_user_pairs(own[rows], neg, p, self.Q, c, self.b, self.mu[0], alpha, reg)
        return p


@settings
class Mf(EpochBaseline[MfModel]):
    """Logistic matrix factorisation: each row once an epoch, in a new order, with sampled negatives."""

    name = "mf"
    model = MfModel

    factors: Count = 20  # length of the vectors
    alpha: Positive = 0.01  # learning rate
    reg: NonNegative = 0.005  # decay of vectors and biases
    negatives: Count = 4  # items sampled per training row
    negatives_from: Literal["unmet", "all"] = "unmet"  # the items a user does not have, or any, as in the paper
    epochs: Count = 20  # every training row once, in a new order

    def training(self, train: Interactions, seed: int) -> Iterator[MfModel]:
        """Stochastic gradient steps, one labelled pair after the other."""
        owned, server = UserItems.of(train), server_secret(seed)
        P, Q = normal_tables(seed, INIT_STD, (train.n_users, self.factors), (train.n_items, self.factors))
        c, b, mu = (np.zeros(n, np.float32) for n in (train.n_users, train.n_items, 1))
        able = owned.can_compare(train.n_items)
        user_of = np.repeat(np.arange(train.n_users, dtype=np.int32), train.user_counts)
        rows: Longs = np.flatnonzero(able[user_of])
        drawn_from = self.drawn_from(owned)
        alpha, reg = np.float32(self.alpha), np.float32(self.reg)
        for epoch in range(1, self.epochs + 1):
            permute(rows, server, np.uint64(epoch), np.uint64(Purpose.SELECT), np.uint64(0))
            neg = _negatives(drawn_from, server, epoch, user_of[rows], self.negatives)
            train_pairs(user_of[rows], owned.item[rows], neg, P, Q, c, b, mu, alpha, reg)
            yield MfModel(train, P, Q, b, self, c, mu)

    def drawn_from(self, owned: UserItems) -> UserItems:
        """What the draw of a negative looks at: nothing is anybody's where it may be any item."""
        return owned if self.negatives_from == "unmet" else owned.without_owners()

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> Pairs:
        """The items drawn beside every row of an epoch, in the order of the rows; none of the user's own."""
        owned = UserItems.of(train)
        user_of = np.repeat(np.arange(train.n_users, dtype=np.int32), train.user_counts)
        who = user_of[owned.can_compare(train.n_items)[user_of]]
        drawn = _negatives(self.drawn_from(owned), server_secret(seed), epoch, who, self.negatives)
        users, items = np.repeat(who, drawn.shape[1]), drawn.ravel()
        pairs = user_of.astype(np.int64) * train.n_items + owned.item
        unmet = ~np.isin(users.astype(np.int64) * train.n_items + items, pairs)
        return users[unmet], items[unmet]


def _negatives(owned: UserItems, secret: Words, epoch: int, who: Ints, m: int) -> Ints:
    """m other items for each of `who`: (pairs, m)."""
    neg, words = np.empty(len(who) * m, np.int32), np.empty(1 << 10, np.uint32)
    draw_others(owned, secret, np.uint64(epoch), np.uint64(Purpose.TRIPLES), words, np.repeat(who, m), neg)
    return neg.reshape(len(who), m)
