"""The channel of noisy sums: two aggregators find the sums of a simulation, and nobody is longer than 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.private import PrivateCooccurrence
from murmura.channel.field_shares import expand_numbers
from murmura.channel.ledger import device_costs
from murmura.channel.noise import SMALLEST, simulated_noise
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.phase_chains import chain
from murmura.channel.proof_keys import ProofKey, ProvenReport
from murmura.channel.proven_shares import ProvenUpload, answer, decide
from murmura.channel.rounded_chain import RoundedChain
from murmura.channel.weighted_chain import WeightedChain
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo
from murmura.core.errors import SettingError
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.update import Update
from murmura.kernels.proofs.field import MODULUS, Elements
from murmura.kernels.proofs.weighted_items import off_diagonal

LISTED = np.array([0, 2, 3, 5, 7, 8, 11], np.int32)
ITEMS, PEOPLE, DEVICES = 12, 2, 20
KEY, RNG = ProofKey(bytes(32)), Rng(np.zeros(2, np.uint32))
SECURE = ChannelSettings(channel="secure-sum", minimum_cohort=1)
INFO = FederationInfo(ITEMS, LISTED, DEVICES, 200, people=PEOPLE, counts=np.arange(ITEMS))
METHOD = PrivateCooccurrence(core_items=5, eigenvectors=3)
SOURCE = simulated_noise(5)
PHASES = pytest.mark.parametrize("phase", ["counts", "pairs"])


def through(phase: str, multiplier: float = 0.7, info: FederationInfo = INFO) -> WeightedChain:
    declared = next(one for one in METHOD.phases(info) if one.name == phase)
    made = chain(SECURE, declared, info, info.clients, multiplier, SOURCE)
    assert isinstance(made, WeightedChain)
    return made


def households() -> list[tuple[Ints, ...]]:
    random = np.random.default_rng(3)
    return [
        tuple(
            np.sort(random.choice(LISTED, random.integers(1, len(LISTED) + 1), replace=False))
            for _ in range(size)
        )
        for size in random.integers(0, PEOPLE + 1, DEVICES).tolist()
    ]


def halves(made: WeightedChain, device: int, update: Update) -> tuple[Elements, Elements, int]:
    """What each aggregator adds up of a device, and the bytes that left it."""
    report = ProvenReport(bytes(16), bytes(32), made.phase, 0, device.to_bytes(16, "little"), bytes(32))
    upload = ProvenUpload(made.proven, made.vector(update), bytes([device]) * 32)
    half = upload.half()
    first = upload.first(half)
    told = answer(KEY, report, made.proven, first, None)
    second = upload.second(half, told.challenge, told.check)
    found = decide(KEY, report, made.proven, first[32:], second, None)
    assert found.valid
    own = made.proven.released(expand_numbers(upload.seed, made.proven.length))
    return own, found.vector, len(first) + len(second)


@PHASES
def test_two_aggregators_find_what_a_simulation_finds_with_the_same_noise(phase: str) -> None:
    made = through(phase)
    sums, totals = np.zeros(made.words, np.int64), {"seed": made.add_up(()), "vector": made.add_up(())}
    for device, own in enumerate(households()):
        update = Update(own=own)
        sums += made.device(update, RNG, 0).astype(np.int64)
        *both, sent = halves(made, device, update)
        assert sent == made.upload_bytes
        for role, half in zip(totals, both):
            totals[role] = made.add_up((totals[role], half))
    noisy = [made.with_noise(half, SOURCE(role, phase, 0)) for role, half in totals.items()]
    whole = made.unpack_total(made.pack_total(made.add_up(noisy)))
    found, breach = made.possible(whole, 0, DEVICES)
    simulated = made.sum_up(sums, 0)
    assert (breach, found.count, simulated.count) == ("", DEVICES, DEVICES)
    assert found.noise == simulated.noise > 0
    for name, rows in simulated.update.tables.items():
        np.testing.assert_array_equal(found.update.tables[name].values, rows.values)


@PHASES
@pytest.mark.parametrize("multiplier", [0.0, 0.01, 0.7, 20.0])
def test_nobody_is_longer_than_the_noise_is_measured_by(phase: str, multiplier: float) -> None:
    made = through(phase, multiplier)
    for own in households():
        longest = made.product.steps(made.device(Update(own=own), RNG, 0)[1:])
        assert (longest**2).sum() <= made.product.largest**2 * (1 + 1e-12)
    assert made.sigma >= multiplier * made.product.largest
    assert 2 * off_diagonal(made.sigma) ** 2 >= made.sigma**2


@PHASES
def test_a_sum_without_noise_is_that_of_the_definition(phase: str) -> None:
    """Counts of 1 / sqrt(people n), pairs of 1 / n; weights are rounded down by less than a step."""
    made, crowd = through(phase, 0.0), [(LISTED[:n],) for n in range(1, len(LISTED) + 1)]
    sums = np.sum([made.device(Update(own=own), RNG, 0).astype(np.int64) for own in crowd], axis=0)
    (found,) = made.sum_up(sums, 0).update.tables.values()
    items = LISTED if phase == "counts" else METHOD.core(INFO)
    x = np.array([np.isin(items, own) for (own,) in crowd], np.float64)
    n = x.sum(axis=1)[x.any(axis=1)]
    x = x[x.any(axis=1)]
    if phase == "counts":
        expected = (x / np.sqrt(PEOPLE * n)[:, None]).sum(axis=0)
    else:
        pairs = np.einsum("ui,uj,u->ij", x, x, 1 / n)
        expected = (np.triu(pairs) + (np.sqrt(2) - 1) * np.triu(pairs, 1))[np.triu_indices(len(items))]
    assert (found.values[:, 0] <= expected + 1e-6).all()
    np.testing.assert_allclose(found.values[:, 0], expected, atol=2e-3)


def test_what_an_aggregator_adds_is_cut_to_what_is_possible_and_told() -> None:
    for phase in ("counts", "pairs"):
        made = through(phase)
        total = made.add_up(())
        total[0] = MODULUS - 2 if phase == "counts" else MODULUS // 3
        total[-1] = np.uint64(MODULUS // 2 - 5)
        found, breach = made.possible(total, 0, 3)
        assert "an aggregator broke them" in breach
        (rows,) = found.update.tables.values()
        assert np.sqrt((rows.values.astype(np.float64) ** 2).sum()) <= (3 + made.noise_length) * (1 + 1e-5)


def test_a_sum_of_many_has_fewer_counters_in_a_word_and_too_many_are_refused() -> None:
    sizes = {clients: through("pairs", info=replace(INFO, clients=clients)) for clients in (100, 20_000, 10**6)}
    bases = {clients: int(made.product.words.places.size[0]) for clients, made in sizes.items()}  # type: ignore[union-attr]
    assert bases == {100: 3, 20_000: 2, 10**6: 2}
    with pytest.raises(SettingError, match="must fit its words"):
        through("pairs", info=replace(INFO, clients=2**32))


def test_noise_too_small_to_be_gaussian_is_refused() -> None:
    with pytest.raises(SettingError, match=f"noise must be at least {SMALLEST} steps"):
        through("counts", 1e-4)


def test_where_no_proof_is_possible_the_sum_is_rounded() -> None:
    declared = METHOD.phases(INFO)[0]
    assert isinstance(chain(replace(SECURE, channel="readable"), declared, INFO, DEVICES), RoundedChain)


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("epsilon", [None, 4.0])
def test_what_a_device_is_told_it_sends_is_what_it_sends(people: int, epsilon: float | None) -> None:
    """A word of the pairs holds several counters, and everybody's counts are proved one by one."""
    listed = np.arange(300, dtype=np.int32)
    info = FederationInfo(300, listed, 2000, 60_000, people=people, counts=np.arange(300))
    settings, method = replace(SECURE, epsilon=epsilon), PrivateCooccurrence()
    phases = method.phases(info)
    noise = NoiseTerms.of(settings, phases, {one.name: 1 for one in phases}, info.clients)
    *told, _ = device_costs(method, info, Schedule(), settings).exchanges
    for cost, phase in zip(told, phases, strict=True):
        made = chain(settings, phase, info, info.clients, noise.of_phase(phase.name))
        assert (cost.up, cost.phase) == (made.upload_bytes, phase.name)
