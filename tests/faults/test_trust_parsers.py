"""What a machine sends to hang, fill or crash another one: it must end in one sentence, not in a traceback.

A device that hangs or dies takes part in nothing any more, and its owner reads an error that tells her nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.device.device import Device, VisitOutcome
from murmura.device.enrolment import register
from murmura.server.aggregator.aggregator import Aggregator
from murmura.server.coordinator.coordinator import Coordinator
from murmura.server.loopback import COORDINATOR
from murmura.wire import wire
from murmura.wire.description import FederationDescription
from murmura.wire.log import manifest_entry
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import HttpReply
from tests.http.forgery import envelope, logged
from tests.http.network import World, people

SETTINGS: dict[str, object] = {"rounds": 3, "clients": "all"}
DEEP = 100_000


def arrays(index: bytes, values: bytes = b"") -> bytes:
    """A message of arrays with any list of them."""
    return b"ma\3\0" + len(index).to_bytes(4, "little") + index + values


@pytest.mark.parametrize(
    "message",
    [
        arrays(b"[" * DEEP),
        arrays(b'[["a","<f4",[Infinity]]]'),
        arrays(b'[["a","<f4",[0,1180591620717411303424]]]'),
        arrays(json.dumps([["a", "<f4", [1] * 70]]).encode(), bytes(4)),
    ],
    ids=["nested", "infinite", "longer than memory", "seventy dimensions"],
)
def test_arrays_that_cannot_be_made_are_refused(message: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        wire.unpack_arrays(message)
    assert refused.value.code == "malformed"


@pytest.mark.parametrize("body", [b"[" * DEEP, b'{"error":' * DEEP], ids=["lists", "objects"])
def test_a_refusal_nested_deeply_is_one_without_a_reason(body: bytes) -> None:
    assert RefusedError.read(400, body).code == "malformed"


def test_terms_nested_deeply_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    asyncio.run(world.servers.agree())
    plain = {**json.loads(world.coordinator.rounds.terms.encode()), "settings": "HERE"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    for depth in (100, 300, 600, 900):  # some of these are read by json and by nothing after it
        content = text.replace('"HERE"', '{"a":' * depth + "1" + "}" * depth)
        with pytest.raises(RefusedError) as refused:
            FederationTerms.decode(content.encode())
        assert refused.value.code == "malformed"


def lied_to(
    world: World, monkeypatch: pytest.MonkeyPatch, lie: Callable[[Manifest], Manifest]
) -> tuple[Device, HttpReply]:
    """A device in the second round, and a manifest that all three machines stand for."""
    monkeypatch.setattr(Coordinator, "ticket", lambda self, token, message: self.key.sign("ticket", message))

    async def scenario() -> tuple[Device, HttpReply]:
        devices = await world.everyone()
        await world.one_round(devices)
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        content, seen = lie(live.manifest).encode(), devices[0].storage.memory.log[0]
        entries = [*logged(world)[:-1], manifest_entry(content)]
        return devices[0], HttpReply(200, envelope(world, content, entries, seen), {})

    return asyncio.run(scenario())


def answered(device: Device, shown: HttpReply) -> VisitOutcome:
    return asyncio.run(device.take_part(shown))


@pytest.mark.parametrize(
    "shape", [[10**400], [1] * 100, [20, 30], [600]], ids=["huge", "a hundred", "turned", "flat"]
)
def test_a_model_of_another_shape_than_the_method_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: list[int]
) -> None:
    world = World(tmp_path, people(), settings={**SETTINGS, "factors": 20})
    device, shown = lied_to(world, monkeypatch, lambda m: replace(m, shapes={**m.shapes, "Q": shape}))
    outcome = answered(device, shown)
    assert (outcome.kind, outcome.bytes) == ("refused", 0)
    assert "the public model" in outcome.why


class Ticking:
    """A clock that goes on a second whenever somebody looks; who looks too often hangs."""

    def __init__(self, now: float) -> None:
        self.now, self.looks = now, 0

    def __call__(self) -> float:
        self.looks += 1
        assert self.looks < 10_000, "it hangs"
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("hold", [5e-324, 1e-9])
def test_a_device_does_not_count_endlessly_small_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hold: float
) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    device, shown = lied_to(world, monkeypatch, lambda m: replace(m, hold=hold))
    device._clock = Ticking(world.clock.now)
    assert answered(device, shown).kind == "refused"  # by an aggregator that knows no such round


def test_a_device_does_not_wait_for_longer_than_the_round_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    device, shown = lied_to(world, monkeypatch, lambda m: replace(m, hold=2**39))
    device._clock = Ticking(world.clock.now)
    outcome = answered(device, shown)
    assert outcome.kind == "declined"
    assert "after it is over" in outcome.why


@pytest.mark.parametrize(
    "place",
    [{"token": "a token\r\nof theirs", "slot": 0}, {"slot": 10**13}, {"slot": -1}, {"slot": True}, {}],
    ids=["token", "huge", "negative", "true", "none"],
)
def test_a_place_is_a_small_number_under_ones_own_token(tmp_path: Path, place: dict[str, object]) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    asyncio.run(world.servers.agree())
    terms, own = world.coordinator.rounds.terms, "0" * 64

    async def lies(*_: object, **__: object) -> HttpReply:
        return HttpReply(200, json.dumps({"token": own, **place}).encode(), {})

    with pytest.raises(RefusedError, match="a place must have"):
        asyncio.run(register(lies, COORDINATOR, terms, world.servers.admission(0), own))


@pytest.mark.parametrize("factors", [10**6, 10**9, 10**20])
def test_terms_of_updates_larger_than_any_are_refused_before_room_is_made(tmp_path: Path, factors: int) -> None:
    """A few digits in the terms would otherwise take all the memory of aggregators and devices."""
    world = World(tmp_path, people(), settings=SETTINGS)
    asyncio.run(world.servers.agree())
    terms = world.coordinator.rounds.terms
    larger = replace(terms, settings={**terms.settings, "factors": factors})
    with pytest.raises(RefusedError, match="an update must have at most"):
        larger.chain("train", world.info, 12)


def test_a_model_larger_than_any_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    device, shown = lied_to(world, monkeypatch, lambda m: replace(m, nonce="00"))
    monkeypatch.setattr("murmura.device.download_cache.DOWNLOAD_BYTES", 1000)
    device.cache._model = None
    world.network.log.clear()
    outcome = answered(device, shown)
    assert (outcome.kind, outcome.bytes) == ("refused", 0)
    assert not [url for _, url, _ in world.network.log if "/m/" in url]


@pytest.mark.parametrize(
    "lie",
    [
        {"clients": -1},
        {"clients": 10**30},
        {"people": 10**30},
        {"interactions": -5},
        {"items": [{"a": 1}] * 30},
    ],
    ids=str,
)
def test_a_description_of_impossible_sizes_is_refused(tmp_path: Path, lie: dict[str, object]) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    told = json.loads(FederationDescription.of(world.data.items, world.info).encode())
    with pytest.raises(RefusedError, match="a description must"):
        FederationDescription.decode(json.dumps({**told, **lie}).encode())


def test_a_coordinator_reads_no_endless_list_of_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    monkeypatch.setattr(Aggregator, "close_round", lambda *_: bytes(1 << 20))

    async def scenario() -> None:
        await world.one_round(await world.everyone())
        ended = world.coordinator.history()[0]
        assert ended["state"] == "abandoned"
        assert "must have at most 448 bytes" in ended["reason"]

    asyncio.run(scenario())
