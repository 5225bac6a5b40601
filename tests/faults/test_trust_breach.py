"""One device does not bend a release: what is not its own is refused, and everybody else goes on.

Real servers and ten devices, one of which lies; an aggregator that does not check adds the lie. What an
aggregator itself adds is cut to what honest devices can add; without the cut it ends the release.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.algorithms.cooccurrence import cooccurrence
from murmura.algorithms.cooccurrence.cooccurrence import layout
from murmura.channel.proven_shares import decide
from murmura.core.arrays import Longs
from murmura.core.contract import FederationInfo, Total
from murmura.core.rng import Rng, server_secret
from murmura.core.update import SparseRows, Update
from murmura.device.http_transport import HttpTransport
from murmura.engine.federation import server_step
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.exact_items import PairedItems
from murmura.kernels.proofs.field import Elements, added, subtracted
from murmura.server.aggregator import collection
from murmura.server.aggregator.collection import CollectedRound
from murmura.wire import wire
from murmura.wire.transport import ask, bearer
from tests.faults.federation import EVERY, ITEMS, LONG, PEOPLE, ROWS, SEED, Crowd, Scene, Written, likes
from tests.faults.launcher import Fate
from tests.faults.machines import Machines
from tests.faults.proof_lies import lying

pytestmark = pytest.mark.process

LEAST, REG = 2, 1
COUNTS: Longs = np.bincount(np.concatenate([likes(one).item for one in range(PEOPLE)]), minlength=ITEMS)
RANKED = layout(COUNTS, LEAST)


# What a device claims instead of its own vector, and what an aggregator adds to its half


def eight_more(circuit: ProvenVector, vector: Elements) -> Elements:
    """Of every item."""
    lie = vector.copy()
    lie[: circuit.linked] += np.uint64(8)
    return lie


def apart() -> Elements:
    """The sum of pairs in which half of the items occur with all of the other half: within all bounds."""
    side = np.arange(len(RANKED)) % 2
    wanted = np.where(side[:, None] != side, np.minimum.outer(RANKED.counts, RANKED.counts), 0)
    return subtracted(RANKED.pairs.pack_sums(wanted), true_pairs())


def true_pairs() -> Elements:
    """What everybody's pairs add up to."""
    total = np.zeros(RANKED.pairs.words, np.uint64)
    for one in range(PEOPLE):
        total += RANKED.pairs.pack(RANKED.own_ranks(likes(one).item).astype(np.int64))
    return total


def indefinite(circuit: ProvenVector, vector: Elements) -> Elements:
    """What makes the sum of everybody's pairs these."""
    assert isinstance(circuit, PairedItems)
    lie, start = vector.copy(), circuit.counted.length
    lie[start:] = added(vector[start:], apart())
    return lie


def careless() -> None:
    """A vector aggregator that adds what is not proved, and a coordinator that cuts nothing."""
    collection.decide = lambda *given: replace(decide(*given), valid=True)  # type: ignore[attr-defined]
    cooccurrence.cut_negative = lambda G, own: 0  # type: ignore[attr-defined]


def bending() -> None:
    """An aggregator that adds to its half of the pairs."""
    whole = CollectedRound.sum

    def bent(self: CollectedRound, ids: list[bytes], least: int) -> Elements:
        half: Elements = whole(self, ids, least)
        return self.chain.add_up((half, apart())) if self.phase.name == "pairs" else half

    CollectedRound.sum = bent  # type: ignore[method-assign]


@asynccontextmanager
async def release(folder: Path, wrong: dict[str, Callable[[], None]]) -> AsyncIterator[Scene]:
    """Servers of fed-ease, some of which are `wrong`, and everybody joined."""
    items = folder / "items.txt"
    items.write_text("\n".join(map(str, range(ITEMS))), encoding="utf-8")
    words = ["--model", "fed-ease", "-S", f"least={LEAST}", "-S", f"reg={REG}", "--items", str(items)]
    words += ["--clients", str(PEOPLE), "--interactions", str(ROWS), "--seed", str(SEED), "--start"]
    timing = [
        "--round-seconds",
        str(LONG),
        "--exact",
        "--tolerate",
        "0",
        "--hold",
        "0",
        "--spread",
        "0",
        "--wait-for",
        str(PEOPLE),
    ]
    machines = Machines(folder, [*words, *timing])
    async with HttpTransport(connections=128) as send:
        try:
            fates = {name: Fate(within=str(folder), careless=wrong.get(name)) for name in machines.by_name}
            await machines.start(send, fates)
            for machine in machines.by_name.values():
                await machine.answers(send)
            crowd = Crowd(machines.url, send, machines.clock, machines.admitter, machines.advance)
            await crowd.join()
            yield Scene(machines, send, crowd)
        finally:
            machines.kill()


async def exchange(place: Scene, serial: int, one: str = "sent") -> Written:
    """Everybody is asked in one exchange, which ends in another way for `one` of them; what became of it."""
    reply = await place.manifest()
    await asyncio.gather(*(place.crowd.visit(slot, reply) for slot in range(PEOPLE)))
    kinds = [found.kind for found in place.crowd.outcomes[serial].values()]
    assert sorted(kinds) == sorted([one, *["sent"] * (PEOPLE - 1)])
    return await place.ended(serial)


async def asked(place: Scene, path: str) -> bytes:
    token = (place.folder / "coordinator" / "operator.token").read_text(encoding="utf-8").strip()
    return (await ask(place.send, "GET", f"{place.crowd.url}{path}", headers=bearer(token))).body


async def told(place: Scene) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await asked(place, "/status"))
    return found


def expected(counted: list[int], paired: list[int]) -> dict[str, Any]:
    """What a simulation of these devices learns."""
    method = algorithm("fed-ease")(least=LEAST, reg=REG).algorithm()
    counts = np.bincount(np.concatenate([likes(one).item for one in counted]), minlength=ITEMS).astype(
        np.uint32
    )
    ranked, items = layout(counts.astype(np.int64), LEAST), np.arange(ITEMS, dtype=np.int32)
    info = FederationInfo(ITEMS, items, PEOPLE, ROWS)
    words = np.zeros(ranked.pairs.words, np.uint64)
    for one in paired:
        words += ranked.pairs.pack(ranked.own_ranks(likes(one).item).astype(np.int64))
    sent = Update({"counts": SparseRows(np.arange(ITEMS, dtype=np.int32), counts[:, None])})
    state = method.server_init(info, Rng(server_secret(SEED)))
    state, _ = server_step(method, "counts", 0, state, Total(sent, len(counted)))
    pairs = Update({"pairs": SparseRows(np.arange(len(words), dtype=np.int32), words[:, None])})
    state, _ = server_step(method, "pairs", 1, state, Total(pairs, len(paired)))
    return dict(state.model)


async def finished(place: Scene) -> dict[str, Any]:
    """The model, once the release is complete."""
    while (status := await told(place))["state"] != "finished":
        await asyncio.sleep(EVERY)
    ((kept,),) = place.rows("coordinator", "SELECT value FROM facts WHERE name = 'server'")
    return {"breach": status["breach"], **wire.unpack_arrays(bytes(kept))}


def liar(place: Scene, serial: int) -> int:
    """The device that was refused."""
    (slot,) = (slot for slot, one in place.crowd.outcomes[serial].items() if one.kind == "refused")
    return slot


def test_a_device_that_lies_is_refused_and_the_release_is_that_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        lying(monkeypatch, "pairs", indefinite)
        async with release(tmp_path, {}) as place:
            ended = [await exchange(place, serial, kind) for serial, kind in enumerate(("sent", "refused"))]
            assert [(one.state, one.reason) for one in ended] == [("committed", None)] * 2
            others = [slot for slot in range(PEOPLE) if slot != liar(place, 1)]
            found = await finished(place)
            assert found.pop("breach") == ""
            for name, values in expected(list(range(PEOPLE)), others).items():
                np.testing.assert_array_equal(found[name], values, strict=True)

    asyncio.run(scenario())


def test_counts_of_a_device_that_lies_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        lying(monkeypatch, "counts", eight_more)
        async with release(tmp_path, {}) as place:
            ended = await exchange(place, 0, "refused")
            assert (ended.state, ended.reason) == ("committed", None)
            ((kept,),) = place.rows("coordinator", "SELECT value FROM facts WHERE name = 'server'")
            own = np.bincount(likes(liar(place, 0)).item, minlength=ITEMS)
            counts = wire.unpack_arrays(bytes(kept))["counts"][:, 0]
            np.testing.assert_array_equal(counts, COUNTS - own)

    asyncio.run(scenario())


def test_without_the_check_one_device_bends_the_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        lying(monkeypatch, "counts", eight_more)
        async with release(tmp_path, {"vector": careless}) as place:
            for serial in (0, 1):
                assert (await exchange(place, serial)).state == "committed"
            counts = (await finished(place))["counts"][:, 0].astype(np.int64)
            np.testing.assert_array_equal(counts, np.minimum(COUNTS + 8, PEOPLE))

    asyncio.run(scenario())


NEGATIVE = "of its directions were negative"


def test_what_an_aggregator_adds_is_cut_to_what_is_possible(tmp_path: Path) -> None:
    """Its own half is its own: no proof speaks of it."""

    async def scenario() -> None:
        async with release(tmp_path, {"seed": bending}) as place:
            ended = [await exchange(place, serial) for serial in (0, 1)]
            assert [one.state for one in ended] == ["committed", "committed"]
            text = str(ended[1].reason)
            assert re.fullmatch(r"breach: [^.]*; it was cut to what is possible\.", text)  # one sentence
            assert NEGATIVE in text
            found = await finished(place)
            assert found["breach"] == text
            assert np.isfinite(found["ease"]).all()
            assert found["ease"].any()
            assert "murmura_sums_cut_total 1" in (await asked(place, "/metrics")).decode()
            printed = place.machines.by_name["coordinator"].log.read_text(encoding="utf-8").splitlines()
            assert any(text in line for line in printed)

    asyncio.run(scenario())


def test_without_the_cut_one_aggregator_ends_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with release(tmp_path, {"seed": bending, "coordinator": careless}) as place:
            *_, last = [await exchange(place, serial) for serial in (0, 1)]
            assert (last.manifest.phase, last.state) == ("pairs", "abandoned")
            assert "reg must be large enough" in str(last.reason)

    asyncio.run(scenario())
