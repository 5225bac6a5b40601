"""iALS: its objective never rises, a newcomer gets what a user of the training part got."""

from itertools import pairwise

import numpy as np
import pytest

from murmura.baselines.ials import Ials, IalsModel
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions


def world() -> Interactions:
    rng = np.random.default_rng(1)
    user, item = np.nonzero(rng.random((40, 25)) < 0.25)
    return Interactions.of(user, item, rng.integers(1, 6, len(user)).astype(float))


def objective(model: IalsModel, method: Ials) -> float:
    """Equation 3 of the paper, over every cell; the ridge of a row is reg * (its confidences)^nu."""
    train = model.train
    R = np.zeros((train.n_users, train.n_items))
    R[train.user, train.item] = train.value if method.values == "raw" else 1
    C = 1 + method.alpha * R
    P, Q = model.P.astype(np.float64), model.Q.astype(np.float64)
    ridge = method.reg * ((C.sum(axis=1) ** method.nu * (P**2).sum(axis=1)).sum())
    ridge += method.reg * ((C.sum(axis=0) ** method.nu * (Q**2).sum(axis=1)).sum())
    return float((C * ((R > 0) - P @ Q.T) ** 2).sum() + ridge)


@pytest.mark.parametrize(
    "method", [Ials(factors=4, epochs=8), Ials(factors=30, epochs=8, reg=0.02, nu=0.7, values="raw")]
)
def test_the_objective_never_rises(method: Ials) -> None:
    seen: list[float] = []

    def watch(epoch: int, model: IalsModel) -> bool:
        seen.append(objective(model, method))
        return True

    method.fit(world(), seed=3, watch=watch)  # type: ignore[arg-type]
    assert len(seen) == 8
    # float32 vectors: the objective is a sum of squares, so it moves by a relative 2^-22
    assert all(later <= before * (1 + 2.0**-22) for before, later in pairwise(seen))
    assert seen[-1] < 0.95 * seen[0]


def test_a_newcomer_with_the_same_history_gets_the_same_vector() -> None:
    train = world()
    model = Ials(factors=5, epochs=3).fit(train)
    for user in range(0, 40, 7):
        np.testing.assert_allclose(model.fold_in(train.by_user.of(user)), model.P[user], rtol=1e-4, atol=1e-5)


def test_raw_values_must_be_above_zero() -> None:
    train = world()
    broken = Interactions(train.users, train.items, train.user, train.item, train.value - 1)
    with pytest.raises(SettingError, match="needs values above 0, but one is 0; use 'binary'"):
        Ials(values="raw").fit(broken)
    Ials(factors=2, epochs=1).fit(broken)
