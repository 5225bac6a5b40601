"""The shape of every attack: claims about items, or estimates of ratings; and attackers who read no update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.contract import Algorithm, FederationInfo, History
from murmura.core.population import Population
from murmura.core.rng import Stream
from murmura.core.update import SentUpdate

Of = Literal["client", "person"]  # whose items are claimed: all of a client's, or each of its people's


@dataclass(frozen=True, eq=False)
class ObservedUpdates:
    """The updates an adversary has read, in the order in which they were sent."""

    updates: tuple[SentUpdate, ...]

    def phase(self, name: str) -> tuple[SentUpdate, ...]:
        """The updates of one phase."""
        return tuple(sent_update for sent_update in self.updates if sent_update.phase == name)


@dataclass(frozen=True, eq=False)
class AdversaryKnowledge:
    """What the adversary knows without reading an update: the federation, its settings, what is popular."""

    info: FederationInfo
    settings: Mapping[str, Any]  # of the algorithm: everybody runs the same
    popularity: Longs  # (items,) how many people have the item, all clients together
    people: int  # in all clients together
    insiders: Mapping[int, Ints] = field(default_factory=dict)  # client -> its items, for attacks that learn

    def no_scores(self) -> Floats:
        """Zeros for every client and item."""
        return np.zeros((self.info.clients, self.info.items))

    def average_items(self, of: Of) -> int:
        """How many items one person has on average, or a client of average size whose people chose alone."""
        share = self.popularity / max(1, self.people)
        members = self.people / max(1, self.info.clients)
        alone = members if of == "client" else 1.0
        return max(1, round(float((1 - (1 - share) ** alone).sum())))


@dataclass(frozen=True, eq=False)
class ItemClaims:
    """What an attack says about every client: which items it has, or each person of it has."""

    scores: Floats  # (clients, items) higher: rather one of hers
    asserted: Bools  # (clients, items) what the attacker stakes its name on
    of: Of = "client"
    asked: Bools | None = None  # (clients, items) what is claimed about; None: everything

    @staticmethod
    def best(scores: Floats, known: AdversaryKnowledge, of: Of) -> ItemClaims:
        """Scores of who asserts the best, as many as people have on average; of equals the lower number."""
        asserted, listed, n = np.zeros(scores.shape, np.bool_), known.info.listed, known.average_items(of)
        order = listed[np.argsort(-scores[:, listed], axis=1, kind="stable")[:, :n]]
        np.put_along_axis(asserted, order, True, axis=1)
        return ItemClaims(scores, asserted, of)


@dataclass(frozen=True, eq=False)
class RatingQuestion:
    """How these people of a client rated these items, when the hints are known already."""

    client: int
    hints: History
    person: Ints
    item: Ints

    @property
    def people(self) -> int:
        """How many people the client has, as far as the question tells."""
        return int(self.person.max(initial=0)) + 1


@dataclass(frozen=True, eq=False)
class Attack:
    """An attack: what it says it does, and whom it is against."""

    name: str
    title: str
    _: KW_ONLY
    against: tuple[str, ...] = ()  # names of algorithms
    suits: Callable[[Algorithm], bool] = lambda algorithm: False  # where no name is given
    reads: ClassVar[Literal["updates", "sums"]] = "updates"

    def fits(self, algorithm: Algorithm) -> bool:
        """Whether it can be made on an algorithm."""
        return algorithm.name in self.against if self.against else self.suits(algorithm)


@dataclass(frozen=True, eq=False)
class ItemAttack(Attack):
    """Which items somebody has: what the updates give away; without chance the stream is left alone."""

    claims: Callable[[ObservedUpdates, AdversaryKnowledge, Stream], ItemClaims]
    learns: bool = False  # whether it is taught by some clients about the others


def claims_of(
    attack: ItemAttack, observed: ObservedUpdates, known: AdversaryKnowledge, truth: Population, stream: Stream
) -> ItemClaims:
    """The claims of any attack; one that learns is told every second client, and claims about the others.

    It does so twice, with either half, so that every client is claimed about by who did not know it.
    """
    if not attack.learns:
        return attack.claims(observed, known, stream)
    clients = np.arange(truth.clients)
    halves = []
    for insiders in (clients[::2], clients[1::2]):
        inside = {int(one): np.unique(truth.history(int(one), 0).item) for one in insiders}
        halves.append(attack.claims(observed, replace(known, insiders=inside), stream))
    scores, asserted = halves[0].scores.copy(), halves[0].asserted.copy()
    scores[::2], asserted[::2] = halves[1].scores[::2], halves[1].asserted[::2]
    return ItemClaims(scores, asserted, halves[0].of)


@dataclass(frozen=True, eq=False)
class RatingAttack(Attack):
    """How somebody rated items, from the client's update and some of her ratings that are known already."""

    estimates: Callable[[ObservedUpdates, AdversaryKnowledge, RatingQuestion], Floats]


def popularity_reference(of: Of) -> ItemAttack:
    """Says of everyone that she has what is popular."""

    def claims(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        return ItemClaims.best(known.no_scores() + known.popularity, known, of)

    return ItemAttack("popularity", "no update read: the popular items", claims)


def chance_reference(of: Of) -> ItemAttack:
    """Says anything: a number for every client and item."""

    def claims(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        shape = known.info.clients, known.info.items
        scores = stream.words(shape[0] * shape[1]).astype(np.float64).reshape(shape)
        return ItemClaims.best(scores, known, of)

    return ItemAttack("random", "no update read: a guess", claims)
