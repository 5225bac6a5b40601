"""Pull keeps every promise, and its compiled path sends what the plain one sends. Run: pytest"""

from murmura_compiled import Pull

from murmura.testing import AlgorithmKit


class TestPull(AlgorithmKit):
    def make(self) -> Pull:
        return Pull()
