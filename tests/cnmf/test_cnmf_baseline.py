"""Collaborative NMF as a centralised rating predictor."""

from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.data.filters import MinPerItem, MinPerUser, apply_filters
from murmura.data.sources.registry import load
from murmura.data.splits.random_holdout import CoveredRandomHoldout
from murmura.evaluation.measure import rating_errors
from murmura.lab.rivals.cnmf import Cnmf
from tests.cnmf.test_cnmf_kernel import FAR, scattered


def two_tastes(withheld: bool = True) -> tuple[Interactions, list[tuple[int, int, float]]]:
    """40 users and 16 items: 5 stars in the own half, 1 star in the other; one of each is withheld per user."""
    rows: list[tuple[int, int, float]] = []
    hidden: list[tuple[int, int, float]] = []
    for u in range(40):
        for i in range(16):
            value = 5.0 if u % 2 == i % 2 else 1.0
            out = withheld and i // 2 == (u // 2) % 8
            (hidden if out else rows).append((u, i, value))
    user, item, value = np.array(rows).T
    return Interactions.of(user.astype(int), item.astype(int), value), hidden


def test_withheld_ratings_of_two_tastes_are_predicted() -> None:
    train, hidden = two_tastes()
    model = Cnmf(factors=3).fit(train, seed=2)
    user, item, value = np.array(hidden).T
    predicted = model.predict(user.astype(np.int32), item.astype(np.int32))
    assert np.abs(predicted - value).max() < 1.0
    scores = model.score(np.arange(40, dtype=np.int32))
    np.testing.assert_allclose(scores[user.astype(int), item.astype(int)], predicted, rtol=1e-12)


def test_someone_new_is_predicted_from_her_ratings() -> None:
    train, _ = two_tastes(withheld=False)
    model = Cnmf(factors=3).fit(train)
    own = np.array([0, 1, 2, 3, 4, 5], np.int32)
    predicted = model.predict_history(own, np.array([5.0, 1, 5, 1, 5, 1]))
    assert (predicted[6::2] > 4).all()
    assert (predicted[7::2] < 2).all()
    liked = model.score_history(np.array([0, 2, 4], np.int32))  # liked: rated with the best rating
    assert liked[6] > liked[7]


def test_watched_or_not_a_fit_is_the_same_even_where_steps_grow_smaller() -> None:
    """Half the mean makes factors overshoot; what calms them down must not forget between two pieces."""
    R = scattered(FAR)
    R[0, 0] = 1.0
    user, item = np.nonzero(R)
    train = Interactions.of(user, item, R[user, item])
    method = Cnmf(
        factors=1, alpha=0.0625, beta=0.0625, gamma=0.03125, delta=0.015625, eta_w=0.0078125, eta_h=0.0078125,
        mean=0.5 * float(train.value.mean()),
    )  # fmt: skip
    for seed in range(3):
        alone = method.fit(train, seed)
        watched = method.fit(train, seed, watch=lambda epoch, model: True)
        np.testing.assert_array_equal(alone.factors.W, watched.factors.W)
        assert np.square(alone.predict(train.user, train.item) - train.value).sum() < 15


def test_the_mean_may_be_given() -> None:
    train, _ = two_tastes()
    assert Cnmf(epochs=1).fit(train).mu == pytest.approx(train.value.mean())
    assert Cnmf(epochs=1, mean=2.5).fit(train).mu == 2.5


def test_ratings_must_be_above_zero() -> None:
    train, _ = two_tastes()
    lower = Interactions(train.users, train.items, train.user, train.item, train.value - 1)
    with pytest.raises(DataError, match="cnmf needs ratings above 0, but one is 0; shift the scale"):
        Cnmf().fit(lower)
    with pytest.raises(SettingError, match=r"cnmf\.alpha: input should be greater than 0, but it is 0"):
        Cnmf(alpha=0.0)


def test_ml_latest_small_reaches_the_printed_error(data_dir: Path) -> None:
    """Table 3 prints .71 under the name RMSE; it is the mean squared error."""
    data = load("ml-latest-small", data_dir).interactions
    data = apply_filters(data, (MinPerUser(rows=20), MinPerItem(rows=20)))
    data = Interactions(data.users, data.items, data.user, data.item, np.maximum(data.value, 1.0))
    assert (data.n_users, data.n_items, len(data)) == (610, 1297, 67898)
    split = CoveredRandomHoldout(seed=1).apply(data)
    model = Cnmf().fit(split.train)
    found = rating_errors(model.predict(split.test.user, split.test.item), split.test.value).values
    assert 0.66 < found["MSE"] <= 0.73
