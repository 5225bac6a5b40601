"""What a federation of classifiers says of itself on the wire, and what its devices refuse."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from murmura.core.contract import FederationInfo, History, Samples
from murmura.core.errors import DataError
from murmura.core.interactions import Classification, Vocabulary
from murmura.device.device import Device
from murmura.device.simulated import rows_of_devices
from murmura.testing import crowd, labelled
from murmura.wire.description import FederationDescription
from murmura.wire.refusals import RefusedError


def description() -> FederationDescription:
    data = labelled()
    return FederationDescription.of(data.items, FederationInfo.of(data))


def test_the_task_travels_and_the_samples_numbers_do_not() -> None:
    content = description().encode()
    read = json.loads(content)
    assert read["task"] == {"shape": [3, 4], "classes": 3}
    assert read["items"] == read["listed"] == []
    back = FederationDescription.decode(content)
    assert back.info.task == Classification((3, 4), 3)
    assert back.info.clients == 12
    assert back.encode() == content


def test_a_federation_of_interactions_says_nothing_of_it() -> None:
    data = crowd()
    content = FederationDescription.of(data.items, FederationInfo.of(data)).encode()
    assert "task" not in json.loads(content)
    assert FederationDescription.decode(content).info.task is None


@pytest.mark.parametrize(
    "task",
    [None, 3, [], {}, {"shape": [3]}, {"classes": 3}, {"shape": [], "classes": 3}, {"shape": [0], "classes": 3},
     {"shape": [-3], "classes": 3}, {"shape": [3.0], "classes": 3}, {"shape": [True], "classes": 3},
     {"shape": ["3"], "classes": 3}, {"shape": "34", "classes": 3}, {"shape": [3], "classes": 1},
     {"shape": [3], "classes": 2**40}, {"shape": [2**20, 2**20], "classes": 3}, {"shape": [3], "classes": "3"}],
)  # fmt: skip
def test_a_task_that_cannot_be_is_malformed(task: Any) -> None:
    read = json.loads(description().encode())
    with pytest.raises(RefusedError, match="must have the fields"):
        FederationDescription.decode(json.dumps({**read, "task": task}).encode())


def test_devices_hold_what_the_clients_of_a_simulation_hold() -> None:
    data = labelled()
    assert data.samples is not None
    of = rows_of_devices(data, None, np.arange(data.n_items, dtype=np.int32))
    for client in range(data.n_users):
        held, own = of(client), data.rows(data.user == client)
        assert isinstance(held, Samples)
        assert (held.item == own.item).all()
        assert (held.label == own.value).all()
        assert (held.inputs == data.samples.inputs(own.item)).all()
        assert held.quality is not None
        assert (held.quality == data.samples.qualities(own.item)).all()


@pytest.mark.parametrize("rows", [History.private(np.arange(3)), Samples.private(np.arange(3))])
def test_a_device_with_other_rows_takes_no_part(rows: History) -> None:
    device = Device.__new__(Device)
    device.rows = rows
    with pytest.raises(DataError, match=r"classifies samples of shape \(3, 4\), but this device holds inter"):
        device._held(description().info)


def test_samples_of_another_shape_take_no_part() -> None:
    device = Device.__new__(Device)
    none = np.zeros(0)
    device.rows = Samples(none.astype(np.int32), none, none, inputs=np.zeros((0, 28, 28), np.uint8))
    with pytest.raises(DataError, match=r"but this device holds samples of shape \(28, 28\)"):
        device._held(description().info)


def test_a_vocabulary_of_nothing_finds_nothing() -> None:
    assert description().items.find(["1"]).tolist() == [-1]
    assert len(Vocabulary(np.zeros(0, np.int64))) == 0
