"""A coordinator that wants to be both aggregators: by their keys, by their hosts, or by other addresses later.

Against a device without the check it reads the owner's exact history from one upload.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from murmura.channel import key_pairs
from murmura.device import trust
from murmura.device.device import Device
from murmura.device.trust import fetch_terms
from murmura.server import endpoints
from murmura.server.dispatch import respond
from murmura.server.loopback import COORDINATOR, SEED
from murmura.wire.admission import Invitation
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import SealingKey, ServerKey
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import check_elsewhere, reaches_itself
from tests.cli.processes import murmura
from tests.faults.malice import counted_items, newcomer, read_both, uploads
from tests.http.network import World, people
from tests.http.own_devices import awake


@contextmanager
def without_checks() -> Iterator[None]:
    """Software of one's own: nobody looks at whom the terms name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FederationTerms, "check", lambda self: None)
        yield


def one_key(world: World) -> None:
    """Both aggregators are the coordinator: one key to sign with, one key to read with."""
    sealing = SealingKey(bytes(range(32)))
    for one in world.aggregators.values():
        one.key = one.agreement.key = world.coordinator.key
        one.sealing_key = one.agreement.sealing_key = sealing


def one_host(world: World) -> None:
    """Both aggregators have keys of their own, and are two paths of one machine."""
    machines = {f"/{role}": one for role, one in world.aggregators.items()}

    def both(method: str, path: str, body: bytes, headers: dict[str, str]) -> object:
        first, rest = path[: path.index("/", 1)], path[path.index("/", 1) :]
        return respond(machines[first], endpoints.AGGREGATOR, method, rest, body, headers)

    world.network.machines["http://evil"] = both  # type: ignore[assignment]
    world.coordinator.rounds.setup = world.coordinator.rounds.keeper._setup = replace(
        world.servers.setup, aggregators=("http://evil/seed", "http://evil/vector")
    )


LIES = {
    "three different keys, but two are equal": one_key,
    "must be on two hosts, but both are on evil": one_host,
}


def stolen(world: World, victim: Device) -> set[int]:
    """What the attacker reads from the one upload that passed by."""
    m = victim.manifest
    assert m is not None
    keys = [world.aggregators[role].sealing_key for role in ("seed", "vector")]
    (_, first), (_, second) = uploads(world.network)
    return counted_items(read_both(world.coordinator.rounds.terms, world.info, m, (first, second), keys))


@pytest.mark.parametrize("said", LIES)
def test_terms_that_name_one_machine_twice_are_not_joined(tmp_path: Path, said: str) -> None:
    world = World(tmp_path, people())
    LIES[said](world)

    async def scenario() -> None:
        with without_checks():
            await world.servers.agree()
        with pytest.raises(RefusedError, match=said) as refused:
            await newcomer(world, tmp_path / "me")
        assert refused.value.code == "forged"
        assert uploads(world.network) == []
        assert len(world.coordinator.rounds.store.registered()) == 0

    asyncio.run(scenario())


@contextmanager
def answering(world: World) -> Iterator[str]:
    """The coordinator behind a real port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            asked.append((self.command, self.path))
            reply = world.network.machines[COORDINATOR](self.command, self.path, body, headers)
            self.send_response(reply.status)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    asked: list[tuple[str, str]] = []
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert {method for method, _ in asked} == {"GET"}  # not a byte about anybody was sent


def test_the_command_refuses_one_machine_and_another_federation_than_invited_to(tmp_path: Path) -> None:
    """`murmura join` itself, against a coordinator that listens."""
    world = World(tmp_path, people())
    asyncio.run(world.servers.agree())
    (tmp_path / "likes.csv").write_text("user,item\n1,2\n1,4\n")
    words = ("--state", "me", "--data", "likes.csv")
    with answering(world) as url:
        other = murmura("join", Invitation(url, bytes(32)).link(), *words, cwd=tmp_path)
    assert "must be the one of the invitation, but has other terms" in other.stderr
    one_key(world)
    for one in world.aggregators.values():
        one.agreement._terms = None
    world.coordinator.rounds.keeper.confirmed = False
    with without_checks():
        asyncio.run(world.servers.agree())
    with answering(world) as url:
        first = murmura("join", url, "--first-contact", *words, cwd=tmp_path)
    assert "three different keys, but two are equal" in first.stderr
    for said in (other, first):
        assert said.returncode not in (0, 1)
        assert "Traceback" not in said.stderr
    assert not (tmp_path / "me" / "device.json").exists()


@pytest.mark.parametrize("said", LIES)
def test_a_device_without_that_check_gives_its_history_away(tmp_path: Path, said: str) -> None:
    world = World(tmp_path, people())
    LIES[said](world)

    async def scenario() -> None:
        with without_checks():
            victim = awake(world, await newcomer(world, tmp_path / "me"))
            for client in range(1, world.info.clients):
                await world.join(client)
            world.coordinator.order("start")
            await world.turn()
            assert (await victim.visit()).kind == "sent"
        assert stolen(world, victim) == set(world.rows(0).item.tolist())

    asyncio.run(scenario())


OWN = "http://localhost"  # where a device has services of its own


@pytest.mark.parametrize("checked", [True, False])
def test_a_coordinator_elsewhere_sends_no_device_to_its_own_machine(
    checked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, people())
    if not checked:
        monkeypatch.setattr(trust, "check_elsewhere", lambda url, *named: None)

    async def scenario() -> None:
        victim, *_ = await world.everyone()
        moved(world, OWN)
        await world.turn()
        if checked:
            with pytest.raises(RefusedError, match=f"must be elsewhere, but one is at {OWN}; take no part"):
                await fetch_terms(world.network, COORDINATOR)
            return
        victim.identity = replace(victim.identity, terms=await fetch_terms(world.network, COORDINATOR))
        assert (await victim.visit()).kind == "sent"
        assert [url for url, _ in uploads(world.network)] == [f"{OWN}/reports", "http://vector/reports"]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("host", "own"),
    [
        *(
            (one, True)
            for one in (
                "127.0.0.1",
                "127.1",
                "2130706433",
                "0x7f.1",
                "0",
                "0.0.0.0",
                "localhost",
                "a.localhost",
            )
        ),
        *((one, True) for one in ("::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0")),
        *(
            (one, False)
            for one in ("127.0.0.1.example", "localhost.example", "192.0.2.1", "2001:db8::1", "seed")
        ),
    ],
)
def test_what_a_device_would_reach_on_its_own_machine(host: str, own: bool) -> None:
    assert reaches_itself(host) is own
    address = f"http://[{host}]" if ":" in host else f"http://{host}"
    check_elsewhere("http://127.0.0.1:8400", address)  # for whom this machine is where the coordinator is
    if not own:
        check_elsewhere("https://films.example", address)


def moved(world: World, url: str = "http://elsewhere") -> None:
    """The coordinator goes on with a seed aggregator of its own."""
    evil = world.aggregators["seed"]
    evil.key = evil.agreement.key = ServerKey(key_pairs.new_key("signing"))
    world.network.machines[url] = world.network.machines[SEED]
    setup = replace(world.servers.setup, aggregators=(url, "http://vector"))
    rounds = world.coordinator.rounds
    rounds.setup = rounds.keeper._setup = setup
    rounds.keeper.confirmed = False
    for one in world.aggregators.values():  # the other operator was talked into it
        one.agreement._terms = None


def test_other_aggregators_than_those_joined_with_get_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, people())

    async def scenario() -> None:
        victim, *_ = await world.everyone()
        before = victim.storage.memory
        moved(world)
        await world.turn()
        with pytest.raises(RefusedError) as refused:
            await victim.visit()
        assert "seed_aggregator.url http://seed → http://elsewhere" in str(refused.value)
        assert "nothing is sent" in str(refused.value)
        assert uploads(world.network) == []
        assert victim.storage.memory is before

    asyncio.run(scenario())


def test_a_device_that_pins_nothing_sends_to_any_address(tmp_path: Path) -> None:
    world = World(tmp_path, people())

    async def scenario() -> None:
        victim, *_ = await world.everyone()
        moved(world)
        await world.turn()
        offered = await fetch_terms(world.network, COORDINATOR)  # what the device is shown is what it believes
        victim.identity = replace(victim.identity, terms=offered)
        assert (await victim.visit()).kind == "sent"
        assert [url for url, _ in uploads(world.network)] == [
            "http://elsewhere/reports",
            "http://vector/reports",
        ]

    asyncio.run(scenario())


def test_the_fingerprint_of_an_invitation_names_one_federation(tmp_path: Path) -> None:
    world = World(tmp_path, people())

    async def scenario() -> None:
        await world.servers.agree()
        terms = world.coordinator.rounds.terms
        assert (await fetch_terms(world.network, COORDINATOR, terms.hash)).hash == terms.hash
        other = replace(terms, channel={**terms.channel, "minimum_cohort": 2})
        with pytest.raises(RefusedError, match="must be the one of the invitation, but has other terms"):
            await fetch_terms(world.network, COORDINATOR, other.hash)

    asyncio.run(scenario())


def test_a_coordinator_that_admits_is_not_joined(tmp_path: Path) -> None:
    world = World(tmp_path, people())
    terms_of = partial(replace, world.servers.setup, admitter=world.coordinator.key.public.hex())
    world.coordinator.rounds.setup = world.coordinator.rounds.keeper._setup = terms_of()

    async def scenario() -> None:
        with without_checks():
            await world.servers.agree()
        with pytest.raises(RefusedError, match="must not admit devices itself"):
            await fetch_terms(world.network, COORDINATOR)

    asyncio.run(scenario())
