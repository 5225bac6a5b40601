"""Rounds without sockets: the sum is right, and every machine keeps its promises."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.channel.phase_chains import chain
from murmura.core.channel import EPSILON, ChannelSettings
from murmura.core.consent import Permission
from murmura.core.contract import History, RoundContext
from murmura.core.errors import SettingError
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.device.storage import InMemoryStorage
from murmura.engine.itinerary import Position
from murmura.engine.visit import visit
from murmura.server.coordinator.setup import RoundTiming, configured
from murmura.server.loopback import COORDINATOR, SEED, VECTOR
from murmura.wire import wire
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.transport import ask, bearer
from tests.http.network import SEEDED, World, people

TRAINING: dict[str, object] = {"rounds": 3, "clients": 10}
METHODS = {name: algorithm(name).method for name in ALGORITHMS}
READABLE_SUMS = [name for name, one in METHODS.items() if one.releases_counts or one.releases_pairs]
EXACT_ALONE = (
    "co-statistics",
    "fed-item-knn",
    "fed-neighbours",
    "fed-order",
    "item-means",
)  # of them those that have no form with noise


def plain_model(world: World) -> dict[str, np.ndarray]:
    """The same federation as one loop: no shares, no network."""
    itinerary, channel = world.setup.itinerary(), world.channel
    algorithm, info = itinerary.algorithm, itinerary.info
    server = algorithm.server_init(info, Rng(server_secret(SEEDED)))
    secrets, rows = client_secrets(SEEDED, info.clients), world.data.by_user

    def history(client: int) -> History:
        item, value = rows.of(client), rows.value[rows.start[client] : rows.start[client + 1]]
        return History(item, value, np.ones(len(item)))

    states = [algorithm.client_init(info, history(u), Rng(secrets[u])) for u in range(info.clients)]
    at, everyone = Position(), np.arange(info.clients, dtype=np.int32)
    called = everyone
    while not itinerary.finished(at):
        phase = itinerary.phase(at)
        stages = chain(channel, phase, info, itinerary.called(at))
        vectors = []
        called = itinerary.cohort(at, everyone, server_secret(SEEDED), called)
        for client in called.tolist():
            rng = Rng(secrets[client], at.round)
            got = channel.as_downloaded(server.model, algorithm.publishes(info), info.listed)
            context = RoundContext(info, phase.name, at.round, got)
            made = visit(algorithm, phase, context, states[client], history(client), rng, stages)
            states[client] = made.state
            assert made.vector is not None
            vectors.append(made.vector)
        total = stages.server(stages.ring.add_up(vectors), at.round)
        server, _ = algorithm.server_step(phase.name, server, total)
        at = itinerary.after_success(at)
    return dict(server.model)


@pytest.mark.parametrize(
    ("method", "settings", "channel"),
    [
        ("cfpl", TRAINING, {}),
        ("cfpl", TRAINING, {"ring": 24, "bits": 14, "block": "half", "download": "exact"}),
        ("cfpl", TRAINING, {"download": "float16"}),
        ("cfpl", TRAINING, {"download": "int8"}),
        ("fcf", {"rounds": 3}, {}),
        ("cfpl", TRAINING, {"channel": "readable"}),
        ("cfpl", {**TRAINING, "criteria": "dataset_size,model_divergence"}, {}),
        ("cfpl", {**TRAINING, "triples": {1: 1, 6: 1}, "sampling": "interactions", "rate_decay": 0.5}, {}),
    ],
)
def test_the_network_gives_the_model_of_a_plain_loop_bit_for_bit(
    tmp_path: Path, method: str, settings: dict[str, object], channel: dict[str, object]
) -> None:
    chosen = ChannelSettings(**{"channel": "secure-sum", "minimum_cohort": 10, **channel})  # type: ignore[arg-type]
    world = World(tmp_path, people(), method, settings, chosen)

    async def scenario() -> None:
        await world.play(await world.everyone())

    asyncio.run(scenario())
    there, here = world.coordinator.rounds.now.server.model, plain_model(world)
    assert there.keys() == here.keys()
    for name in here:
        np.testing.assert_array_equal(there[name], here[name], strict=True)
    assert {one["state"] for one in world.coordinator.history()} == {"committed"}


def test_a_device_that_stays_away_is_left_out_and_the_rest_is_exact(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings={**TRAINING, "prior": False})

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(3):
            await world.turn()
            for device in devices[1:]:
                await device.visit()
            world.clock.now += 61
            await world.turn()

    asyncio.run(scenario())
    states = [(one["state"], one["reports"]) for one in world.coordinator.history()][::-1]
    for state, reports in states:
        assert (state == "committed") == (reports == 10), states
    assert {reports for _, reports in states} <= {9, 10}


def test_a_seed_without_its_twin_is_left_out(tmp_path: Path) -> None:
    world = World(
        tmp_path,
        people(),
        settings={"rounds": 1, "clients": "all", "prior": False},
        channel=ChannelSettings(channel="secure-sum", minimum_cohort=10),
    )

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        for device in devices[:-1]:
            await device.visit()
        seen = len(world.network.log)
        world.network.down.add(VECTOR)
        straggler = asyncio.create_task(devices[-1].visit())
        for _ in range(50):
            await asyncio.sleep(0)
            if any(url == f"{SEED}/reports" for _, url, _ in world.network.log[seen:]):
                break
        straggler.cancel()
        await asyncio.gather(straggler, return_exceptions=True)
        world.network.down.clear()
        world.clock.now += 61
        await world.turn()

    asyncio.run(scenario())
    assert len(world.aggregators["seed"]._store.rows("SELECT 1 FROM rounds")) == 1
    (only,) = world.coordinator.history()
    assert (only["state"], only["reports"]) == ("committed", 11)


def test_fewer_than_the_minimum_release_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings={**TRAINING, "clients": "all", "prior": False})
    before = world.coordinator.rounds.now.model

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        for device in devices[:9]:
            await device.visit()
        world.clock.now += 61
        await world.turn()

    asyncio.run(scenario())
    (only,) = world.coordinator.history()
    assert only["state"] == "abandoned"
    assert "at least 10" in only["reason"]
    assert world.coordinator.rounds.now.model == before
    assert not any(url.endswith("/release") for _, url, _ in world.network.log)


def test_an_aggregator_asks_for_its_own_minimum(tmp_path: Path) -> None:
    """It agrees to no terms below it; asked for more later, it releases nothing smaller."""
    world = World(tmp_path, people(), settings={**TRAINING, "prior": False})
    world.start_aggregator("seed", minimum=11)

    async def scenario() -> None:
        with pytest.raises(RefusedError) as refused:
            await world.everyone()
        assert refused.value.code == "paused"
        assert world.coordinator.rounds.keeper.terms is None
        world.start_aggregator("seed", minimum=10)
        devices = await world.everyone()
        strict = world.start_aggregator("seed", minimum=11)
        assert strict.minimum == 11
        await world.one_round(devices)

    asyncio.run(scenario())
    (only,) = world.coordinator.history()
    assert (only["state"], "at least 11" in only["reason"]) == ("abandoned", True)


def test_a_released_set_is_final_until_the_coordinator_has_it(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings={**TRAINING, "rounds": 1, "prior": False})
    released: list[tuple[str, bytes]] = []

    def keep(method: str, url: str, body: bytes) -> bytes:
        if url.endswith("/forget"):
            raise UnreachableError("the line went dead.")  # so the aggregators keep what they have released
        return body

    async def scenario() -> None:
        world.network.tamper = keep
        await world.play(await world.everyone())
        world.network.tamper = lambda method, url, body: body
        released.extend((url, body) for _, url, body in world.network.log if url.endswith("/release"))
        for url, body in released:
            first = await ask(world.network, "POST", url, body)
            assert (await ask(world.network, "POST", url, body)).body == first.body
            fewer = body[: -wire.ID_BYTES]
            with pytest.raises(RefusedError) as refused:
                await ask(world.network, "POST", url, fewer)
            assert refused.value.code == "released"
            name = bytes.fromhex(url.split("/")[-2])
            command = world.coordinator.key.sign("forget", name)
            await ask(world.network, "POST", url.replace("/release", "/forget"), command)
            for forgotten in (body, fewer):
                with pytest.raises(RefusedError) as refused:
                    await ask(world.network, "POST", url, forgotten)
                assert (refused.value.code, "no longer kept" in str(refused.value)) == ("late", True)

    asyncio.run(scenario())
    assert len(released) == 2
    for aggregator in world.aggregators.values():
        assert aggregator._store.rows("SELECT state, ids, total FROM rounds") == [("released", None, None)]


def test_uploads_have_one_length_and_every_device_sends_one_pair(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        await world.play(await world.everyone())

    asyncio.run(scenario())
    for address in (SEED, VECTOR):
        bodies = [body for _, url, body in world.network.log if url == f"{address}/reports"]
        assert len(bodies) == 12 + 3 * 10
        assert len({len(body) for body in bodies[:12]}) == len({len(body) for body in bodies[12:]}) == 1
    assert not any(url == f"{COORDINATOR}/letters" for _, url, _ in world.network.log)


@pytest.mark.parametrize("change", [{"statistics": False}, {"train": False}, {"pi": 0.5}, {"never": (2,)}])
def test_consent_taken_back_cancels_a_queued_upload(tmp_path: Path, change: dict[str, Any]) -> None:
    world = World(tmp_path, people(), settings=TRAINING, timing=RoundTiming(round=60, hold=5, spread=20))

    async def scenario() -> tuple[str, int]:
        devices = await world.everyone()
        await world.turn()
        storage = devices[0].storage
        assert isinstance(storage, InMemoryStorage)
        visit = asyncio.create_task(devices[0].visit())
        while storage.memory.pending is None:
            await asyncio.sleep(0)
        storage.allowed = Permission(**change)
        outcome = await visit
        return outcome.why, storage.notes

    why, notes = asyncio.run(scenario())
    assert "taken back" in why
    assert notes == 0
    assert not any(url.endswith("/reports") for _, url, _ in world.network.log)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"minimum": 50}, "at least 50"), ({"minimum": 11}, "at least 11")],
)
def test_a_device_has_its_own_minimum(tmp_path: Path, changes: dict[str, int], words: str) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> str:
        devices = await world.everyone()
        await world.turn()
        devices[0].identity = replace(devices[0].identity, **changes)  # type: ignore[arg-type]
        return (await devices[0].visit()).why

    assert words in asyncio.run(scenario())


def test_readable_rounds_need_the_device_to_agree(tmp_path: Path) -> None:
    world = World(
        tmp_path, people(), settings=TRAINING, channel=ChannelSettings(channel="readable", minimum_cohort=10)
    )

    async def scenario() -> str:
        devices = await world.everyone()
        await world.turn()
        devices[0].identity = replace(devices[0].identity, readable=False)
        return (await devices[0].visit()).why

    assert "the server can read each update" in asyncio.run(scenario())


@pytest.mark.parametrize("method", ["fed-ease", "fed-item-knn", "fed-mostpop"])
def test_sums_without_noise_are_served_only_where_operator_and_device_allow_them(
    method: str, tmp_path: Path
) -> None:
    few = ChannelSettings(channel="secure-sum", minimum_cohort=10)
    least: dict[str, object] = {} if method == "fed-mostpop" else {"least": 2}
    world = World(tmp_path, people(), method, least, few)
    with pytest.raises(SettingError, match=r"everybody can read sums without noise. .* say --exact."):
        replace(world.setup, exact=False).itinerary()

    async def scenario() -> list[str]:
        devices = await world.everyone()
        await world.turn()
        devices[0].identity = replace(devices[0].identity, exact=False)
        return [(await device.visit()).why for device in devices[:2]]

    assert asyncio.run(scenario()) == [
        "everybody can read sums without noise, and this device does not allow that",
        "",
    ]
    assert world.coordinator.about()["label"] == "everybody can read sums without noise"


@pytest.mark.parametrize("name", READABLE_SUMS)
def test_at_defaults_nothing_exact_is_published(name: str, tmp_path: Path) -> None:
    """A method whose sums everybody can read in its model is served with noise, or not at all."""
    preset, channel = configured(name, {}, "secure-sum", 10)
    world = World(tmp_path, people(), name, {})
    setup = replace(world.setup, preset=preset, channel=channel, exact=False)
    if name in EXACT_ALONE:
        with pytest.raises(SettingError, match=r"everybody can read sums without noise. Serve fed-ease, or"):
            setup.itinerary()
        return
    assert setup.labels == {}
    assert setup.noise.epsilon == channel.epsilon == EPSILON
    assert set(setup.noise.multipliers) == {phase.name for phase in preset.algorithm().phases(world.info)}
    exact, _ = configured(name, {}, "secure-sum", 10, exact=True)
    assert replace(setup, preset=exact, channel=exact.channel_settings()).labels.keys() == {"exact"}


def test_noise_and_rounds_of_gradients_need_no_such_permission(tmp_path: Path) -> None:
    noisy = ChannelSettings(channel="secure-sum", minimum_cohort=10, epsilon=4.0, hopeless=True)
    private = World(tmp_path / "noisy", people(), "fed-ease", {"epsilon": 4.0, "hopeless": True}, noisy)
    for world in (private, World(tmp_path / "plain", people(), settings=TRAINING)):
        assert world.setup.labels == {}
        assert world.setup.label == ("" if world is private else "sums without noise")
        replace(world.setup, exact=False).itinerary()


def test_a_one_client_schedule_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="at least the minimum cohort of 10, but there are 1;"):
        World(tmp_path, people(), "sfpl")


def test_one_device_gets_one_ticket(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        token = bearer(devices[0].identity.token)

        async def ticket(report: bytes) -> bytes:
            body = live.hash + report
            return (await ask(world.network, "POST", f"{COORDINATOR}/tickets", body, token)).body

        first = await ticket(bytes(16))
        assert await ticket(bytes(16)) == first
        with pytest.raises(RefusedError) as refused:
            await ticket(b"1" * 16)
        assert refused.value.code == "duplicate"

    asyncio.run(scenario())
