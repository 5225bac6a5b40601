"""Small federations with updates, made without any algorithm: groups that factorise and say what they found."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.contract import FederationInfo
from murmura.core.population import Population
from murmura.core.rng import Purpose, Rng, client_secrets
from murmura.core.update import SentUpdate, SparseRows, Update
from murmura.data.sources.synthetic import synth
from murmura.data.user_tables import random_groups
from murmura.kernels.factorisation.cnmf_steps import CnmfSettings, factorise, random_factors, words_needed
from murmura.kernels.sparse import Sparse
from murmura.lab.audits.attack import AdversaryKnowledge, ObservedUpdates

SETTINGS = CnmfSettings(factors=4, alpha=0.08, beta=0.08, eta_w=0.009, eta_h=0.009, epochs=60)


@dataclass(frozen=True, eq=False)
class World:
    """A federation of groups, what it sent, and the truth."""

    people: Population
    known: AdversaryKnowledge
    observed: ObservedUpdates

    @property
    def popularity(self) -> Longs:
        return self.known.popularity


def population(
    users: int = 120, items: int = 150, rows: int = 4000, seed: int = 0
) -> tuple[Population, FederationInfo, int]:
    """Groups of 3 to 30 of made-up people with ratings from 1 to 5."""
    data = synth(users=users, items=items, interactions=rows, seed=seed).interactions
    groups = random_groups(data.n_users, seed).of
    clients = int(groups.max()) + 1
    by_user, random = data.by_user, np.random.default_rng(seed)
    ratings = np.clip(np.round(3.5 + random.normal(size=len(data))), 1, 5)
    alone = Population(
        by_user.start, by_user.index, ratings, np.ones(len(data)), client_secrets(seed, data.n_users)
    )
    info = FederationInfo.of(data, groups=groups)
    return alone.grouped(groups, client_secrets(seed, clients)), info, data.n_users


def world(**sizes: int) -> World:
    """Every group factorises its ratings and sends the rows of the items it rated, as FedSPLIT does."""
    people, info, users = population(**sizes)
    mu, updates = float(people.value.mean()), []
    for client in range(people.clients):
        history = people.history(client, 1)
        assert history.person is not None
        items, column = np.unique(history.item, return_inverse=True)
        n, m, k = int(history.person.max()) + 1, len(items), SETTINGS.factors
        start = np.concatenate(([0], np.cumsum(np.bincount(history.person, minlength=n))))
        words = Rng(people.secrets[client], 1).stream(Purpose.INIT).words(words_needed(n, m, k))
        ratings = Sparse.of(start, column, history.value)
        found, _ = factorise(ratings, random_factors(words, n, m, k), mu, SETTINGS.rates, SETTINGS.epochs)
        values = np.column_stack([found.H, found.b_h]).astype(np.float32)
        update = Update({"items": SparseRows(items.astype(np.int32), values)})
        updates.append(SentUpdate("factors", 1, client, {"mu": np.array([mu])}, update))
    popularity = np.bincount(people.item, minlength=info.items)
    settings: dict[str, Any] = {name: getattr(SETTINGS, name) for name in SETTINGS.__dataclass_fields__}
    return World(people, AdversaryKnowledge(info, settings, popularity, users), ObservedUpdates(tuple(updates)))
