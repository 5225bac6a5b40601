"""The baselines that know what items are: their formulas by hand, items nobody has, and what they refuse."""

import math
from dataclasses import replace

import numpy as np
import pytest

from murmura.baselines import baseline
from murmura.baselines.bpr_mf import BprMf
from murmura.baselines.unpersonalised import MostPopByFeature
from murmura.core.arrays import Floats
from murmura.core.errors import DivergenceError, SettingError
from murmura.core.interactions import Interactions
from murmura.kernels.item_weights import item_vectors, require_features
from murmura.lab.rivals.content_rivals import Kahfm, Vsm
from tests.baselines.kit import featured, scattered

KNOWS_FEATURES = ["vsm", "kahfm", "mostpop-by-feature"]
EVERYONE = np.arange(40, dtype=np.int32)


def bookshelf() -> Interactions:
    """Two users, five items; item 3 has no row, item 4 no feature, feature 0 belongs to all but item 4."""
    data = Interactions.of(np.array([0, 0, 1, 1, 0]), np.array([0, 1, 2, 4, 3]))
    return featured(data, [0, 1], [0, 2], [0, 1, 2], [0, 1], []).rows(np.arange(4))


def dense(train: Interactions, least_share: float | None = None) -> Floats:
    """TF-IDF as the formula is written: (items, features)."""
    features = require_features(train, "twin")
    has = np.zeros((train.n_items, len(features)))
    for item in range(train.n_items):
        has[item, features.of_item(item)] = 1
    has = has[:, has.mean(axis=0) >= (least_share or 0)]
    weights = has * np.log(train.n_items / has.sum(axis=0))
    length = np.linalg.norm(weights, axis=1, keepdims=True)
    unit: Floats = weights / np.where(length > 0, length, 1)
    return unit


def test_tfidf_by_hand() -> None:
    weights, kept = item_vectors(require_features(bookshelf(), "vsm"), None, "vsm")
    a, b, c = math.log(5 / 4), math.log(5 / 3), math.log(5 / 2)
    assert kept.tolist() == [0, 1, 2]
    assert weights.start.tolist() == [0, 2, 4, 7, 9, 9]
    assert weights.column[:7].tolist() == [0, 1, 0, 2, 0, 1, 2]
    np.testing.assert_allclose(weights.value[:2], np.array([a, b]) / math.hypot(a, b))
    np.testing.assert_allclose(weights.value[4:7], np.array([a, b, c]) / math.hypot(a, b, c))


def test_only_features_of_enough_items_are_kept() -> None:
    features = require_features(bookshelf(), "vsm")
    kept = [item_vectors(features, share, "vsm").kept.tolist() for share in (0.4, 0.41, 0.8)]
    assert kept == [[0, 1, 2], [0, 1], [0]]
    with pytest.raises(SettingError, match=r"vsm.least_share must leave .* none of the 3 belongs to 0.9 of"):
        item_vectors(features, 0.9, "vsm")


def test_vsm_is_the_cosine_with_the_mean_of_the_own_items() -> None:
    train = scattered()
    for share in (None, 0.4):
        W = dense(train, share)
        found = Vsm(least_share=share).fit(train).score(EVERYONE)
        for user in np.flatnonzero(train.user_counts).tolist():
            p = W[train.by_user.of(user)].mean(axis=0)
            # sums of at most 25 items and of 6 features, all of them below 1, in single precision
            np.testing.assert_allclose(found[user], W @ p / np.linalg.norm(p), atol=31 * 2**-23)


def test_a_user_of_unknown_items_is_shown_what_is_popular() -> None:
    train = bookshelf().rows(np.array([0, 1, 3]))  # user 1 has item 4 alone, which has no feature
    model = Vsm().fit(train)
    assert model.score(np.array([1], np.int32)).tolist() == [train.item_counts.tolist()]
    assert model.score_history(np.array([4], np.int32)).tolist() == train.item_counts.tolist()


@pytest.mark.parametrize("name", KNOWS_FEATURES)
def test_an_item_nobody_has_is_scored_by_its_features(name: str) -> None:
    """Item 3 has the features of item 0, which user 0 has; item 2 shares one with it, and item 4 none."""
    train = bookshelf()
    scores = baseline(name)().fit(train).score(np.array([0], np.int32))[0]
    assert train.item_counts[3] == 0
    assert scores[3] > scores[4]
    if name == "vsm":
        assert scores[3] == scores[0]


def test_popularity_by_feature_by_hand() -> None:
    # rows per training item: feature 0 has 3 rows on items 0, 1, 2; 1 has 2 on 0 and 2; 2 has 2 on 1 and 2
    train = bookshelf()
    more = np.append(train.user, [1, 1]), np.append(train.item, [0, 2])  # item 0 and item 2 twice: 2, 1, 2
    train = replace(train, user=more[0], item=more[1], value=np.ones(6))
    found = MostPopByFeature().fit(train).score(np.array([0], np.int32))[0]
    np.testing.assert_allclose(
        found, [(5 / 3 + 2) / 2, (5 / 3 + 3 / 2) / 2, (5 / 3 + 2 + 3 / 2) / 3, 11 / 6, 0]
    )


def test_kahfm_begins_at_tfidf_and_the_mean_of_all_own_items() -> None:
    train = scattered()
    P, Q, b = Kahfm().first_tables(train, 0)
    W = dense(train)
    np.testing.assert_allclose(Q, W, atol=2**-23)
    for user in np.flatnonzero(train.user_counts).tolist():
        np.testing.assert_allclose(P[user], W[train.by_user.of(user)].mean(axis=0), atol=25 * 2**-23)
    assert not P[7].any()
    assert not b.any()
    assert {P.dtype, Q.dtype, b.dtype} == {np.dtype(np.float32)}


def test_kahfm_equals_its_plain_twin() -> None:
    """Two epochs in plain numpy and double precision, on the same triples, regularisation included."""
    train, method = scattered(), Kahfm(alpha=0.1, reg=0.05, epochs=2)
    P, Q, b = (table.astype(np.float64) for table in method.first_tables(train, 3))
    steps = 0
    for who, pos, neg in (chunk for epoch in (1, 2) for chunk in method.triples(train, 3, epoch)):
        for u, i, j in zip(who, pos, neg):
            p, qi, qj = P[u].copy(), Q[i].copy(), Q[j].copy()
            g = 1 / (1 + np.exp(b[i] + p @ qi - b[j] - p @ qj))
            P[u] += 0.1 * (g * (qi - qj) - 0.05 * p)
            Q[i] += 0.1 * (g * p - 0.05 * qi)
            Q[j] += 0.1 * (-g * p - 0.005 * qj)
            b[i] += 0.1 * g
            b[j] -= 0.1 * g
            steps += 1
    model = method.fit(train, seed=3)
    assert steps == 2 * len(train)
    for mine, twin in ((model.P, P), (model.Q, Q), (model.b, b)):
        np.testing.assert_allclose(mine, twin, rtol=0, atol=steps * 6 * 2.0**-24)


def test_regularisation_shrinks_kahfm() -> None:
    train = scattered()
    free, held = (Kahfm(reg=reg, epochs=5).fit(train) for reg in (0.0, 0.5))
    assert np.linalg.norm(held.P) < 0.8 * np.linalg.norm(free.P)
    assert np.linalg.norm(held.Q) < 0.8 * np.linalg.norm(free.Q)


@pytest.mark.parametrize("name", KNOWS_FEATURES)
def test_items_without_features_are_refused_before_anything_is_done(name: str) -> None:
    bare = replace(scattered(), features=None)
    for refuse in (lambda: baseline(name)().check(bare, 0), lambda: baseline(name)().fit(bare)):
        with pytest.raises(SettingError, match=f"^{name} needs items with features, but the data have none"):
            refuse()


def test_tables_that_do_not_fit_are_refused_with_the_number() -> None:
    with pytest.raises(
        SettingError, match=r"kahfm.memory_gb must be at least 0.1 for 65 users and items with 6"
    ):
        Kahfm(memory_gb=1e-9).fit(scattered())


@pytest.mark.parametrize("kind", [Kahfm, BprMf])
def test_a_rate_that_diverges_is_refused_not_reported(kind: type[Kahfm | BprMf]) -> None:
    with pytest.raises(DivergenceError, match=rf"{kind.name}.alpha must be small .* with 1e\+06 it diverged"):
        kind(alpha=1e6, reg=0.0, epochs=50).fit(scattered())
