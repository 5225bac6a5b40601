"""Federated averaging inherits the whole kit, the wire included: plain, and weighted in both ways."""

from murmura.aggregation.weighted import weighted
from murmura.aggregation.weighting import Weighting
from murmura.core.contract import Algorithm
from murmura.lab.classification.fedavg import FederatedAveraging
from murmura.testing import AlgorithmKit

SMALL = FederatedAveraging(filters=(), hidden=6, learning_rate=0.5)


class TestFedAvg(AlgorithmKit):
    def make(self) -> Algorithm:
        return SMALL


class TestFedAvgBySums(AlgorithmKit):
    def make(self) -> Algorithm:
        return weighted(SMALL, Weighting(criteria=("dataset_size", "model_divergence")))


class TestFedAvgByValues(AlgorithmKit):
    def make(self) -> Algorithm:
        return weighted(SMALL, Weighting(criteria=("label_diversity",), criteria_sent="values"))
