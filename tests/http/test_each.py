"""Phases that need every update, and answers for single devices: FedSPLIT over the network, by name."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.channel.phase_chains import chain
from murmura.core.channel import READABLE, ChannelSettings
from murmura.core.codec import decode
from murmura.core.contract import History, IndividualUpdates, RoundContext
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.device.visits import OwnRanking
from murmura.wire.wire import IndividualReport
from tests.http.network import SEEDED, World

GROUPS = np.repeat(np.arange(4, dtype=np.int32), 6)
READ = ChannelSettings(channel="readable", minimum_cohort=4)
LEAST = ChannelSettings(channel="readable", minimum_cohort=3)


def ratings() -> Interactions:
    rng = np.random.default_rng(2)
    rows = [(u, i, 1 + (u + i) % 5) for u in range(24) for i in rng.choice(20, 8, replace=False).tolist()]
    user, item, value = np.array(rows).T
    return Interactions.of(user, item, value.astype(np.float64))


def test_letters_and_answers_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    world = World(tmp_path, ratings(), "fedsplit", {"factors": 2, "patterns": 4}, READ, groups=GROUPS)

    async def scenario() -> list[dict[str, np.ndarray]]:
        devices = await world.everyone()
        await world.play(devices)
        for client, device in enumerate(devices):  # of every rating of every member, what has left
            assert set(device.storage.memory.sent) == set(world.rows(client).item.tolist())
        return [dict(await device.own_answer() or {}) for device in devices]

    told = asyncio.run(scenario())
    itinerary = world.setup.itinerary()
    algorithm, info, secrets = itinerary.algorithm, itinerary.info, client_secrets(SEEDED, 4)
    means, factors = algorithm.phases(info)
    rows = [world.rows(client) for client in range(4)]
    histories = [History(r.item, r.value, np.ones(len(r.item)), r.person) for r in rows]
    server = algorithm.server_init(info, Rng(server_secret(SEEDED)))
    stages, sums = chain(READ, means, info, 4), []
    states = [algorithm.client_init(info, histories[u], Rng(secrets[u])) for u in range(4)]
    for client in range(4):
        context, rng = RoundContext(info, "means", 0, server.model), Rng(secrets[client], 0)
        _, update = algorithm.client_step(context, states[client], histories[client], rng)
        sums.append(stages.device(update, rng, 0))
    server, _ = algorithm.server_step("means", server, stages.server(stages.ring.add_up(sums), 0))
    updates = {}
    for client in range(4):
        context, rng = RoundContext(info, "factors", 1, server.model), Rng(secrets[client], 1)
        _, updates[client] = algorithm.client_step(context, states[client], histories[client], rng)
    server, answers = algorithm.server_step(factors.name, server, IndividualUpdates(updates))
    for name, values in world.coordinator.rounds.now.server.model.items():
        np.testing.assert_array_equal(values, server.model[name], strict=True)
    for client in range(4):
        np.testing.assert_array_equal(told[client]["M"], answers[client]["M"], strict=True)
    assert world.coordinator.about()["label"] == READABLE


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (-1.0, "the factors of a group must not be negative, but one is -1."),
        (1e25, "the numbers of an update must be at most 1e+06 in size, but one is 1e+25."),
        (np.nan, "the values of 'items' must be finite, but one is not."),
    ],
)
def test_a_letter_that_cannot_be_used_is_left_out_by_name_and_the_others_go_on(
    tmp_path: Path, number: float, why: str
) -> None:
    world = World(tmp_path, ratings(), "fedsplit", {"factors": 2, "patterns": 3}, LEAST, groups=GROUPS)
    sends = world.setup.itinerary().setup[1].sends

    def twisted(method: str, url: str, body: bytes) -> bytes:
        """Place 2 sends another number."""
        if not url.endswith("/letters") or (now := world.coordinator.rounds.live) is None:
            return body
        upload = IndividualReport.decode(body)
        if now.manifest.phase != "factors" or world.holder(upload.report) != 2:
            return body
        values = decode(upload.update, sends).tables["items"].values.copy()
        values[0, 0] = number
        return replace(upload, update=upload.update[: -values.nbytes] + values.tobytes()).encode()

    world.network.tamper = twisted

    async def scenario() -> tuple[list[str], list[object], tuple[int, ...]]:
        devices, said = await world.everyone(), []
        while world.coordinator.about()["state"] != "finished":
            await world.turn()
            said += [outcome.why for device in devices if (outcome := await device.visit()).kind == "refused"]
            world.clock.now += 61  # nobody waits longer for an update that never came whole
            await world.turn()
        return said, [await device.own_answer() for device in devices], devices[2].storage.memory.sent

    said, answers, sent = asyncio.run(scenario())
    assert said == [why]
    last = world.coordinator.history(1)[0]
    assert (last["state"], last["reports"], last["reason"]) == (
        "committed",
        3,
        f"place 2 was left out: {why}",
    )
    assert [answer is None for answer in answers] == [False, False, True, False]
    assert np.isnan(number) or len(sent) > 0  # the server has read it: what it shows counts as shown


def test_everyone_of_a_household_gets_a_list_even_without_a_rating(tmp_path: Path) -> None:
    world = World(tmp_path, ratings(), "fedsplit", {"factors": 2, "patterns": 3}, READ, groups=GROUPS)

    async def scenario() -> list[np.ndarray]:
        devices = await world.everyone()
        await world.play(devices)
        one, rows = devices[0], world.rows(0)
        manifest, memory = one.manifest, one.storage.memory
        assert manifest is not None
        assert rows.person is not None
        known = rows.person < 5  # the sixth has rated nothing
        history = History(rows.item[known], rows.value[known], np.ones(int(known.sum())), rows.person[known])
        model, own = await one.cache.model(manifest), one.identity
        ranking = OwnRanking(own.terms, manifest, world.info, model, memory.state, history, own.secret)
        return ranking.recommend(3, people=6)

    lists = asyncio.run(scenario())
    assert [len(one) for one in lists] == [3] * 6


def test_a_phase_that_needs_each_update_must_be_asked_for_by_name(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="the server can read each update; say channel 'readable'"):
        World(tmp_path, ratings(), "fedsplit", {}, groups=GROUPS)
