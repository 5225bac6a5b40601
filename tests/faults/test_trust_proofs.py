"""No device bends an exact sum: what is not a contribution as declared is refused, and everybody else goes on.

The published model is then bit for bit that of the federation without the liar. The same lie bends the sum of
aggregators that do not check. What an aggregator that lies can do all the same is at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.channel.proven_shares import ProvenUpload, VectorDecision, answer, decide
from murmura.device.device import Device, VisitOutcome
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.server.admissions import FORGIVEN
from murmura.server.aggregator import collection as collection_module
from murmura.server.aggregator.collection import CollectedRound
from murmura.wire import wire
from murmura.wire.description import FederationDescription
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from tests.faults import proof_lies as lies
from tests.faults.proof_lies import Lie, LyingUpload, ReplayedUpload, SwappedUpload, UncheckedUpload, lying
from tests.http.network import World, people
from tests.http.released_sums import CHANNEL, KNN

PHASES = ("counts", "pairs")
EXCHANGES = pytest.mark.parametrize("phase", PHASES)


def world(folder: Path) -> World:
    return World(folder, people(), "fed-item-knn", {**KNN, "cap": 10}, CHANNEL)


async def visits(place: World, devices: list[Device], silent: Device | None = None) -> list[VisitOutcome]:
    """One exchange: everybody is asked, and who does not come is waited for."""
    await place.turn()
    outcomes = [await device.visit() for device in devices if device is not silent]
    place.clock.now += 61 if silent else 0
    await place.turn()
    return outcomes


async def release(
    place: World, liar: str = "", silent: str = "", change: Callable[[World], None] = lambda _: None
) -> list[list[VisitOutcome]]:
    """Both exchanges; `silent`: the first device stays away from this one on. The outcomes of each."""
    devices, found = await place.everyone(), list[list[VisitOutcome]]()
    change(place)
    for phase in PHASES:
        away = devices[0] if silent and PHASES.index(phase) >= PHASES.index(silent) else None
        found.append(await visits(place, devices, away))
        if liar == phase == "counts":
            place.clock.now += 61  # who lied was not counted, and is waited for in vain
            await place.turn()
    place.clock.now += 61
    await place.turn()
    return found


def model(place: World) -> dict[str, Any]:
    return dict(place.coordinator.rounds.now.server.model)


def same(one: World, other: World) -> None:
    first, second = model(one), model(other)
    assert first.keys() == second.keys()
    assert "neighbours" in first
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], strict=True)


COUNTED: list[tuple[Lie | None, type[ProvenUpload]]] = [
    (lies.five_more, LyingUpload),
    (lies.one_less, LyingUpload),
    (lies.a_two, LyingUpload),
    (lies.too_many, LyingUpload),
    (None, ReplayedUpload),
    (None, SwappedUpload),
    (None, UncheckedUpload),
]
ATTACKS = [(phase, lie, kind) for phase in PHASES for lie, kind in COUNTED]
ATTACKS += [("pairs", lie, LyingUpload) for lie in (lies.a_pair_more, lies.other_items)]


def name_of(one: object) -> str:
    return getattr(one, "__name__", str(one))


@pytest.mark.parametrize(("phase", "lie", "kind"), ATTACKS, ids=name_of)
def test_a_lie_is_refused_and_the_model_is_that_of_everybody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, lie: Lie | None, kind: type[ProvenUpload]
) -> None:
    place, without = world(tmp_path / "with"), world(tmp_path / "without")
    with monkeypatch.context() as wicked:
        lying(wicked, phase, lie, kind)
        outcomes = asyncio.run(release(place, liar=phase))[PHASES.index(phase)]
    assert [one.kind for one in outcomes] == ["refused", *["sent"] * 11]
    assert "must be" in outcomes[0].why
    asyncio.run(release(without, silent=phase))
    same(place, without)
    said = place.coordinator.history()
    assert [one["state"] for one in said] == ["committed", "committed"]
    assert [one["reason"] for one in said] == [None, None]  # nothing had to be cut


@pytest.mark.parametrize(
    ("phase", "lie"),
    [
        ("counts", lies.five_more),
        ("counts", lies.a_two),
        ("counts", lies.too_many),
        ("pairs", lies.other_items),
    ],
    ids=name_of,
)
def test_without_the_check_the_lie_is_in_the_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, lie: Lie
) -> None:
    place, honest = world(tmp_path / "with"), world(tmp_path / "honest")
    asyncio.run(release(honest))
    lying(monkeypatch, phase, lie)
    careless(monkeypatch)
    outcomes = asyncio.run(release(place))
    assert {one.kind for each in outcomes for one in each} == {"sent"}
    if phase == "counts":
        true, found = (model(one)["counts"][:, 0].astype(np.int64) for one in (honest, place))
        assert (found > true).any()
    else:
        assert any((model(place)[name] != values).any() for name, values in model(honest).items())


def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vector aggregator adds whatever it gets."""

    def believes(*given: Any) -> VectorDecision:
        return replace(decide(*given), valid=True)

    monkeypatch.setattr(collection_module, "decide", believes)


@EXCHANGES
def test_an_honest_device_never_sends_what_fails_its_own_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """A fault in its own code: the message of a false proof would tell something of the vector."""
    place = world(tmp_path)
    lying(monkeypatch, phase, lies.a_two, ProvenUpload)
    outcomes = asyncio.run(release(place, liar=phase))[PHASES.index(phase)]
    assert (outcomes[0].kind, outcomes[0].phase) == ("declined", phase)
    assert "must pass its own check" in outcomes[0].why
    kinds = [body[3] for _, url, body in place.network.log if url.endswith("/reports")]
    first = 11 if phase == "counts" else 12  # who was not counted is refused at the seed aggregator next
    assert (kinds.count(wire.SEED), kinds.count(wire.VECTOR)) == (24, first + 11)


def test_a_device_whose_items_changed_since_the_counts_sits_the_pairs_out(tmp_path: Path) -> None:
    place = world(tmp_path)

    async def scenario() -> list[VisitOutcome]:
        devices = await place.everyone()
        await visits(place, devices)
        rows = devices[0].rows
        devices[0].rows = replace(rows, item=rows.item[1:], value=rows.value[1:], consent=rows.consent[1:])
        place.network.log.clear()
        return await visits(place, devices)

    outcomes = asyncio.run(scenario())
    assert [one.kind for one in outcomes] == ["declined", *["sent"] * 11]
    assert "it has changed since; this device sits the exchange out" in outcomes[0].why
    assert len([url for _, url, _ in place.network.log if url.endswith("/reports")]) == 22


@EXCHANGES
def test_a_device_killed_between_the_steps_goes_on_with_the_same_secret(tmp_path: Path, phase: str) -> None:
    place, calm = world(tmp_path / "with"), world(tmp_path / "without")

    async def scenario() -> None:
        devices = await place.everyone()
        for now in PHASES:
            await place.turn()
            if now == phase:
                place.network.down.add("http://vector")
                task = asyncio.ensure_future(devices[0].visit())
                sent = place.network.log[:]
                while not any(url == "http://seed/reports" for _, url, _ in place.network.log[len(sent) :]):
                    await asyncio.sleep(0)
                for _ in range(5):  # the answer is there, and the other aggregator is asked in vain
                    await asyncio.sleep(0)
                task.cancel()  # the process dies: only what it has written down is left
                await asyncio.gather(task, return_exceptions=True)
                place.network.down.clear()
                assert devices[0].storage.memory.pending is not None
            for device in devices:
                assert (await device.visit()).kind == "sent"
            await place.turn()
        await place.turn()

    asyncio.run(scenario())
    asyncio.run(release(calm))
    same(place, calm)
    seeds = [body for _, url, body in place.network.log if url == "http://seed/reports"]
    assert len(seeds) == 25  # one of them twice


def test_refusals_in_two_windows_bar_an_admission_until_they_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One refusal bars nobody: an aggregator that lies can make an honest device look false."""
    place = world(tmp_path)

    async def counted(lie: Lie | None = None) -> list[str]:
        with monkeypatch.context() as wicked:
            if lie is not None:
                lying(wicked, "counts", lie)
            outcomes = await visits(place, devices, None)
        place.clock.now += place.timing.window
        for one in place.aggregators.values():
            one.forget_ended()
        return [f"{one.kind} {one.why}" for one in outcomes if one.kind != "sent"]

    async def scenario() -> None:
        devices.extend(await place.everyone())
        own, desk = devices[0].identity.admission, place.aggregators["vector"].desk
        assert own is not None
        for barred in (frozenset[bytes](), frozenset({own.key.public})):
            (said,) = await counted(lies.five_more)
            assert "must be" in said
            assert desk.refused_twice == barred
        (said,) = await counted()
        assert "not valid in 2 windows" in said
        place.start_aggregator("vector")  # it is on the disk
        place.clock.now += place.timing.window * FORGIVEN
        for one in place.aggregators.values():
            one.forget_ended()
        assert place.aggregators["vector"]._store.rows("SELECT * FROM invalid") == []
        await place.turn()  # the round that was open is over
        assert await counted() == []

    devices = list[Device]()
    asyncio.run(scenario())


def test_an_aggregator_that_lies_bends_the_sum_by_its_own_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No proof speaks of what an aggregator adds: docs/threats.md says so."""
    place, honest = world(tmp_path / "with"), world(tmp_path / "honest")
    asyncio.run(release(honest))
    whole = CollectedRound.sum

    def bent(self: CollectedRound, ids: list[bytes], least: int) -> Any:
        found = whole(self, ids, least)
        more = np.full(len(found), self.kind == wire.SEED and self.phase.name == "counts", np.uint64)
        return self.chain.add_up((found, more))

    monkeypatch.setattr(CollectedRound, "sum", bent)
    asyncio.run(release(place))
    true, found = (model(one)["counts"].astype(np.int64) for one in (honest, place))
    assert (found == np.minimum(true + 1, 12)).all()
    assert place.coordinator.history()[-1]["state"] == "committed"


def test_a_seed_aggregator_that_lies_makes_an_honest_device_look_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left out, and everybody else goes on."""
    place, without = world(tmp_path / "with"), world(tmp_path / "without")
    victims = list[bytes]()

    def false(key: Any, report: Any, circuit: ProvenVector, payload: bytes, link: int | None) -> Any:
        victims[:] = victims or [report.admission]
        other = bytes(32) + payload[32:] if report.admission == victims[0] else payload
        found = answer(key, report, circuit, other, link)
        return replace(found, challenge=answer(key, report, circuit, payload, link).challenge)

    with monkeypatch.context() as wicked:
        wicked.setattr(collection_module, "answer", false)
        outcomes = asyncio.run(release(place, liar="counts"))[0]
    assert [one.kind for one in outcomes] == ["refused", *["sent"] * 11]
    asyncio.run(release(without, silent="counts"))
    same(place, without)


def test_a_vector_aggregator_that_lies_passes_whom_it_likes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It decides alone; the seed aggregator adds whatever it lists."""
    place = world(tmp_path)
    lying(monkeypatch, "counts", lies.five_more)
    careless(monkeypatch)
    assert {one.kind for one in asyncio.run(release(place))[0]} == {"sent"}


def links(place: World) -> list[int]:
    """How many links each aggregator has on its disk."""
    found = (one._store.rows("SELECT link FROM counted") for one in place.aggregators.values())
    return [len(rows) for rows in found]


def test_links_leave_the_disk_with_their_window_and_stay_for_an_open_round(tmp_path: Path) -> None:
    """Whoever has both disks and a key could hold a guess of a history against a link."""
    place = world(tmp_path)

    async def played() -> None:
        devices = await place.everyone()
        await visits(place, devices)
        assert links(place) == [len(devices)] * 2
        await place.turn()  # the pairs are open
        place.clock.now += 2 * place.timing.window
        for one in place.aggregators.values():
            one.forget_ended()
        assert links(place) == [len(devices)] * 2
        for role in ("seed", "vector"):
            place.start_aggregator(role)  # whose round is lost
        assert links(place) == [len(devices)] * 2  # nobody has looked at the clock
        for one in place.aggregators.values():
            one.forget_ended()
        assert links(place) == [0, 0]

    asyncio.run(played())


@pytest.mark.parametrize(("people_of_a_device", "why"), [(0, "sizes"), (10**9, "must have at most")])
def test_how_many_people_a_device_has_is_bounded_before_anybody_makes_room_for_them(
    tmp_path: Path, people_of_a_device: int, why: str
) -> None:
    place = world(tmp_path)
    info = replace(place.info, people=people_of_a_device)
    content = FederationDescription(place.data.items, info).encode()

    async def agreed() -> FederationTerms:
        await place.servers.agree()
        return place.coordinator.rounds.terms

    terms = asyncio.run(agreed())
    with pytest.raises(RefusedError, match=why):
        terms.chain("counts", FederationDescription.decode(content).info, 12)
