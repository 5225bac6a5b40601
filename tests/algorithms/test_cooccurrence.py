"""Models of exact sums: the federated lists are those of pooled data, and what cannot be is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.central import PooledEase, PooledItemKnn, PooledOrder
from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence, layout
from murmura.algorithms.cooccurrence.item_model import sole_owners
from murmura.algorithms.cooccurrence.private import PrivateCooccurrence
from murmura.baselines.ease import Ease
from murmura.baselines.information import recency
from murmura.baselines.neighbours import ItemKnn
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import (
    Algorithm,
    ClientState,
    FederationInfo,
    History,
    RoundContext,
    ServerState,
    Total,
)
from murmura.core.errors import DataError, SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions
from murmura.core.model import Model
from murmura.core.rng import Rng
from murmura.core.update import SparseRows, Update
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.item_weights import NearestItems, add_feature_cosines
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import simulated
from murmura.testing import crowd

SECURE = ChannelSettings(channel="secure-sum", minimum_cohort=1)
EVERYONE, RNG = 80, Rng(np.zeros(2, np.uint32))


def data() -> Interactions:
    return crowd(EVERYONE, 30)


def trained(
    method: Algorithm,
    train: Interactions,
    pi: float = 1.0,
    path: str = "auto",
    channel: ChannelSettings = SECURE,
) -> FederatedModel:
    plan = Plan(method, train, consent=Consent(pi=pi), channel=channel)
    return fit(plan, runtime=InProcess(path=path))  # type: ignore[arg-type]


def lists(model: Model) -> Ints:
    return model.recommend(np.arange(EVERYONE, dtype=np.int32), 10).item


BLENDS: list[tuple[type, dict[str, Any]]] = [
    (PooledEase, {"ease": 1.0, "reg": 20.0}),
    (PooledItemKnn, {"knn": 1.0, "k": 7, "asymmetry": 0.2, "shrink": 2.0, "power": 2.0}),
    (PooledItemKnn, {"knn": 0.5, "k": 7, "ease": 1.0, "recency": 1.2, "discount": 0.3, "least": 3}),
]


@pytest.mark.parametrize(("pooled", "settings"), BLENDS)
@pytest.mark.parametrize("path", ["plain", "kernel"])
def test_at_pi_1_the_lists_are_those_of_pooled_data(pooled: Any, settings: dict[str, Any], path: str) -> None:
    train = data()
    settings = {"least": 1, **settings}
    federated = trained(Cooccurrence(**settings), train, path=path)
    assert (lists(federated) == lists(pooled(**settings).fit(train))).all()


def test_the_weights_are_those_of_ease_and_of_item_knn() -> None:
    """Of the baselines, where every item takes part and all rows are alike."""
    train = data()
    everyone = np.arange(EVERYONE, dtype=np.int32)
    ease = trained(Cooccurrence(ease=1.0, reg=20.0, least=1), train).score(everyone)
    occurs = train.item_counts > 0
    rival = Ease(reg=20.0).fit(train).score(everyone)
    some = np.ix_(train.user_counts > 0, occurs)  # who has nothing gets what is popular
    assert np.allclose(ease[some], rival[some], atol=1e-5)
    shaped: dict[str, Any] = {"k": 7, "asymmetry": 0.2, "shrink": 2.0, "power": 2.0}
    knn = trained(Cooccurrence(knn=1.0, least=1, **shaped), train).score(everyone)
    rival = ItemKnn(values="binary", **shaped).fit(train).score(everyone)
    assert np.allclose(knn[some], rival[some], atol=1e-5)


def test_a_regression_of_the_order_comes_near_to_pooled_data() -> None:
    """Real numbers are rounded on their way: not the same bits, the same answers."""
    train = data()
    settings: dict[str, Any] = {"order": 1.0, "rank": 4, "least": 1}
    scores = trained(Cooccurrence(**settings), train).score(np.arange(EVERYONE, dtype=np.int32))
    pooled = PooledOrder(**settings).fit(train).score(np.arange(EVERYONE, dtype=np.int32))
    some = train.user_counts >= 3
    agree = [np.corrcoef(a, b)[0, 1] for a, b in zip(scores[some], pooled[some])]
    assert np.median(agree) > 0.99


def test_an_order_of_more_directions_than_items_has_idle_ones() -> None:
    train = data()
    model = trained(Cooccurrence(order=1.0, least=1, rank=train.n_items + 9), train)
    V = model.model["basis"].astype(np.float64)
    assert np.allclose(V[:, : train.n_items].T @ V[:, : train.n_items], np.eye(train.n_items), atol=1e-5)
    assert not V[:, train.n_items :].any()
    assert np.isfinite(model.model["predictor"]).all()


def test_what_is_not_shared_is_in_no_sum() -> None:
    """With pi the counts are those of the shared rows alone, and pairs no more than that."""
    train = data()
    shared = trained(Cooccurrence(knn=1.0, least=1), train, pi=0.5)
    counts = shared.model["counts"][:, 0]
    assert counts.sum() == int(np.floor(0.5 * train.user_counts + 1e-9).sum())
    assert (counts <= train.item_counts).all()


def test_recency_of_equal_times_is_their_average() -> None:
    """Gaps 0, 1.5, 1.5 and 3."""
    found = recency(np.array([9, 5, 5, 1]), 1.0)
    assert np.allclose(found, [1, 1 / 2.5, 1 / 2.5, 1 / 4])


def test_features_of_all_items_or_of_one_say_nothing() -> None:
    features = ItemFeatures.of(
        ("all", "pair", "one"), 4, np.array([0, 1, 2, 3, 0, 1, 2]), np.array([0, 0, 0, 0, 1, 1, 2])
    )
    table = np.ones((4, 4))
    add_feature_cosines(table, features, np.arange(4, dtype=np.int32), 0.5)
    expected = np.ones((4, 4))
    expected[:2, :2] = 1.5
    assert np.allclose(table, expected)


def featured(least: int, **settings: float) -> tuple[FederatedModel, Model, Interactions]:
    """Items 2n and 2n + 1 share a feature; the federated model and its pooled twin."""
    train = data()
    items = np.arange(train.n_items, dtype=np.int32)
    features = ItemFeatures.of(tuple(f"f{n}" for n in range(len(items) // 2)), len(items), items, items // 2)
    train = replace(train, features=features)
    given = {"ease": 1.0, "reg": 20.0, "features": 0.5, "least": least, **settings}
    return trained(Cooccurrence(**given), train), PooledEase(**given).fit(train), train  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{}, {"knn": 0.5, "asymmetry": 0.2}])
@pytest.mark.parametrize("least", [20, 10_000])
def test_an_item_too_rare_for_pairs_is_known_by_its_features(least: int, settings: dict[str, float]) -> None:
    """Its weights are of a table whose pairs with it are 0; without any pair features still speak."""
    federated, pooled, train = featured(least, **settings)
    assert (lists(federated) == lists(pooled)).all()
    counts = np.asarray(train.item_counts, np.float64)
    X = np.zeros((train.n_users, train.n_items))
    X[train.user, train.item] = counts[train.item] >= least
    G = X.T @ X
    np.fill_diagonal(G, counts)
    add_feature_cosines(G, train.features, np.arange(len(G), dtype=np.int32), 10.0)  # type: ignore[arg-type]
    P = np.linalg.inv(G + 20 * np.eye(len(G)))
    expected = -P / P.diagonal()
    np.fill_diagonal(expected, 0)
    assert np.allclose(federated.model["ease"], expected, atol=1e-5)
    rare = np.flatnonzero((counts < least) & (counts > 0))
    assert len(rare)
    assert (federated.model["ease"][rare ^ 1, rare] > 0).all()


def test_people_who_are_the_only_owner_of_an_item_are_counted() -> None:
    """Items 0 and 1 have one owner, item 2 another; 3 has two."""
    G = np.array([[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1], [1, 1, 1, 0]], np.float64)
    assert sole_owners(G, np.array([1, 1, 1, 2])) == 2


def told_for_certain(train: Interactions, least: int) -> set[int]:
    """The plain way: people whose rarest item in the pairs has only owners who all have another one too."""
    owners = {item: set(train.user[train.item == item].tolist()) for item in range(train.n_items)}
    there = {item: whose for item, whose in owners.items() if len(whose) >= least}
    found = set()
    for person in range(train.n_users):
        own = sorted((len(whose), item) for item, whose in there.items() if person in whose)
        if own and any(there[own[0][1]] <= whose for item, whose in there.items() if item != own[0][1]):
            found.add(person)
    return found


def companions() -> Interactions:
    """The people of `data`, six of whom have two more items that nobody else has."""
    train = data()
    user, item = np.append(train.user, [0, 1, 2, 3, 4, 5] * 2), np.append(train.item, [60] * 6 + [61] * 6)
    return Interactions.of(user, item)


@pytest.mark.parametrize("least", [1, 2, 3, 5])
@pytest.mark.parametrize("made", [data, companions])
def test_exposed_people_are_those_of_whom_a_known_rare_item_tells_another_one(
    made: Callable[[], Interactions], least: int
) -> None:
    train = replace(made(), time=None)
    told = trained(Cooccurrence(knn=1.0, least=least), train).cost()
    assert told["exposed people"] == len(told_for_certain(train, least))
    if made is companions:
        assert told["exposed people"] >= 6
    if least < 5:
        assert told["rare items"] == int(((train.item_counts >= least) & (train.item_counts < 5)).sum())


def test_a_model_that_is_kept_still_says_whom_it_exposes(tmp_path: Path) -> None:
    train = companions()
    found = trained(Cooccurrence(knn=1.0), train)
    found.save(tmp_path / "model")
    again = FederatedModel.load(tmp_path / "model", train, Cooccurrence(knn=1.0))
    assert again.cost() == found.cost()
    assert "exposed people" not in trained(PrivateCooccurrence(eigenvectors=0), train).cost()


def test_times_are_needed_where_they_count() -> None:
    train = replace(data(), time=None)
    with pytest.raises(DataError, match="recency must be 0 where rows have no times"):
        trained(Cooccurrence(knn=1.0, recency=1.0), train)
    equal = replace(data(), time=np.zeros(len(data()), np.int64))
    method: dict[str, Any] = {"knn": 1.0, "least": 1}
    with_times, without = Cooccurrence(recency=2.0, **method), Cooccurrence(**method)
    assert (lists(trained(with_times, equal)) == lists(trained(without, train))).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "ease, knn or order must be above 0"),
        ({"knn": 1.0, "features": 0.1}, "features must be 0 where ease is 0"),
        ({"knn": -1.0}, "knn"),
        ({"ease": 1.0, "least": 0}, "least"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Cooccurrence(**settings)


def test_more_items_than_fit_are_refused_with_the_figure() -> None:
    with pytest.raises(SettingError, match=r"memory_gb must be at least 0\.1 .* raise least"):
        trained(Cooccurrence(ease=1.0, least=1, memory_gb=1e-6), data())
    said = (
        r"memory_gb must be at least 1\.2 for the weights between 10000 items, but it is 1; raise it, or raise"
    )
    with pytest.raises(SettingError, match=said):
        Cooccurrence(ease=1.0, memory_gb=1).refuse_too_large(10_000)
    Cooccurrence(ease=1.0, knn=1.0).refuse_too_large(10_000)


def test_a_counter_above_its_bound_is_cut_and_told() -> None:
    """A pair that occurs more often than its rarer item is found in the sum, where nothing was proved."""
    train = data()
    fitted = trained(Cooccurrence(knn=1.0, least=1), train)
    method, ranked = fitted.plan.algorithm, layout(np.asarray(train.item_counts, np.int64), 1)
    most = np.minimum.outer(ranked.counts, ranked.counts)
    most[0, 1] += 1
    words = ranked.pairs.pack_sums(most)
    rows = SparseRows(np.arange(len(words), dtype=np.int32), words[:, None])
    server = ServerState(fitted.model, {"people": np.array([EVERYONE])})
    server = method.server_step("pairs", server, Total(Update({"pairs": rows}), EVERYONE))[0]
    assert "1 of its counters were above the count of their rarer item" in method.breach(server)


def test_a_part_of_the_devices_is_asked_for_each_part_of_the_pairs() -> None:
    """Bytes halve; a pair that occurs G times is estimated with a standard deviation of about sqrt(G)."""
    train = crowd(600, 100)
    whole, half = (trained(Cooccurrence(knn=1.0, k=100, least=5, parts=parts), train) for parts in (1, 2))
    sent = [model.ledger.totals["bytes_up"] for model in (whole, half)]
    assert sent[1] < 0.75 * sent[0]
    everything, estimate = (
        NearestItems(model.model["neighbours"].astype(np.int32), model.model["similarity"]).dense()
        for model in (whole, half)
    )
    counts = train.item_counts[train.item_counts >= 5]
    spread = np.sqrt(everything / np.sqrt(np.outer(counts, counts)))
    assert (np.abs(estimate - everything) <= 6 * spread + 1e-6).all()
    assert not np.allclose(estimate, everything)


def test_no_phase_but_the_first_is_declared_before_the_counts() -> None:
    method = Cooccurrence(knn=1.0, least=1)
    plan = Plan(method, data(), channel=SECURE)
    assert plan.info.counts is None
    assert method.phases(plan.info)[1].sends.tables == ()
    later = plan.after({"counts": np.asarray(data().item_counts, np.uint32)[:, None]})
    assert later.info.counts is not None
    assert method.phases(later.info)[1].sends.tables[0].rows > 0


def test_pairs_of_half_of_the_people_need_no_larger_reg_and_nobody_is_blamed() -> None:
    """Ten were counted; the five who have both items send pairs: scaled to all they stand for ten."""
    method, zeros = Cooccurrence(ease=1.0, least=1, reg=1.0), np.zeros((2, 1), np.uint32)
    counts = SparseRows(np.arange(2, dtype=np.int32), np.full((2, 1), 5, np.uint32))
    server = method.server_step(
        "counts", ServerState({"counts": zeros}), Total(Update({"counts": counts}), 10)
    )[0]
    words = layout(np.array([5, 5]), 1).pairs.pack(np.arange(2)) * np.uint64(5)
    pairs = SparseRows(np.arange(len(words), dtype=np.int32), words[:, None])
    server = method.server_step("pairs", server, Total(Update({"pairs": pairs}), 5))[0]
    assert server.model["ease"][0, 1] > 0.5
    assert np.isfinite(server.model["ease"]).all()
    assert method.breach(server) == ""


@pytest.mark.parametrize("cap", [0, 1, 7, 1000])
def test_no_more_items_of_one_person_than_the_cap_take_part(cap: int) -> None:
    """The compiled path and the plain one cut alike, and a cap above every history changes nothing."""
    data = crowd(80, 40)
    own = {"minimum_cohort": 1, "least": 1, "recency": 0, "cap": cap}
    seen = list[Any]()
    by_kernel = simulated("fed-item-knn", own).fit(data)
    by_client = simulated("fed-item-knn", own).fit(data, record=seen.append)
    counts = by_kernel.model["counts"]
    np.testing.assert_array_equal(counts, by_client.model["counts"])
    assert len(seen) > 0
    assert counts.sum() == (np.minimum(data.user_counts, cap) if cap else data.user_counts).sum()
    assert (counts[:, 0] <= data.item_counts).all()


def test_pairs_are_of_what_each_person_was_counted_with() -> None:
    """Above the cap one more row changes what would be counted; pairs stay those of what was."""
    method = Cooccurrence(ease=1.0, least=1, cap=4)
    info = FederationInfo(12, np.arange(12, dtype=np.int32), 5, 60, people=2)
    first, second = np.arange(0, 10, dtype=np.int32), np.arange(3, dtype=np.int32)

    def household(*people: Ints) -> History:
        held = History.private(
            np.concatenate(people), person=np.repeat(np.arange(len(people)), [len(one) for one in people])
        )
        return replace(held, consent=np.ones(len(held)))

    def own(phase: str, state: ClientState, history: History) -> tuple[ClientState, list[list[int]]]:
        known = info if phase == "counts" else replace(info, counts=np.full(12, 4))
        state, update = method.client_step(RoundContext(known, phase, 0, {}), state, history, RNG)
        return state, [one.tolist() for one in update.own]

    state = method.client_init(info, household(first, second), RNG)
    state, counted = own("counts", state, household(first, second))
    assert [len(one) for one in counted] == [4, 3]
    assert own("pairs", state, household(first, second))[1] == counted
    assert own("pairs", state, household(np.append(first, np.int32(11)), second))[1] == counted
    assert own("pairs", state, household(first, first))[1] == counted
    for phase in ("counts", "pairs"):
        with pytest.raises(DataError, match="must hold at most 2 people here, but holds 3"):
            own(phase, state, household(first, first, second))
