"""A federation in shards ends with the bytes of one in process, however its clients are cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.core.errors import SettingError
from murmura.data.populations import Rows
from murmura.engine.federated_model import FederatedModel
from murmura.engine.federation import Runtime
from murmura.engine.plan import federation_info
from murmura.runtimes.cluster import Cluster
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.ranges import RangePlan
from murmura.runtimes.shards import population
from murmura.runtimes.simulation import FederatedMethod
from murmura.testing import crowd

CHANNEL = {"channel": "secure-sum"}
RING: dict[str, tuple[str, dict[str, Any]]] = {
    "pfpl+": ("pfpl+", {"rounds": 2, "pi": 0.7, **CHANNEL}),
    "pfpl+ in a ring of 64": ("pfpl+", {"rounds": 2, "ring": 64, "bits": 24, **CHANNEL}),
    "cfpl, drawn": ("cfpl", {"rounds": 4, "clients": 150, "pi": {0.0: 1.0, 0.5: 1.0}, **CHANNEL}),
    "cfpl, everyone": ("cfpl", {"rounds": 3, "clients": "all", "statistics": 0.6, "block": "half", **CHANNEL}),
    "cfpl with noise": ("dp-cfpl", {"rounds": 2, "epsilon": 8.0, "hopeless": True}),
    "fcf": ("fcf", {"rounds": 2, "disclosure": "per-item-per-round", "pi": 0.5, **CHANNEL}),
    "co-occurrence": ("fed-ease", {"pi": 0.8}),
    "co-occurrence in parts": ("fed-item-knn", {"parts": 2, "minimum_cohort": 10}),
    "ckgflex": ("ckgflex", {"rounds": 2, "clients": "all", **CHANNEL}),
    "laplace": ("fcf", {"rounds": 1, "channel": "laplace", "epsilon": 50.0, "hopeless": True}),
    "plain loop": ("fedmf", {"rounds": 1, "minimum_cohort": 10, **CHANNEL}),
}
FLOATS: dict[str, tuple[str, dict[str, Any]]] = {
    "pfpl+": ("pfpl+", {"rounds": 2, "pi": 0.7}),
    "pfpl": ("pfpl", {"rounds": 2}),
    "ckgflex": ("ckgflex", {"rounds": 2, "clients": "all"}),
}
PEOPLE = 700


def fitted(case: tuple[str, dict[str, Any]], runtime: Runtime, **more: Any) -> FederatedModel:
    name, settings = case
    data = crowd(PEOPLE, 30)
    rated = (
        replace(data, value=(1 + data.item % 5).astype(np.float64))
        if name.startswith("fed") and "-" not in name
        else data
    )
    return FederatedMethod(algorithm(name)(**settings), runtime).fit(rated, 5, **more)


def assert_same(one: FederatedModel, other: FederatedModel) -> None:
    for name, array in one.model.items():
        assert array.tobytes() == other.model[name].tobytes(), name
    for name, array in one.states.items():
        assert array.tobytes() == other.states[name].tobytes(), name
    assert one.ledger.lines == other.ledger.lines
    assert one.ledger.summary() == other.ledger.summary()
    assert one.ledger.item_rows.tobytes() == other.ledger.item_rows.tobytes()
    assert one.ledger.disclosed.tobytes() == other.ledger.disclosed.tobytes()
    for name, array in one.ready.items():
        assert array.tobytes() == other.ready[name].tobytes(), name
    if one.kernel is not None:
        users = np.arange(PEOPLE, dtype=np.int32)
        assert one.score(users).tobytes() == other.score(users).tobytes()  # so are all per-user results


@pytest.mark.parametrize("label", RING)
def test_sums_in_the_ring_are_those_of_one_process(label: str) -> None:
    assert_same(fitted(RING[label], InProcess(workers=2)), fitted(RING[label], Cluster(shard=200)))


@pytest.mark.slow
@pytest.mark.parametrize("label", ["pfpl+", "cfpl, everyone", "fcf", "co-occurrence", "ckgflex"])
def test_three_sizes_of_shards_make_no_difference(label: str) -> None:
    here = fitted(RING[label], InProcess())
    for size in (64, 333, 1_000):
        assert_same(here, fitted(RING[label], Cluster(shard=size)))


@pytest.mark.parametrize("shares", [None, np.array([1.0, 0.5, 1.0])])
def test_a_column_that_is_not_stored_takes_no_memory(shares: np.ndarray[Any, Any] | None) -> None:
    rows = Rows(np.array([0, 1, 3]), np.array([4, 0, 9], np.int32), consent=shares)
    rows = replace(rows, secret=np.zeros((2, 2), np.uint32))
    method = algorithm("pfpl+")().algorithm()
    people = population(RangePlan(method, federation_info(method, crowd(20, 30))), rows)
    assert people.value.strides == (0,)
    assert (people.consent.strides == (0,)) == (shares is None)
    assert people.value.tolist() == [1.0] * 3
    assert people.consent.tolist() == ([1.0] * 3 if shares is None else shares.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("label", FLOATS)
def test_floating_point_sums_are_added_in_the_blocks_of_one_process(label: str) -> None:
    here = fitted(FLOATS[label], InProcess())
    assert_same(here, fitted(FLOATS[label], InProcess(workers=2)))
    assert_same(here, fitted(FLOATS[label], Cluster(shard=64)))  # whatever the size


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("cfpl", {"rounds": 1}, "a drawn cohort of floating-point updates"),
        ("sfpl", {"rounds": 1}, "a drawn cohort of floating-point updates"),
        ("fcf", {"rounds": 1}, "those of fcf are floating-point numbers that are not added in blocks"),
        ("fedsplit", {}, "phase 'factors' of fedsplit needs each update"),
        ("fcf", {"rounds": 1, "channel": "masks"}, "'masks' is a protocol between single devices and servers"),
        ("pfpl+", {"rounds": 1, "criteria": "profile_size"}, "weighs clients by floating-point sums"),
    ],
)
def test_refuses_what_shards_cannot_add_up(name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        fitted((name, settings), Cluster(shard=64))


def test_refuses_to_show_what_leaves_single_clients() -> None:
    with pytest.raises(SettingError, match="record or lie in process"):
        fitted(RING["fcf"], Cluster(), record_sums=lambda _: None)


def test_goes_on_from_the_checkpoint_of_another_runtime(tmp_path: Path) -> None:
    case = ("cfpl", {"rounds": 6, "clients": "all", "statistics": 0.6, **CHANNEL})

    def stop(epoch: int, _: FederatedModel) -> bool:
        return epoch < 3

    whole = fitted(case, InProcess())
    fitted(case, InProcess(), folder=tmp_path, checkpoint_every=1, watch=stop)
    fitted(case, Cluster(shard=200), folder=tmp_path, checkpoint_every=1, watch=lambda epoch, _: epoch < 5)
    assert_same(whole, fitted(case, InProcess(), folder=tmp_path, checkpoint_every=1))
