"""An adversary's copies of people: they answer the public model of a round as those would, with other dice.

Everybody knows the algorithm and the public model, so who knows a history can play its owner. A copy takes part
in every round it is asked about and keeps its state in between; its secret is the adversary's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.contract import Algorithm, ClientState, FederationInfo, RoundContext
from murmura.core.kernel import CohortRound, Kernel
from murmura.core.population import ObservedSum, Population, States, Tally
from murmura.core.rng import Words
from murmura.core.update import Update


class Copies:
    """People with these histories, all rows shared; compiled where the algorithm has a kernel."""

    def __init__(
        self,
        algorithm: Algorithm,
        info: FederationInfo,
        histories: Sequence[Ints],
        secrets: Words,
        value: float = 1.0,
    ) -> None:
        self._algorithm = algorithm
        sizes = [len(one) for one in histories]
        item = np.concatenate([np.empty(0, np.int32), *histories]).astype(np.int32)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        values, shared = np.full(len(item), value), np.ones(len(item))
        when = np.zeros(len(item), np.int64)  # nobody knows it; what leaves does not depend on it
        self.people = Population(start, item, values, shared, secrets, time=when)
        self._kernel: Kernel | None = algorithm.kernel()
        self._tally = Tally.empty(self.people, info.items)
        self._stacked: States = {} if self._kernel is None else self._kernel.init_clients(info, self.people)
        self._kept: dict[int, ClientState] = {}

    def visit(self, copy: int, asked: ObservedSum) -> Update:
        """What one copy sends in a round; what it learns there it keeps."""
        kernel, people = self._kernel, self.people
        if kernel is not None and kernel.covers(asked.phase, channel=False):
            one = np.array([copy], np.int32)
            cohort = CohortRound(asked.info, asked.phase, asked.round, asked.model, people, one)
            return kernel.cohort_sum(cohort, self._stacked, self._tally)[0].update
        context = RoundContext(asked.info, asked.phase.name, asked.round, asked.model)
        history, rng = people.history(copy, asked.round), people.rng(copy, asked.round)
        if copy not in self._kept:
            first = people.history(copy, 0), people.rng(copy, 0)
            self._kept[copy] = self._algorithm.client_init(asked.info, *first)
        self._kept[copy], update = self._algorithm.client_step(context, self._kept[copy], history, rng)
        return update
