"""A classifier is an ordinary algorithm: it inherits the whole kit, the wire included."""

import pytest

from murmura.federated import Algorithm
from murmura.testing import AlgorithmKit
from tests.samples.softmax import Softmax


@pytest.mark.smoke
class TestSoftmax(AlgorithmKit):
    def make(self) -> Algorithm:
        return Softmax()
