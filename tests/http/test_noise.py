"""Noise in a federation: aggregators add it, terms and manifests say it, devices ask for it and count it."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.channel.noise import simulated_noise
from murmura.channel.noise_terms import NoiseTerms, epsilon_of
from murmura.channel.weighted_chain import WeightedChain
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Permission
from murmura.core.errors import SettingError
from murmura.core.settings import as_dict
from murmura.device.device import TRAINING, Device, VisitOutcome
from murmura.device.storage import DeviceMemory, InMemoryStorage
from murmura.kernels.proofs.field import subtracted
from murmura.server.aggregator.aggregator import Aggregator, Role
from murmura.wire.manifest import ReleasedSum, RoundPrivacy, SignedManifest
from murmura.wire.refusals import RefusedError
from tests.http.network import World, people

NOISE: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-3, "hopeless": True}
METHOD: dict[str, object] = {"core_items": 20, "eigenvectors": 4}


def noisy(folder: Path, **changes: Any) -> World:
    way = {**NOISE, **changes}
    return World(
        folder,
        people(),
        method="fed-ease",
        settings={**METHOD, **way},
        channel=ChannelSettings(channel="secure-sum", minimum_cohort=10, **way),
    )


def from_seed(world: World, seed: int) -> World:
    """The same noise in every run of the test."""
    world.servers.noise = simulated_noise(seed)
    for aggregator in world.aggregators.values():
        aggregator._noise = world.servers.noise
    return world


def storage(device: Device) -> InMemoryStorage:
    assert isinstance(device.storage, InMemoryStorage)
    return device.storage


async def visits(world: World, *allowed: Permission) -> list[list[VisitOutcome]]:
    """Two exchanges: what came of each for the devices with these wishes; all others take part."""
    devices = [await world.join(n, one) for n, one in enumerate(allowed)]
    others = [await world.join(n) for n in range(len(allowed), world.info.clients)]
    world.coordinator.order("start")
    found = []
    for _ in range(2):
        await world.turn()
        found.append([await device.visit() for device in devices])
        for device in others:
            await device.visit()
        world.clock.now += 61
        await world.turn()
    return found


def test_what_is_bounded_stands_in_terms_manifest_and_journal(tmp_path: Path) -> None:
    async def scenario() -> tuple[World, list[Device]]:
        world = noisy(tmp_path)
        devices = await world.everyone()
        await world.play(devices)
        return world, devices

    world, devices = asyncio.run(scenario())
    terms = world.coordinator.rounds.terms
    assert (terms.noise.epsilon, terms.noise.delta) == (4.0, 1e-3)
    manifest = SignedManifest.decode(world.coordinator.last_manifest()).manifest
    assert manifest.privacy == RoundPrivacy(
        terms.noise.of_phase("pairs"), 4.0, 1e-3, terms.noise.unit, terms.noise.against
    )
    told = storage(devices[0]).last
    assert told is not None
    assert told.epsilon == pytest.approx(4.0)
    assert told.delta == 1e-3
    assert storage(devices[0]).memory.spent == pytest.approx(
        sum(z**-2 for z in terms.noise.multipliers.values())
    )


def test_a_device_takes_no_part_with_less_noise_than_its_owner_asks_for(tmp_path: Path) -> None:
    asked = Permission(release_epsilon=2.0), Permission(release_epsilon=4.0)
    first, second = asyncio.run(visits(noisy(tmp_path), *asked))
    assert [one.kind for one in first] == ["declined", "sent"]
    assert "reveals to epsilon 4 only, but this device asks for 2" in first[0].why
    assert second[1].kind == "sent"
    assert second[1].epsilon == pytest.approx(4.0)


def test_a_device_that_asks_for_noise_takes_no_part_without(tmp_path: Path) -> None:
    plain = World(tmp_path, people(), method="fed-ease", settings={"least": 2})
    ((first, other), _) = asyncio.run(visits(plain, Permission(epsilon=8.0), Permission()))
    assert first.kind == "declined"
    assert "no noise is added to the sums" in first.why
    assert other.kind == "sent"
    assert other.epsilon is None


def test_a_device_stops_when_its_own_account_is_spent(tmp_path: Path) -> None:
    """The counts are a tenth of what is told: after them there is nothing left for the pairs."""
    first, second = asyncio.run(visits(noisy(tmp_path), Permission(epsilon=2.0)))
    assert first[0].kind == "sent"
    assert 0 < (first[0].epsilon or 0) < 2.0
    assert second[0].kind == "declined"
    assert "would bring epsilon to 4, but 2 is allowed in all" in second[0].why


def test_an_account_adds_up_over_releases(tmp_path: Path) -> None:
    """Nine equal releases tell three times as much, in mu."""
    memory = storage(asyncio.run(noisy(tmp_path).join(0))).memory
    once = memory.spending(2.0)
    many = memory
    for _ in range(9):
        many = many.spending(2.0)
    assert once.epsilon(1e-5) == pytest.approx(epsilon_of(0.5, 1e-5))
    assert many.epsilon(1e-5) == pytest.approx(epsilon_of(1.5, 1e-5))
    assert math.isinf(many.spending(0.0).epsilon(1e-5))


@pytest.mark.slow
@pytest.mark.parametrize("curious", ["seed", "vector"])
def test_a_curious_aggregator_that_takes_its_own_noise_away_meets_all_of_the_others(
    tmp_path: Path, curious: Role
) -> None:
    """Of the released sum it knows what it added itself; what is left of the noise is what the terms say."""

    async def rest(folder: Path) -> tuple[Any, float]:
        folder.mkdir()
        world = noisy(folder)
        await world.servers.agree()
        world.aggregators[curious]._noise = simulated_noise(3)  # which it remembers
        await world.one_round(await world.everyone())
        rounds = world.coordinator.rounds
        kept = rounds.store.released("counts", rounds.terms.windows.at(world.clock()))
        assert kept is not None
        through = rounds.terms.chain("counts", world.info, world.info.clients)
        assert isinstance(through, WeightedChain)
        total = ReleasedSum.decode(kept).total(through)
        own = through.noise(simulated_noise(3)(curious, "counts", 0))
        without = through.product.steps(subtracted(total, own)) / through.product.largest
        left = without - _normalised_counts(world)[world.info.listed]
        return left, rounds.terms.noise.of_phase("counts")

    drawn = [asyncio.run(rest(tmp_path / str(n))) for n in range(6)]
    assert len({left.tobytes() for left, _ in drawn}) == 6  # fresh each time
    left = np.concatenate([one for one, _ in drawn])
    assert abs(left.std() / drawn[0][1] - 1) < 4 / math.sqrt(2 * len(left))


def _normalised_counts(world: World) -> Any:
    data = world.data
    held = np.bincount(data.user, minlength=data.n_users)
    return np.bincount(data.item, held[data.user] ** -0.5, minlength=data.n_items)


def test_a_sum_that_is_asked_for_again_has_the_same_noise(tmp_path: Path) -> None:
    """Two draws for one sum would average out."""

    async def scenario() -> tuple[bytes, bytes]:
        world = noisy(tmp_path)
        devices = await world.everyone()
        await world.turn()
        for device in devices:
            await device.visit()
        kept: list[bytes] = []
        release = Aggregator.release

        def twice(self: Aggregator, name: bytes, message: bytes) -> bytes:
            kept.extend((release(self, name, message), release(self, name, message)))
            return kept[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Aggregator, "release", twice)
            await world.turn()
        return kept[0], kept[1]

    one, again = asyncio.run(scenario())
    assert one == again


def test_a_manifest_that_promises_other_noise_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = noisy(tmp_path)
        devices = await world.everyone()
        honest = RoundPrivacy.of
        with pytest.MonkeyPatch.context() as patch:

            def more(noise: NoiseTerms, phase: str) -> RoundPrivacy:
                true = honest(noise, phase)
                assert true is not None
                return replace(true, epsilon=0.1)

            patch.setattr("murmura.server.coordinator.rounds.RoundPrivacy.of", staticmethod(more))
            manifest = world.coordinator.rounds._manifest(20, "")
        with pytest.raises(RefusedError, match="must promise the noise of its terms"):
            manifest.check_privacy(devices[0].identity.terms)

    asyncio.run(scenario())


def test_noisy_counts_that_promise_nothing_pause_the_federation(tmp_path: Path) -> None:
    """Before the pairs are asked for, which cost nine tenths of what may be told."""

    async def scenario() -> World:
        world = from_seed(noisy(tmp_path, hopeless=False), 3)  # how hopeless it looks depends on the draw
        devices = await world.everyone()
        await world.turn()
        for device in devices:
            await device.visit()
        with pytest.raises(SettingError, match="must leave something to learn"):
            await world.turn()
        return world

    world = asyncio.run(scenario())
    assert world.coordinator.about()["state"] == "paused"
    assert world.coordinator.about()["rounds_done"] == 1


def test_a_simulated_number_of_people_protects_nobody_and_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="as_if is for simulations"):
        noisy(tmp_path, as_if=1000)


def test_the_source_of_a_test_gives_the_same_sums_twice(tmp_path: Path) -> None:
    async def scenario(folder: Path) -> bytes:
        folder.mkdir()
        world = from_seed(noisy(folder), 3)
        devices = await world.everyone()
        await world.play(devices)
        return world.coordinator.rounds.now.server.model["factors"].tobytes()

    assert asyncio.run(scenario(tmp_path / "a")) == asyncio.run(scenario(tmp_path / "b"))


@pytest.mark.parametrize("checked", [True, False])
def test_a_device_answers_no_more_often_than_the_noise_of_the_terms_allows_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bool
) -> None:
    """A coordinator that repeats training rounds gets no more answers than epsilon is counted for."""
    way: dict[str, Any] = {**NOISE, "epsilon": 40.0}
    training: dict[str, object] = {"clients": "all", "rounds": 2, "prior": False, "factors": 2}
    if not checked:
        answers = DeviceMemory.answers

        def forgets(self: DeviceMemory, phase: str, window: int) -> int:
            return 0 if window == TRAINING else answers(self, phase, window)

        monkeypatch.setattr(DeviceMemory, "answers", forgets)

    async def scenario() -> set[str]:
        channel = ChannelSettings(channel="secure-sum", minimum_cohort=10, **way)
        settings = {**training, **way, "channel": "secure-sum"}
        world = World(tmp_path, people(), settings=settings, channel=channel)
        devices = await world.everyone()
        await world.one_round(devices)
        await world.one_round(devices)
        world.coordinator.order("pause")
        world.coordinator.rollback("1")
        world.coordinator.order("start")
        await world.turn()
        return {(await device.visit()).kind for device in devices}

    assert asyncio.run(scenario()) == ({"declined"} if checked else {"sent"})


@pytest.mark.parametrize("checked", [True, False])
def test_a_phase_that_the_terms_leave_without_noise_is_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bool
) -> None:
    """A coordinator whose epsilon is that of the counts alone gets no pairs, which would have no noise."""
    honest = NoiseTerms.of

    def counts_alone(*given: Any) -> NoiseTerms:
        true = honest(*given)
        few = {"counts": math.sqrt(0.1) * true.multipliers["counts"]}
        return replace(true, multipliers=few, answers={"counts": 1})

    monkeypatch.setattr(NoiseTerms, "of", staticmethod(counts_alone))
    monkeypatch.setattr("murmura.server.coordinator.rounds.forecast_of", lambda *_, **__: None)
    if not checked:
        monkeypatch.setattr(NoiseTerms, "check_phase", lambda *_: None)

    world = noisy(tmp_path)
    _, (second,) = asyncio.run(visits(world, Permission(release_epsilon=4.0)))
    assert (second.kind == "sent") != checked
    if checked:  # neither aggregator nor device
        with pytest.raises(RefusedError, match="for every answer to phase 'pairs', but is not; take no part"):
            world.coordinator.rounds.terms.phase("pairs", world.info)


def test_noise_bounds_no_exact_counters_no_more_answers_and_nothing_that_is_read(tmp_path: Path) -> None:
    """Whatever epsilon the terms claim for it."""
    world = noisy(tmp_path)
    asyncio.run(world.servers.agree())
    terms, info = world.coordinator.rounds.terms, world.info
    assert terms.phase("counts", info).name == "counts"
    knn = algorithm("fed-item-knn")()
    phases = {phase.name: 9.0 for phase in knn.algorithm().phases(info)}
    claimed = replace(terms.noise, multipliers=phases, answers=dict.fromkeys(phases, 1))
    exact = replace(terms, method=knn.name, settings=as_dict(knn.algorithm()), noise=claimed)
    exact.check()
    with pytest.raises(RefusedError, match="must be left out where exact counters are summed") as caught:
        exact.chain("counts", info, 20)
    assert caught.value.code == "forged"
    twice = replace(terms.phase("counts", info), repeat=2)
    with pytest.raises(SettingError, match="for every answer to phase 'counts', but is not"):
        terms.noise.check_phase(twice, 20)
    readable = {**terms.channel, "channel": "readable", "epsilon": None, "delta": None}
    read = replace(terms, channel=readable, seed_aggregator=None, vector_aggregator=None)
    with pytest.raises(RefusedError, match="must claim no noise where the server reads each update"):
        read.check()


@pytest.mark.parametrize("people", [12, 1])
def test_epsilon_is_not_made_small_by_a_delta_that_could_expose_somebody(tmp_path: Path, people: int) -> None:
    """At delta 1 / 2 hardly any noise is "epsilon 1"; nor does it help to say that there is one person."""
    world = noisy(tmp_path)
    asyncio.run(world.servers.agree())
    terms, little = world.coordinator.rounds.terms, {"counts": 1.0, "pairs": 1.0}
    claimed = replace(terms, noise=replace(terms.noise, epsilon=1.0, delta=0.5, multipliers=little))
    claimed.check()
    with pytest.raises(RefusedError, match=r"delta must be at most 1 in 1[02], the number of people") as caught:
        claimed.phase("pairs", replace(world.info, clients=people))
    assert caught.value.code == "forged"
    with pytest.raises(SettingError, match=r"delta must be at most 1 in 12, the number of people, but is 0\.5"):
        noisy(tmp_path / "other", delta=0.5)


def test_an_epsilon_that_is_lowered_while_a_device_waits_for_a_download_counts(tmp_path: Path) -> None:
    async def scenario() -> tuple[VisitOutcome, Device]:
        world = noisy(tmp_path)
        devices = await world.everyone()
        world.coordinator.order("start")
        await world.turn()
        mine, fetch = devices[0], devices[0].cache.description

        async def slowly() -> Any:
            storage(mine).allowed = Permission(epsilon=0.01)
            return await fetch()

        mine.cache.description = slowly  # type: ignore[method-assign]
        return await mine.visit(), mine

    outcome, mine = asyncio.run(scenario())
    assert (outcome.kind, storage(mine).notes) == ("declined", 0)
    assert "was changed or taken back" in outcome.why
