"""Who watches the network learns nothing of a device from sizes and sending times."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from murmura.core.interactions import Interactions
from murmura.device.device import Device
from murmura.server.coordinator.setup import RoundTiming
from tests.http.network import World


def unequal(small: int, large: int, each: int) -> Interactions:
    """Half of the people like a few items, half very many."""
    rng = np.random.default_rng(1)
    pairs = [
        (user, item)
        for user in range(2 * each)
        for item in rng.choice(2500, small if user < each else large, replace=False).tolist()
    ]
    user, item = np.array(pairs).T
    return Interactions.of(user, item)


def auc(low: list[float], high: list[float]) -> float:
    pairs = np.subtract.outer(np.array(high), np.array(low))
    return float((pairs > 0).mean() + (pairs == 0).mean() / 2)


@pytest.mark.slow
@pytest.mark.parametrize("honest", [True, False])
def test_neither_sizes_nor_times_tell_ten_likes_from_two_thousand(tmp_path: Path, honest: bool) -> None:
    """Training takes (virtual) time in proportion to the likes; an impostor draws its time after training."""
    each, rounds = 20, 24
    data = unequal(10, 2000, each)
    timing = RoundTiming(round=60, hold=5, spread=20)
    world = World(tmp_path, data, "fcf", {"rounds": rounds, "factors": 2}, timing=timing)
    sizes: list[list[float]] = [[], []]
    times: list[list[float]] = [[], []]

    async def visit(device: Device, big: bool, start: float) -> None:
        world.clock.now = start
        train = device._train

        async def slow(*arguments: object) -> object:
            result = await train(*arguments)  # type: ignore[arg-type]
            world.clock.now += 0.002 * len(device.rows.item)
            if not honest:
                arguments[0].__dict__["send_at"] = (
                    world.clock.now
                    + timing.spread * np.random.default_rng(int(start) + device.rows.item.size).random()
                )
            return result

        device._train = slow  # type: ignore[method-assign, assignment]
        before = len(world.network.log)
        await device.visit()
        device._train = train  # type: ignore[method-assign]
        sent = [body for _, url, body in world.network.log[before:] if url.endswith("/reports")]
        sizes[big].append(float(sum(map(len, sent))))
        times[big].append(world.clock.now - start)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(rounds):
            await world.turn()
            start = world.clock.now
            for place, device in enumerate(devices):
                await visit(device, place >= each, start)
            world.clock.now = start + 50
            await world.turn()

    asyncio.run(scenario())
    assert len(times[0]) == len(times[1]) == each * rounds
    assert auc(*sizes) == 0.5
    # 480 against 480: the standard error of an AUC of 1/2 is sqrt((480 + 480 + 1) / (12 * 480 * 480)) = 0.019
    if honest:
        assert abs(auc(*times) - 0.5) <= 0.05
    else:
        assert auc(*times) > 0.6
