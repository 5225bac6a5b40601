"""The released sums of one training, as an observer keeps them who knows who was in each cohort."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.core.arrays import Bools, Ints, Singles
from murmura.core.contract import Algorithm, FederationInfo, Phase
from murmura.core.errors import DataError, MurmuraError
from murmura.core.population import ObservedSum
from murmura.lab.audits.sums.row_space import RowSpace


@dataclass(frozen=True, eq=False)
class ObservedSums:
    """Every sum the server received, in their order."""

    sums: tuple[ObservedSum, ...]

    def phase(self, name: str) -> tuple[ObservedSum, ...]:
        """The sums of one phase."""
        return tuple(one for one in self.sums if one.phase.name == name)

    @cached_property
    def training(self) -> tuple[ObservedSum, ...]:
        """The sums of the first phase of a training round whose rows tell of items."""
        there = [one for one in self.sums if one.phase.repeat is None and RowSpace.of(one.phase, one.info)]
        return tuple(one for one in there if one.phase.name == there[0].phase.name)

    @cached_property
    def space(self) -> RowSpace:
        """What the rows of those sums tell of."""
        if not self.training:
            raise DataError("an attack on rounds needs sums of rows of items, but this training has none.")
        found = RowSpace.of(self.training[0].phase, self.training[0].info)
        assert found is not None
        return found

    @cached_property
    def tables(self) -> Singles:
        """(rounds, rows, width)."""
        return np.stack([self.space.dense(one.total.update) for one in self.training])

    def presence(self, clients: Ints) -> Bools:
        """(clients, rounds) who was in which cohort."""
        return np.stack([np.isin(clients, one.clients) for one in self.training], axis=1)


def sums_in_rounds(algorithm: Algorithm) -> bool:
    """Whether an algorithm adds rows of items, or of their features, up over cohorts."""
    return any(phase.repeat is None and phase.combine == "sum" for phase in tiny_phases(algorithm))


def tiny_phases(algorithm: Algorithm) -> tuple[Phase, ...]:
    """What an algorithm would exchange about two items; nothing where it learns from no items."""
    if algorithm.holds != "history":
        return ()
    two = np.arange(2, dtype=np.int32)
    tiny = FederationInfo(2, two, 2, 4, counts=np.full(2, 2), feature_count=2)
    try:
        return algorithm.phases(tiny)
    except MurmuraError:
        return ()
