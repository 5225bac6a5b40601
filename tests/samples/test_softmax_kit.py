"""A classifier is an ordinary algorithm: it inherits the whole kit, the wire included."""

from murmura.federated import Algorithm
from murmura.testing import AlgorithmKit
from tests.samples.softmax import Softmax


class TestSoftmax(AlgorithmKit):
    def make(self) -> Algorithm:
        return Softmax()
