"""Servers that lie or are of another time: forged and second manifests, other models, other versions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.device.enrolment import about
from murmura.server.log_table import DICTIONARY, whole
from murmura.wire import wire
from murmura.wire.manifest import Manifest, SignedManifest
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import ServerKey, canonical
from murmura.wire.transport import REPLY_BYTES, VERSION_HEADER, HttpReply, Transport
from tests.faults.federation import PEOPLE, SETTINGS, Scene, scene
from tests.faults.malice import HeldKeys, ordered

pytestmark = pytest.mark.process
MACHINES = ("coordinator", "seed", "vector")


def opened(reply: HttpReply) -> Manifest:
    return SignedManifest.decode(reply.body).manifest


def key_of(place: Scene, name: str) -> ServerKey:
    """A machine's own: a test can be the worst coordinator there is, and the worst aggregators too."""
    return ServerKey(bytes(place.rows(name, "SELECT value FROM facts WHERE name = 'key'")[0][0]))


def signed(place: Scene, manifest: Manifest | bytes, keys: HeldKeys) -> HttpReply:
    """A manifest that these keys have signed, in a log that grows from the true one."""
    content = manifest if isinstance(manifest, bytes) else manifest.encode()
    ((dictionary,),) = place.rows("coordinator", f"SELECT value FROM facts WHERE name = '{DICTIONARY}'")
    stored = place.rows("coordinator", "SELECT entry FROM log ORDER BY place")
    past = list(whole(dictionary, (entry for (entry,) in stored)))
    own = place.crowd.devices[0]
    return keys.show(own.identity.terms.federation, past, content, own.storage.memory.log[0])


def altering(real: Transport, change: Callable[[str, bytes], bytes]) -> Transport:
    """A network that changes what comes back."""

    async def send(
        method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        reply = await real(method, url, body, headers, largest=largest)
        return replace(reply, body=change(url, reply.body))

    return send


def bent(reply: HttpReply, at: int) -> HttpReply:
    """One bit of it was changed."""
    changed = bytearray(reply.body)
    changed[at] ^= 1
    return replace(reply, body=bytes(changed))


async def refusal(place: Scene, reply: HttpReply, after: HttpReply | None = None) -> str:
    """The code with which device 0 refuses a manifest; its memory and its journal stay as they were."""
    device = place.crowd.devices[0]
    if after is not None:
        await place.crowd.visit(0, after)
    before = device.storage.memory
    with pytest.raises(RefusedError) as refused:
        await device.take_part(reply)
    assert device.storage.memory is before
    return refused.value.code


def test_forged_second_and_rewritten_manifests_are_refused_by_devices_and_aggregators(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            first = await place.manifest()
            m, all_three = opened(first), HeldKeys(*(key_of(place, name) for name in MACHINES))
            alone = HeldKeys(all_three.coordinator)
            for at in (0, 64, 128, -1, -5):  # the three signatures, and the proof of the log
                assert await refusal(place, bent(first, at)) == "forged"
            for at in range(3, len(first.body), 101):  # terms are read before they are believed: by their name
                assert await refusal(place, bent(first, at)) in ("forged", "malformed", "version")
            assert await refusal(place, signed(place, m, HeldKeys(ServerKey(bytes(range(32)))))) == "forged"
            elsewhere = replace(m, federation="00" * 16)
            assert await refusal(place, signed(place, elsewhere, all_three)) == "forged"
            await asyncio.gather(*(place.crowd.visit(slot, first) for slot in range(PEOPLE)))
            await place.ended(0)
            second = await place.manifest()
            other = replace(m, nonce="11" * 16, model=replace(m.model, hash="22" * 32))
            rewritten = replace(opened(second), previous=other.hash.hex())
            repeated = replace(opened(second), round=m.round, phase=m.phase)
            for lie in (other, rewritten, repeated):  # a coordinator alone convinces nobody of anything
                assert await refusal(place, signed(place, lie, alone)) == "forged"
            # and where all three lie together, a device still knows what it has seen
            assert await refusal(place, signed(place, other, all_three)) == "forged"  # two for one round
            assert await refusal(place, signed(place, rewritten, all_three)) == "forged"  # another past
            assert await refusal(place, signed(place, repeated, all_three)) == "replay"  # the same once more
            assert await refusal(place, first, after=second) == "replay"
            for name in ("seed", "vector"):
                for lie in (other, replace(opened(second), nonce="11" * 16)):
                    body = ordered(lie, all_three.coordinator)
                    answer = await place.send("POST", f"{place.url(name)}/rounds", body, {})
                    assert RefusedError.read(answer.status, answer.body).code == "replay"
            await place.crowd.stay()
            place.check()

    asyncio.run(scenario())


def test_a_device_shown_another_manifest_than_the_rest_cannot_be_added_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            shown, all_three = await place.manifest(), HeldKeys(*(key_of(place, name) for name in MACHINES))
            coordinator, posted = place.crowd.url, []

            async def complicit(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                posted.append(url)
                if url == f"{coordinator}/tickets":  # a lying coordinator signs anything
                    return HttpReply(200, all_three.coordinator.sign("ticket", body))
                return await place.send(method, url, body, headers, largest=largest)

            place.crowd.devices[0].send = complicit
            lie = replace(opened(shown), nonce="11" * 16)
            alone = signed(place, lie, HeldKeys(all_three.coordinator))
            assert await refusal(place, alone) == "forged"
            assert posted == []  # a device wants the aggregators' signatures before it does anything
            await place.crowd.visit(0, signed(place, lie, all_three))
            told = place.crowd.outcomes[0][0]
            assert (told.kind, told.why) == (
                "refused", "a share must be of the open round's manifest, but is of another.",
            )  # fmt: skip
            assert not place.crowd.devices[0].storage.memory.state

    asyncio.run(scenario())


def test_a_model_or_description_other_than_the_manifest_names_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SETTINGS, "prior", False)  # the prior's devices download no model

    async def scenario() -> None:
        async with scene(tmp_path) as place:
            reply = await place.manifest()
            m = opened(reply)
            described = place.crowd.devices[1].identity.terms.catalogue.description
            for slot, name in ((0, m.model.hash), (1, described)):
                device = place.crowd.devices[slot]

                def bend(url: str, body: bytes, name: str = name) -> bytes:
                    return body[:-1] + bytes([body[-1] ^ 1]) if url.endswith(name) else body

                device.cache._send = altering(place.send, bend)
                await place.crowd.visit(slot, reply)
                assert "must have it, but has another" in place.crowd.outcomes[0][slot].why
                assert not device.storage.memory.state
            assert sum(place.rows("seed", "SELECT count(*) FROM rounds")[0]) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("spoken", [wire.PROTOCOL - 1, wire.PROTOCOL + 1])
def test_another_version_is_refused_by_every_side_before_anything_is_used(tmp_path: Path, spoken: int) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            reply, keys = await place.manifest(), HeldKeys(*(key_of(place, name) for name in MACHINES))
            before = place.dump()
            posts = [("coordinator", "/devices"), ("coordinator", "/tickets"), ("seed", "/reports")]
            for name, path in [*posts, ("vector", "/reports"), ("vector", "/rounds")]:
                answer = await place.send("POST", place.url(name) + path, b"", {VERSION_HEADER: str(spoken)})
                assert (answer.status, RefusedError.read(426, answer.body).code) == (426, "version")
            assert place.dump() == before
            text = canonical({**json.loads(opened(reply).encode()), "protocol": spoken})
            assert await refusal(place, signed(place, text, keys)) == "version"
            said = b'"protocol": %d' % wire.PROTOCOL
            later = altering(place.send, lambda _, body: body.replace(said, b'"protocol": %d' % spoken))
            with pytest.raises(RefusedError, match="update Murmura"):
                await about(later, place.crowd.url)

            async def skewed(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                changed = body[:2] + bytes([spoken]) + body[3:] if url.endswith("/reports") else body
                return await place.send(method, url, changed, headers, largest=largest)

            place.crowd.devices[0].send = skewed
            await place.crowd.visit(0, reply)
            assert (
                f"version must be {wire.PROTOCOL}, but it is {spoken}; update Murmura"
                in place.crowd.outcomes[0][0].why
            )
            assert not place.crowd.devices[0].storage.memory.state

    asyncio.run(scenario())
