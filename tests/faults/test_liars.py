"""Servers that lie or are of another time: forged and second manifests, other models, other versions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.runtimes.http.aggregator.aggregator import pack_pair
from murmura.runtimes.http.device.joining import about
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.keys import ServerKey
from murmura.runtimes.http.protocol.manifest import Manifest, canonical
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import REPLY_BYTES, VERSION_HEADER, HttpReply, Transport
from tests.faults.federation import PEOPLE, Scene, scene

pytestmark = pytest.mark.process


def opened(reply: HttpReply) -> Manifest:
    return Manifest.decode(reply.body[wire.SIGNATURE_BYTES :])


def signed(manifest: Manifest | bytes, key: ServerKey) -> HttpReply:
    content = manifest if isinstance(manifest, bytes) else manifest.encode()
    return HttpReply(200, key.sign("manifest", content) + content, {"etag": '"x"'})


def own_key(place: Scene) -> ServerKey:
    """The coordinator's: a test can be the worst coordinator there is."""
    return ServerKey(bytes(place.rows("coordinator", "SELECT value FROM facts WHERE name = 'key'")[0][0]))


def altering(real: Transport, change: Callable[[str, bytes], bytes]) -> Transport:
    """A network that changes what comes back."""

    async def send(
        method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        reply = await real(method, url, body, headers, largest=largest)
        return replace(reply, body=change(url, reply.body))

    return send


async def refusal(place: Scene, reply: HttpReply) -> str:
    """The code with which device 0 refuses a manifest; its memory and its journal stay as they were."""
    device = place.crowd.devices[0]
    before = device.storage.memory
    with pytest.raises(RefusedError) as refused:
        await device.take_part(reply)
    assert device.storage.memory is before
    return refused.value.code


def test_forged_second_and_rewritten_manifests_are_refused_by_devices_and_aggregators(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            key, first = own_key(place), await place.manifest()
            m = opened(first)
            for at in (-1, -5, -len(first.body) // 2):
                bent = bytearray(first.body)
                bent[at] ^= 1
                assert await refusal(place, replace(first, body=bytes(bent))) == "forged"
            assert await refusal(place, signed(m, ServerKey(bytes(range(32))))) == "forged"
            assert await refusal(place, signed(replace(m, federation="00" * 16), key)) == "forged"
            await asyncio.gather(*(place.crowd.visit(slot, first) for slot in range(PEOPLE)))
            await place.ended(0)
            second = await place.manifest()
            other = replace(m, nonce="11" * 16, model="22" * 32)
            assert await refusal(place, signed(other, key)) == "forged"  # two manifests for one round
            rewritten = replace(opened(second), previous=other.hash.hex())
            assert await refusal(place, signed(rewritten, key)) == "forged"  # another past
            repeated = replace(opened(second), round=m.round, phase=m.phase)
            assert await refusal(place, signed(repeated, key)) == "replay"  # the same exchange once more
            described = await place.send("GET", f"{place.crowd.url}/m/{m.description}", b"", {})
            for name in ("seed", "vector"):
                for lie in (other, replace(opened(second), nonce="11" * 16)):
                    body = pack_pair(signed(lie, key).body, described.body)
                    answer = await place.send("POST", f"{place.url(name)}/rounds", body, {})
                    assert RefusedError.read(answer.status, answer.body).code == "replay"
            await place.crowd.stay()
            place.check()

    asyncio.run(scenario())


def test_a_device_shown_another_manifest_than_the_rest_cannot_be_added_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            key, shown = own_key(place), await place.manifest()
            alone = signed(replace(opened(shown), nonce="11" * 16), key)
            coordinator = place.crowd.url

            async def complicit(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                if url == f"{coordinator}/tickets":  # a lying coordinator signs anything
                    return HttpReply(200, key.sign("ticket", body))
                return await place.send(method, url, body, headers, largest=largest)

            place.crowd.devices[0].send = complicit
            await place.crowd.visit(0, alone)
            told = place.crowd.outcomes[0][0]
            assert (told.kind, told.why) == (
                "refused", "a share must be of the open round's manifest, but is of another.",
            )  # fmt: skip
            assert not place.crowd.devices[0].storage.memory.state

    asyncio.run(scenario())


def test_a_model_or_description_other_than_the_manifest_names_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            reply = await place.manifest()
            m = opened(reply)
            for slot, name in ((0, m.model), (1, m.description)):
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
            reply, key = await place.manifest(), own_key(place)
            before = place.dump()
            posts = [("coordinator", "/devices"), ("coordinator", "/tickets"), ("seed", "/reports")]
            for name, path in [*posts, ("vector", "/reports"), ("vector", "/rounds")]:
                answer = await place.send("POST", place.url(name) + path, b"", {VERSION_HEADER: str(spoken)})
                assert (answer.status, RefusedError.read(426, answer.body).code) == (426, "version")
            assert place.dump() == before
            text = canonical({**json.loads(opened(reply).encode()), "protocol": spoken})
            assert await refusal(place, signed(text, key)) == "version"
            said = b'"protocol": %d' % wire.PROTOCOL
            later = altering(place.send, lambda _, body: body.replace(said, b'"protocol": %d' % spoken))
            with pytest.raises(RefusedError, match="install the same version"):
                await about(later, place.crowd.url)

            async def skewed(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                changed = body[:2] + bytes([spoken]) + body[3:] if url.endswith("/reports") else body
                return await place.send(method, url, changed, headers, largest=largest)

            place.crowd.devices[0].send = skewed
            await place.crowd.visit(0, reply)
            assert "version must be one of [1]" in place.crowd.outcomes[0][0].why
            assert not place.crowd.devices[0].storage.memory.state

    asyncio.run(scenario())
