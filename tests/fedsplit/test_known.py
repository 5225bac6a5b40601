"""Known answers: worked out by hand, or once more by a plain computation, for what nothing else pins down."""

import hashlib
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.co_statistics import CoStatistics
from murmura.algorithms.fedsplit import FedSplit
from murmura.algorithms.fedsplit_cover import _raters, filled, refitted, with_decoys
from murmura.algorithms.fedsplit_local import (
    LocalModel,
    factorise_group,
    held_out_error,
    join,
    mark,
)
from murmura.algorithms.fedsplit_server import aligned
from murmura.algorithms.fedsplit_svd import FedSplitSvd
from murmura.algorithms.item_means import ItemMeans
from murmura.algorithms.item_patterns import PatternSettings, item_patterns
from murmura.core.arrays import Floats
from murmura.core.federation import Answers, Call, History, Letters, Public, ServerState, Total
from murmura.core.rng import Rng, Stream, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.core.update import SparseRows, Update
from murmura.engine.fit import fit
from murmura.kernels.cnmf import CnmfSettings, Rates
from murmura.runtimes.inprocess import InProcess
from tests.fedsplit.worlds import fours, raters

ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)
PATTERNS: dict[str, Any] = {"rating_patterns": 3, "mask_patterns": 2, "shrink": 4.0, "precision": "float64"}
STILL = Rates(0.25, 0.25, 0.25, 0.25, 1e-12, 1e-12)  # biases stay where they are


def public(items: int, people: int = 2) -> Public:
    return Public(items, np.arange(items, dtype=np.int32), 2, 20, people=people)


def method(**chosen: Any) -> FedSplit:
    return FedSplit(factors=1, patterns=1, precision="float64", **chosen)


def sent(rows: list[list[float]], **scalars: float) -> Update:
    """A letter about items 0, 1, ..."""
    return Update(
        {"items": SparseRows(np.arange(len(rows), dtype=np.int32), np.array(rows, np.float64))}, scalars
    )


def read(chosen: FedSplit, letters: list[Update], items: int) -> tuple[ServerState, Answers]:
    server = chosen.server_init(public(items), Rng(server_secret(0)))
    return chosen.server_step("factors", server, Letters(dict(enumerate(letters))))


def rows(*ratings: tuple[int, int, float], share: float = 1.0) -> History:
    """A history of (person, item, value)."""
    person, item = (np.array([row[n] for row in ratings], np.int32) for n in (0, 1))
    return History(item, np.array([row[2] for row in ratings]), np.full(len(item), share), person)


def stream(n: int = 0) -> Stream:
    return Rng(client_secrets(5, 1)[0], 1).stream(2000 + n)


def people(seed: int = 0) -> History:
    """Three people with about half of ten items each."""
    random = np.random.default_rng(seed)
    found = [(p, i, float(random.integers(1, 6))) for p in range(3) for i in range(10) if random.random() < 0.6]
    return rows(*found)


def test_a_group_counts_by_the_inverse_of_its_error() -> None:
    """Errors of 1/2 and 2 are weights of 2 and 1/2; who did not see the third item counts as a zero there."""
    letters = [sent([[2, 0.3], [1, 0]], error=0.5), sent([[1, -0.2], [2, 0.5], [0, 0.5]], error=2.0)]
    server, answers = read(method(judge="weigh"), letters, 3)
    biases = [(2 * 0.3 - 0.5 * 0.2) / 2.5, 0.5 * 0.5 / 2.5, 0.5 * 0.5 / 2.5]
    np.testing.assert_allclose(server.model["b"], biases, atol=1e-12)
    seen, _ = read(method(judge="weigh", bias="seen"), letters, 3)
    np.testing.assert_allclose(seen.model["b"], [*biases[:2], 0.5], atol=1e-12)
    h = np.array([[2.0, 1, 0], [1, 2, 0]])
    u = np.linalg.eigh(2 * np.outer(h[0], h[0]) + 0.5 * np.outer(h[1], h[1]))[1][:, -1]  # one pattern: the axis
    for client in range(2):  # its part is at its own scale, whatever its weight
        found = server.model["patterns"] @ answers[client]["M"]
        np.testing.assert_allclose(found[:, 0], u * (u @ h[client]), atol=1e-9)


def test_a_group_judges_itself_by_what_it_held_out() -> None:
    """Nobody else rated what is held out and biases stay at zero: all a group can say of it is mu."""
    history = rows(*[(n // 10, n, 1.0 + n % 5) for n in range(20)])
    chosen = CnmfSettings(factors=1, epochs=3, eta_w=1e-12, eta_h=1e-12)
    out = stream().coins(0.2, 20)
    assert 0 < out.sum() < 10
    expected = np.mean([(value - 3.5) ** 2 for value in history.value[out]])
    assert held_out_error(history, 3.5, chosen, 2, stream()) == pytest.approx(expected, rel=1e-9)


def test_a_group_judges_itself_by_its_whole_estimate() -> None:
    history, draws = people(), stream()
    chosen = CnmfSettings(factors=2, epochs=40, eta_w=0.05, eta_h=0.05)
    out = draws.coins(0.2, len(history))
    local = factorise_group(history.rows(~out), 3.2, chosen, 3, draws)
    place = {int(item): n for n, item in enumerate(local.items)}
    assert history.person is not None
    left = []
    for who, item, value in zip(history.person[out], history.item[out], history.value[out]):
        factors, bias = (local.H[place[item]], local.b_h[place[item]]) if item in place else (np.zeros(2), 0.0)
        left.append(value - 3.2 - local.b_w[who] - bias - sum(local.W[who] * factors))
    assert held_out_error(history, 3.2, chosen, 3, stream()) == pytest.approx(np.mean(np.square(left)))


def test_a_group_too_small_to_hold_out_is_judged_by_the_mean() -> None:
    history = rows((0, 0, 5.0), (1, 1, 2.0))
    assert held_out_error(history, 3.0, CnmfSettings(factors=1), 2, stream()) == (2**2 + 1) / 2


def test_a_group_at_the_worst_error_stays_and_one_with_less_than_none_is_refused() -> None:
    for judge in ("weigh", "leave-out"):
        chosen = method(judge=judge, worst=0.75)
        phase = chosen.phases(public(2))[1]
        for error in (0.0, 0.75):
            assert chosen.server_refuses(phase, sent([[2, 0.3]], error=error)) is None
        refused = chosen.server_refuses(phase, sent([[2, 0.3]], error=-0.5))
        assert refused == "a group's own error must be 0 or above, but it is -0.5."
    above = chosen.server_refuses(phase, sent([[2, 0.3]], error=0.76))
    assert above == "a group's own error must be at most 0.75, but it is 0.76; it joins later."


def test_no_error_at_all_counts_as_a_hundredth() -> None:
    letters = [sent([[2, 0.3]], error=0.0), sent([[1, -0.3]], error=0.02)]
    server, _ = read(method(judge="weigh"), letters, 1)
    assert server.model["b"] == pytest.approx([(100 * 0.3 - 50 * 0.3) / 150])


def test_item_means_in_letters_are_shrunk_and_weighed_by_counts() -> None:
    """A mean of .6 of one rating, one of .2 of four, and five ratings of nothing: 1.4 / 10."""
    letters = [sent([[2, 0.6, 1], [1, 0.3, 5]]), sent([[1, 0.2, 4]])]
    server, _ = read(method(bias="means", ridge_bias=5.0), letters, 2)
    np.testing.assert_allclose(server.model["b"], [0.14, 1.5 / 10], atol=1e-12)
    plain, _ = read(method(bias="counts", ridge_bias=5.0), letters, 2)
    np.testing.assert_allclose(plain.model["b"], [0.28, 0.3], atol=1e-12)


def test_a_letter_of_means_has_every_items_mean_and_count() -> None:
    history, chosen = people(), method(bias="means")
    model = {"mu": np.array([3.2]), "patterns": np.zeros((10, 1)), "b": np.zeros(10)}
    call, rng = Call(public(10, 3), "factors", 1, model), Rng(client_secrets(5, 1)[0], 1)
    update = chosen.client_step(call, chosen.client_init(call.public, history, rng), history, rng)[1]
    for item, row in zip(update.tables["items"].index, update.tables["items"].values):
        own = history.value[history.item == item]
        assert row[1:] == pytest.approx([sum(own) / len(own) - 3.2, len(own)])


def test_axes_are_as_long_as_their_weight_and_centred_over_ratings() -> None:
    """Axes of weight 2 and 1 are the two items; three quarters of the ratings are of the first."""
    found = aligned(np.eye(2), {0: np.array([[2.0], [0]]), 1: np.array([[0.0], [1]])}, np.array([3.0, 1]))
    first, second = np.sqrt(2) * np.array([1 / 4, -3 / 4]), np.sqrt(2) / 2 * np.array([-1 / 4, 3 / 4])
    for column, expected in zip(found.T, (first, second)):  # an axis has no sign of its own
        np.testing.assert_allclose(np.outer(column, column), np.outer(expected, expected), atol=1e-12)


def test_a_server_centres_by_the_ratings_it_was_told_of() -> None:
    letters = [sent([[2, 0, 3], [1, 0, 1]]), sent([[1, 0, 1], [2, 0, 1], [1, 0, 2]])]
    server, answers = read(method(bias="counts", finish="ridge"), letters, 3)
    assert not answers
    assert server.model["patterns"].any()
    np.testing.assert_allclose(np.array([4, 2, 2]) @ server.model["patterns"], 0, atol=1e-12)


def test_everyone_is_solved_anew_against_patterns_biases_and_mean() -> None:
    """Two ratings, 2 and 0 above mean and bias, of items with patterns 1 and -1: 2 / (2 + ridge) each."""
    chosen = method(finish="ridge", ridge=6.0, ridge_bias=2.0)
    model = {"patterns": np.array([[1.0], [-1]]), "b": np.array([0.0, -0.5]), "mu": np.array([3.0])}
    history = rows((1, 0, 5.0), (1, 1, 2.5))
    call = Call(public(2), "factors", 1, model)
    state = chosen.client_fold_in(call, history, Rng(client_secrets(5, 1)[0]))
    np.testing.assert_allclose(state["W"], np.array([[0.0], [2 / 8]]), atol=1e-12)
    np.testing.assert_allclose(state["b"], [0, 2 / 4], atol=1e-12)
    expected = 3 - 0.5 + 0.5 - 0.25
    assert chosen.client_predict(model, state, np.array([[1, 1]])) == pytest.approx([expected])


def test_someone_who_comes_later_is_regressed_without_going_below_zero() -> None:
    """Ratings r of items with pattern 1 and mu + b = 3: w = (r - 3) / (1 + alpha), and 0 where r is less.

    Nothing is learnt from a rating below 0.
    """
    history = rows((0, 0, 5.0), (0, 1, 5.0), (0, 2, -4.0), (1, 0, 2.0), (1, 1, 2.0))
    patterns, b = np.ones((3, 1)), np.full(3, 0.5)
    W, b_w = join(history, patterns, b, 2.5, STILL, 2)
    np.testing.assert_allclose(W, np.array([[2 / 1.25], [0.0]]), atol=1e-9)
    np.testing.assert_allclose(b_w, 0, atol=1e-9)
    assert (patterns == 1).all()
    moving = STILL._replace(eta_w=0.3)
    W, b_w = join(history, np.zeros((3, 1)), b, 2.5, moving, 2)  # nothing to regress on: a bias alone
    np.testing.assert_allclose(b_w, [2 / 1.25, -1 / 1.25], atol=1e-9)


def test_a_mark_is_of_items_values_and_owners() -> None:
    history = rows((0, 3, 4.5), (1, 2, 1.0))
    packed = struct.pack("=2i2d2i", 3, 2, 4.5, 1.0, 0, 1)
    assert mark(history) == hashlib.sha256(packed).hexdigest()[:16]
    assert history.person is not None
    assert mark(replace(history, share=np.zeros(2))) == mark(history)  # consent is no rating


def test_a_group_of_two_has_one_factor() -> None:
    history = rows((0, 0, 4.0), (0, 1, 3.0), (0, 2, 5.0), (1, 0, 2.0), (1, 2, 4.0))
    local = factorise_group(history, 3.0, CnmfSettings(factors=3, epochs=20), 3, stream())
    assert local.W[:2, 0].all()
    assert not local.W[:, 1:].any()
    assert not local.H[:, 1:].any()


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
    items, letter = chosen._letter(history, 3.2)
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
    one = replace(history, share=np.where((history.item == hidden) & (history.person == 0), 0.0, 1.0))
    rng, model = Rng(client_secrets(5, 1)[0], 1), {"mu": np.array([3.2])}
    others = np.setdiff1d(history.item, [hidden])
    for chosen, phase in ((FedSplitSvd(factors=1, **PATTERNS), "factors"), (ItemMeans(), "ratings")):
        update = chosen.client_step(Call(public(10, 3), phase, 1, model), {}, one, rng)[1]
        np.testing.assert_array_equal(update.tables["items"].index, others)
    update = CoStatistics(**PATTERNS).client_step(Call(public(10, 3), "last pairs", 1, model), {}, one, rng)[1]
    np.testing.assert_array_equal(update.tables["mm"].index, others)


@pytest.mark.parametrize("grouped", [True, False])
def test_patterns_come_from_the_co_statistics_of_all_people(grouped: bool) -> None:
    data = raters()
    chosen = CoStatistics(block=5, shrink_bias=2.0, **PATTERNS)
    fitted = fit(chosen, None, data, ONCE, runtime=InProcess(), groups=fours(data) if grouped else None)
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
    fitted = fit(chosen, None, data, ONCE, runtime=InProcess(), groups=fours(data))
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
    call, rng = Call(public(10, 3), "means", 1, {}), Rng(client_secrets(5, 1)[0], 1)
    _, update = chosen.client_step(call, {}, people(), rng)
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
    found = filled(local, offered, prior)
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
    found = refitted(local, history, 2.5, chosen, 2)
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
