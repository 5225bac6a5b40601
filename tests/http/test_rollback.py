"""An operator can go back to an earlier model: numbers go on, everybody reads it in the log, devices go on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from murmura.core.update import Arrays
from murmura.device.trust import newest_model
from murmura.server.loopback import COORDINATOR
from murmura.wire.log import LoggedModel, unpack_entries
from murmura.wire.refusals import RefusedError
from murmura.wire.transport import ask, bearer
from tests.http.network import World, people

TRAINING: dict[str, object] = {"rounds": 9, "clients": "all", "prior": False}


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_going_back_restores_the_model_and_its_rounds_are_done_again_under_new_numbers(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings={**TRAINING, "rounds": 4})
    rounds = world.coordinator.rounds

    async def scenario() -> None:
        devices = await world.everyone()
        states = []
        for _ in range(3):
            await world.one_round(devices)
            states.append(rounds.now.server)
        world.coordinator.order("pause")
        token = bearer(world.coordinator.operator_token)
        said = (await ask(world.network, "POST", f"{COORDINATOR}/rollback/1", headers=token)).json()
        assert said["rounds_done"] == 1
        assert same(rounds.now.server.model, states[0].model)
        assert same(rounds.now.server.private, states[0].private)
        assert (rounds.now.position.round, rounds.now.position.serial) == (3, 3)
        await world.turn()  # everybody signs the log that says so
        back = await newest_model(world.network, COORDINATOR, rounds.terms, None)
        assert back == LoggedModel(rounds.now.model)
        world.start_coordinator()
        assert same(world.coordinator.rounds.now.server.model, states[0].model)
        world.coordinator.order("start")
        await world.play(devices)

    asyncio.run(scenario())
    history = world.coordinator.history()[::-1]
    assert [(one["state"], one["round"], one["serial"]) for one in history] == [
        ("committed", n, n) for n in range(6)
    ]
    assert {one["reports"] for one in history} == {12}
    models = [e for e in unpack_entries(world.coordinator.rounds.store.log.page(0)) if e.startswith(b"model\0")]
    assert len(models) == 7
    assert models[3] == models[0]  # the one gone back to, under the number of its round


def test_going_back_needs_a_pause_and_a_model_that_is_kept(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(world.setup.keep + 2):
            await world.one_round(devices)
        with pytest.raises(RefusedError, match="needs a paused federation without an open round") as refused:
            world.coordinator.rollback("3")
        assert refused.value.code == "released"
        await world.turn()
        world.coordinator.order("pause")
        with pytest.raises(RefusedError, match="without an open round"):
            world.coordinator.rollback("3")
        for device in devices:
            await device.visit()
        await world.turn()
        before = world.coordinator.rounds.now
        for done in (0, 3, 9):
            with pytest.raises(RefusedError, match=f"those after 8, 7, 6, 5, 4 rounds, not after {done}"):
                world.coordinator.rollback(str(done))
        for wrong in ("-1", "x", "9" * 20, ""):
            with pytest.raises(RefusedError) as refused:
                world.coordinator.rollback(wrong)
            assert refused.value.code == "malformed"
        assert world.coordinator.rounds.now is before
        world.coordinator.rollback("4")
        with pytest.raises(RefusedError, match="those after 4 rounds, not after 5"):
            world.coordinator.rollback("5")

    asyncio.run(scenario())


def test_going_back_from_the_middle_of_a_round_goes_back_to_the_end_of_one(tmp_path: Path) -> None:
    """A round of two exchanges: what the first of them left is no model, and its number has been used."""
    world = World(tmp_path, people(), settings={**TRAINING, "rounds": 3, "criteria": "dataset_size"})
    rounds = world.coordinator.rounds

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(2):
            await world.one_round(devices)
        whole = rounds.now.server
        assert (rounds.now.position.done, rounds.now.position.step) == (1, 0)
        await world.one_round(devices)
        assert (rounds.now.position.done, rounds.now.position.step) == (1, 1)
        world.coordinator.order("pause")
        world.coordinator.rollback("1")
        assert (rounds.now.position.done, rounds.now.position.step) == (1, 0)
        assert same(rounds.now.server.model, whole.model)
        assert same(rounds.now.server.private, whole.private)
        world.coordinator.order("start")
        await world.play(devices)

    asyncio.run(scenario())
    history = world.coordinator.history()[::-1]
    assert {(one["state"], one["reports"]) for one in history} == {("committed", 12)}
    assert len({(one["round"], one["phase"]) for one in history}) == len(history) == 7
