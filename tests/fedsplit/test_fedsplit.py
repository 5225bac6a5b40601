"""FedSPLIT step by step: what the equations say is what the federation does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.algorithms import algorithm
from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.algorithms.fedsplit.groups import (
    GroupFactors,
    combine_biases,
    factorise_group,
    joint_patterns,
    mark,
)
from murmura.core.errors import SettingError
from murmura.core.rng import Purpose
from murmura.core.schedule import Schedule
from murmura.core.update import SentUpdate as Sent
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.factorisation.cnmf_steps import CnmfSettings
from murmura.kernels.factorisation.nmf import nmf
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod, simulated
from tests.fedsplit.worlds import fours, raters
from tests.hypothesis_profiles import examples

ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)
SMALL: dict[str, Any] = {"factors": 3, "patterns": 4, "epochs": 60, "precision": "float64"}


def trained(method: FedSplit, seen: list[Sent] | None = None) -> FederatedModel:
    data = raters()
    record = None if seen is None else seen.append
    return fit(Plan(method, data, ONCE, seed=1, groups=fours(data)), runtime=InProcess(), record=record)


def test_with_every_option_off_the_method_is_the_published_one_to_the_bit() -> None:
    """Equations 14 to 18, group after group."""
    method, data = FedSplit(**SMALL), raters()
    fitted, plan = trained(method), Plan(method, data, ONCE, seed=1, groups=fours(data))
    groups = range(plan.info.clients)
    histories = [plan.people.history(client, 1) for client in groups]
    mu = sum(float(history.value.mean()) for history in histories) / len(histories)
    own = [
        factorise_group(histories[c], mu, method, plan.info.people, plan.people.rng(c, 1).stream(Purpose.INIT))
        for c in groups
    ]
    sent = {c: GroupFactors(own[c].items, own[c].H, own[c].b_h, np.ones(len(own[c].items))) for c in groups}
    b = sum(own[c].everywhere(data.n_items)["b_h"] for c in groups) / len(groups)
    patterns, parts = joint_patterns(sent, data.n_items, method.patterns, method.joint_epochs)
    assert fitted.model["mu"] == mu
    assert fitted.model["b"].reshape(-1).tobytes() == np.asarray(b).tobytes()
    assert fitted.model["patterns"].tobytes() == patterns.tobytes()
    for c in groups:
        assert fitted.states["W"][c].tobytes() == own[c].W.tobytes()
        assert fitted.answers[c]["M"].tobytes() == parts[c].tobytes()
        scores = own[c].W @ parts[c].T @ patterns.T + (own[c].b_w[:, None] + b + mu)
        assert fitted.score(np.arange(4 * c, 4 * c + 4, dtype=np.int32)).tobytes() == scores.tobytes()


def test_a_bound_is_on_what_leaves_whatever_the_bias_is_made_of() -> None:
    seen: list[Sent] = []
    trained(FedSplit(**SMALL, bias="means", clip=0.25), seen)
    updates = [one.update.tables["items"].values for one in seen if one.phase == "factors"]
    assert all(np.abs(values[:, :4]).max() <= 0.25 for values in updates)
    assert max(values[:, 4].max() for values in updates) > 1  # counts are as they are


def test_the_federation_is_algorithm_1() -> None:
    """Equations 14 to 19, once more from what left the groups."""
    seen: list[Sent] = []
    fitted = trained(FedSplit(**SMALL), seen)
    data, groups = raters(), fours(raters())
    means = [data.value[groups[data.user] == g].mean() for g in range(6)]
    assert fitted.model["mu"][0] == pytest.approx(np.mean(means), rel=1e-12)  # equation 14: not weighted
    X, biases = np.zeros((18, 18)), np.zeros((6, 18))
    updates = [one for one in seen if one.phase == "factors"]
    for g, sent_update in enumerate(updates):
        rows = sent_update.update.tables["items"]
        X[rows.index, 3 * g : 3 * g + 3] = rows.values[:, :3]
        biases[g, rows.index] = rows.values[:, 3]
    joint = nmf(X, 4, 1000)
    np.testing.assert_allclose(fitted.model["patterns"], joint.W, rtol=1e-9)
    np.testing.assert_allclose(fitted.model["b"], biases.sum(axis=0) / 6, rtol=1e-9)  # equation 16
    for user in range(24):
        g, place = divmod(user, 4)
        W = fitted.states["W"][g, place] @ joint.H[:, 3 * g : 3 * g + 3].T  # equation 18
        expected = joint.W @ W + fitted.states["b"][g, place] + biases.sum(axis=0) / 6 + np.mean(means)
        got = fitted.predict(np.full(18, user, np.int32), np.arange(18, dtype=np.int32))
        np.testing.assert_allclose(got, expected, rtol=1e-8)
    assert fitted.rounds == 2


def test_groups_alone_have_the_model_they_would_have_sent() -> None:
    sent = trained(FedSplit(**SMALL))
    alone = trained(FedSplit(**SMALL, finish="local"))
    assert alone.rounds == 1
    np.testing.assert_array_equal(alone.ready["W"], sent.states["W"])
    assert alone.ledger.totals["bytes_up"] < 300  # means alone


def test_biases_over_all_groups_over_those_that_saw_the_item_or_by_counts() -> None:
    one = GroupFactors(np.array([0, 1]), np.ones((2, 1)), np.array([0.4, -0.2]), np.array([3.0, 1.0]))
    two = GroupFactors(np.array([1]), np.ones((1, 1)), np.array([0.6]), np.array([1.0]))
    plain = [replace(factors, counts=np.ones(len(factors.items))) for factors in (one, two)]
    np.testing.assert_allclose(combine_biases(plain, 3, True, 0.0)[0], [0.2, 0.2, 0])
    np.testing.assert_allclose(combine_biases(plain, 3, False, 0.0)[0], [0.4, 0.2, 0])
    np.testing.assert_allclose(combine_biases([one, two], 3, False, 1.0)[0], [1.2 / 4, 0.4 / 3, 0])
    heavy = [replace(plain[0], weight=3.0), plain[1]]
    np.testing.assert_allclose(combine_biases(heavy, 3, False, 0.0)[0], [0.4, 0, 0], atol=1e-12)


def test_a_weighted_letter_gets_its_part_back_at_its_own_scale() -> None:
    rng = np.random.default_rng(3)
    H = rng.random((9, 2))
    updates = {
        n: GroupFactors(np.arange(9, dtype=np.int32), H, np.zeros(9), np.ones(9), w)
        for n, w in enumerate((1.0, 9.0))
    }
    patterns, parts = joint_patterns(updates, 9, 2, 4000)
    np.testing.assert_allclose(parts[0], parts[1], atol=1e-3)  # who sent the same gets the same, nearly
    np.testing.assert_allclose(patterns @ parts[1], H, atol=0.1)


def test_more_patterns_than_columns_are_left_at_zero() -> None:
    rng = np.random.default_rng(4)
    updates = {
        client: GroupFactors(np.arange(9, dtype=np.int32), rng.random((9, 2)), np.zeros(9), np.ones(9))
        for client in range(3)
    }
    enough, exact = joint_patterns(updates, 9, 6, 200)
    patterns, parts = joint_patterns(updates, 9, 5000, 200)
    assert patterns.shape == (9, 5000)
    np.testing.assert_array_equal(patterns[:, :6], enough)
    assert not patterns[:, 6:].any()
    for client in updates:
        np.testing.assert_array_equal(parts[client][:6], exact[client])
        assert not parts[client][6:].any()


def test_sizes_that_go_downwards_are_refused_before_anything_is_made() -> None:
    with pytest.raises(SettingError, match="must go upwards, but go from 5 to 2"):
        simulated("fedsplit", {"smallest": 5, "largest": 2})


def test_a_group_takes_the_settings_it_tuned() -> None:
    fitted = trained(FedSplit(**SMALL))
    history = fitted.plan.people.history(2, 1)
    own = CnmfSettings(factors=1, epochs=5)
    tuned = trained(FedSplit(**SMALL, tuned={mark(history): own}))
    assert not tuned.states["W"][2][:, 1:].any()
    assert fitted.states["W"][2][:, 1:].any()
    others = [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(tuned.states["W"][others], fitted.states["W"][others])


def test_groups_that_predict_badly_count_less_or_not_at_all() -> None:
    seen: list[Sent] = []
    weighed = trained(FedSplit(**SMALL, judge="weigh"), seen)
    errors = [one.update.scalars["error"] for one in seen if one.phase == "factors"]
    assert len(errors) == 6
    assert min(errors) > 0
    worst = float(np.sort(errors)[-2])  # all but the worst one stay
    left = trained(FedSplit(**SMALL, judge="leave-out", worst=worst))
    assert list(left.refused) == [int(np.argmax(errors))]
    assert "own error must be at most" in next(iter(left.refused.values()))
    assert (weighed.model["patterns"] != trained(FedSplit(**SMALL)).model["patterns"]).any()


@examples(0.15)
@given(k=st.integers(2, 20), rate=st.sampled_from([0.002, 0.009]), weight=st.sampled_from([0.04, 0.08]))
def test_no_setting_of_the_search_box_blows_up(k: int, rate: float, weight: float) -> None:
    data = raters(people=26, items=30, seed=k, share=0.4)
    groups = np.minimum(np.arange(26) // 3, 1).astype(np.int32)  # three people, and the others
    method = FedSplit(
        factors=k, patterns=min(k, 8), epochs=120, eta_w=rate, eta_h=rate, alpha=weight, beta=weight
    )
    fitted = fit(Plan(method, data, ONCE, seed=k, groups=groups), runtime=InProcess())
    predicted = fitted.predict(data.user, data.item)
    assert np.isfinite(predicted).all()
    assert np.abs(predicted).max() < 10
    assert fitted.refused == {}


def test_someone_in_no_group_joins_by_non_negative_regression() -> None:
    data = raters()
    groups = fours(data)
    groups[20:] = -1
    fitted = fit(Plan(FedSplit(**SMALL), data, ONCE, groups=groups), runtime=InProcess())
    alone = np.arange(20, 24, dtype=np.int32)
    scores = fitted.score(alone)
    liked = np.arange(18)[None, :] % 2 == alone[:, None] % 2
    for who in range(4):  # the tastes lie 2 apart; two thirds of it survive a regression on four patterns
        assert scores[who, liked[who]].mean() > scores[who, ~liked[who]].mean() + 2 / 3
    assert (fitted.guest_state(fitted.plan.people.history(0, 0))["W"] >= 0).all()


def test_groups_come_from_a_seed_or_from_a_file(tmp_path: Path) -> None:
    data = raters()
    table = tmp_path / "homes.csv"
    rows = [f"{u},{'home' if u < 12 else 'club'}" for u in range(22)]
    table.write_text("\n".join(["who,where", *rows]), "utf-8")
    settings: dict[str, Any] = {"factors": 3, "patterns": 4, "epochs": 30, "smallest": 3, "largest": 5}
    named = {"groups": str(table), "user_column": "who", "group_column": "where"}
    fitted = FederatedMethod(algorithm("fedsplit")(**settings, **named)).fit(data)
    assert fitted.names == ("club", "home")
    assert fitted.plan.groups is not None
    assert (fitted.plan.groups[22:] == -1).all()
    drawn = [
        FederatedMethod(algorithm("fedsplit")(**settings)).fit(data, seed).plan.groups for seed in (1, 1, 2)
    ]
    assert (drawn[0] == drawn[1]).all()  # type: ignore[union-attr]
    assert (drawn[0] != drawn[2]).any()  # type: ignore[union-attr]
