"""What is ours: singular vectors, summed co-statistics, item means, ridges."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.algorithms.fedsplit.groups import solve_ridge
from murmura.algorithms.one_shot.co_statistics import CoStatistics, FedSplitSvd
from murmura.algorithms.one_shot.ridge_rater import ItemMeans
from murmura.core.contract import History
from murmura.core.schedule import Schedule
from murmura.core.update import SentUpdate
from murmura.data.sources.registry import load
from murmura.engine.experiment import score_ratings
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.engine.prepared import prepare
from murmura.engine.protocol import protocol
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod
from tests.fedsplit.worlds import fours, raters

ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)
PATTERNS: dict[str, Any] = {"rating_patterns": 3, "mask_patterns": 2, "shrink": 4.0, "precision": "float64"}


def test_with_as_many_vectors_as_people_the_letters_hold_all_co_statistics() -> None:
    """Four vectors of four people: sums of the updates' products equal the plain sums over people."""
    data, seen = raters(), list[SentUpdate]()
    method = FedSplitSvd(factors=4, **PATTERNS)
    fitted = fit(Plan(method, data, ONCE, groups=fours(data)), runtime=InProcess(), record=seen.append)
    b, S, N = method._co_statistics([one.update.tables["items"] for one in seen if one.phase == "factors"], 18)
    mu = float(fitted.model["mu"][0])
    x, m = np.zeros((24, 18)), np.zeros((24, 18))
    for u in range(24):
        own = data.user == u
        left = data.value[own] - mu
        x[u, data.item[own]] = left - left.sum() / (own.sum() + method.shrink_bias)
        m[u, data.item[own]] = 1
    np.testing.assert_allclose(N, m.T @ m, atol=1e-9)
    np.testing.assert_allclose(b, x.sum(axis=0) / (m.sum(axis=0) + method.shrink_bias), atol=1e-9)
    centred = x - m * b
    np.testing.assert_allclose(S, centred.T @ centred, atol=1e-9)


def test_summed_co_statistics_do_not_depend_on_who_shares_a_client() -> None:
    data = raters()
    method = CoStatistics(block=5, **PATTERNS)
    whole = fit(Plan(method, data, ONCE, groups=fours(data)), runtime=InProcess())
    single = fit(Plan(method, data, ONCE), runtime=InProcess())
    assert whole.rounds == single.rounds == 1 + 4
    one, other = (found.model["patterns"] @ found.model["patterns"].T for found in (whole, single))
    np.testing.assert_allclose(one, other, atol=1e-8)  # eigenvectors have no sign of their own
    np.testing.assert_allclose(whole.model["b"], single.model["b"], atol=1e-12)


def test_item_means_are_means() -> None:
    data = raters()
    method = ItemMeans(precision="float64", shrink_bias=2.0, ridge_bias=3.0)
    fitted = fit(Plan(method, data, ONCE, groups=fours(data)), runtime=InProcess())
    mu = data.value.mean()
    assert fitted.model["mu"][0] == pytest.approx(mu)
    own = data.value[data.item == 4] - mu
    assert fitted.model["b"][4] == pytest.approx(own.sum() / (len(own) + 2))
    mine = data.user == 9
    left = data.value[mine] - mu - fitted.model["b"][data.item[mine]]
    expected = mu + fitted.model["b"][4] + left.sum() / (mine.sum() + 3)
    got = fitted.predict(np.array([9], np.int32), np.array([4], np.int32))[0]
    assert got == pytest.approx(expected)


def test_the_ridge_is_where_the_gradient_is_zero() -> None:
    rng = np.random.default_rng(4)
    patterns, base = rng.standard_normal((12, 3)), rng.standard_normal(12)
    item = np.arange(8, dtype=np.int32)
    history = History(item, rng.uniform(1, 5, 8), np.zeros(8))
    W, b = solve_ridge(history, patterns, base, 0.7, 1.3, 2)
    left = history.value - base[item] - b[0] - patterns[item] @ W[0]
    np.testing.assert_allclose(patterns[item].T @ left, 0.7 * W[0], atol=1e-10)
    assert left.sum() == pytest.approx(1.3 * b[0])
    assert not W[1].any()


def test_real_ratings_are_predicted_as_well_as_stated(data_dir: Path) -> None:
    """One grouping of ml-latest-small: the printed 'RMSE' of .78 is a mean squared error over groups."""
    dataset = load("ml-latest-small", data_dir)
    prepared = prepare(dataset, protocol("fedsplit", dataset))
    inner = prepared.selection().split  # the test part stays closed
    assert (prepared.split.data.n_users, prepared.split.data.n_items) == (610, 1297)
    found = {}
    for name in ("item-means", "fedsplit", "fedsplit-ridge", "fedsplit-svd"):
        fitted = FederatedMethod(algorithm(name)()).fit(inner.train, 0)
        found[name] = score_ratings(fitted, inner)[0].values
    assert found["fedsplit"]["MSE"] < 0.80
    assert found["fedsplit"]["RMSE/ratings"] > found["fedsplit-ridge"]["RMSE/ratings"]
    assert found["fedsplit-svd"]["RMSE/ratings"] < found["item-means"]["RMSE/ratings"] - 0.01
