"""FCF against the objective it descends, term by term, and against rounds worked out in plain Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.algorithms.fcf.fcf import FCF, FCFPaper
from murmura.core.arrays import Ints
from murmura.core.contract import FederationInfo, History, RoundContext, ServerState, Total
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.core.update import Update, add_up
from murmura.testing import crowd
from tests.hypothesis_profiles import examples

ITEMS, FACTORS = 9, 3
SECRET = client_secrets(0, 1)[0]
Variant = FCF | FCFPaper
VARIANTS = (
    FCF(factors=FACTORS, precision="float64", reg=0.7),
    FCFPaper(factors=FACTORS, precision="float64", reg=0.7, alpha=2.5, values="raw"),
)


def public() -> FederationInfo:
    """The last item is in the catalogue, but not on offer."""
    return FederationInfo(ITEMS, np.arange(ITEMS - 1, dtype=np.int32), 1, 4)


def call(seed: int = 0) -> RoundContext:
    Q = np.random.default_rng(seed).normal(size=(ITEMS, FACTORS))
    return RoundContext(public(), "train", 3, {"Q": Q})


def history(items: list[int], share: float = 1.0) -> History:
    own = np.array(sorted(items), np.int32)
    return History(own, (1 + own % 3).astype(np.float64), np.full(len(own), share))


def objective(method: Variant, p: Any, Q: Any, own: History) -> float:
    """Hu et al.'s sum over all cells of one person, cell by cell; without the items' own decay."""
    total = method.reg * float(p @ p)
    values = dict(zip(own.item.tolist(), own.value.tolist()))
    for i in range(ITEMS - 1):
        if isinstance(method, FCFPaper):
            c, x = (1 + method.alpha * values[i], 1.0) if i in values else (1.0, 0.0)
        else:
            c, x = (1.0, 1.0) if i in values else (0.0, 0.0)
        total += c * (x - float(p @ Q[i])) ** 2
    return total


def step(method: Variant, asked: RoundContext, own: History) -> tuple[Any, Update]:
    state, update = method.client_step(asked, {"p": np.zeros(FACTORS)}, own, Rng(SECRET, 3))
    return state["p"], update


@pytest.mark.parametrize("method", VARIANTS)
@examples(0.3)
@given(
    items=st.sets(st.integers(0, ITEMS - 2), max_size=ITEMS - 1),
    seed=st.integers(0, 1000),
    away=st.lists(st.floats(-2, 2), min_size=FACTORS, max_size=FACTORS),
)
def test_no_other_vector_fits_a_history_better(
    method: Variant, items: set[int], seed: int, away: list[float]
) -> None:
    asked, own = call(seed), history(list(items))
    p, _ = step(method, asked, own)
    best = objective(method, p, asked.model["Q"], own)
    assert best <= objective(method, p + np.array(away), asked.model["Q"], own) + 1e-9 * (1 + best)


@pytest.mark.parametrize("method", VARIANTS)
def test_what_leaves_is_the_slope_of_the_objective(method: Variant) -> None:
    """fcf sends -dJ/dq_i of its own items, fcf-paper f(u, i) = -dJ/dq_i / 2 of all on offer."""
    asked, own = call(), history([0, 2, 5, 7])
    p, update = step(method, asked, own)
    sent = update.tables["items"]
    scale = 2.0 if isinstance(method, FCFPaper) else 1.0
    expected = list(range(ITEMS - 1)) if isinstance(method, FCFPaper) else [0, 2, 5, 7]
    assert sent.index.tolist() == expected
    h = 1e-5  # a parabola: central differences are exact up to rounding, 1e-16 / h
    for i, row in zip(expected, sent.values):
        for f in range(FACTORS):
            up, down = asked.model["Q"].copy(), asked.model["Q"].copy()
            up[i, f] += h
            down[i, f] -= h
            slope = (objective(method, p, up, own) - objective(method, p, down, own)) / (2 * h)
            assert -slope / scale == pytest.approx(row[f], abs=1e-8)


def test_a_positive_that_is_not_shared_sends_no_row() -> None:
    own = history([0, 2, 5, 7])
    own = History(own.item, own.value, np.array([1.0, 0.0, 1.0, 0.0]))
    everything, shared = step(VARIANTS[0], call(), history([0, 2, 5, 7])), step(VARIANTS[0], call(), own)
    assert shared[0].tolist() == everything[0].tolist(), "what stays uses the whole history"
    assert shared[1].tables["items"].index.tolist() == [0, 5]
    assert shared[1].tables["items"].values.tolist() == everything[1].tables["items"].values[[0, 2]].tolist()


def test_a_positive_that_is_not_shared_is_sent_like_an_item_never_met() -> None:
    method, asked = VARIANTS[1], call()
    own = history([0, 2, 5, 7])
    private = History(own.item, own.value, np.array([1.0, 0.0, 1.0, 0.0]))
    p, update = step(method, asked, private)
    p_of_all, update_of_all = step(method, asked, own)
    assert p.tolist() == p_of_all.tolist(), "what stays uses the whole history"
    hidden, shown = update.tables["items"].values, update_of_all.tables["items"].values
    never_met = -(asked.model["Q"][[2, 7]] @ p)[:, None] * p
    assert np.allclose(hidden[[2, 7]], never_met, rtol=1e-14, atol=0)
    rest = [0, 1, 3, 4, 5, 6]
    assert (hidden[rest] == shown[rest]).all()
    seen = method.client_discloses(method.phases(public())[0], update, private, Rng(SECRET, 3))
    assert seen.tolist() == [True, False, True, False]


def test_a_round_of_the_baseline_worked_out_by_hand() -> None:
    """One factor, lambda 1: p = q / (q^2 + 1) for one own item, and both people push item 0."""
    method = FCF(factors=1, precision="float64", gamma=0.1)
    world = FederationInfo(2, np.arange(2, dtype=np.int32), 2, 3)
    server = ServerState({"Q": np.array([[1.0], [2.0]])})
    updates = []
    for items in ([0], [0, 1]):
        asked = RoundContext(world, "train", 0, server.model)
        updates.append(method.client_step(asked, {"p": np.zeros(1)}, history(items), Rng(SECRET))[1])
    after, _ = method.server_step("train", server, Total(add_up(updates), 2))
    p0, p1 = 1 / 2, 3 / 6  # sum q / (sum q^2 + 1)
    q0 = 1 + 0.1 * (2 * (1 - p0) * p0 + 2 * (1 - p1) * p1) - 0.1 * 2 * 1
    q1 = 2 + 0.1 * (2 * (1 - 2 * p1) * p1) - 0.1 * 2 * 2
    assert after.model["Q"].ravel().tolist() == pytest.approx([q0, q1], rel=1e-15)


def test_adam_takes_a_first_step_of_gamma_along_the_whole_gradient() -> None:
    """After one round Adam's mean over its root is the sign; items not on offer stay where they are."""
    method = FCFPaper(factors=FACTORS, precision="float64", gamma=0.03, reg=0.7)
    server = method.server_init(public(), Rng(server_secret(0)))
    asked = RoundContext(public(), "train", 0, server.model)
    update = step(method, asked, history([0, 2, 5]))[1]
    after, _ = method.server_step("train", server, Total(update, 1))
    moved = after.model["Q"] - server.model["Q"]
    climb = update.tables["items"].values - method.reg * server.model["Q"][:-1]
    assert moved[:-1] == pytest.approx(0.03 * np.sign(climb), rel=1e-4)
    assert not moved[-1].any()


def test_the_baseline_descends_its_objective_in_every_round() -> None:
    """Users are solved exactly and items take small steps downhill: J never rises."""
    data = crowd(12, ITEMS, seed=4)
    method = FCF(factors=FACTORS, precision="float64", gamma=0.01)
    world = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), data.n_users, len(data))
    server = method.server_init(world, Rng(server_secret(1)))
    seen = []
    for round in range(25):
        asked, parts, total = RoundContext(world, "train", round, server.model), [], 0.0
        Q = server.model["Q"]
        for u in range(data.n_users):
            p, update = step(method, asked, history(data.by_user.of(u).tolist()))
            parts.append(update)
            total += float(((1 - Q[data.by_user.of(u)] @ p) ** 2).sum() + p @ p)
        seen.append(total + float((Q**2).sum()))
        server, _ = method.server_step("train", server, Total(add_up(parts), data.n_users))
    assert (np.diff(seen) < 0).all()


@pytest.mark.parametrize("method", VARIANTS)
def test_items_that_are_not_on_offer_teach_nothing(method: Variant) -> None:
    """Over a network their vectors do not even arrive."""
    asked = call()
    elsewhere = RoundContext(asked.info, "ready", 3, {"Q": asked.model["Q"].copy()})
    elsewhere.model["Q"][-1] = 100.0
    guest: Ints = np.array([1, 4, ITEMS - 1], np.int32)
    fitted = [method.client_fold_in(c, History.private(guest), Rng(SECRET))["p"] for c in (asked, elsewhere)]
    without = method.client_fold_in(asked, History.private(guest[:2]), Rng(SECRET))["p"]
    assert fitted[0].tolist() == fitted[1].tolist() == without.tolist()
    assert without.any()
    empty = method.client_fold_in(asked, History.private(guest[:0]), Rng(SECRET))["p"]
    assert not empty.any()
