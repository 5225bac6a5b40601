"""Known answers of what goes beyond the paper: singular vectors, co-statistics, item means and covers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.fedsplit.cover import _raters, fill_unrated, refit_user_factors, with_decoys
from murmura.algorithms.fedsplit.groups import LocalModel
from murmura.algorithms.one_shot.co_statistics import CoStatistics, FedSplitSvd, PatternSettings, item_patterns
from murmura.algorithms.one_shot.ridge_rater import ItemMeans
from murmura.core.arrays import Floats
from murmura.core.contract import History, RoundContext, Total
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.core.update import SparseRows, Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.factorisation.cnmf_steps import CnmfSettings
from murmura.runtimes.inprocess import InProcess
from tests.fedsplit.worlds import fours, people, public, raters, rows, sent, stream

ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)
PATTERNS: dict[str, Any] = {"rating_patterns": 3, "mask_patterns": 2, "shrink": 4.0, "precision": "float64"}


def stars(history: History, mu: float, shrink: float, items: int) -> tuple[Floats, Floats]:
    """x and m of everyone: (people, items)."""
    assert history.person is not None
    x, m = (np.zeros((int(history.person.max()) + 1, items)) for _ in range(2))
    for who in range(len(x)):
        own = history.person == who
        left = history.value[own] - mu
        x[who, history.item[own]] = left - left.sum() / (len(left) + shrink)
        m[who, history.item[own]] = 1
    return x, m


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_singular_vectors_are_the_leading_ones_of_ratings_beside_the_mask(scale: float) -> None:
    history = people()
    chosen = FedSplitSvd(factors=1, mask_scale=scale, shrink_bias=2.0, **PATTERNS)
    x, m = stars(history, 3.2, 2.0, 10)
    items, letter = chosen._sent_rows(history, 3.2)
    _, s, V = np.linalg.svd(np.hstack([x, scale * m])[:, np.tile(m.any(axis=0), 2)])
    vector = s[0] * V[0].reshape(2, -1) / [[1], [scale]]
    vector *= np.sign(vector[0] @ letter[:, 0])
    np.testing.assert_allclose(letter[:, :2].T, vector, atol=1e-9)
    np.testing.assert_allclose(letter[:, 2:], np.column_stack([x.sum(axis=0), m.sum(axis=0)])[items], atol=1e-9)
    b, S, N = chosen._co_statistics([SparseRows(items, letter)], 10)
    np.testing.assert_allclose(b, x.sum(axis=0) / (m.sum(axis=0) + 2), atol=1e-9)
    np.testing.assert_array_equal(np.diag(N), m.sum(axis=0))  # counts are exact, however few the vectors
    left = vector[0] - b[items] * vector[1]
    np.testing.assert_allclose(S[np.ix_(items, items)], np.outer(left, left), atol=1e-9)


def test_letters_without_an_item_or_a_rating_are_refused() -> None:
    chosen = FedSplitSvd(factors=1, **PATTERNS)
    phase = chosen.phases(public(2))[1]
    assert chosen.server_refuses(phase, sent([[1, 1, 0.5, 1]])) is None
    assert "at least 1 rating, but one has 0" in (chosen.server_refuses(phase, sent([[1, 1, 0.5, 0]])) or "")
    nothing = Update({"items": SparseRows.empty(4)})
    assert "at least one item" in (chosen.server_refuses(phase, nothing) or "")


def test_what_somebody_hides_is_in_no_letter() -> None:
    history = people()
    assert history.person is not None
    hidden = int(history.item[0])
    one = replace(history, consent=np.where((history.item == hidden) & (history.person == 0), 0.0, 1.0))
    rng, model = Rng(client_secrets(5, 1)[0], 1), {"mu": np.array([3.2])}
    others = np.setdiff1d(history.item, [hidden])
    for chosen, phase in ((FedSplitSvd(factors=1, **PATTERNS), "factors"), (ItemMeans(), "ratings")):
        update = chosen.client_step(RoundContext(public(10, 3), phase, 1, model), {}, one, rng)[1]
        np.testing.assert_array_equal(update.tables["items"].index, others)
    update = CoStatistics(**PATTERNS).client_step(
        RoundContext(public(10, 3), "last pairs", 1, model), {}, one, rng
    )[1]
    np.testing.assert_array_equal(update.tables["mm"].index, others)


@pytest.mark.parametrize("grouped", [True, False])
def test_patterns_come_from_the_co_statistics_of_all_people(grouped: bool) -> None:
    data = raters()
    chosen = CoStatistics(block=5, shrink_bias=2.0, **PATTERNS)
    fitted = fit(Plan(chosen, data, ONCE, groups=fours(data) if grouped else None), runtime=InProcess())
    mu = sum(data.value) / len(data.value)
    assert fitted.model["mu"][0] == pytest.approx(mu)
    everyone = History(data.item, data.value, np.ones(len(data)), data.user)
    x, m = stars(everyone, mu, 2.0, 18)
    b = x.sum(axis=0) / (m.sum(axis=0) + 2)
    left = x - m * b
    expected = item_patterns(left.T @ left, m.T @ m, 24, chosen)
    np.testing.assert_allclose(fitted.model["b"], b, atol=1e-9)
    found = fitted.model["patterns"]
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


def test_letters_of_whole_groups_give_those_of_all_people() -> None:
    """Four vectors of four people hold everything; mu is the mean of the groups' means."""
    data = raters()
    chosen = FedSplitSvd(factors=4, mask_scale=2.0, shrink_bias=2.0, **PATTERNS)
    fitted = fit(Plan(chosen, data, ONCE, groups=fours(data)), runtime=InProcess())
    mu = np.mean([data.value[data.user // 4 == g].mean() for g in range(6)])
    assert fitted.model["mu"][0] == pytest.approx(mu)
    x, m = stars(History(data.item, data.value, np.ones(len(data)), data.user), float(mu), 2.0, 18)
    left = x - m * (x.sum(axis=0) / (m.sum(axis=0) + 2))
    expected, found = item_patterns(left.T @ left, m.T @ m, 24, chosen), fitted.model["patterns"]
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


def test_item_patterns_are_scaled_leading_directions() -> None:
    """Once more, pair by pair."""
    random = np.random.default_rng(2)
    m = (random.random((30, 5)) < 0.5).astype(np.float64)
    x = m * random.standard_normal((30, 5)) * [1, 2, 1, 3, 1]
    S, N = x.T @ x, m.T @ m
    chosen = PatternSettings(
        rating_patterns=2, mask_patterns=1, rating_weight=0.5, mask_weight=0.25, shrink=7.0, own=0.4
    )
    covariance, together = np.zeros((5, 5)), np.zeros((5, 5))
    for i in range(5):
        for j in range(5):
            covariance[i, j] = S[i, j] / (N[i, j] + 7) * (0.4 if i == j else 1)
            alike = N[i, j] - N[i, i] * N[j, j] / 30
            together[i, j] = alike / np.sqrt((N[i, i] + 20) * (N[j, j] + 20))
    found = item_patterns(S, N, 30, chosen)
    for matrix, columns, weight in ((covariance, [0, 1], 0.5), (together, [2], 0.25)):
        values, vectors = np.linalg.eigh(matrix)
        axes = [np.sqrt(values[-1 - n]) * vectors[:, -1 - n] for n in range(len(columns))]
        length = sum(N[i, i] * sum(axis[i] ** 2 for axis in axes) for i in range(5)) / np.trace(N)
        for column, axis in zip(columns, axes):
            scaled = weight * (axis - np.diag(N) @ axis / np.trace(N)) / np.sqrt(length)
            np.testing.assert_allclose(
                np.outer(found[:, column], found[:, column]), np.outer(scaled, scaled), atol=1e-12
            )


def test_summed_item_means() -> None:
    """Three ratings of 12 in all and one of 2: mu is 3.5, whatever the items' own means."""
    chosen = ItemMeans(precision="float64", shrink_bias=2.0)
    server = chosen.server_init(public(3), Rng(server_secret(0)))
    model = chosen.server_step("ratings", server, Total(sent([[12, 3], [2, 1]]), 2))[0].model
    assert model["mu"] == [3.5]
    np.testing.assert_allclose(model["b"], [1.5 / 5, -1.5 / 3, 0], atol=1e-12)


def test_means_of_groups_count_their_people() -> None:
    chosen = FedSplitSvd(factors=1, **PATTERNS)
    context, rng = RoundContext(public(10, 3), "means", 1, {}), Rng(client_secrets(5, 1)[0], 1)
    _, update = chosen.client_step(context, {}, people(), rng)
    assert update.scalars == {"mean": pytest.approx(people().value.mean()), "groups": 1, "people": 3}
    server = chosen.server_init(public(10, 3), Rng(server_secret(0)))
    scalars = {"mean": 7.0, "groups": 2.0, "people": 5.0}
    after, _ = chosen.server_step("means", server, Total(Update(scalars=scalars), 2))
    assert after.model["mu"] == [3.5]
    assert after.private["people"] == [5]


def test_a_covered_item_has_the_priors_bias_and_the_mean_factors() -> None:
    H, b_h, residual = np.array([[1.0, 0], [3, 2]]), np.array([0.1, -0.2]), np.array([0.3, 0.4])
    local = LocalModel(
        np.ones((2, 2)), np.zeros(2), np.array([0, 2], np.int32), H, b_h, np.array([2.0, 5]), residual
    )
    prior = np.array([[0.5, 0.1], [0.6, 0.2], [0.7, 0.3], [0.8, 0.4]])
    offered = replace(public(4), listed=np.array([0, 2, 3], np.int32))
    found = fill_unrated(local, offered, prior)
    np.testing.assert_array_equal(found.items, [0, 2, 3])
    np.testing.assert_array_equal(found.H, [[1, 0], [3, 2], [2, 1]])
    np.testing.assert_array_equal(found.b_h, [0.1, -0.2, 0.8])
    np.testing.assert_array_equal(found.counts, [2, 5, 1])
    np.testing.assert_array_equal(found.mean_residual, [0.3, 0.4, 0.8])


def test_after_decoys_people_are_fitted_to_true_ratings_alone() -> None:
    """As someone who comes later: mu + b_H = 3, ratings of 5, alpha 1/4."""
    items = np.arange(2, dtype=np.int32)
    local = LocalModel(
        np.ones((2, 1)), np.zeros(2), items, np.ones((2, 1)), np.full(2, 0.5), np.ones(2), np.ones(2)
    )
    chosen = CnmfSettings(factors=1, epochs=100, alpha=0.25, eta_w=1e-12, eta_h=0.01)
    history = rows((0, 0, 5.0), (0, 1, 5.0), (1, 1, 4.0))
    found = refit_user_factors(local, history, 2.5, chosen, 2)
    np.testing.assert_allclose(found.W, [[2 / 1.25], [1 / 1.25]], atol=1e-9)
    np.testing.assert_array_equal(found.H, 1)
    np.testing.assert_array_equal(found.b_h, 0.5)


def test_made_up_ratings_follow_the_prior_the_person_and_the_groups_spread() -> None:
    """Once more, person by person, with the same draws."""
    random = np.random.default_rng(6)
    history = rows(*[(p, i, float(random.integers(1, 60)) / 10) for p in range(3) for i in range(0, 9, 1 + p)])
    prior = np.column_stack([random.normal(0, 0.8, 40), random.uniform(0.05, 0.2, 40)])
    members, mu = np.arange(3, dtype=np.int32), 3.1
    assert history.person is not None
    left = [value - mu - prior[item, 0] for item, value in zip(history.item, history.value)]
    own = [[one for one, who in zip(left, history.person) if who == p] for p in range(3)]
    offset = [sum(one) / (len(one) + 5) for one in own]
    spread = np.sqrt(np.mean([(one - offset[who]) ** 2 for one, who in zip(left, history.person)]))
    chance = np.array(
        [[min(max(len(one) / prior[:, 1].sum() * q, 1e-3), 0.95) for q in prior[9:, 1]] for one in own]
    )
    draws = stream()
    who, which = _raters(chance, draws)
    values = [
        mu + prior[9 + i, 0] + offset[p] + spread * z for p, i, z in zip(who, which, draws.normals(len(who)))
    ]
    scale = sorted(set(history.value))
    expected = {(p, 9 + i, min(scale, key=lambda s: abs(s - v))) for p, i, v in zip(who, which, values)}
    found = with_decoys(history, members, public(40, 3), prior, mu, stream())
    assert found.person is not None
    made_up = found.item >= 9
    assert len(expected) >= 31
    assert set(zip(found.person[made_up], found.item[made_up], found.value[made_up])) == expected
