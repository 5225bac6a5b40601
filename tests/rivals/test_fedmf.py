"""FedMF keeps every promise of the kit, with one person or several to a client."""

from murmura.lab.rivals.federated.fedmf import FedMF
from murmura.testing import AlgorithmKit


class TestFedMF(AlgorithmKit):
    rated = True

    def make(self) -> FedMF:
        return FedMF(factors=3, ridge=0.1, reg=0.1, precision="float64")


class TestFedMFOfGroups(TestFedMF):
    members = 4
    pi = 0.9
