"""KGFlex in one place is the federation of one client a round, to the bit; and it learns."""

from typing import Any

import numpy as np
import pytest

from murmura.algorithms.kgflex.central import KGFlexCentral
from murmura.core.arrays import Ints
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.engine.federated_model import FederatedModel
from murmura.runtimes.simulation import simulate
from murmura.testing.data import checkerboard, crowd

ROUNDS = 60


def called(fitted: FederatedModel) -> Ints:
    """Who was called, round after round."""
    plan = fitted.plan
    everyone, nobody = np.arange(plan.info.clients, dtype=np.int32), np.empty(0, np.int32)
    each = [
        plan.itinerary.cohort(plan.itinerary.at(round), everyone, plan.server_secret, nobody)
        for round in range(ROUNDS)
    ]
    return np.concatenate(each).astype(np.int32)


@pytest.mark.slow
@pytest.mark.parametrize("unshared", ["drop", "keep"])
def test_it_is_the_federation_that_calls_one_client_a_round(unshared: str) -> None:
    data = crowd(20, 30)
    settings: dict[str, Any] = {"factors": 3, "negatives": 2, "unshared": unshared}
    schedule = {"clients": 1, "rounds_per_epoch": 1, "epochs": ROUNDS}
    federated = simulate("kgflex", data, {**settings, **schedule}, seed=5)
    central = KGFlexCentral(**settings)
    model, at = central.begin(data, 5)
    before = model.G.copy()
    order = called(federated)
    assert len(np.unique(order)) > 10
    central.visit(model, at, order[:20], 0)
    central.visit(model, at, order[20:], 20)
    assert not np.array_equal(model.G, before)
    for name, array in {"G": model.G, "b": model.b}.items():
        assert np.array_equal(array, federated.model[name].reshape(array.shape)), name
    for name in ("feature", "k", "P"):
        assert np.array_equal(getattr(model.views, name), federated.ready[name]), name
    users = np.arange(data.n_users, dtype=np.int32)
    assert np.array_equal(model.score(users), federated.score(users))
    central.visit(model, at, order[::-1].copy(), 0)  # another order is another model
    assert not np.array_equal(model.G, federated.model["G"])


def test_it_learns_what_the_checkerboard_hides() -> None:
    data, answer = checkerboard()
    lists = KGFlexCentral(unshared="keep", epochs=30).fit(data).recommend(np.arange(24, dtype=np.int32), 1)
    assert np.array_equal(lists.item[:, 0], answer)


def test_a_rate_that_diverges_is_refused() -> None:
    data: Interactions = crowd(30, 60)
    with pytest.raises(SettingError, match=r"kgflex-central\.alpha must be small .* at 1e\+06 the model"):
        KGFlexCentral(alpha=1e6, unshared="keep").fit(data)


def test_the_negatives_it_names_are_those_it_learns_from() -> None:
    data = crowd(20, 30)
    who, drawn = KGFlexCentral().drawn_negatives(data, 3, 1)
    own = set(zip(data.user.tolist(), data.item.tolist(), strict=True))
    assert not own & set(zip(who.tolist(), drawn.tolist(), strict=True))
    able = (data.user_counts > 0) & (data.user_counts < len(np.unique(data.item)))
    assert np.array_equal(np.bincount(who, minlength=20), np.where(able, data.user_counts, 0))
    assert not np.array_equal(drawn, KGFlexCentral().drawn_negatives(data, 3, 2)[1])
