"""One device does not end a release: sums that no honest devices can have added are cut to what is possible.

Real servers, ten devices, one of which lies. The same lies end the release of servers from which the cut is
taken out: counts wait for the next window, and pairs pause the federation.
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

from murmura.algorithms.cooccurrence import cooccurrence
from murmura.algorithms.cooccurrence.cooccurrence import layout
from murmura.channel.chain import Chain
from murmura.core.arrays import Longs
from murmura.core.contract import Phase, Total
from murmura.core.errors import FederationError
from murmura.core.rng import Words
from murmura.device import device as device_module
from murmura.engine.visit import Visit, visit
from murmura.kernels.packing import PackedPairs
from murmura.wire import wire
from murmura.wire.http_transport import HttpTransport
from murmura.wire.transport import ask, bearer
from tests.faults.federation import EVERY, ITEMS, LONG, PEOPLE, ROWS, SEED, Crowd, Scene, Written, likes
from tests.faults.launcher import Fate
from tests.faults.machines import Machines

pytestmark = pytest.mark.process

LEAST, REG = 2, 1
COUNTS: Longs = np.bincount(np.concatenate([likes(one).item for one in range(PEOPLE)]), minlength=ITEMS)
PAIRS = layout(COUNTS, LEAST)


# What one device adds instead of its own vector, the count of devices first

Lie = Callable[[Words], Words]


def eight_more(own: Words) -> Words:
    """Of everything, also of devices."""
    return own + np.uint32(8)


def huge(own: Words) -> Words:
    lie: Words = np.random.default_rng(1).integers(0, 2**32, len(own)).astype(np.uint32)
    lie[0] = 1
    return lie


def above_the_counts(own: Words) -> Words:
    """Every counter of the sum is the largest that its bits can say."""
    most = np.where(PAIRS.bounds > 0, 2 ** np.frexp(PAIRS.bounds.astype(float))[1] - 1, 0).astype(np.uint32)
    return _in_sum(own, most)


def indefinite(own: Words) -> Words:
    """Half of the items occur with all of the other half, and none with its own: within all bounds."""
    side = np.arange(len(PAIRS)) % 2
    apart = side[:, None] != side
    return _in_sum(own, PAIRS.pack_sums(np.where(apart, np.minimum.outer(PAIRS.counts, PAIRS.counts), 0)))


def _in_sum(own: Words, wanted: Words) -> Words:
    """What makes the sum of everybody's words these."""
    lie = own.copy()
    lie[1:] += wanted - sum((PAIRS.pack(likes(one).item) for one in range(PEOPLE)), np.zeros_like(wanted))
    return lie


def lying(monkeypatch: pytest.MonkeyPatch, lies: dict[str, Lie]) -> None:
    """The first device that is asked in a phase lies; servers are processes of their own and know nothing."""
    left = dict(lies)

    def visited(method: Any, asked: Phase, *rest: Any) -> Visit:
        made, lie = visit(method, asked, *rest), left.pop(asked.name, None)
        if lie is None:
            return made
        assert made.vector is not None
        return replace(made, vector=lie(made.vector))

    monkeypatch.setattr(device_module, "visit", visited)


def careless() -> None:
    """Servers without the cut: they refuse the sum."""
    possible = Chain.possible

    def refuses(self: Chain, total: Words, round: int, devices: int | None = None) -> tuple[Total, str]:
        received, breach = possible(self, total, round, devices)
        if breach:
            raise FederationError(f"{breach}; discard the round.")
        return received, ""

    Chain.possible = refuses  # type: ignore[method-assign]
    PackedPairs.cut = lambda self, words: 0  # type: ignore[method-assign]
    cooccurrence.cut_negative = lambda G, own: 0  # type: ignore[attr-defined]


@asynccontextmanager
async def release(folder: Path, victim: bool) -> AsyncIterator[Scene]:
    """Servers of fed-ease, and everybody joined."""
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
            fates = {
                name: Fate(within=str(folder), careless=careless if victim else None)
                for name in machines.by_name
            }
            await machines.start(send, fates)
            for machine in machines.by_name.values():
                await machine.answers(send)
            crowd = Crowd(machines.url, send, machines.clock, machines.admitter, machines.advance)
            await crowd.join()
            yield Scene(machines, send, crowd)
        finally:
            machines.kill()


async def exchange(place: Scene, serial: int) -> Written:
    """Everybody takes part in one exchange; what became of it."""
    reply = await place.manifest()
    await asyncio.gather(*(place.crowd.visit(slot, reply) for slot in range(PEOPLE)))
    assert {one.kind for one in place.crowd.outcomes[serial].values()} == {"sent"}
    return await place.ended(serial)


async def asked(place: Scene, path: str) -> bytes:
    token = (place.folder / "coordinator" / "operator.token").read_text(encoding="utf-8").strip()
    return (await ask(place.send, "GET", f"{place.crowd.url}{path}", headers=bearer(token))).body


async def told(place: Scene) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await asked(place, "/status"))
    return found


TOO_MANY = "must be at most 10 in a sum of 10 devices, but is"
BEYOND = "of its counters were above the count of their rarer item"
NEGATIVE = "of its directions were negative"


@pytest.mark.parametrize(
    ("lies", "said"),
    [
        ({"counts": eight_more}, {"counts": "a sum must be of 1 to 10 devices, but counts 18"}),
        ({"counts": huge, "pairs": huge}, {"counts": TOO_MANY, "pairs": BEYOND}),
        ({"pairs": above_the_counts}, {"pairs": BEYOND}),
        ({"pairs": indefinite}, {"pairs": NEGATIVE}),
    ],
    ids=["eight more", "huge", "above the counts", "indefinite"],
)
def test_a_release_survives_a_device_that_adds_what_is_not_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lies: dict[str, Lie], said: dict[str, str]
) -> None:
    async def scenario() -> None:
        lying(monkeypatch, lies)
        async with release(tmp_path, victim=False) as place:
            ended = [await exchange(place, serial) for serial in (0, 1)]
            assert [one.state for one in ended] == ["committed", "committed"]
            assert len({one.manifest.window for one in ended}) == 1  # in one window, each asked once
            spoken = {one.manifest.phase: one.reason for one in ended if one.reason}
            assert spoken.keys() == said.keys()
            for phase, text in spoken.items():
                assert re.fullmatch(r"breach: [^.]*; it was cut to what is possible\.", text)  # one sentence
                assert said[phase] in text
                assert "reg " not in text
            while (status := await told(place))["state"] != "finished":
                await asyncio.sleep(EVERY)
            assert status["breach"] == " ".join(spoken.values())
            assert f"murmura_sums_cut_total {len(said)}" in (await asked(place, "/metrics")).decode()
            check_model(place, lies)
            printed = place.machines.by_name["coordinator"].log.read_text(encoding="utf-8").splitlines()
            assert all(any(text in line for line in printed) for text in spoken.values())

    asyncio.run(scenario())


def check_model(place: Scene, lies: dict[str, Lie]) -> None:
    """Counts that ten devices can have, as near to the lie as is possible; weights that can be used."""
    ((kept,),) = place.rows("coordinator", "SELECT value FROM facts WHERE name = 'server'")
    model = wire.unpack_arrays(bytes(kept))
    counts = model["counts"][:, 0].astype(np.int64)
    if "counts" not in lies:
        np.testing.assert_array_equal(counts, COUNTS)
    elif lies["counts"] is eight_more:
        np.testing.assert_array_equal(counts, np.minimum(COUNTS + 8, PEOPLE))
    assert 0 <= counts.min() <= counts.max() <= PEOPLE
    assert np.isfinite(model["ease"]).all()
    assert model["ease"].any()


@pytest.mark.parametrize(
    ("phase", "lie", "said"),
    [
        ("counts", eight_more, "but counts 18; discard the round"),
        ("pairs", above_the_counts, "row 0 of 'pairs' must be at most"),
        ("pairs", indefinite, "reg must be large enough"),
    ],
)
def test_without_the_cut_one_device_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, lie: Lie, said: str
) -> None:
    async def scenario() -> None:
        lying(monkeypatch, {phase: lie})
        async with release(tmp_path, victim=True) as place:
            *_, last = [await exchange(place, serial) for serial in range(1 + (phase == "pairs"))]
            assert (last.manifest.phase, last.state) == (phase, "abandoned")
            assert said in str(last.reason)
            while (status := await told(place))["state"] == "running" and not status["waits_until"]:
                await asyncio.sleep(EVERY)  # it waits for the next window, or is paused for good

    asyncio.run(scenario())
