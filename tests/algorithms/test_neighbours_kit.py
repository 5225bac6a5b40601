"""fed-neighbours keeps the promises of every federated algorithm."""

from dataclasses import replace

import pytest

from murmura.algorithms.neighbours.fed_neighbours import FedNeighbours
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Algorithm
from murmura.testing import AlgorithmKit


class _RowsKit(AlgorithmKit):
    kills = (2,)
    save_every = 1

    def _channels(self) -> tuple[ChannelSettings, ...]:
        """Rows are numbers of 64 bits."""
        return tuple(replace(way, ring=32) for way in super()._channels())


@pytest.mark.smoke
class TestByThree(_RowsKit):
    def make(self) -> Algorithm:
        return FedNeighbours(least=2, least_pairs=2, k=20, rank=8, words=16, most_candidates=40)


class TestPlainCounts(_RowsKit):
    def make(self) -> Algorithm:
        return FedNeighbours(weight="one", least=1, least_pairs=1, cap=10, k=10, rank=4, words=8)
