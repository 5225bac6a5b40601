"""The shape of every attack: claims about items, or estimates of ratings; and attackers who read no update."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.contract import Algorithm, FederationInfo, History
from murmura.core.population import Population
from murmura.core.rng import Stream
from murmura.core.update import SentUpdate


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

    def average_items(self, of: Literal["client", "person"]) -> int:
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
    of: Literal["client", "person"] = "client"
    asked: Bools | None = None  # (clients, items) what is claimed about; None: everything

    @staticmethod
    def best(scores: Floats, listed: Ints, n: int, of: Literal["client", "person"]) -> ItemClaims:
        """Scores whose attacker asserts the n best of the items on offer; of equals the lower number."""
        asserted = np.zeros(scores.shape, np.bool_)
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


class Attack(ABC):
    """An attack: whom it is against, and what it says it does."""

    name: ClassVar[str]
    title: ClassVar[str]
    against: ClassVar[tuple[str, ...]] = ()  # names of algorithms
    reads: ClassVar[Literal["updates", "sums"]] = "updates"

    def fits(self, algorithm: Algorithm) -> bool:
        """Whether it can be made on an algorithm."""
        return algorithm.name in self.against


class ItemAttack(Attack):
    """Which items somebody has."""

    learns: ClassVar[bool] = False  # whether it is taught by some clients about the others

    @abstractmethod
    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """What the updates give away; an attack without chance leaves the stream alone."""


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


class RatingAttack(Attack):
    """How somebody rated items, when some of her ratings are known already."""

    @abstractmethod
    def estimates(self, observed: ObservedUpdates, known: AdversaryKnowledge, asked: RatingQuestion) -> Floats:
        """The ratings asked for, from the client's update and the hints."""


class Reference(ItemAttack):
    """Claims about clients or about people, without having read anything."""

    def __init__(self, of: Literal["client", "person"] = "client") -> None:
        self.of: Literal["client", "person"] = of


class PopularityReference(Reference):
    """Says of everyone that she has what is popular."""

    name: ClassVar[str] = "popularity"
    title: ClassVar[str] = "no update read: the popular items"

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """The same for all; asserted are as many as people have on average."""
        scores = np.tile(known.popularity.astype(np.float64), (known.info.clients, 1))
        return ItemClaims.best(scores, known.info.listed, known.average_items(self.of), self.of)


class ChanceReference(Reference):
    """Says anything."""

    name: ClassVar[str] = "random"
    title: ClassVar[str] = "no update read: a guess"

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """A number for every client and item."""
        shape = (known.info.clients, known.info.items)
        scores = stream.words(shape[0] * shape[1]).astype(np.float64).reshape(shape)
        return ItemClaims.best(scores, known.info.listed, known.average_items(self.of), self.of)
