"""The noisy release: the mathematics against plain twins, what is sent, what is refused."""

from typing import Any

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.algorithms.cooccurrence.private import (
    PrivateCooccurrence,
    cut_entries,
    item_factors,
    low_rank_scores,
    noise_edge,
    pair_places,
    pair_values,
    symmetric,
    triangle,
)
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, History, RoundContext
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, client_secrets
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import simulated
from murmura.testing.data import checkerboard, crowd

METHOD = PrivateCooccurrence(core_items=40, eigenvectors=8)


def context(data: Interactions, phase: str) -> RoundContext:
    info = FederationInfo.of(data)
    return RoundContext(info, phase, 0, {})


def shared(items: list[int]) -> History:
    own = History.private(np.array(items))
    return History(own.item, own.value, np.ones(len(own)))


def test_what_one_person_sends_has_length_one() -> None:
    data = crowd(30, 40)
    for items in ([3], [1, 4, 7], list(range(25))):
        for phase, table in (("counts", "counts"), ("pairs", "pairs")):
            _, update = METHOD.client_step(
                context(data, phase), {}, shared(items), Rng(client_secrets(0, 1)[0], 0)
            )
            assert np.sqrt((update.tables[table].values ** 2).sum()) == pytest.approx(1.0, abs=1e-6)


def test_the_sum_is_the_normalised_table_of_pairs() -> None:
    """Brute force: for every person x x' / n over the core, without noise and without a channel."""
    data = crowd(30, 40)
    fitted = fit(Plan(METHOD, data, seed=1), runtime=InProcess(path="plain"))
    core, n = METHOD.core(fitted.plan.info), METHOD.core_size(fitted.plan.info)
    G = np.zeros((n, n))
    for user in range(data.n_users):
        own = np.intersect1d(data.by_user.of(user), core)
        x = np.isin(core, own).astype(float)
        G += np.outer(x, x) / max(1.0, x.sum())
    A = item_factors(cut_entries(G, 0.0), 8, data.n_users / METHOD.people_per_reg, 0.0)
    assert np.allclose(fitted.model["factors"] @ fitted.model["factors"].T, A @ A.T, atol=1e-5)


def test_a_triangle_there_and_back() -> None:
    rng = np.random.default_rng(0)
    G = rng.normal(size=(6, 6))
    G = G + G.T
    a, b = np.triu_indices(6)
    upper = G[a, b] * np.where(a == b, 1.0, np.sqrt(2.0))
    assert np.allclose(symmetric(upper, 6), G)
    assert np.isclose((upper**2).sum(), (G**2).sum())  # so that the noise of one number is that of the table
    assert pair_places(np.arange(6, dtype=np.int32), 6).tolist() == list(range(triangle(6)))
    assert pair_places(np.array([1, 4], np.int32), 6).tolist() == [6, 9, 18]
    assert pair_values(2).tolist() == pytest.approx([0.5, 2**-0.5, 0.5])


def test_vectors_rank_as_the_weights_of_ease_do() -> None:
    """A_i . A_j / (1 - |A_j|^2) is -P_ij / P_jj of P = (G + reg I)^-1 where G has no more directions."""
    rng = np.random.default_rng(1)
    X = (rng.random((50, 12)) < 0.3).astype(float)
    G, reg = X.T @ X, 5.0
    A = item_factors(G, 12, reg, 0.0)
    P = np.linalg.inv(G + reg * np.eye(12))
    B = -P / np.diag(P)
    own = np.array([2, 5, 7], np.int32)
    others = np.setdiff1d(np.arange(12), own)
    found = low_rank_scores(A, own, np.array([1.0, 0.5, 2.0]))
    assert np.allclose(found[others], (np.array([1.0, 0.5, 2.0]) @ B[own])[others], atol=1e-4)


def test_the_edge_is_where_directions_of_noise_end() -> None:
    rng, n = np.random.default_rng(2), 300
    noise = rng.normal(size=(n, n)) * 3.0
    table = np.triu(noise, 1) / np.sqrt(2.0)
    strongest = np.linalg.eigvalsh(table + table.T + np.diag(np.diag(noise)))[-1]
    assert strongest == pytest.approx(noise_edge(3.0, n), rel=0.05)
    assert not item_factors(table + table.T, 4, 1.0, 2 * 3.0).any()  # twice as much is taken off


def test_entries_that_only_liars_make_are_cut_and_honest_ones_are_not() -> None:
    G = np.array([[9.0, 2.0, 4.0], [2.0, 4.0, 1.0], [4.0, 1.0, 4.0]])
    assert cut_entries(G, 0.0).tolist() == [[9.0, 2.0, 3.0], [2.0, 4.0, 1.0], [3.0, 1.0, 4.0]]
    assert cut_entries(G, 10.0).tolist() == G.tolist()  # noise alone would make as much


def test_much_noise_says_nothing_and_little_noise_everything() -> None:
    data, answer = checkerboard()
    ways = {
        e: ChannelSettings(channel="secure-sum", minimum_cohort=1, epsilon=e, hopeless=True)
        for e in (0.1, 500.0)
    }
    right = {}
    for epsilon, way in ways.items():
        fitted = fit(Plan(METHOD, data, channel=way, seed=4), runtime=InProcess())
        lists = fitted.recommend(np.arange(data.n_users, dtype=np.int32), 1)
        right[epsilon] = float((lists.item[:, 0] == answer).mean())
    assert right[500.0] > 0.9
    assert right[0.1] < 0.5


def test_the_ledger_says_what_is_bounded_for_whom_and_against_whom() -> None:
    fitted = private(crowd(60, 40), epsilon=3.0, hopeless=True)
    told = fitted.ledger.summary()["privacy"]
    assert told["epsilon"] == pytest.approx(3.0)
    assert told["of"] == 3.0
    assert told["delta"] == 1 / 600
    assert told["unit"].startswith("one person with everything she shares")
    assert told["against"].endswith("one curious aggregator")
    assert fitted.cost()["epsilon"] == pytest.approx(3.0)
    assert "noise for epsilon 3" in fitted.ledger.channel


def test_noise_of_more_people_is_less_noise_and_says_so() -> None:
    few, many = (private(crowd(60, 40), epsilon=3.0, hopeless=True, as_if=n) for n in (60, 6000))
    noise = [one.plan.chains["pairs"].noise_in_sum for one in (few, many)]
    assert noise[0] > 50 * noise[1]
    assert many.ledger.privacy["as if people"] == 6000
    assert many.ledger.privacy["delta"] == 1 / 60000


def test_hopeless_cases_are_refused_before_noise_is_drawn() -> None:
    with pytest.raises(
        SettingError, match=r"Expect less than the most popular items give\. About 230 people would do"
    ):
        private(crowd(60, 40), epsilon=0.5)
    with pytest.raises(SettingError, match="longest sum that clients of one mind make"):
        simulated("cfpl", {"channel": "secure-sum", "clients": "all", "minimum_cohort": 1, "epsilon": 0.5}).fit(
            crowd(60, 40)
        )


def test_what_noise_makes_of_public_counts_is_taken_off() -> None:
    """Nobody has anything in common: exact counts and noisy ones promise the same, nothing."""
    nobody = FederationInfo(5000, np.arange(5000, dtype=np.int32), 500, 500, counts=np.zeros(5000, np.int64))
    noisy = np.rint(10 * np.maximum(np.random.default_rng(3).normal(0, 4.0, 5000), 0)).astype(np.int64)
    method = PrivateCooccurrence()
    sigmas = {"counts": 4.0, "pairs": 1.5}
    clean = method.noise_outlook(nobody, sigmas, noisy=False)
    drawn = method.noise_outlook(
        FederationInfo(5000, nobody.listed, 500, 500, counts=noisy), sigmas, noisy=True
    )
    believed = method.noise_outlook(
        FederationInfo(5000, nobody.listed, 500, 500, counts=noisy), sigmas, noisy=False
    )
    assert clean is not None
    assert drawn is not None
    assert believed is not None
    assert clean.signal == drawn.signal == 0
    assert believed.ratio > 1  # taken for true they would promise enough


def test_settings_of_the_other_form_are_refused() -> None:
    fed_ease = algorithm("fed-ease")
    with pytest.raises(
        SettingError, match=r"fed-ease\.knn must be left out where epsilon is given, but it is 0\.5"
    ):
        fed_ease(epsilon=4.0, knn=0.5)
    with pytest.raises(
        SettingError, match=r"fed-ease\.eigenvectors must be left out where epsilon is not given"
    ):
        fed_ease(eigenvectors=3)
    with pytest.raises(SettingError, match="epsilon must be left out for fed-item-knn"):
        algorithm("fed-item-knn")(epsilon=4.0)
    chosen = fed_ease(epsilon=4.0, core_items=300)
    assert isinstance(chosen.algorithm(), PrivateCooccurrence)
    assert fed_ease.rebuilt({"core_items": 300, "eigenvectors": 64, "people_per_reg": 60.0, "recency": 0.0,
                             "discount": 0.0, "value_from": None}) == chosen.algorithm()  # fmt: skip


def private(data: Interactions, **settings: object) -> FederatedModel:
    return simulated("fed-ease", {"minimum_cohort": 1, **settings}).fit(data, seed=2)


@pytest.mark.parametrize(("name", "settings"), [("fed-ease", {}), ("dp-cfpl", {"epochs": 3})])
def test_the_ledgers_epsilon_is_that_of_the_oracle(name: str, settings: dict[str, object]) -> None:
    """What a ledger claims, from the noise and the answers it names, by privacy loss distributions."""
    pld = pytest.importorskip(
        "dp_accounting.pld.privacy_loss_distribution", reason="the oracle comes with the extra `test`"
    )
    given = {"minimum_cohort": 1, "epsilon": 3.0, "hopeless": True, **settings}
    fitted = simulated(name, given).fit(crowd(60, 40), seed=2)
    told, plan = fitted.ledger.privacy, fitted.plan
    answered = plan.itinerary.answers(plan.server_secret, fitted.rounds)
    whole: Any = None
    for phase, times in answered.items():
        for _ in range(times):
            one = pld.from_gaussian_mechanism(told["noise"][phase], value_discretization_interval=1e-3)
            whole = one if whole is None else whole.compose(one)
    assert told["epsilon"] == pytest.approx(whole.get_epsilon_for_delta(told["delta"]), rel=0.01)
