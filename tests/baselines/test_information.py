"""More information for centralised methods: as the pooled ones have it, and as the formulas say."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.central import PooledEase, PooledItemKnn
from murmura.baselines.ease import Ease
from murmura.baselines.ials import Ials
from murmura.baselines.information import recency
from murmura.baselines.neighbours import ItemKnn, UserKnn, VSknn
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from tests.baselines.kit import scattered

OPTIONS: list[dict[str, Any]] = [
    {},
    {"recency": 0.7},
    {"discount": 0.2},
    {"value_from": 3.0},
    {"person_weight": 0.5},
    {"features": 0.4},
    {"recency": 0.7, "discount": 0.2, "value_from": 2.0, "person_weight": 1.0},
    {"recency": 1.1, "features": 0.4, "person_weight": 0.5, "discount": 0.1},
]
KNN: dict[str, Any] = {"k": 6, "asymmetry": 0.3, "shrink": 2.0, "power": 2.0}


def compact_rows(value_from: float | None) -> Interactions:
    """Each item has a row that takes part."""
    data = scattered()
    keep = np.flatnonzero(np.bincount(data.item[data.value >= (value_from or 0)], minlength=data.n_items))
    features = None if data.features is None else data.features.restrict(keep.astype(np.int32))
    return replace(data.rows(np.isin(data.item, keep)).compact(), features=features)


def few_people(data: Interactions) -> Interactions:
    """Fewer people than items: EASE is solved on their side."""
    some = data.rows(data.user < 12)
    keep = np.flatnonzero(some.item_counts).astype(np.int32)
    features = None if data.features is None else data.features.restrict(keep)
    return replace(some.compact(), features=features)


def everyone(data: Interactions) -> np.ndarray[Any, Any]:
    return np.arange(data.n_users, dtype=np.int32)


@pytest.mark.parametrize("options", OPTIONS)
def test_ease_and_the_pooled_one_agree(options: dict[str, Any]) -> None:
    data = compact_rows(options.get("value_from"))
    one = Ease(reg=20.0, **options).fit(data).score(everyone(data))
    pooled = PooledEase(reg=20.0, least=1, **options).fit(data).score(everyone(data))
    np.testing.assert_allclose(one, pooled, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("options", [one for one in OPTIONS if "value_from" not in one])
def test_both_sides_of_ease_agree(options: dict[str, Any]) -> None:
    data = few_people(compact_rows(None))
    assert data.n_users < data.n_items
    model = Ease(reg=20.0, **options).fit(data)
    pooled = PooledEase(reg=20.0, least=1, **options).fit(data)
    np.testing.assert_allclose(model.score(everyone(data)), pooled.score(everyone(data)), rtol=5e-4, atol=5e-5)


@pytest.mark.parametrize("options", [one for one in OPTIONS if "features" not in one])
def test_item_knn_and_the_pooled_one_agree(options: dict[str, Any]) -> None:
    data = compact_rows(options.get("value_from"))
    one = ItemKnn(values="binary", **KNN, **options).fit(data).score(everyone(data))
    pooled = PooledItemKnn(least=1, **KNN, **options).fit(data).score(everyone(data))
    np.testing.assert_allclose(one, pooled, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("method", [Ease(recency=0.8), ItemKnn(recency=0.8), VSknn(), Ials(recency=0.8)])
@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_someone_new_with_times_is_answered_as_a_known_person(method: Any, discount: float) -> None:
    data = scattered()
    method = replace(method, discount=discount, values="binary")
    model = method.fit(data, 1)
    user = 3
    mine = data.user == user
    assert data.time is not None
    again = model.score_timed_history(data.item[mine], data.time[mine])
    known = model.score(np.array([user], np.int32))[0]
    if isinstance(method, VSknn):  # as someone new she is compared with herself too
        assert np.corrcoef(again, known)[0, 1] > 0.5
    else:
        np.testing.assert_allclose(again, known, rtol=2e-3, atol=2e-4)
    alike = model.score_history(data.item[mine])
    assert not np.allclose(alike, known, rtol=1e-3)


def test_votes_of_the_newest_items() -> None:
    """s_uv of weighted items, times n_v^-w, times the weight of the newest item both have."""
    data = scattered()
    assert data.time is not None
    X, W = np.zeros((data.n_users, data.n_items)), np.zeros((data.n_users, data.n_items))
    X[data.user, data.item] = 1
    for user in range(data.n_users):
        mine = data.user == user
        W[user, data.item[mine]] = recency(data.time[mine], 1.0)
    norm = np.sqrt((W**2).sum(axis=1))
    S = W @ X.T / np.maximum(norm[:, None] ** 1.6 * np.maximum(X.sum(axis=1), 1) ** 0.2, 1e-9)
    np.fill_diagonal(S, 0)
    expected = np.zeros_like(X)
    for user in range(data.n_users):
        near = np.lexsort((np.arange(data.n_users), -S[user]))[:5]
        for other in near[S[user, near] > 0]:
            newest = W[user, X[other] > 0].max()
            expected[user] += S[user, other] * newest * X[other].sum() ** -0.5 * X[other]
    method = VSknn(k=5, asymmetry=0.8, person_weight=0.5)
    np.testing.assert_allclose(method.fit(data).score(everyone(data)), expected, rtol=1e-4, atol=1e-5)


def test_a_cut_per_own_item() -> None:
    data = scattered()
    X = np.zeros((data.n_users, data.n_items))
    X[data.user, data.item] = 1
    n = np.maximum(X.sum(axis=0), 1e-9)
    S = X.T @ X / (n[:, None] ** 0.6 * n[None, :] ** 1.4) ** 0.5  # candidate, own
    np.fill_diagonal(S, 0)
    kept = np.zeros_like(S)
    for own in range(len(S)):
        near = np.lexsort((np.arange(len(S)), -S[:, own]))[:4]
        kept[near, own] = S[near, own]
    found = ItemKnn(k=4, asymmetry=0.3, values="binary", cut="own").fit(data).score(everyone(data))
    np.testing.assert_allclose(found, X @ kept.T, rtol=1e-4, atol=1e-5)
    other = ItemKnn(k=4, asymmetry=0.3, values="binary").fit(data).score(everyone(data))
    assert not np.allclose(found, other)


def test_recency_of_ials_is_in_the_confidence() -> None:
    data = scattered()
    assert data.time is not None
    model = Ials(factors=4, epochs=3, alpha=5.0, reg=2.0, recency=0.8, person_weight=0.5).fit(data, 1)
    user, Q = 3, model.Q.astype(np.float64)
    mine = np.flatnonzero(data.user == user)
    x = recency(data.time[mine], 0.8) * len(mine) ** -0.5
    A = Q.T @ Q + 2.0 * np.eye(4) + (Q[data.item[mine]].T * (5.0 * x)) @ Q[data.item[mine]]
    b = Q[data.item[mine]].T @ (1 + 5.0 * x)
    np.testing.assert_allclose(model.P[user], np.linalg.solve(A, b), rtol=1e-3, atol=1e-4)


def test_features_bring_unbought_items_near_in_ials() -> None:
    data = scattered()
    assert not np.allclose(
        Ials(factors=4, features=2.0).fit(data, 1).Q, Ials(factors=4).fit(data, 1).Q, atol=1e-3
    )


@pytest.mark.parametrize("method", [Ease, ItemKnn, Ials])
def test_what_is_not_there_is_refused(method: Any) -> None:
    bare = replace(scattered(), features=None, time=None)
    with pytest.raises(DataError, match="recency must be 0"):
        method(recency=0.5).fit(bare)
    with pytest.raises(SettingError, match="needs items with features"):
        method(features=0.5).fit(bare)


def test_recency_belongs_to_the_cosine() -> None:
    with pytest.raises(SettingError, match=r"user-knn\.recency must be 0"):
        UserKnn(similarity="jaccard", recency=0.5)


def test_who_has_no_row_that_takes_part_gets_what_is_popular() -> None:
    data = scattered()
    value = np.where(data.user == 4, 1.0, data.value)
    low = Interactions(data.users, data.items, data.user, data.item, value, data.time)
    model = Ease(value_from=2.0).fit(low)
    counts = np.bincount(low.item[value >= 2], minlength=low.n_items)
    assert (model.score(np.array([4], np.int32))[0] == counts).all()
