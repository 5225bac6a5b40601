"""How far steps move the model: known answers, an alarm for a step beyond the others, none for honest ones."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from murmura.server.coordinator.anomalies import ALARM, FEWEST, movement, robust_z
from tests.http.network import World, people


def test_the_row_that_moved_furthest() -> None:
    before = {"Q": np.zeros((3, 2)), "b": np.zeros(3), "new": np.zeros((1, 1))}
    after = {"Q": np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]]), "b": np.array([0.0, 0.0, -6.0])}
    after |= {"new": np.full((2, 1), 99.0)}  # of another shape: not a step
    assert movement(before, after) == 6.0
    assert movement({"counts": np.zeros(2, np.uint32)}, {"counts": np.full(2, 9, np.uint32)}) == 0.0


def test_by_hand() -> None:
    """Logarithms 0 to 8: the median is 4 and the median distance from it 2."""
    steps = np.exp(np.arange(9.0)).tolist()
    assert robust_z(steps, float(np.exp(4.0))) == pytest.approx(0.0)
    assert robust_z(steps, float(np.exp(4.0 + 1.4826 * 2 * 3))) == pytest.approx(3.0)
    assert robust_z(steps[: FEWEST - 1], 1e9) == 0.0
    assert robust_z([1.0] * 20, 1.2) < ALARM < robust_z([1.0] * 20, 1.5)  # equal steps have no spread


def test_honest_training_raises_no_alarm_and_a_jump_does(tmp_path: Path) -> None:
    settings: dict[str, object] = {"clients": 12, "rounds": 20, "epochs": 50, "factors": 3}
    world = World(tmp_path, people(), "cfpl", settings)

    async def scenario() -> None:
        devices = await world.everyone()
        runner = world.coordinator.rounds
        for _ in range(15):
            await world.one_round(devices)
            assert world.coordinator.status()["drift"] == ""
        assert world.coordinator.metrics()["murmura_step_largest_row"] > 0
        restarted = world.start_coordinator()
        runner = world.coordinator.rounds
        assert runner.drift.last > 0, restarted  # what steps were like is kept
        before = runner.now.server.model
        runner.drift.note(before, {**before, "b": before["b"] + 50})
        assert "moved a row by 50" in world.coordinator.status()["drift"]
        assert world.coordinator.metrics()["murmura_step_drift"] > ALARM
        assert "drift" not in world.coordinator.about()

    asyncio.run(scenario())
