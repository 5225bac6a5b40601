"""The rivals of other authors keep every promise of the kit; which of them answer strangers is said."""

import numpy as np
import pytest

from murmura.core.contract import Algorithm
from murmura.core.rng import Purpose, Rng
from murmura.core.schedule import Schedule
from murmura.lab.rivals.federated.colr import CoLR
from murmura.lab.rivals.federated.fedncf import FedNCF
from murmura.lab.rivals.federated.fedrap import FedRAP
from murmura.lab.rivals.federated.fedrec import FedRec
from murmura.lab.rivals.federated.fedrecon import FedRecon
from murmura.lab.rivals.federated.gpfedrec import GPFedRec
from murmura.lab.rivals.federated.tower import ScoreTower
from murmura.testing import AlgorithmKit

pytestmark = pytest.mark.slow


class TestFedRAP(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=2)
    quality_floor = 0.0  # far below popularity on honest ground, as measured in docs/rivals.md
    no_strangers = "its own table is learned over rounds"

    def make(self) -> Algorithm:
        return FedRAP(factors=4, item_rate=2.0, apart=0.01, sparse=0.01, local_epochs=2, precision="float64")


class TestCoLR(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=10)

    def make(self) -> Algorithm:
        return CoLR(factors=4, rank=2, negatives=2, batch=8, spread=0.5, precision="float64")


class TestFedRecon(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=10)
    quality_floor = 0.7  # a vector from a fresh start sees one draw of negatives

    def make(self) -> Algorithm:
        return FedRecon(factors=4, batch=8, negatives=2, spread=0.5, precision="float64")


class TestFedRec(AlgorithmKit):
    rated = True
    quality_floor = 0.8
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=10)

    def make(self) -> Algorithm:
        return FedRec(factors=4, negatives=1, rate=0.4, rate_decay=0.99, spread=0.3, precision="float64")


class TestFedNCF(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=10)

    def make(self) -> Algorithm:
        return FedNCF(factors=10, negatives=2, batch=8, rate=0.02, spread=0.5, precision="float64")


class TestGPFedRec(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=5)
    no_strangers = "a network is learned over rounds, and one epoch of a stranger's own rows makes none"

    def make(self) -> Algorithm:
        return GPFedRec(factors=16, negatives=2, batch=7, rate=0.5, factor=2.0, precision="float64")


def test_the_slopes_of_the_network_are_those_of_small_steps() -> None:
    stream, tower = Rng(np.zeros(2, np.uint32)).stream(Purpose.OWN), ScoreTower.over(10, 2)
    flat, p = tower.begin(stream, "float64"), stream.normals(10)
    rows, slope = stream.normals(30).reshape(3, 10), stream.normals(3)

    def loss(*given: np.ndarray) -> float:
        return float(tower.scores(*given)[0] @ slope)

    found = tower.slopes(flat, p, rows, tower.scores(flat, p, rows)[1], slope)
    for place, slopes in enumerate(found):
        for n in range(slopes.size):
            sides = []
            for step in (1e-6, -1e-6):
                given = [flat.copy(), p.copy(), rows.copy()]
                given[place].reshape(-1)[n] += step
                sides.append(loss(*given))
            assert abs((sides[0] - sides[1]) / 2e-6 - slopes.reshape(-1)[n]) < 1e-6


def test_the_graph_of_the_published_code_joins_the_least_alike() -> None:
    tables = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    alike, unlike = (GPFedRec(neighbours=side)._graph(tables) for side in ("alike", "unlike"))
    assert alike.astype(int).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert unlike.astype(int).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]
