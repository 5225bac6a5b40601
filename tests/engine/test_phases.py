"""Phases for a public part of the clients, and phases that only those may enter who were counted before."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import FederationInfo, Phase, ServerState, Total
from murmura.core.errors import FederationError, SettingError
from murmura.core.message import MessageSpec
from murmura.core.rng import Purpose, philox, server_secret
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.update import Update, add_up
from murmura.engine.federation import Federation
from murmura.engine.fit import fit
from murmura.engine.itinerary import Itinerary, Position, public_part
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd
from murmura.testing.kit_training import _DyingRuntime, _KilledError
from tests.channel.exact_counts import ExactCounts

SECRET = server_secret(9)
SEED = bytes(range(16))


@settings
class Asked(ExactCounts):
    """Its counts are statistics, in which not everybody takes part."""

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        counts, *others = super().phases(info)
        return (replace(counts, asks="statistics"), *others)


@settings
class Choosy(ExactCounts):
    """Its server reads the counts and leaves whoever has more than eight items out."""

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        counts, *others = super().phases(info)
        return (replace(counts, combine="each"), *others)

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        return "too many items." if len(update.tables["counts"]) > 8 else None

    def server_step(self, phase: str, server: ServerState, received: Any) -> Any:
        if phase == "counts":
            received = Total(add_up(received.updates.values()), len(received.updates))
        return super().server_step(phase, server, received)


def itinerary(algorithm: ExactCounts, clients: int = 200) -> Itinerary:
    info = FederationInfo(4, np.arange(4, dtype=np.int32), clients, 400)
    return Itinerary(algorithm, info, Schedule(clients=20, rounds=3))


@given(st.binary(min_size=16, max_size=16), st.floats(0.01, 1.0), st.integers(1, 40))
def test_a_client_number_alone_decides(seed: bytes, part: float, clients: int) -> None:
    """A device works out its own answer from one block; how many others there are does not matter."""
    members = public_part(seed, clients, part)
    assert (public_part(seed, clients + 7, part)[:clients] == members).all()
    low, high, first, second = (int.from_bytes(seed[4 * k : 4 * k + 4], "little") for k in range(4))
    for slot in range(clients):
        block = philox(np.array([slot // 4, first, Purpose.PART, second]), np.array([low, high]))
        assert members[slot] == (int(block[slot % 4]) < int(part * 2**32))


def test_a_part_is_as_large_as_it_says_and_the_whole_is_everybody() -> None:
    n = 40_000
    for part in (0.1, 0.5, 0.93):
        allowed = 4 * np.sqrt(part * (1 - part) / n)
        assert abs(public_part(SEED, n, part).mean() - part) < allowed
    assert public_part(SEED, n, 1.0).all()
    both = public_part(SEED, n, 0.5) & public_part(bytes(16), n, 0.5)
    assert abs(both.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / n)  # another seed, another part
    with pytest.raises(FederationError, match="16 bytes"):
        public_part(SEED[:15], n, 0.5)


def test_the_cohort_of_a_part_is_who_is_in_it_whoever_else_is_registered() -> None:
    way, at = itinerary(ExactCounts(part=0.3)), Position(1, 0, 5, 6)
    seed = way.part_seed(at, SECRET)
    everyone = np.arange(200, dtype=np.int32)
    registered = everyone[::3]
    members = public_part(seed, 200, 0.3)
    assert (way.cohort(at, everyone, SECRET, everyone) == everyone[members]).all()
    assert (way.cohort(at, registered, SECRET, everyone) == registered[members[registered]]).all()
    assert way.cohort(at, registered[:0], SECRET, everyone).tolist() == []
    assert way.cohort(Position(0), everyone, SECRET, everyone) is everyone  # no part: as ever


def test_every_exchange_has_a_part_of_its_own() -> None:
    way = itinerary(ExactCounts())
    exchanges = [Position(1, 0, 1), Position(1, 0, 2), Position(2, 1, 2), Position(2, 2, 2)]
    seeds = [way.part_seed(at, SECRET) for at in exchanges]
    assert len(set(seeds)) == 4
    assert {len(seed) for seed in seeds} == {16}
    assert way.part_seed(exchanges[0], server_secret(10)) not in seeds


def test_only_who_was_counted_takes_part_in_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of pairs has nobody's who kept out of the counts; without the check it has."""
    data = crowd(30, 12)
    plan = Plan(Asked(part=1.0), data, Schedule(clients="all", rounds=1), consent=Consent(statistics=0.5))
    counted = plan.choices.statistics
    assert 5 < counted.sum() < 25
    sizes = np.array([np.bincount(data.item[data.user == u], minlength=12) for u in range(30)])
    model = fit(plan, runtime=InProcess()).model
    assert (model["pairs"] == sizes[counted].T @ sizes[counted]).all()
    assert (np.diag(model["pairs"]) == model["counts"][:, 0]).all()
    monkeypatch.setattr(Federation, "takes_part", lambda self, phase, called: np.flatnonzero(
        self.plan.people.answering(phase.asks)).astype(np.int32))  # fmt: skip
    open_to_all = fit(plan, runtime=InProcess()).model
    assert (np.diag(open_to_all["pairs"]) > open_to_all["counts"][:, 0]).any()


def test_who_was_refused_was_not_counted() -> None:
    data = crowd(30, 20)
    fitted = fit(Plan(Choosy(part=1.0), data, Schedule(clients="all", rounds=1)), runtime=InProcess())
    refused = np.zeros(30, bool)
    refused[list(fitted.refused)] = True
    assert 0 < refused.sum() < 30
    sizes = np.array([np.bincount(data.item[data.user == u], minlength=20) for u in range(30)])
    assert (fitted.model["pairs"] == sizes[~refused].T @ sizes[~refused]).all()


def test_who_was_counted_is_remembered_across_a_crash(tmp_path: Path) -> None:
    def train(runtime: Any, folder: Path | None) -> Any:
        people, consent = crowd(30, 12), Consent(statistics=0.5)
        plan = Plan(Asked(part=1.0), people, Schedule(clients="all", rounds=1), consent=consent)
        return fit(plan, runtime=runtime, folder=folder, checkpoint_every=1 if folder else None).model

    with pytest.raises(_KilledError):
        train(_DyingRuntime(InProcess(), 1), tmp_path)
    assert (train(InProcess(), tmp_path)["pairs"] == train(InProcess(), None)["pairs"]).all()


def test_a_part_that_leaves_too_few_is_refused_before_anything_is_asked() -> None:
    few = ChannelSettings(channel="secure-sum", minimum_cohort=25)
    with pytest.raises(SettingError, match="at least the minimum cohort of 25, but there are"):
        Plan(ExactCounts(part=0.5), crowd(30, 12), Schedule(clients="all", rounds=1), channel=few)
    with pytest.raises(SettingError, match="must have someone who takes part"):
        Plan(ExactCounts(part=0.001), crowd(30, 12), Schedule(clients="all", rounds=1))


def test_what_a_phase_cannot_follow_or_be_a_part_of_is_refused() -> None:
    for part in (0.0, -0.5, 1.5, float("nan")):
        with pytest.raises(SettingError, match="above 0 and at most 1"):
            Phase("p", MessageSpec(), part=part)

    @settings
    class Astray(ExactCounts):
        def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
            counts, pairs, train = super().phases(info)
            return (pairs, counts, train)

    with pytest.raises(SettingError, match="'counts' is none"):
        itinerary(Astray())
