"""Central Laplace and local Gaussian noise in simulations: their accountants, their noise, what they cost."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.algorithms import algorithm
from murmura.algorithms.fpl.fpl import FPL
from murmura.channel.layout import SparseVector
from murmura.channel.noise import simulated_noise
from murmura.core.channel import MECHANISMS, ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import SettingError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng, client_secrets
from murmura.core.schedule import Schedule
from murmura.core.update import SparseRows, Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.protections.mechanisms import (
    MechanismChain,
    mechanism_chain,
    mechanism_terms,
)
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod
from murmura.testing import crowd

ITEMS, CLIENTS, CLIP = 500, 40, 3.0
PHASES = (
    Phase("prior", MessageSpec((TableSpec("items", "item", ITEMS, 4),)), repeat=1, budget=0.1),
    Phase("train", MessageSpec((TableSpec("items", "item", ITEMS, 4),)), budget=0.9),
)
ANSWERS, COHORTS = {"prior": 1, "train": 7}, {"prior": CLIENTS, "train": 10}


def settings(channel: str, **more: Any) -> ChannelSettings:
    return ChannelSettings(channel=channel, epsilon=2.0, clip=CLIP, minimum_cohort=1, **more)  # type: ignore[arg-type]


def through(channel: str, multiplier: float) -> MechanismChain:
    info = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), CLIENTS, 100)
    return mechanism_chain(settings(channel), PHASES[1], info, CLIENTS, multiplier, simulated_noise(1))


@pytest.mark.parametrize("channel", MECHANISMS)
def test_a_whole_training_spends_its_epsilon_and_half_of_it_less(channel: str) -> None:
    terms = mechanism_terms(settings(channel), PHASES, ANSWERS, CLIENTS, COHORTS)
    assert terms.spent(ANSWERS) == pytest.approx(2.0)
    assert 0 < terms.spent({"prior": 1, "train": 3}) < 2.0
    assert (terms.delta == 0) == (channel == "laplace")


def test_budgets_by_hand() -> None:
    """Laplace: a tenth of epsilon 2 for the prior, b = C / .2; seven answers share 1.8, b = C 7 / 1.8 each."""
    terms = mechanism_terms(settings("laplace"), PHASES, ANSWERS, CLIENTS, COHORTS)
    assert terms.of_phase("prior") == pytest.approx(5.0)
    assert terms.of_phase("train") == pytest.approx(7 / 1.8)
    local = mechanism_terms(settings("local-gaussian"), PHASES, ANSWERS, CLIENTS, COHORTS)
    own = local.own["train"] * 2 * CLIP  # sigma of one device: any two uploads differ by at most 2 C
    summed = math.sqrt(2) * local.of_phase("train") * CLIP
    assert summed == pytest.approx(own * math.sqrt(10))  # independent noise of ten devices


def noise_of(channel: str, multiplier: float, rounds: int = 40) -> tuple[MechanismChain, Any]:
    chain = through(channel, multiplier)
    sums = np.zeros(chain.words, np.int64)
    sums[0] = CLIENTS
    drawn = [chain.sum_up(sums, round).update.tables["items"].values for round in range(rounds)]
    return chain, np.concatenate([one.astype(np.float64).ravel() for one in drawn])


@pytest.mark.parametrize(("channel", "kurtosis"), [("laplace", 6.0), ("local-gaussian", 3.0)])
def test_noise_of_a_sum_is_what_was_said(channel: str, kurtosis: float) -> None:
    """Standard deviation within five errors of its own, and the fourth moment tells the two apart."""
    chain, drawn = noise_of(channel, 1.7)
    n = len(drawn)
    assert n == 40 * ITEMS * 4
    assert chain.spread == pytest.approx(math.sqrt(2) * 1.7 * CLIP)
    error = math.sqrt((kurtosis - 1) / n)
    assert abs(drawn.var() / chain.spread**2 - 1) < 5 * error
    assert abs((drawn**4).mean() / chain.spread**4 - kurtosis) < 1.0
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 5 / math.sqrt(n)


def test_a_round_has_noise_of_its_own_and_a_seed_the_same_again() -> None:
    first, again = noise_of("laplace", 1.0, 2)[1], noise_of("laplace", 1.0, 2)[1]
    assert (first == again).all()
    assert (first[: len(first) // 2] != first[len(first) // 2 :]).all()


@given(st.integers(0, 2**32), st.floats(0.01, 100), st.integers(1, 60))
def test_no_contribution_is_longer_than_the_clip_in_l1(seed: int, scale: float, rows: int) -> None:
    chain, rng = through("laplace", 1.0), np.random.default_rng(seed)
    index = np.sort(rng.choice(ITEMS, rows, replace=False)).astype(np.int32)
    update = Update({"items": SparseRows(index, rng.normal(0, scale, (rows, 4)).astype(np.float32))})
    sent = chain.ring.server(chain.device(update, Rng(client_secrets(0, 1)[0], 1), 1)).astype(np.float64)
    assert np.abs((sent * chain.steps)[1:]).sum() <= CLIP * (1 + 1e-12)


def test_l2_clip_and_rounding_at_random_would_be_too_long() -> None:
    """Of 2,000 equal numbers those of L2 length C have an L1 length of 45 C, and rounding up adds to it."""
    chain, rng = through("laplace", 1.0), Rng(client_secrets(0, 1)[0], 1)
    short = chain.shortened(np.full(2000, 1.0))
    assert np.abs(short).sum() == pytest.approx(CLIP)
    assert np.sqrt((short**2).sum()) < CLIP / 40
    chain = replace(chain, steps=np.full(chain.words, 2e-3))
    assert np.abs(chain.rounded(SparseVector(np.arange(2000), short), rng) * 2e-3).sum() <= CLIP


@pytest.mark.parametrize("channel", MECHANISMS)
def test_a_training_says_what_it_spent_and_against_whom(channel: str) -> None:
    model = FederatedMethod(
        algorithm("cfpl")(channel=channel, epsilon=50.0, hopeless=True, clients=12, rounds=2, minimum_cohort=1)
    ).fit(crowd())
    said = model.ledger.summary()
    assert said["privacy"]["epsilon"] == pytest.approx(50.0)
    assert ("servers included" in said["privacy"]["against"]) == (channel == "local-gaussian")
    assert "simulation only" in said["channel"]


def test_the_compiled_path_has_the_same_noise() -> None:
    models = []
    for path in ("plain", "auto"):
        plan = Plan(
            FPL(factors=2, precision="float64"),
            crowd(),
            Schedule(clients="all", rounds=2),
            channel=settings("local-gaussian", hopeless=True),
        )
        models.append(fit(plan, runtime=InProcess(path=path)).model)
    assert all((models[0][name] == models[1][name]).all() for name in models[0])


def test_settings_that_do_not_go_together_are_refused() -> None:
    for channel in MECHANISMS:
        with pytest.raises(SettingError, match="adds noise for an epsilon, but there is none"):
            ChannelSettings(channel=channel)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="delta of channel 'laplace' is 0"):
        settings("laplace", delta=1e-5)
    with pytest.raises(SettingError, match="grows with the people"):
        settings("local-gaussian", as_if=100)
    with pytest.raises(SettingError, match="must be 'secure-sum' where epsilon is given, but it is 'masks'"):
        settings("masks")
