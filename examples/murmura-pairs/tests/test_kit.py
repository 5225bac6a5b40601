"""Pairs keeps every promise of a federated algorithm. Run: pytest"""

from murmura_pairs import Pairs

from murmura.testing import AlgorithmKit


class TestPairs(AlgorithmKit):
    def make(self) -> Pairs:
        return Pairs()
