"""A federation of two secure sums without sockets, beside the same in one process."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from murmura.core.channel import ChannelSettings
from murmura.device.folder import DeviceFolder
from murmura.device.visits import _Own
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from tests.http.network import SEEDED, World, people
from tests.http.own_devices import awake, settle

KNN: dict[str, object] = {"k": 10, "least": 2, "power": 2.0, "discount": 0.1}
CHANNEL = ChannelSettings(channel="secure-sum", minimum_cohort=4, ring=32)


def sums(folder: Path, method: str = "fed-item-knn", channel: ChannelSettings = CHANNEL) -> World:
    return World(folder, people(), method, KNN, channel)


def simulated(world: World) -> FederatedModel:
    """The same federation in one process."""
    preset = world.setup.preset
    plan = Plan(preset.algorithm(), world.data, preset.schedule(), seed=SEEDED, channel=world.channel)
    return fit(plan, runtime=InProcess())


def same_model(world: World) -> None:
    expected = simulated(world).model
    found = world.coordinator.rounds.now.server.model
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, strict=True)


async def best(world: World, folder: Path, client: int) -> list[int]:
    """What the owner of a device of a real folder is shown in the end."""
    found = DeviceFolder(folder) if folder.exists() else await settle(world, folder, client)
    (items,), _, _ = await _Own(awake(world, found), found)._best(5)
    return items
