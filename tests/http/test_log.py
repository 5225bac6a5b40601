"""The public log only grows: no witness signs another past, and no device believes one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from murmura.device import trust
from murmura.device.device import Device, VisitOutcome
from murmura.device.trust import check_log, last_verified, newest_model
from murmura.server import database
from murmura.server.aggregator.commitments import LogWitness
from murmura.server.database import ServerDatabase, put_fact
from murmura.server.loopback import COORDINATOR
from murmura.wire.log import (
    LoggedModel,
    LogHead,
    LogProof,
    MerkleTree,
    leaf_hash,
    manifest_entry,
    model_entry,
    pack_entries,
    terms_entry,
    unpack_entries,
)
from murmura.wire.manifest import LogEnd, Manifest, SignedManifest
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import canonical
from murmura.wire.transport import HttpReply, ask
from tests.http.forgery import envelope, head_of, keys_of, logged
from tests.http.network import World, people
from tests.http.wire_world import COORDINATOR as KEY
from tests.http.wire_world import entries, head, manifests, terms

TRAINING: dict[str, object] = {"rounds": 4, "clients": "all", "prior": False}


@pytest.fixture
def witness(tmp_path: Path) -> LogWitness:
    return LogWitness(ServerDatabase(tmp_path / "witness.db", "aggregator"))


def refused(witness: LogWitness, start: int, new: list[bytes]) -> str:
    """Why it takes nothing over."""
    before = (len(witness.tree), witness.tree.root())
    with pytest.raises(RefusedError) as caught:
        witness.append(terms(), start, new)
    assert (len(witness.tree), witness.tree.root()) == before
    return f"{caught.value.code}: {caught.value}"


def test_a_witness_takes_over_what_follows_and_signs_its_head(witness: LogWitness, tmp_path: Path) -> None:
    log = entries()
    for start, end in ((0, 1), (1, 3), (0, 3), (2, 5), (5, 6), (6, 6), (0, 6)):
        witness.append(terms(), start, log[start:end])
    assert (len(witness.tree), witness.tree.root()) == (6, head().root)
    assert witness.sign(terms().federation, KEY) == head().coordinator
    again = LogWitness(ServerDatabase(tmp_path / "witness.db", "aggregator"))
    assert again.tree.root() == head().root
    assert all(again.has(one.encode()) for one in manifests())
    assert not again.has(replace(manifests()[0], nonce="00" * 16).encode())


def test_a_new_witness_takes_over_a_log_whose_terms_changed(witness: LogWitness) -> None:
    """An aggregator that takes another's place sees the terms before it came, and what was done under them."""
    log, now = entries(), replace(terms(), windows=replace(terms().windows, seconds=7200.0))
    last = manifests()[-1]
    after = replace(last, serial=last.serial + 1, previous=last.hash.hex(), terms=now.hash.hex())
    whole = [*log, terms_entry(now.encode()), manifest_entry(after.encode())]
    witness.append(now, 0, whole)
    assert witness.tree.root() == MerkleTree([leaf_hash(entry) for entry in whole]).root()
    under_old = replace(after, serial=after.serial + 1, previous=after.hash.hex(), terms=terms().hash.hex())
    stranger = replace(now, federation="11" * 16)
    for entry in (manifest_entry(under_old.encode()), terms_entry(stranger.encode())):
        with pytest.raises(RefusedError, match=r"but (is|are) not"):
            witness.append(now, len(whole), [entry])


def test_a_witness_refuses_gaps_and_rewritten_entries(witness: LogWitness) -> None:
    log = entries()
    assert "entries from 0 on must come first, but 1 came" in refused(witness, 1, log[1:])
    witness.append(terms(), 0, log[:4])
    assert "entries from 4 on must come first, but 5 came" in refused(witness, 5, log[5:])
    for place in range(4):
        changed = [*log[:place], model_entry(place, bytes(32)), *log[place + 1 :]]
        assert "forged: entries of the log must never change" in refused(witness, 0, changed)
        assert "forged" in refused(witness, place, changed[place:])
    witness.append(terms(), 0, log)


def test_a_witness_refuses_manifests_that_do_not_follow(witness: LogWitness) -> None:
    opening, first, second = manifests()
    log = entries()
    skipped = "forged: manifest 1 must be logged next"
    witness.append(terms(), 0, log[:3])
    for wrong in (
        second,  # a serial is skipped
        opening,  # again
        replace(first, serial=2),
        replace(first, serial=0),
        replace(first, previous=""),
        replace(first, previous="00" * 32),
    ):
        assert skipped in refused(witness, 3, [manifest_entry(wrong.encode())])
    for wrong in (replace(first, terms="00" * 32), replace(first, federation="00" * 16)):
        assert "must be made under the agreed terms" in refused(witness, 3, [manifest_entry(wrong.encode())])
    # all or none: the second of two is wrong
    assert "manifest 2 must be logged next" in refused(witness, 3, [log[3], manifest_entry(opening.encode())])
    witness.append(terms(), 3, log[3:])


def test_a_witness_takes_nothing_but_terms_manifests_and_models(witness: LogWitness) -> None:
    log = entries()
    for first in (log[1], log[2], b"x"):
        assert "a log must begin with the terms" in refused(witness, 0, [first])
    witness.append(terms(), 0, log[:1])
    for wrong in (
        b"x",
        b"model\0",
        b"model\0" + bytes(39),
        b"model\0" + bytes(41),
        b"secret\0" + bytes(40),
    ):
        assert "must be terms, a manifest, a model or a resumption" in refused(witness, 1, [wrong])
    assert "must be terms" in refused(witness, 1, [model_entry(0, bytes(32))])  # of no round
    assert "version" in refused(witness, 1, [b"manifest\0{}"])


def test_an_aggregator_signs_no_log_that_ends_under_terms_it_has_not_agreed_to(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        await world.servers.agree()
        seed, key = world.aggregators["seed"], world.coordinator.key
        entry = terms_entry(replace(seed.terms, method="fcf").encode())
        message = len(seed.witness.tree).to_bytes(8, "little") + pack_entries([entry])
        with pytest.raises(RefusedError, match="terms in the log must be agreed here"):
            seed.append_log(key.sign("log", message) + message)
        seed.witness = LogWitness(ServerDatabase(tmp_path / "another.db", "aggregator"))  # takes one over
        message = bytes(8) + pack_entries([entry])
        assert seed.append_log(key.sign("log", message) + message) == b""
        empty = len(seed.witness.tree).to_bytes(8, "little")
        with pytest.raises(RefusedError, match="the last terms of the log must be those agreed here"):
            seed.append_log(key.sign("log", empty) + empty)

    asyncio.run(scenario())


def test_an_aggregator_opens_no_round_that_is_not_in_its_log(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.one_round(devices)
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        secret = replace(live.manifest, serial=2, nonce="00" * 16, previous=live.manifest.hash.hex()).encode()
        for aggregator in world.aggregators.values():
            pair = len(secret).to_bytes(4, "little") + secret
            with pytest.raises(RefusedError, match="must be in the public log before it is opened"):
                aggregator.open_round(world.coordinator.key.sign("manifest", secret) + pair)
            content = len(logged(world)).to_bytes(8, "little") + pack_entries([manifest_entry(secret)])
            with pytest.raises(RefusedError, match="log's signature"):
                aggregator.append_log(KEY.sign("log", content) + content)

    asyncio.run(scenario())


def other_past(world: World) -> list[bytes]:
    """The log with the model of the first round exchanged."""
    log = logged(world)
    place = next(n for n, entry in enumerate(log) if entry.startswith(b"model\0"))
    return [*log[:place], model_entry(0, bytes(32)), *log[place + 1 :]]


def shown(world: World, devices: list[Device], log: list[bytes], before: int | None = None) -> Any:
    """Show the first device the open round at the end of this log, signed by all."""
    live, known = world.coordinator.rounds.live, devices[0].storage.memory.log[0]
    assert live is not None
    made = envelope(world, live.manifest.encode(), log, known if before is None else before)
    return devices[0].take_part(HttpReply(200, made))


@pytest.mark.parametrize("looks", [True, False])
def test_a_device_refuses_a_log_that_does_not_extend_the_one_it_saw(
    tmp_path: Path, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three machines sign another past: a device that remembers takes no part, one that does not does."""
    world = World(tmp_path, people(), settings=TRAINING)

    async def nothing(*_: object) -> None:
        return

    async def scenario() -> VisitOutcome | None:
        devices = await world.everyone()
        for _ in range(2):
            await world.one_round(devices)
        await world.turn()
        known = devices[0].storage.memory.log[0]
        if looks:
            for before in (known, known - 1, 0):  # with a proof, or asked of the coordinator for one
                with pytest.raises(RefusedError, match="another past is shown; it sends nothing") as caught:
                    await shown(world, devices, other_past(world), before)
                assert caught.value.code == "forged"
            assert devices[0].storage.memory.log[0] == known
            return None
        monkeypatch.setattr(trust, "check_grown", nothing)
        outcome: VisitOutcome = await shown(world, devices, other_past(world))
        return outcome

    outcome = asyncio.run(scenario())
    assert outcome is None or outcome.kind == "sent"


def test_a_device_refuses_a_shorter_log_and_goes_on_with_the_true_one(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> str:
        devices = await world.everyone()
        for _ in range(2):
            await world.one_round(devices)
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        short = [logged(world)[0], manifest_entry(live.manifest.encode())]
        with pytest.raises(RefusedError, match=r"entries of the log, but only 2 are shown") as caught:
            await shown(world, devices, short, 0)
        assert caught.value.code == "replay"
        return (await devices[0].visit()).kind

    assert asyncio.run(scenario()) == "sent"


@pytest.mark.parametrize("looks", [True, False])
def test_a_device_refuses_a_manifest_that_is_not_in_the_log(
    tmp_path: Path, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed by all three, but for one person: without the proof it would be believed."""
    world = World(tmp_path, people(), settings=TRAINING)
    if not looks:
        monkeypatch.setattr(LogProof, "check", lambda *_: None)

    async def scenario() -> VisitOutcome | str:
        devices = await world.everyone()
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        public = SignedManifest.decode(live.envelope)
        content = canonical({**json.loads(live.manifest.encode()), "nonce": "00" * 16})
        one, two, three = (key.sign("manifest", content) for key in keys_of(world))
        secret = SignedManifest(content, one, two, three, public.proof).encode()
        try:
            return await devices[0].take_part(HttpReply(200, secret))
        except RefusedError as error:
            return str(error)

    outcome = asyncio.run(scenario())
    if looks:
        assert outcome == "what is shown must be in the public log, but is not; take no part."
    else:
        assert isinstance(outcome, VisitOutcome)
        assert "ticket must be for the open round" in outcome.why  # it was believed as far as it goes


@pytest.mark.parametrize("signer", range(3))
def test_a_head_needs_the_signatures_of_all_three(tmp_path: Path, signer: int) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        public = SignedManifest.decode(live.envelope)
        name = ("coordinator", "seed", "vector")[signer]
        head = replace(public.proof.head, **{name: bytes(64)})  # type: ignore[arg-type]
        unsigned = replace(public, proof=replace(public.proof, head=head))
        with pytest.raises(RefusedError, match="head's signature must be of the right machine"):
            await devices[0].take_part(HttpReply(200, unsigned.encode()))

    asyncio.run(scenario())


@pytest.mark.parametrize("lie", [False, True])
def test_a_device_that_missed_rounds_asks_for_a_proof_and_goes_on(tmp_path: Path, lie: bool) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> str:
        devices = await world.everyone()
        await world.one_round(devices)
        await world.turn()
        for device in devices[1:]:  # the first one sleeps
            await device.visit()
        world.clock.now += 61
        await world.turn()
        await world.turn()
        before = len(world.network.log)
        if lie:
            honest = world.network.machines[COORDINATOR]

            def wrong(method: str, path: str, body: bytes, headers: Mapping[str, str]) -> HttpReply:
                reply = honest(method, path, body, headers)
                return replace(reply, body=reply.body[::-1]) if "/consistency/" in path else reply

            world.network.machines[COORDINATOR] = wrong
            with pytest.raises(RefusedError, match="another past is shown"):
                await devices[0].visit()
            world.network.machines[COORDINATOR] = honest
        outcome = await devices[0].visit()
        asked = [url for _, url, _ in world.network.log[before:] if "/log/consistency/" in url]
        assert len(asked) == 1 + lie
        await devices[1].visit()
        assert [url for _, url, _ in world.network.log[before:] if "/log/consistency/" in url] == asked
        return outcome.kind

    assert asyncio.run(scenario()) == "sent"


def test_anybody_can_check_the_whole_log(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(2):
            await world.one_round(devices)
        await world.turn()
        joined = world.coordinator.rounds.terms
        found = await check_log(world.network, COORDINATOR, joined)
        assert (found.entries, found.manifests, found.models, found.terms) == (6, 3, 2, 1)
        newest = await newest_model(world.network, COORDINATOR, joined, devices[0].storage.memory.head)
        assert newest == LoggedModel(world.coordinator.rounds.now.model)
        last = await last_verified(world.network, COORDINATOR, joined, devices[0].storage.memory.head)
        assert last is not None
        assert last.manifest.serial == 1
        page = unpack_entries((await ask(world.network, "GET", f"{COORDINATOR}/log/entries/2")).body)
        assert page == logged(world)[2:]
        for wrong in ("consistency/5/99", "consistency/4/3", "consistency/x/1", "entries/-1"):
            with pytest.raises(RefusedError):
                await ask(world.network, "GET", f"{COORDINATOR}/log/{wrong}")

    asyncio.run(scenario())


def test_a_proof_of_the_log_is_read_as_long_as_it_claims() -> None:
    log = entries()
    tree = MerkleTree([leaf_hash(entry) for entry in log])
    proof = LogProof(head(), 5, 4, tuple(tree.inclusion(5, 6)), tuple(tree.consistency(4, 6)))
    assert LogProof.decode(proof.encode()) == proof
    assert LogHead.decode(head().encode()) == head()
    content = proof.encode()
    for end in range(len(content)):
        with pytest.raises(RefusedError) as caught:
            LogProof.decode(content[:end])
        assert caught.value.code == "malformed"
    with pytest.raises(RefusedError):
        LogProof.decode(content + bytes(32))
    assert unpack_entries(pack_entries(log)) == log
    assert Manifest.decode(log[-1].partition(b"\0")[2]) == manifests()[-1]


def test_a_head_of_another_federation_is_not_this_ones() -> None:
    strange = head_of("00" * 16, entries(), [KEY])
    with pytest.raises(RefusedError, match="head's signature"):
        strange.check(terms())
    head().check(terms())


def test_an_aggregator_of_the_version_before_gets_the_entries_it_kept_only_leaves_of(tmp_path: Path) -> None:
    path = tmp_path / "before.db"
    with pytest.MonkeyPatch.context() as before:
        before.setitem(database.STEPS, "aggregator", database.STEPS["aggregator"][:1])
        store = ServerDatabase(path, "aggregator")
        rows = [
            ("INSERT INTO log VALUES (?, ?)", (n, leaf_hash(entry))) for n, entry in enumerate(entries()[:3])
        ]
        store.write([*rows, put_fact("end of the log", LogEnd(terms().hash).encode())])
        store.close()
    witness = LogWitness(ServerDatabase(path, "aggregator"))
    assert (witness.known(), witness.shown("0")) == ({"size": 3, "whole": 0}, b"")
    witness.append(terms(), 0, entries()[:2])  # in pages, from the first that is lacking on
    assert witness.known() == {"size": 3, "whole": 2}
    witness.append(terms(), 2, entries()[2:3])
    assert witness.known() == {"size": 3, "whole": 3}
    assert unpack_entries(witness.shown("1")) == entries()[1:3]
