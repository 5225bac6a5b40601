"""False counts: a coordinator that says an item has many owners gets the row of an item with one.

That row is its owner's list. Devices cannot know how often an item occurs; both aggregators can, as each has
signed its half of the sum that told it, and open no round made by other counts.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.cooccurrence import layout
from murmura.core.arrays import Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import ServerState, Total
from murmura.core.interactions import Interactions
from murmura.device.device import Device
from murmura.server.aggregator import aggregator as aggregator_module
from murmura.server.aggregator.collection import check_released
from murmura.server.coordinator.rounds import RoundRunner
from murmura.wire import wire
from murmura.wire.manifest import Download, Manifest, ReleasedSum
from murmura.wire.refusals import RefusedError
from tests.faults.malice import uploads
from tests.faults.test_trust_sybils import listening
from tests.http.network import World, people

LEAST, VICTIM = 5, 3
CHANNEL = ChannelSettings(channel="secure-sum", minimum_cohort=4, ring=32)
SUMS: dict[str, object] = {"k": 10, "least": LEAST}
RARE = 30  # an item that the victim alone has


def data() -> Interactions:
    """Twelve people, one of whom has an item that nobody else has."""
    known = people()
    return Interactions.of(np.append(known.user, VICTIM), np.append(known.item, RARE))


def everywhere(true: Longs) -> Longs:
    """Counts by which no item is rare."""
    return np.maximum(true, LEAST)


async def counted(world: World) -> list[Device]:
    """Everybody has been counted, and everybody knows it."""
    devices = await world.everyone()
    await world.one_round(devices)
    assert world.coordinator.history()[0]["state"] == "committed"
    world.network.log.clear()
    return devices


def publish(world: World, counts: Longs) -> bytes:
    """Counts under their hash; the hash."""
    content = wire.pack_arrays({"counts": counts.astype(np.uint32)})
    name = hashlib.sha256(content).digest()
    world.coordinator._store.write([("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (name, content))])
    return name


def lie(world: World, change: Callable[[Longs], Longs]) -> Longs:
    """A coordinator goes on with other counts than those it was told; these counts."""
    rounds = world.coordinator.rounds
    false = change(rounds.now.server.model["counts"][:, 0].astype(np.int64))
    name, content = publish(world, false), wire.pack_arrays({"counts": false.astype(np.uint32)})
    model = {**rounds.now.server.model, "counts": false[:, None].astype(np.uint32)}
    server = ServerState(model, rounds.now.server.private)
    rounds.now = replace(rounds.now, server=server, counts=Download(name.hex(), len(content)))
    rounds.itinerary = rounds.itinerary.after(model)
    return false


def refused(world: World) -> str:
    """Why the last round came to nothing; nobody has been asked anything."""
    ended = world.coordinator.history()[0]
    assert (ended["phase"], ended["state"]) == ("pairs", "abandoned")
    assert uploads(world.network) == []
    return str(ended["reason"])


def test_honest_aggregators_open_no_round_made_by_false_counts(tmp_path: Path) -> None:
    world = World(tmp_path, data(), "fed-item-knn", SUMS, CHANNEL)

    async def scenario() -> None:
        devices = await counted(world)
        lie(world, everywhere)
        await world.turn()
        assert {(await device.visit()).kind for device in devices} == {"idle"}

    asyncio.run(scenario())
    assert "must be those that the sum of phase 'counts' told, but are others" in refused(world)


@pytest.mark.parametrize("role", ["seed", "vector"])
def test_one_honest_aggregator_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    """A device takes part in no round that both have not signed."""
    world = World(tmp_path, data(), "fed-item-knn", SUMS, CHANNEL)

    def looks(*given: object) -> None:
        if given[3] is world.aggregators[role]._store:  # type: ignore[index]
            check_released(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(aggregator_module, "check_released", looks)

    async def scenario() -> None:
        devices = await counted(world)
        lie(world, everywhere)
        await world.turn()
        assert {(await device.visit()).kind for device in devices} == {"idle"}

    asyncio.run(scenario())
    assert "told, but are others" in refused(world)


def test_by_false_counts_the_row_of_an_item_with_one_owner_is_that_owners_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against aggregators that do not look."""
    world = World(tmp_path, data(), "fed-item-knn", SUMS, CHANNEL)
    monkeypatch.setattr(aggregator_module, "check_released", lambda *_: None)
    learned: list[Total] = []

    async def scenario() -> Longs:
        devices = await counted(world)
        heard = listening(world)
        false = lie(world, everywhere)
        await world.one_round(devices)
        learned.extend(heard)
        return false

    false = asyncio.run(scenario())
    pairs = layout(false, LEAST)
    G = pairs.pairs.unpack(learned[-1].update.tables["pairs"].values[:, 0])
    row = G[int(np.flatnonzero(pairs.items == RARE)[0])]
    assert {RARE, *pairs.items[row > 0].tolist()} == set(world.rows(VICTIM).item.tolist())


def evidence(world: World, change: Callable[[ReleasedSum], ReleasedSum]) -> None:
    """A coordinator shows another sum than it was given."""
    rounds = world.coordinator.rounds
    named = rounds._named_counts

    def shown(m: Manifest) -> tuple[bytes, bytes]:
        counts, released = named(m)
        return counts, change(ReleasedSum.decode(released)).encode()

    rounds._named_counts = shown  # type: ignore[method-assign]


def raised(true: ReleasedSum) -> ReleasedSum:
    """Its second half adds more to every word but that of the devices."""
    words = np.frombuffer(true.halves[1], "<u4").copy()
    words[1:] += LEAST
    return replace(true, halves=(true.halves[0], words.tobytes()))


def signed_by_itself(world: World) -> Callable[[ReleasedSum], ReleasedSum]:
    """The same, signed by the only key a coordinator has."""

    def change(true: ReleasedSum) -> ReleasedSum:
        more = raised(true)
        content = more.manifest + more.listed + more.halves[1]
        return replace(more, vector=world.coordinator.key.sign("sum", content))

    return change


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (raised, "signature"),
        (None, "signature"),
        (lambda true: replace(true, halves=(true.halves[0], true.halves[0])), "signature"),
        (lambda true: replace(true, manifest=bytes(32)), "must come from the sum of phase 'counts'"),
    ],
    ids=["a larger half", "signed by itself", "one half twice", "another round"],
)
def test_no_other_sum_stands_for_false_counts(
    tmp_path: Path, shown: Callable[[ReleasedSum], ReleasedSum] | None, why: str
) -> None:
    world = World(tmp_path, data(), "fed-item-knn", SUMS, CHANNEL)

    async def scenario() -> None:
        await counted(world)
        lie(world, lambda true: true + LEAST)
        evidence(world, shown or signed_by_itself(world))
        await world.turn()

    asyncio.run(scenario())
    assert why in refused(world)


def test_counts_of_another_window_open_no_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who left since would still be in them, and who came would not."""
    world = World(tmp_path, data(), "fed-item-knn", SUMS, CHANNEL)

    async def scenario() -> None:
        await counted(world)
        kept = world.coordinator.rounds.store.released("counts", 0)
        world.clock.now += world.timing.window
        monkeypatch.setattr(RoundRunner, "_in_this_window", lambda self: self.now.position)
        monkeypatch.setattr(world.coordinator.rounds.store, "released", lambda *_: kept)
        await world.turn()

    asyncio.run(scenario())
    assert "that was released in window 1, but come from another" in refused(world)


def naming(monkeypatch: pytest.MonkeyPatch, counts: Longs) -> None:
    """A coordinator that names counts in every manifest."""
    manifest = RoundRunner._manifest
    content = wire.pack_arrays({"counts": counts.astype(np.uint32)})
    named = Download(hashlib.sha256(content).hexdigest(), len(content))
    monkeypatch.setattr(
        RoundRunner, "_manifest", lambda self, *given: replace(manifest(self, *given), counts=named)
    )
    monkeypatch.setattr(RoundRunner, "_named_counts", lambda *_: (content, bytes(192)))


@pytest.mark.parametrize(
    ("method", "settings", "phase"),
    [("fed-item-knn", SUMS, "counts"), ("cfpl", {"rounds": 1, "clients": "all"}, "prior")],
)
def test_counts_that_no_sum_can_have_told_are_refused_by_aggregators_and_by_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, settings: dict[str, object], phase: str
) -> None:
    """In a phase that follows none, or of a method that releases none."""
    world = World(tmp_path, people(), method, settings, CHANNEL)
    naming(monkeypatch, np.full(30, LEAST))
    sentence = f"must come from a sum that the phase follows, but '{phase}' of {method} follows none"

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        assert sentence in world.coordinator.history()[0]["reason"]
        with monkeypatch.context() as careless:
            careless.setattr(aggregator_module, "check_released", lambda *_: None)
            await world.turn()
        assert world.coordinator.rounds.published is not None
        for device in devices:
            with pytest.raises(RefusedError, match=sentence):
                await device.visit()
        assert uploads(world.network) == []

    asyncio.run(scenario())
