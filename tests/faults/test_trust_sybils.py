"""Invented devices: whoever fills a sum with them beside one honest device can subtract the rest.

Without the admitter's signature nothing invented counts. Against machines that do not look, the sum is the
victim's exact history.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from murmura.channel import key_pairs
from murmura.channel.shares import SEED_BYTES, split
from murmura.core.channel import ChannelSettings
from murmura.core.contract import History, Total
from murmura.core.interactions import Interactions
from murmura.device.device import Device
from murmura.device.storage import InMemoryStorage
from murmura.server.admissions import AdmissionDesk
from murmura.server.coordinator import store
from murmura.server.coordinator.coordinator import Coordinator
from murmura.server.loopback import COORDINATOR, SEED, VECTOR
from murmura.wire import wire
from murmura.wire.admission import OwnAdmission
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import ServerKey
from murmura.wire.transport import ask
from tests.faults.malice import counted_items, invented_share, uploads
from tests.http.network import World, entropy, people

INVENTED = 99
CHANNEL = ChannelSettings(channel="secure-sum", minimum_cohort=INVENTED + 1)
NOBODY = History.private(np.zeros(0, np.int32), 1.0)


def crowd() -> Interactions:
    """Places for a hundred devices."""
    return people(INVENTED + 1)


def invent_places(world: World) -> None:
    """A coordinator writes into its own database what it likes."""
    rows = [(slot, bytes([slot]) * 32, None, 0.0, 0) for slot in range(1, INVENTED + 1)]
    world.coordinator._store.write([("INSERT INTO devices VALUES (?, ?, ?, ?, ?)", row) for row in rows])


def _given(seed: bytes, _: int) -> bytes:
    return seed


async def invent_reports(world: World, victim: Device, admissions: list[OwnAdmission | None]) -> list[str]:
    """Shares of nothing under tickets that the coordinator signs for itself; what each is answered."""
    live, terms = world.coordinator.rounds.live, world.coordinator.rounds.terms
    assert live is not None
    m = live.manifest
    ring = terms.chain(m.phase, world.info, m.largest).ring
    nothing = np.zeros(ring.words, np.uint32)
    nothing[0] = 1  # it counts as one device
    codes = []
    for number, admission in enumerate(admissions):
        own = replace(victim.identity, admission=admission)
        report, seed = number.to_bytes(wire.ID_BYTES, "little"), bytes([number]) * SEED_BYTES
        ticket = world.coordinator.key.sign("ticket", m.hash + report)
        _, vector = split(nothing, ring, partial(_given, seed))
        receipt = wire.NO_RECEIPT
        try:
            for kind, (url, payload) in enumerate(((SEED, seed), (VECTOR, ring.pack(vector)))):
                head = wire.ShareHead(kind, m.hash, report)
                share = invented_share(own, head, payload, ticket, receipt)
                receipt = (await ask(world.network, "POST", f"{url}/reports", share)).body
            codes.append("counted")
        except RefusedError as error:
            codes.append(error.code)
    return codes


def listening(world: World) -> list[Total]:
    """What the coordinator learns from every sum."""
    learned: list[Total] = []
    commit = world.coordinator.rounds._commit

    def listen(live: object, received: Total, count: int, *rest: object) -> None:
        learned.append(received)
        commit(live, received, count, *rest)  # type: ignore[arg-type]

    world.coordinator.rounds._commit = listen  # type: ignore[method-assign, assignment]
    return learned


async def surrounded(world: World) -> Device:
    """One honest device in a round that the coordinator has filled with places of its own."""
    victim = await world.join(0)
    invent_places(world)
    world.coordinator.order("start")
    await world.turn()
    assert (await victim.visit()).kind == "sent"
    return victim


async def finish(world: World) -> None:
    """The round ends, by its deadline if need be."""
    await world.turn()
    world.clock.now += 61
    await world.turn()


def test_invented_reports_beside_one_honest_one_are_not_counted_and_no_sum_is_released(tmp_path: Path) -> None:
    world = World(tmp_path, crowd(), channel=CHANNEL)

    async def scenario() -> None:
        victim = await surrounded(world)
        learned, federation = listening(world), world.coordinator.rounds.terms.federation
        own = [
            OwnAdmission.create(ServerKey(key_pairs.new_key("signing")), federation) for _ in range(INVENTED)
        ]
        assert await invent_reports(world, victim, list(own)) == ["forged"] * INVENTED
        bought = world.servers.admission(1)  # one true invitation is one device, however often it is used
        codes = await invent_reports(world, victim, [bought] * INVENTED)
        assert codes == ["counted", *["duplicate"] * (INVENTED - 1)]
        await finish(world)
        (ended,) = world.coordinator.history()
        assert (ended["state"], ended["reports"]) == ("abandoned", 2)
        assert "a sum must be of at least 100 reports, but only 2 arrived" in ended["reason"]
        assert learned == []
        for one in world.aggregators.values():
            assert one._store.rows("SELECT total FROM rounds WHERE total IS NOT NULL") == []

    asyncio.run(scenario())


def test_aggregators_that_count_whatever_has_a_ticket_give_one_person_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, crowd(), channel=CHANNEL)
    monkeypatch.setattr(AdmissionDesk, "check", lambda *_: b"")

    async def scenario() -> None:
        victim = await surrounded(world)
        learned = listening(world)
        assert await invent_reports(world, victim, [None] * INVENTED) == ["counted"] * INVENTED
        await finish(world)
        assert world.coordinator.history()[-1]["state"] == "committed"
        assert counted_items(learned[0]) == set(world.rows(0).item.tolist())

    asyncio.run(scenario())


async def outsider(world: World, number: int, victim: Device) -> Device:
    """Somebody whom nobody invited takes a place, as far as the coordinator lets her."""
    posted = {"token": number.to_bytes(32, "big").hex()}
    reply = await ask(world.network, "POST", f"{COORDINATOR}/devices", json.dumps(posted).encode())
    place = int(reply.json()["slot"])
    own = replace(victim.identity, token=posted["token"], place=place, admission=None)
    send, clock = world.network, world.clock
    return Device(own, InMemoryStorage(), NOBODY, victim.cache, send, clock, clock.sleep, entropy(number))


def test_nobody_registers_without_an_invitation(tmp_path: Path) -> None:
    world = World(tmp_path, crowd(), channel=CHANNEL)

    async def scenario() -> None:
        victim = await world.join(0)
        for number in range(1, INVENTED + 1):
            with pytest.raises(RefusedError, match="this federation is for invited devices") as refused:
                await outsider(world, number, victim)
            assert refused.value.code == "unauthorised"
        world.coordinator.order("start")
        await world.turn()
        assert (await victim.visit()).kind == "idle"  # no round begins with one device
        assert uploads(world.network) == []
        assert world.coordinator.rounds.store.registered().tolist() == [0]

    asyncio.run(scenario())


def test_where_everyone_may_register_the_public_model_is_one_persons_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, crowd(), channel=CHANNEL)
    monkeypatch.setattr(AdmissionDesk, "check", lambda *_: b"")
    monkeypatch.setattr(Coordinator, "_admitted", lambda *_: None)

    async def scenario() -> None:
        victim = await world.join(0)
        others = [await outsider(world, number, victim) for number in range(1, INVENTED + 1)]
        world.coordinator.order("start")
        await world.one_round([victim, *others])
        biases = world.coordinator.rounds.now.server.model["b"]
        assert set(np.flatnonzero(biases > biases.min()).tolist()) == set(world.rows(0).item.tolist())

    asyncio.run(scenario())


@pytest.mark.parametrize("expires", [True, False])
def test_a_federation_that_was_filled_by_posts_has_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expires: bool
) -> None:
    """Where everyone may join, places of those who never come are free again after the rounds they missed."""
    if not expires:
        monkeypatch.setattr(store, "_slots_after", lambda *_: [])
    world = World(tmp_path, people(), settings={"clients": "all", "rounds": 5, "prior": False})
    setup = replace(world.servers.setup, admission="open", admitter="", expire=3)
    world.servers.setup = setup
    rounds = world.coordinator.rounds
    rounds.setup = rounds.keeper._setup = rounds.store._setup = setup

    async def scenario() -> None:
        await world.servers.agree()
        places = world.info.clients
        for _ in range(places):
            await ask(world.network, "POST", f"{COORDINATOR}/devices")
        with pytest.raises(RefusedError, match="all 12 places of this federation are taken"):
            await ask(world.network, "POST", f"{COORDINATOR}/devices")
        world.coordinator.order("start")
        for _ in range(setup.expire):
            assert len(world.coordinator.rounds.store.registered()) == places
            await world.turn()
            await finish(world)
        left = world.coordinator.rounds.store.registered().tolist()
        assert left == ([] if expires else list(range(places)))
        if not expires:
            return
        devices = await world.everyone()
        await world.one_round(devices)
        assert world.coordinator.history()[0]["state"] == "committed"

    asyncio.run(scenario())


def test_a_revoked_invitation_counts_no_longer_though_its_pass_was_seen_before(tmp_path: Path) -> None:
    """A pass is remembered while its payload is on its way: a revocation must not be outrun by it."""
    world = World(tmp_path, people())

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        live, own = world.coordinator.rounds.live, devices[0].identity
        assert live is not None
        assert own.admission is not None
        head = wire.ShareHead(wire.SEED, live.hash, bytes(wire.ID_BYTES))
        share = invented_share(own, head, bytes(SEED_BYTES), world.coordinator.key.sign("ticket", head.signed))
        seed, public = world.aggregators["seed"], own.admission.key.public
        seed.admit(share[: wire.SHARE_PRELUDE])
        seed.revoke(world.servers.admitter.sign("revocation", public) + public)
        with pytest.raises(RefusedError, match="revoked"):
            seed.report(share)

    asyncio.run(scenario())
