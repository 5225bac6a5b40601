"""Known answers: worked out by hand, or once more by a plain computation, for what nothing else pins down."""

import hashlib
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.algorithms.fedsplit.groups import (
    aligned,
    factorise_group,
    held_out_error,
    join,
    mark,
)
from murmura.core.contract import Answers, IndividualUpdates, RoundContext, ServerState
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.core.update import Update
from murmura.kernels.factorisation.cnmf_steps import CnmfRates, CnmfSettings
from tests.fedsplit.worlds import people, public, rows, sent, stream

STILL = CnmfRates(0.25, 0.25, 0.25, 0.25, 1e-12, 1e-12)  # biases stay where they are


def method(**chosen: Any) -> FedSplit:
    return FedSplit(factors=1, patterns=1, precision="float64", **chosen)


def read(chosen: FedSplit, updates: list[Update], items: int) -> tuple[ServerState, Answers]:
    server = chosen.server_init(public(items), Rng(server_secret(0)))
    return chosen.server_step("factors", server, IndividualUpdates(dict(enumerate(updates))))


def test_a_group_counts_by_the_inverse_of_its_error() -> None:
    """Errors of 1/2 and 2 are weights of 2 and 1/2; who did not see the third item counts as a zero there."""
    updates = [sent([[2, 0.3], [1, 0]], error=0.5), sent([[1, -0.2], [2, 0.5], [0, 0.5]], error=2.0)]
    server, answers = read(method(judge="weigh"), updates, 3)
    biases = [(2 * 0.3 - 0.5 * 0.2) / 2.5, 0.5 * 0.5 / 2.5, 0.5 * 0.5 / 2.5]
    np.testing.assert_allclose(server.model["b"], biases, atol=1e-12)
    seen, _ = read(method(judge="weigh", bias="seen"), updates, 3)
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
    updates = [sent([[2, 0.3]], error=0.0), sent([[1, -0.3]], error=0.02)]
    server, _ = read(method(judge="weigh"), updates, 1)
    assert server.model["b"] == pytest.approx([(100 * 0.3 - 50 * 0.3) / 150])


def test_item_means_in_letters_are_shrunk_and_weighed_by_counts() -> None:
    """A mean of .6 of one rating, one of .2 of four, and five ratings of nothing: 1.4 / 10."""
    updates = [sent([[2, 0.6, 1], [1, 0.3, 5]]), sent([[1, 0.2, 4]])]
    server, _ = read(method(bias="means", ridge_bias=5.0), updates, 2)
    np.testing.assert_allclose(server.model["b"], [0.14, 1.5 / 10], atol=1e-12)
    plain, _ = read(method(bias="counts", ridge_bias=5.0), updates, 2)
    np.testing.assert_allclose(plain.model["b"], [0.28, 0.3], atol=1e-12)


def test_a_letter_of_means_has_every_items_mean_and_count() -> None:
    history, chosen = people(), method(bias="means")
    model = {"mu": np.array([3.2]), "patterns": np.zeros((10, 1)), "b": np.zeros(10)}
    context, rng = RoundContext(public(10, 3), "factors", 1, model), Rng(client_secrets(5, 1)[0], 1)
    update = chosen.client_step(context, chosen.client_init(context.info, history, rng), history, rng)[1]
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
    updates = [sent([[2, 0, 3], [1, 0, 1]]), sent([[1, 0, 1], [2, 0, 1], [1, 0, 2]])]
    server, answers = read(method(bias="counts", finish="ridge"), updates, 3)
    assert not answers
    assert server.model["patterns"].any()
    np.testing.assert_allclose(np.array([4, 2, 2]) @ server.model["patterns"], 0, atol=1e-12)


def test_everyone_is_solved_anew_against_patterns_biases_and_mean() -> None:
    """Two ratings, 2 and 0 above mean and bias, of items with patterns 1 and -1: 2 / (2 + ridge) each."""
    chosen = method(finish="ridge", ridge=6.0, ridge_bias=2.0)
    model = {"patterns": np.array([[1.0], [-1]]), "b": np.array([0.0, -0.5]), "mu": np.array([3.0])}
    history = rows((1, 0, 5.0), (1, 1, 2.5))
    context = RoundContext(public(2), "factors", 1, model)
    state = chosen.client_fold_in(context, history, Rng(client_secrets(5, 1)[0]))
    np.testing.assert_allclose(state["W"], np.array([[0.0], [2 / 8]]), atol=1e-12)
    np.testing.assert_allclose(state["b"], [0, 2 / 4], atol=1e-12)
    expected = 3 - 0.5 + 0.5 - 0.25
    assert chosen.client_predict(context, state, np.array([[1, 1]])) == pytest.approx([expected])


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
    assert mark(replace(history, consent=np.zeros(2))) == mark(history)  # consent is no rating


def test_a_group_of_two_has_one_factor() -> None:
    history = rows((0, 0, 4.0), (0, 1, 3.0), (0, 2, 5.0), (1, 0, 2.0), (1, 2, 4.0))
    local = factorise_group(history, 3.0, CnmfSettings(factors=3, epochs=20), 3, stream())
    assert local.W[:2, 0].all()
    assert not local.W[:, 1:].any()
    assert not local.H[:, 1:].any()
