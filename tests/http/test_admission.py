"""Who may take part: one invitation is one device, and nobody else is counted, whatever a coordinator says."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from murmura.core.errors import RunError
from murmura.device.device import Device
from murmura.device.enrolment import register
from murmura.server.admissions import Admitter
from murmura.server.aggregator.aggregator import Aggregator, Role
from murmura.server.database import ServerDatabase
from murmura.server.loopback import COORDINATOR, SEED, VECTOR
from murmura.wire import wire
from murmura.wire.admission import Admission, Invitation, OwnAdmission
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import ServerKey
from murmura.wire.transport import ask
from murmura.wire.wire import ShareHead
from tests.http.forgery import made_share, opened_share
from tests.http.network import World, people
from tests.http.wire_world import ADMITTER, FEDERATION, STRANGER, admission, terms

TRAINING: dict[str, object] = {"rounds": 2, "clients": "all", "prior": False}
ROLES: dict[Role, str] = {"seed": SEED, "vector": VECTOR}
BOTH = pytest.mark.parametrize("role", list(ROLES))


def code_of(error: pytest.ExceptionInfo[RefusedError]) -> str:
    return error.value.code


@pytest.mark.parametrize("invited", [True, False])
@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("https://fed.example", "murmura"),
        ("https://fed.example:8443/a/b", "murmura"),
        ("https://[2001:db8::1]:8443", "murmura"),
        ("http://127.0.0.1:8000", "murmura"),
        ("http://localhost:8000", "murmura"),
        ("http://[::1]:8000", "murmura"),
        ("http://192.0.2.1:8000", "murmura+http"),
        ("http://fed.example", "murmura+http"),
    ],
)
def test_a_link_leads_where_it_was_made_for(url: str, scheme: str, invited: bool) -> None:
    made = Invitation(url, terms().hash, admission() if invited else None)
    assert made.link().partition("://")[0] == scheme
    assert Invitation.read(made.link()) == made
    assert Invitation.read(f"  {made.link()}\n") == made


def test_a_link_that_was_not_copied_whole_is_refused_in_one_sentence() -> None:
    link = Invitation("https://fed.example/a", terms().hash, admission()).link()
    bare = Invitation("https://fed.example/a", terms().hash).link()
    wrong = [
        *(link[:end] for end in range(len(link)) if link[:end] != bare),
        *(link[start:] for start in range(1, len(link))),
        "",
        link + "x",
        link + "." + "A" * 10,
        link.replace("murmura:", "murmura+ftp:"),
        link.replace("#2.", "#3."),
        link.replace(".example", ".exa mple"),
        bare + ".",
        "https://fed.example",
        "murmura://" + "x" * 5000,
    ]
    for text in wrong:
        with pytest.raises(RefusedError, match=r"must be a link murmura://host#2\.") as caught:
            Invitation.read(text)
        assert code_of(caught) == "malformed"


def test_an_admission_is_the_admitters_of_this_federation_and_not_over() -> None:
    own = admission(expires=1000)
    own.shown.check(terms(), now=1000.0)
    admission(expires=0).shown.check(terms(), now=1e12)  # never over
    assert OwnAdmission.decode(own.encode()) == own
    assert Admission.decode(own.shown.encode()) == own.shown
    fresh = OwnAdmission.create(ADMITTER, FEDERATION, expires=77)
    fresh.shown.check(terms(), now=0.0)
    assert fresh.key.public != OwnAdmission.create(ADMITTER, FEDERATION, expires=77).key.public
    with pytest.raises(RefusedError, match="must still be valid, but has expired; ask for another") as caught:
        own.shown.check(terms(), now=1001.0)
    assert code_of(caught) == "forged"
    for wrong in (
        replace(own.shown, expires=2000),
        replace(own.shown, public=STRANGER.public),
        admission(by=STRANGER).shown,
        admission(federation="00" * 16).shown,
        admission(by=ServerKey(own.key.private)).shown,
    ):
        with pytest.raises(RefusedError, match="admission's signature must be of the right machine"):
            wrong.check(terms(), now=0.0)


async def refusal(world: World, own: OwnAdmission | None, token: str = "aa" * 32) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        await register(world.network, COORDINATOR, world.coordinator.rounds.terms, own, token)
    return caught.value


def test_a_place_needs_an_invitation_and_an_invitation_gives_one_place(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        await world.servers.agree()
        federation, joined = world.coordinator.rounds.store.federation, world.coordinator.rounds.terms
        mine = world.servers.admission(0)
        place = await register(world.network, COORDINATOR, joined, mine, "11" * 32)
        again = await register(world.network, COORDINATOR, joined, mine, "11" * 32)
        assert again == place  # the answer was lost: asked again, it is the same place
        second = await refusal(world, mine, "22" * 32)
        assert (second.code, "used by another device" in str(second)) == ("duplicate", True)
        nobody = await refusal(world, None)
        assert (nobody.code, "for invited devices" in str(nobody)) == ("unauthorised", True)
        assert (await refusal(world, OwnAdmission.create(STRANGER, federation))).code == "forged"
        assert (await refusal(world, OwnAdmission.create(world.coordinator.key, federation))).code == "forged"
        assert (await refusal(world, OwnAdmission.create(world.servers.admitter, "00" * 16))).code == "forged"
        over = OwnAdmission.create(world.servers.admitter, federation, int(world.clock.now) - 1)
        assert "has expired" in str(await refusal(world, over))

    asyncio.run(scenario())
    assert world.coordinator.rounds.store.registered().tolist() == [0]


def test_who_has_seen_an_invitations_public_half_cannot_use_it(tmp_path: Path) -> None:
    """An aggregator sees it in every pass: without the private key there is no place and no report."""
    world = World(tmp_path, people(), settings=TRAINING)

    async def asked(body: dict[str, Any]) -> str:
        with pytest.raises(RefusedError) as caught:
            await ask(world.network, "POST", f"{COORDINATOR}/devices", json.dumps(body).encode())
        return code_of(caught)

    async def scenario() -> None:
        await world.servers.agree()
        mine, federation = world.servers.admission(0), bytes.fromhex(world.coordinator.rounds.store.federation)
        shown, token = mine.shown.encode().hex(), "33" * 32
        proof = STRANGER.sign("join", federation + token.encode()).hex()
        replayed = mine.key.sign("join", federation + ("44" * 32).encode()).hex()
        wrong: Any
        for wrong in (proof, replayed, "", "zz", None, 7, [], "00" * 64):
            body = {"token": token, "admission": shown, "proof": wrong}
            assert await asked(body) in ("forged", "malformed")
        for wrong in (shown[:-2], "", "zz", 7, [], {}, "00" * 104):
            body = {"token": token, "admission": wrong, "proof": proof}
            assert await asked(body) in ("forged", "malformed")
        assert await asked({"token": token}) == "unauthorised"

    asyncio.run(scenario())
    assert len(world.coordinator.rounds.store.registered()) == 0


async def in_a_round(world: World) -> list[Device]:
    """The first device has reported, the others have not."""
    devices = await world.everyone()
    await world.turn()
    assert (await devices[0].visit()).kind == "sent"
    return devices


def sent(world: World, role: Role) -> bytes:
    return next(body for _, url, body in world.network.log if url == f"{ROLES[role]}/reports")


async def told(world: World, role: Role, body: bytes) -> str:
    reply = await world.network("POST", f"{ROLES[role]}/reports", body, {})
    return "" if reply.status == 200 else RefusedError.read(reply.status, reply.body).code


@BOTH
@pytest.mark.parametrize("looks", [True, False])
def test_an_invitation_counts_once_in_a_round_at_each_aggregator(
    tmp_path: Path, role: Role, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator may give somebody two tickets: both aggregators count one, blind ones two."""
    world = World(tmp_path, people(), settings=TRAINING)
    if not looks:
        monkeypatch.setattr(Aggregator, "_check_first", lambda *_: None)

    async def scenario() -> str:
        devices = await in_a_round(world)
        head, _, payload = opened_share(world, role, sent(world, role))
        second = made_share(
            world, role, replace(head, report=b"2" * 16), payload, devices[0].identity.admission
        )
        return await told(world, role, second)

    assert asyncio.run(scenario()) == ("duplicate" if looks else "")
    live = world.coordinator.rounds.live
    assert live is not None
    assert world.aggregators[role].count(live.hash) == (1 if looks else 2)


@BOTH
def test_a_report_is_signed_with_an_invitation_of_this_federation(tmp_path: Path, role: Role) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await in_a_round(world)
        first, _, payload = opened_share(world, role, sent(world, role))
        head, federation = replace(first, report=b"2" * 16), world.coordinator.rounds.store.federation
        other, past = devices[1].identity.admission, int(world.clock.now) - 1
        assert other is not None
        cases: dict[str, tuple[OwnAdmission | None, ServerKey | None]] = {
            "none at all": (None, None),
            "by somebody else": (OwnAdmission.create(STRANGER, federation), None),
            "by the coordinator": (OwnAdmission.create(world.coordinator.key, federation), None),
            "of another federation": (OwnAdmission.create(world.servers.admitter, "00" * 16), None),
            "over": (OwnAdmission.create(world.servers.admitter, federation, past), None),
            "somebody else's, seen by an aggregator": (other, STRANGER),
        }
        for what, (own, signer) in cases.items():
            share = made_share(world, role, head, payload, own, signer=signer)
            assert await told(world, role, share) == "forged", what
        assert await told(world, role, made_share(world, role, head, payload, other)) == ""

    asyncio.run(scenario())


def test_an_aggregator_needs_no_payload_to_refuse(tmp_path: Path) -> None:
    """Its pass is checked before anything else is read: here there is nothing else."""
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        await in_a_round(world)
        head, _, payload = opened_share(world, "seed", sent(world, "seed"))
        forged = made_share(world, "seed", replace(head, report=b"2" * 16), payload, None)
        with pytest.raises(RefusedError) as caught:
            world.aggregators["seed"].admit(forged[: wire.SHARE_PRELUDE])
        assert code_of(caught) == "forged"

    asyncio.run(scenario())


def test_an_invitation_that_ends_while_its_device_is_away_counts_no_longer(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> str:
        await in_a_round(world)
        federation, end = world.coordinator.rounds.store.federation, int(world.clock.now) + 10
        own = OwnAdmission.create(world.servers.admitter, federation, end)
        head, _, payload = opened_share(world, "seed", sent(world, "seed"))
        share = made_share(world, "seed", replace(head, report=b"2" * 16), payload, own)
        assert await told(world, "seed", share) == ""
        world.clock.now = end + 1
        other = made_share(world, "seed", replace(head, report=b"3" * 16), payload, own)
        return await told(world, "seed", other)

    assert asyncio.run(scenario()) == "forged"


def test_what_is_taken_back_loses_its_place_and_counts_nowhere(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await in_a_round(world)
        gone, stays = (device.identity.admission for device in devices[1:3])
        assert gone is not None
        assert stays is not None
        keys = gone.key.public
        message = world.servers.admitter.sign("revocation", keys) + keys
        for address in (COORDINATOR, SEED, VECTOR):
            for wrong in (
                STRANGER.sign("revocation", keys) + keys,
                world.coordinator.key.sign("revocation", keys) + keys,
                world.servers.admitter.sign("admission", keys) + keys,
                message[:-1],
                message[:64],
                b"",
            ):
                with pytest.raises(RefusedError) as caught:
                    await ask(world.network, "POST", f"{address}/revocations", wrong)
                assert code_of(caught) in ("forged", "malformed")
            for _ in range(2):  # once more changes nothing
                reply = await ask(world.network, "POST", f"{address}/revocations", message)
                assert reply.json() == {"revoked": 1}
        assert 1 not in world.coordinator.rounds.store.registered()
        for role in ROLES:
            first, _, payload = opened_share(world, role, sent(world, role))
            head = replace(first, report=b"2" * 16)
            assert await told(world, role, made_share(world, role, head, payload, gone)) == "forged"
            assert await told(world, role, made_share(world, role, head, payload, stays)) == ""
            world.start_aggregator(role)  # it remembers
            with pytest.raises(RefusedError, match="was revoked"):
                world.aggregators[role].desk.check_valid(gone.shown)
        assert "was revoked" in str(await refusal(world, gone))

    asyncio.run(scenario())


def test_where_everyone_may_join_no_invitation_is_asked_for(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    world.servers.setup = replace(world.setup, admission="open", admitter="")
    world.start_coordinator()

    async def scenario() -> None:
        await world.servers.agree()
        joined = world.coordinator.rounds.terms
        assert (joined.admission, joined.admitter) == ("open", "")
        for client in range(12):
            await register(world.network, COORDINATOR, joined, None, f"{client:02}" * 32)
        world.coordinator.order("start")
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        payload = bytes(32)
        share = made_share(world, "seed", ShareHead(wire.SEED, live.hash, b"1" * 16), payload, None)
        assert await told(world, "seed", share) == ""
        with pytest.raises(RefusedError, match="must name admissions"):
            world.aggregators["seed"].revoke(bytes(96))

    asyncio.run(scenario())


def test_an_admitter_invites_lists_and_takes_back(tmp_path: Path) -> None:
    world = World(tmp_path / "world", people(), settings=TRAINING)
    store = ServerDatabase(tmp_path / "admitter.db", "admitter")
    with pytest.raises(RunError, match="knows no federation yet"):
        Admitter(store).invite(1)
    admitter = Admitter(store, world.clock)
    world.servers.setup = replace(world.setup, admitter=admitter.key.public.hex())
    world.start_coordinator()

    async def scenario() -> None:
        await world.servers.agree()
        joined = world.coordinator.rounds.terms
        with pytest.raises(RunError, match="must be signed by the key that the federation's terms name"):
            Admitter(ServerDatabase(tmp_path / "other.db", "admitter")).pin(joined, COORDINATOR)
        admitter.pin(joined, COORDINATOR)
        links = [made.link() for made in admitter.invite(3, "friends", days=2)]
        assert [one.number for one in admitter.issued()] == [1, 2, 3]
        read = [Invitation.read(link) for link in links]
        secrets = [one.admission.key.private for one in read if one.admission is not None]
        kept = b"".join(path.read_bytes() for path in tmp_path.glob("admitter.db*"))
        assert len(secrets) == 3
        assert not any(secret in kept for secret in secrets)  # nowhere but in the links
        for one, token in zip(read, ("11", "22", "33")):
            assert one.terms == joined.hash
            await register(world.network, COORDINATOR, joined, one.admission, token * 32)
        assert world.coordinator.revoke(admitter.revoke([2])) == 1
        assert world.coordinator.rounds.store.registered().tolist() == [0, 2]
        assert [one.revoked is None for one in admitter.issued()] == [True, False, True]
        with pytest.raises(RunError, match="must be an invitation 9, but there is none"):
            admitter.revoke([1, 9])
        assert admitter.issued()[0].revoked is None
        world.clock.now += 2 * 86400 + 1
        assert "has expired" in str(await refusal(world, read[0].admission, "11" * 32))

    asyncio.run(scenario())
