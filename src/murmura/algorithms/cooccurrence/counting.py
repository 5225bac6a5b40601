"""What both methods of sums have in common: counts of items first, and scores of what each person shares."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.baselines.information import RankingSettings
from murmura.core.arrays import Bools, Longs
from murmura.core.contract import Algorithm, ClientState, History, Phase, RoundContext
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng
from murmura.core.update import Arrays, Update


def evenly(owner: Longs, cap: int) -> Bools:
    """(rows,) which rows take part if at most `cap` of each owner may, evenly spread over hers; 0: all."""
    _, whose, held = np.unique(owner, return_inverse=True, return_counts=True)
    order = np.argsort(whose, kind="stable")
    place = np.empty(len(owner), np.int64)
    place[order] = np.arange(len(owner)) - np.repeat(np.cumsum(held) - held, held)
    taken: Bools = (place + 1) * cap % held[whose] < cap
    return taken | (cap == 0)


class CountingMethod(RankingSettings, Algorithm):
    """A method whose first exchange, `counts`, makes public how often each item occurs."""

    releases_counts: ClassVar[bool] = True

    def public_counts(self, model: Arrays) -> Longs | None:
        """What the first exchange has told."""
        counts = model["counts"][:, 0].astype(np.int64)
        return counts if counts.any() else None

    def expected_counts(self, data: Interactions) -> Longs | None:
        """How often each item occurs in the rows that take part."""
        return np.bincount(data.item[self.takes(data.value)], minlength=data.n_items)

    def shared(self, history: History, rng: Rng) -> History:
        """What someone shares in an exchange."""
        return history.rows(history.open_rows(rng) & self.takes(history.value))

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """What is counted; pairs show no other item than that."""
        if phase.name == "counts":
            return np.isin(history.item, update.tables["counts"].index)
        return np.zeros(len(history), np.bool_)

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> NDArray[Any]:
        """The scores of every person of the client."""
        rows = history.rows(self.takes(history.value))
        people = int(history.owners.max(initial=0)) + 1
        each = (rows.rows(rows.owners == person) for person in range(people))
        return np.stack([self.person_scores(context, mine) for mine in each])

    @abstractmethod
    def person_scores(self, context: RoundContext, mine: History) -> NDArray[Any]:
        """What one person's items say of all others."""
