"""KGFlex with all data in one place: the twin of `algorithms.kgflex`, which has the papers.

The same features by information gain, the same sum over shared features (thesis, eq. 6.12) and the same steps,
but no rounds: users are visited one after the other, each at the model the one before her left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from murmura.algorithms.kgflex.loop_arrays import (
    LARGEST,
    SPREAD,
    ClientRows,
    FeatureRows,
    FeatureScratch,
    FeatureVisitRules,
    GainRules,
)
from murmura.algorithms.kgflex.loops import choose_features, score_users, visit_in_turn
from murmura.baselines.base import EpochBaseline, Pairs, RankingModel, popularity
from murmura.core.arrays import Floats, Ints
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.rng import Purpose, Rng, Words, client_secrets, guest_secret, server_secret
from murmura.core.settings import Count, NonNegative, Positive, Times, settings
from murmura.kernels.client_blocks import FlatPopulation
from murmura.kernels.factorisation.triple_sampling import UserItems
from murmura.kernels.fpl.triples import can_compare, draw_triples
from murmura.kernels.item_weights import require_features
from murmura.kernels.philox import initial_rows, permute

FOLD_IN_VISITS = 10


@dataclass(frozen=True, eq=False)
class KGFlexModel(RankingModel):
    """The vectors of the features, and every user's view of her own."""

    G: Any  # (features, factors)
    b: Any  # (features,)
    views: ClientRows
    features: FeatureRows
    method: KGFlexCentral

    def score(self, users: Ints) -> Floats:
        """Equation (6.12), also of items that nobody has."""
        return self._score(np.asarray(users, np.int32), self.views)

    def score_history(self, items: Ints) -> Floats:
        """The same for someone new, after some visits that leave the features' vectors as they are.

        Popularity for an empty history.
        """
        if not len(items):
            return popularity(self.train).astype(np.float64)
        owned = UserItems.newcomer(np.unique(items).astype(np.int32), np.flatnonzero(self.candidates))
        at = self.method.scratch(self.features, owned, guest_secret(0)[None, :])
        views = self.method.first_views(at)
        visits: Ints = np.zeros(FOLD_IN_VISITS, np.int32)
        visit_in_turn(visits, self.method.rules(0), np.float32(0), self.G.copy(), self.b.copy(), views, at)
        scores: Floats = self._score(np.zeros(1, np.int32), views)[0]
        return scores

    def _score(self, users: Ints, views: ClientRows) -> Floats:
        scores = np.zeros((len(users), self.train.n_items))
        score_users(users, self.G, self.b, views, self.features, scores)
        return scores

    def arrays(self) -> Arrays:
        """G and b, the views, and the features of the items."""
        features = {f"items.{name}": array for name, array in self.features._asdict().items()}
        return {"G": self.G, "b": self.b, **self.views._asdict(), **features}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the same."""
        views = ClientRows(*(arrays[name] for name in ClientRows._fields))
        features = FeatureRows(*(arrays[f"items.{name}"] for name in FeatureRows._fields))
        return cls(train, arrays["G"], arrays["b"], views, features, method)


@settings
class KGFlexCentral(EpochBaseline[KGFlexModel]):
    """KGFlex without a federation: a step of the features' vectors after every user."""

    name = "kgflex-central"
    uses_features = True
    model = KGFlexModel

    factors: Count = 10  # length of a feature's vector
    alpha: Positive = 0.1  # learning rate
    epochs: Count = 10  # each visits every user once: as often as a hundred rounds of a tenth of them
    first_limit: Times = 100  # of a person's features one hop away the most informative so many
    second_limit: Times = 100  # and of those further away
    negatives: Count = 1  # others for each of her items, in the gain of a feature
    unshared: Literal["drop", "keep"] = "drop"  # pairs of which an item shares no feature with her
    reg: NonNegative = 0.0  # lambda of eqs. (4.3) and (4.4)

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse items without features."""
        require_features(train, self.name)

    def training(self, train: Interactions, seed: int) -> Iterator[KGFlexModel]:
        """Visits, the users in a random order each time."""
        model, at = self.begin(train, seed)
        for epoch in range(1, self.epochs + 1):
            self.visit(model, at, _order(train.n_users, seed, epoch), (epoch - 1) * train.n_users)
            yield model

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> Pairs:
        """The other items of an epoch's pairs, in the order of its visits."""
        _, at = self.begin(train, seed)
        people, who, drawn = at.people, list[Ints](), list[Ints]()
        for place, user in enumerate(_order(train.n_users, seed, epoch).tolist()):
            if can_compare(people, user):
                size = int(people.start[user + 1] - people.start[user])
                round = np.uint64((epoch - 1) * train.n_users + place)
                draw_triples(people, user, size, round, np.uint64(Purpose.TRIPLES), at.draws)
                who.append(np.full(size, user, np.int32))
                drawn.append(at.draws.negative[:size].copy())
        return np.concatenate(who), np.concatenate(drawn)

    def begin(self, train: Interactions, seed: int) -> tuple[KGFlexModel, FeatureScratch]:
        """The model before the first visit, and where it is trained: both begin as the federated twin does."""
        features = FeatureRows.of(require_features(train, self.name))
        at = self.scratch(features, UserItems.of(train), client_secrets(seed, train.n_users))
        size = len(features.hops) * (self.factors + 1)
        normals = Rng(server_secret(seed), 0).stream(Purpose.INIT).normals(size)
        theta = (SPREAD * normals).reshape(-1, self.factors + 1).astype(np.float32)
        G, b = np.ascontiguousarray(theta[:, :-1]), np.ascontiguousarray(theta[:, -1])
        return KGFlexModel(train, G, b, self.first_views(at), features, self), at

    def visit(self, model: KGFlexModel, at: FeatureScratch, order: Ints, round: int) -> None:
        """Train `model` in place, user after user; visits are numbered from `round` on."""
        visit_in_turn(order, self.rules(round), np.float32(self.alpha), model.G, model.b, model.views, at)
        largest = float(max(np.abs(model.G).max(initial=0.0), np.abs(model.b).max(initial=0.0)))
        if not largest < LARGEST:
            raise SettingError(
                f"{self.name}.alpha must be small enough for those with many items, but at {self.alpha:g} the "
                f"model diverged (a number of {largest:.3g}); lower it."
            )

    def rules(self, round: int) -> FeatureVisitRules:
        """How a visit steps."""
        return FeatureVisitRules(np.uint64(round), self.alpha, self.unshared == "drop", 0.0, 0.0, self.reg)

    def scratch(self, features: FeatureRows, owned: UserItems, secrets: Words) -> FeatureScratch:
        """Where some users are visited."""
        consent, nothing = np.ones(len(owned.item)), np.zeros((0, 0), np.uint64)  # own items are searched
        people = FlatPopulation(
            owned.start, owned.item, consent, False, True, False, secrets, owned.listed, nothing
        )
        near = int((features.hops == 1).sum())
        capacity = min(self.first_limit, near) + min(self.second_limit, len(features.hops) - near)
        return FeatureScratch.of(people, features, capacity, self.factors, np.float32)

    def first_views(self, at: FeatureScratch) -> ClientRows:
        """Everyone's features with their gains, and their first views of them."""
        users, capacity = len(at.people.start) - 1, len(at.value)
        views = ClientRows.empty(users, capacity, self.factors, np.float32)
        most = int(np.diff(at.people.start).max(initial=1))
        edges = np.arange(1, len(at.people.listed) + 1, dtype=np.int64)
        rules = GainRules.of(0, self.negatives, (self.first_limit, self.second_limit), 0.0, edges, most)
        choose_features(at.people, at.features, rules, views)
        initial_rows(at.people.secrets, SPREAD, views.P.reshape(users, -1))
        return views


def _order(users: int, seed: int, epoch: int) -> Ints:
    """The users as an epoch visits them, its first being 1."""
    order = np.arange(users, dtype=np.int64)
    permute(order, server_secret(seed), np.uint64(epoch), np.uint64(Purpose.SELECT), np.uint64(0))
    return order.astype(np.int32)
