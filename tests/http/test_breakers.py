"""A device that breaks the bounds of sums is found by halving who is called, and the federation goes on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.core.channel import ChannelSettings
from murmura.core.contract import Phase, RoundContext
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.device import device as device_module
from murmura.device.device import Device
from murmura.device.enrolment import register
from murmura.engine.visit import Visit, visit
from murmura.server.admissions import AdmissionDesk
from murmura.server.coordinator.anomalies import MalformedClientSearch
from murmura.server.loopback import COORDINATOR
from murmura.wire.refusals import RefusedError
from tests.http.network import SEEDED, World, entropy, people

PEOPLE, MINIMUM, ROUNDS = 24, 10, 12
Breaks = Callable[[int], bool]  # round -> whether it lies


class Watched(World):
    """A world whose devices the test can ask."""

    devices: list[Device]


def world(folder: Path, minimum: int = MINIMUM, clients: int = PEOPLE) -> Watched:
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=minimum)
    settings: dict[str, object] = {"clients": clients, "rounds": ROUNDS, "epochs": 50, "factors": 3}
    return Watched(folder, people(PEOPLE), "cfpl", settings, channel)


def breaking(monkeypatch: pytest.MonkeyPatch, breakers: dict[int, Breaks]) -> None:
    """These devices put into every number of a training upload more than all of them could."""
    secrets = client_secrets(SEEDED, PEOPLE)
    known = {tuple(secrets[slot].tolist()): lies for slot, lies in breakers.items()}

    def lies(method: object, phase: Phase, context: RoundContext, *rest: object) -> Visit:
        made = visit(method, phase, context, *rest)  # type: ignore[arg-type]
        rng = rest[-2]
        assert isinstance(rng, Rng)
        breaks = known.get(tuple(rng.secret.tolist()))
        if breaks is None or phase.name != "train" or not breaks(context.round):
            return made
        assert made.vector is not None
        vector = made.vector.copy()
        vector[1:] += np.uint32(2**30)
        return replace(made, vector=vector)

    monkeypatch.setattr(device_module, "visit", lies)


def always(round: int) -> bool:
    return True


async def rounds(place: Watched, most: int) -> list[dict[str, object]]:
    """Everybody who is still there comes to every round; what became of the rounds, oldest first."""
    place.devices = devices = await place.everyone()
    for _ in range(most):
        await place.turn()
        for device in devices:
            with contextlib.suppress(RefusedError):  # who is barred has no place any more
                await device.visit()
        await place.turn()
        if place.coordinator.about()["state"] == "finished":
            break
    return place.coordinator.history()[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("breaker", [0, 7, 23])
def test_who_breaks_every_round_is_out_after_ten_and_the_federation_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaker: int
) -> None:
    place = world(tmp_path)
    breaking(monkeypatch, {breaker: always})
    history = asyncio.run(rounds(place, 40))
    said = [str(one["reason"]) for one in history]
    found = next(n for n, text in enumerate(said) if f"place {breaker} broke the bounds of every round" in text)
    assert found <= 10
    assert place.coordinator.about()["state"] == "finished"
    assert {one["state"] for one in history[found + 1 :]} == {"committed"}
    assert breaker not in place.coordinator.rounds.store.registered().tolist()
    assert len(place.coordinator.rounds.store.registered()) == PEOPLE - 1  # nobody else lost anything
    assert all(int(str(one["called"])) >= MINIMUM for one in history)
    assert place.coordinator.metrics()["murmura_places_barred_total"] == 1


@pytest.mark.slow
def test_another_place_with_the_same_admission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = world(tmp_path)
    breaking(monkeypatch, {5: always})
    asyncio.run(rounds(place, 40))
    terms, admission = place.coordinator.rounds.terms, place.devices[5].identity.admission

    async def again() -> None:
        await register(place.network, COORDINATOR, terms, admission, entropy(999)(32).hex(), 5)

    with pytest.raises(RefusedError, match="revoked"):
        asyncio.run(again())
    place.start_coordinator()  # it is written down
    with pytest.raises(RefusedError, match="revoked"):
        asyncio.run(again())


@pytest.mark.slow
def test_without_halving_it_never_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same attack against a coordinator that does not search."""
    place = world(tmp_path)
    monkeypatch.setattr(MalformedClientSearch, "void", lambda self, came, desk: "")
    breaking(monkeypatch, {7: always})
    history = asyncio.run(rounds(place, 30))
    assert {one["state"] for one in history[1:]} == {"abandoned"}
    assert place.coordinator.rounds.now.position.done == 1  # the prior, in which it was honest


@pytest.mark.slow
def test_cohorts_that_are_drawn_are_searched_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = world(tmp_path, clients=14)
    breaking(monkeypatch, {9: always})
    history = asyncio.run(rounds(place, 60))
    assert place.coordinator.about()["state"] == "finished"
    assert sum(one["state"] == "abandoned" for one in history) <= 10
    assert all(MINIMUM <= int(str(one["called"])) <= 14 for one in history[1:])
    assert len(place.coordinator.rounds.store.registered()) >= PEOPLE - 1


@pytest.mark.slow
def test_two_breakers_are_found_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = world(tmp_path)
    breaking(monkeypatch, {3: always, 17: always})
    asyncio.run(rounds(place, 80))
    assert place.coordinator.about()["state"] == "finished"
    there = place.coordinator.rounds.store.registered().tolist()
    assert there == [slot for slot in range(PEOPLE) if slot not in (3, 17)]


@pytest.mark.slow
def test_who_lies_once_is_not_barred_nor_anybody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = world(tmp_path)
    breaking(monkeypatch, {7: lambda round: round == 3})
    history = asyncio.run(rounds(place, 40))
    assert sum(one["state"] == "abandoned" for one in history) == 1
    assert len(place.coordinator.rounds.store.registered()) == PEOPLE
    assert not place.coordinator.rounds.search.candidates


@pytest.mark.slow
def test_where_nobody_can_be_left_out_nobody_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many devices as the minimum: no sum of fewer, so the breaker is never found and nobody else blamed."""
    place = world(tmp_path, minimum=PEOPLE)
    breaking(monkeypatch, {7: always})
    history = asyncio.run(rounds(place, 15))
    assert {one["called"] for one in history} == {PEOPLE}
    assert {one["state"] for one in history[1:]} == {"abandoned"}
    assert len(place.coordinator.rounds.store.registered()) == PEOPLE


def test_a_void_sum_is_kept_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the coordinator nor an aggregator has a half of it afterwards, nor who was suspected."""
    place = world(tmp_path)
    breaking(monkeypatch, {7: always})
    asyncio.run(rounds(place, 2))
    assert place.coordinator.history()[0]["state"] == "abandoned"
    for aggregator in place.aggregators.values():
        rows = aggregator._store.rows("SELECT ids, total FROM rounds")
        assert all(not ids and not total for ids, total in rows)
    for (called,) in place.coordinator._store.rows("SELECT called FROM rounds"):
        assert called == b""


SECRET = server_secret(4)


class Desk(AdmissionDesk):
    """Takes note of who is barred, without a database."""

    def __init__(self) -> None:
        self.barred: list[int] = []

    def bar(self, slot: int) -> None:
        self.barred.append(slot)


@pytest.mark.parametrize(("people", "minimum", "rounds"), [(500, 100, 10), (200, 100, 9), (512, 10, 11)])
def test_five_hundred_are_searched_in_ten_rounds(people: int, minimum: int, rounds: int) -> None:
    """Whoever it is is found."""
    registered, took = np.arange(people, dtype=np.int32), []
    for breaker in range(0, people, 7):
        search, desk, n = MalformedClientSearch(), Desk(), 0
        while not desk.barred:
            called = search.calls(registered, registered, minimum, Rng(SECRET, 1000 * breaker + n))
            assert len(called) >= minimum
            came = frozenset(called.tolist())
            (search.void if breaker in came else search.good)(came, desk)
            n += 1
            assert n < 12
        assert desk.barred == [breaker]
        took.append(n)
    assert max(took) <= rounds
