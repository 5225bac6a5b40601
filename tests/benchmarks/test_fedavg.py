"""Federated averaging: both sides do the same work on a small network, and unequal work is refused."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.clocked import Clocked
from benchmarks.fedavg import METHOD, Averaged, by_size, first_model, held, images, judge, judge_noisy
from benchmarks.sides import Work

from benchmarks import fedavg
from murmura.core.contract import Algorithm
from murmura.runtimes.inprocess import InProcess

EQUAL, UNEQUAL = (6, 6, 6), (3, 6, 9)
MODEL = {"kernel": np.full((2, 3), 0.5, np.float32)}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(fedavg, "METHOD", replace(METHOD, filters=(2,), filter_size=3, hidden=4))
    monkeypatch.setattr(fedavg, "EQUAL", EQUAL)


@pytest.mark.parametrize("sent", ["", "sums", "values"])
def test_a_round_is_the_average_of_the_local_training(small: None, sent: str) -> None:
    sizes = UNEQUAL if sent else EQUAL
    method: Algorithm = by_size(sent) if sent else fedavg.METHOD
    mine, other = fedavg.engine(method, sizes)()(), fedavg.alone(sizes)()()
    assert "parameters equal" in judge(mine, other)[0]
    assert mine.seconds > 0
    assert other.seconds > 0


def test_an_average_by_other_weights_is_not_equal_work(small: None) -> None:
    mine, other = fedavg.engine(fedavg.METHOD, UNEQUAL)()(), fedavg.alone(UNEQUAL)()()
    with pytest.raises(AssertionError, match="both sides learn the same parameters"):
        judge(mine, other)


def test_all_clients_at_once_learn_what_they_learn_one_by_one(small: None) -> None:
    work: Work = fedavg.all_at_once()
    judge(fedavg.alone(EQUAL)()(), work())


def test_the_network_is_that_of_the_thesis() -> None:
    data = images(fedavg.EQUAL)
    assert sum(table.size for table in first_model(data).values()) == 1_663_370
    assert [len(held(data, client)[1]) for client in range(data.n_users)] == [100] * 10
    assert sum(fedavg.UNEQUAL) == sum(fedavg.EQUAL)


def test_every_round_has_its_time(small: None) -> None:
    clock = Clocked(InProcess())
    fedavg.federate(by_size("sums"), images(EQUAL), clock, 3)
    assert len(clock.seconds) == len(clock.cpu) == 3


def test_parameters_that_differ_and_training_that_does_nothing_are_refused() -> None:
    mine = Averaged(MODEL, 1.0, 0.1)
    judge(mine, mine)
    other = {"kernel": MODEL["kernel"] + np.float32(1e-4)}
    with pytest.raises(AssertionError, match=r"they differ by 1\.0e-04"):
        judge(mine, Averaged(other, 1.0, 0.1))
    judge_noisy(mine, Averaged(other, 1.0, 0.1))
    with pytest.raises(AssertionError, match="both sides learn the same parameters"):
        judge_noisy(replace(mine, moved=0.005), Averaged(other, 1.0, 0.005))
    with pytest.raises(AssertionError, match="has learned nothing"):
        judge(Averaged(MODEL, 1.0), mine)
