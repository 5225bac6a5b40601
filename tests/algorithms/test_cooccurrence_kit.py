"""Models of co-occurrences keep the promises of every federated algorithm, each preset and blend."""

from dataclasses import replace

import pytest

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.algorithms.cooccurrence.private import PrivateCooccurrence
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Algorithm
from murmura.testing import AlgorithmKit


class _SumsKit(AlgorithmKit):
    kills = (1,)
    save_every = 1

    def _channels(self) -> tuple[ChannelSettings, ...]:
        """Packed counters need words of 32 bits."""
        return tuple(replace(way, ring=32) for way in super()._channels())


@pytest.mark.smoke
class TestEase(_SumsKit):
    def make(self) -> Algorithm:
        return Cooccurrence(ease=1.0, reg=5.0, least=1)


class TestItemKnn(_SumsKit):
    def make(self) -> Algorithm:
        return Cooccurrence(knn=1.0, k=10, least=2)


class TestBlendInParts(_SumsKit):
    quality_floor = 0.5  # half of the pairs are seen

    def make(self) -> Algorithm:
        return Cooccurrence(ease=1.0, reg=100.0, knn=0.5, k=10, power=2.0, discount=0.1, least=1, parts=2)


class TestOrder(_SumsKit):
    quality_floor = 0.5  # the checkerboard has no order to learn from

    def make(self) -> Algorithm:
        return Cooccurrence(order=1.0, rank=4, least=1)


class TestPrivate(AlgorithmKit):
    kills = (1,)
    save_every = 1

    def make(self) -> Algorithm:
        return PrivateCooccurrence(core_items=40, eigenvectors=8)


class TestPrivateCounts(AlgorithmKit):
    kills = (1,)
    save_every = 1
    quality_floor = 0.0  # popularity knows nobody's taste

    def make(self) -> Algorithm:
        return PrivateCooccurrence(eigenvectors=0)
