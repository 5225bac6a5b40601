"""The shapes of attacks on sums: which items somebody has, or whether she was in a round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints
from murmura.core.contract import Algorithm
from murmura.core.rng import Stream
from murmura.lab.audits.attack import AdversaryKnowledge, Attack, ItemClaims
from murmura.lab.audits.sums.copies import Copies
from murmura.lab.audits.sums.observed import ObservedSums, sums_in_rounds

Tells = Literal["nothing", "half", "whole", "rarest"]  # what is known of a victim
STRANGERS = 64  # made-up people from whom an adversary learns what an own item's row looks like


@dataclass(frozen=True, eq=False)
class SumKnowledge:
    """What the adversary knows beside the sums: what is public, and a part of its victims' histories."""

    public: AdversaryKnowledge
    algorithm: Algorithm
    victims: Ints  # (victims,) clients, ascending
    told: Mapping[int, Ints]  # victim -> those of her items that are known, ascending; without: none
    value: float = 1.0  # what copies say of their items

    def copies(self, stream: Stream, times: int = 1) -> Copies:
        """So many copies of every victim, as far as she is known: those of one stand together."""
        nothing = np.empty(0, np.int32)
        histories = [self.told.get(one, nothing) for one in self.victims.tolist() for _ in range(times)]
        return self._people(histories, stream)

    def strangers(self, stream: Stream, n: int = STRANGERS) -> Copies:
        """Made-up people of usual size, their items drawn by popularity (Efraimidis and Spirakis, 2006)."""
        popularity, listed = self.public.popularity, self.public.info.listed
        size = min(self.public.usual("client"), len(listed) - 1)
        draws = (stream.words(n * len(listed)).reshape(n, -1) + 0.5) / 2.0**32
        keys = np.log(draws) / np.maximum(popularity[listed], 1e-9)
        best = np.argpartition(-keys, size - 1, axis=1)[:, :size]
        return self._people([np.sort(listed[one]) for one in best], stream)

    def _people(self, histories: list[Ints], stream: Stream) -> Copies:
        secrets = stream.words(2 * len(histories)).reshape(-1, 2)
        return Copies(self.algorithm, self.public.info, histories, np.ascontiguousarray(secrets), self.value)

    def asked(self) -> Bools:
        """(clients, items) what can be claimed: of every victim the items that are not known already."""
        asked = np.zeros((self.public.info.clients, self.public.info.items), np.bool_)
        asked[self.victims] = True
        for victim, items in self.told.items():
            asked[victim, items] = False
        return asked

    def no_scores(self) -> Floats:
        """Zeros for every client and item."""
        return np.zeros((self.public.info.clients, self.public.info.items))


class SumAttack(Attack):
    """An attack that reads sums; `tells` is how much of a victim's history it is given."""

    reads: ClassVar[Literal["updates", "sums"]] = "sums"
    tells: ClassVar[Tells] = "nothing"

    def fits(self, algorithm: Algorithm) -> bool:
        """Whatever adds rows of items up over rounds, unless it is against some by name."""
        return algorithm.name in self.against if self.against else sums_in_rounds(algorithm)


class SumItemAttack(SumAttack):
    """Which items somebody has."""

    @abstractmethod
    def claims(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
        """What the sums give away."""


class TracingAttack(SumAttack):
    """In which rounds somebody was."""

    tells: ClassVar[Tells] = "whole"

    @abstractmethod
    def traces(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> Floats:
        """(victims, rounds) higher: rather in it."""
