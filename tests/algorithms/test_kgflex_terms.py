"""KGFlex's scores are the sums of the terms it shows, and its ledger counts the features that left."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.kgflex.hybrid import KGFlexHybrid
from murmura.algorithms.kgflex.kgflex import KGFlex
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, History
from murmura.core.schedule import Schedule
from murmura.core.update import SentUpdate
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd
from murmura.testing.checks import assert_same_bits

ROUNDS = Schedule(clients="all", rounds=20)


def trained(algorithm: Algorithm, **more: Any) -> FederatedModel:
    consent = more.pop("consent", Consent())
    return fit(Plan(algorithm, crowd(), ROUNDS, consent, seed=2), runtime=InProcess(**more))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_terms_add_up_to_the_score_to_the_bit(precision: Any) -> None:
    fitted = trained(KGFlex(factors=3, precision=precision))
    for user in range(fitted.train.n_users):
        history = fitted.plan.people.history(user, 0)
        state, context = fitted.client_state(user), fitted.ready_context
        terms = fitted.terms(user)
        assert terms is not None
        assert_same_bits(terms.scores, fitted.plan.algorithm.client_score(context, state, history)[0], "scores")
        held = np.flatnonzero(state["feature"] >= 0)
        names = [fitted.plan.info.features.labels[f] for f in state["feature"][held]]  # type: ignore[union-attr]
        assert [name.replace(" → ", "~").replace(": ", "=") for name in terms.names] == names


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_the_hybrid_adds_people_like_you_and_popularity(discount: float) -> None:
    own: dict[str, Any] = {"item_factors": 4, "item_reg": 2.0, "gamma": 0.1, "weight": 0.7}
    fitted = trained(KGFlexHybrid(factors=3, discount=discount, precision="float64", **own))
    scores = fitted.score(np.arange(fitted.train.n_users, dtype=np.int32))
    counts = fitted.train.item_counts
    for user, score in enumerate(scores):
        terms = fitted.terms(user)
        assert terms is not None
        np.testing.assert_allclose(terms.scores, score, rtol=0, atol=1e-12 * max(1.0, np.abs(score).max()))
        tail = ("people like you", "popularity") if discount else ("people like you",)
        assert terms.names[terms.features :] == tail
        if discount:
            np.testing.assert_allclose(terms.values[-1], -discount * np.log(np.maximum(counts, 1)))


def test_a_stranger_has_terms_too() -> None:
    fitted = trained(KGFlex(factors=3))
    own = np.array([0, 2, 4], np.int32)
    terms = fitted.terms_history(own)
    assert terms is not None
    assert "colour: black" in terms.names
    np.testing.assert_array_equal(terms.scores, fitted.score_history(own))


@pytest.mark.parametrize("pi", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("disclosure", ["sticky", "per-item-per-round"])
def test_the_ledger_has_the_share_of_features_that_left(pi: float, disclosure: Any) -> None:
    """Counted by someone who reads every update: of what each client holds, what was ever in one."""
    seen: dict[int, set[int]] = defaultdict(set)

    def read(sent: SentUpdate) -> None:
        seen[sent.client] |= set(sent.update.tables["features"].index.tolist())

    plan = Plan(KGFlex(factors=3), crowd(), ROUNDS, Consent(pi=pi, disclosure=disclosure), seed=2)
    fitted = fit(plan, runtime=InProcess(), record=read)
    told = fitted.ledger.features
    assert told is not None
    for client, own in enumerate(fitted.states["feature"]):
        held = set(own[own >= 0].tolist())
        assert seen[client] <= held
        expected = len(seen[client]) / len(held) if held else np.nan
        np.testing.assert_equal(told[client], expected)
    mean = fitted.ledger.summary()["features disclosed"]["mean"]
    assert mean == fitted.cost()["features disclosed"] == pytest.approx(np.nanmean(told))
    sticky = disclosure == "sticky"  # a coin per round shows everything in the end
    assert {0.0: mean == 0, 1.0: mean > 0.9, 0.5: 0.3 < mean < 1 if sticky else mean > 0.9}[pi], mean


def test_half_of_her_items_are_not_all_of_her_features() -> None:
    """A sticky half shows fewer features than everything does, to the same people."""
    shown = []
    for pi in (0.25, 1.0):
        found = trained(KGFlex(factors=3), consent=Consent(pi=pi)).ledger.features
        assert found is not None
        shown.append(found)
    half, whole = shown
    known = ~np.isnan(half)
    assert (half[known] <= whole[known]).all()
    assert half[known].mean() < whole[known].mean()


def test_a_restored_training_has_the_same_ledger(tmp_path: Path) -> None:
    fitted = trained(KGFlex(factors=3), consent=Consent(pi=0.5))
    fitted.save(tmp_path / "model")
    again = FederatedModel.load(tmp_path / "model", fitted.train, fitted.plan.algorithm)
    assert again.ledger.summary() == fitted.ledger.summary()


def test_methods_without_features_say_nothing_of_them() -> None:
    from murmura.algorithms.fpl.fpl import FPL

    fitted = trained(FPL(triples=2))
    assert fitted.ledger.features is None
    assert "features disclosed" not in {**fitted.ledger.summary(), **fitted.cost()}
    assert fitted.terms(3) is None
    assert fitted.terms_history(np.array([1], np.int32)) is None
    assert fitted.plan.algorithm.client_terms(fitted.ready_context, {}, History.private(np.array([1]))) is None
