"""The trust region of FPL: known answers, no sum leaves it, and what it is asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.algorithms.fpl.fpl import FPL
from murmura.algorithms.fpl.trust_region import FALL, RISE, SLACK, project, region, undirected_rows
from murmura.algorithms.optimisers import Optimiser, shorten_rows
from murmura.core.contract import FederationInfo, ServerState, Total
from murmura.core.errors import SettingError
from murmura.core.rng import Rng, server_secret
from murmura.core.schedule import Schedule
from murmura.core.update import SparseRows, Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd
from tests.hypothesis_profiles import examples

ITEMS = 6
INFO = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), 50, 500)
COUNTS = np.array([0.0, 1.0, 3.0, 9.0, 30.0, 49.0])
OPTIMISERS = ("sum", "per-contributor", "adam", "adagrad")


def begun(mine: FPL) -> ServerState:
    """The server after the counts."""
    counts = Update({"counts": SparseRows(INFO.listed, COUNTS[:, None])})
    first = mine.server_init(INFO, Rng(server_secret(0)))
    return mine.server_step("prior", first, Total(counts, 50))[0]


def trusting(optimiser: Optimiser, trust_region: bool = True) -> FPL:
    return FPL(
        factors=3,
        precision="float64",
        optimiser=optimiser,
        triples="own",
        prior=True,
        trust_region=trust_region,
    )


def inside(server: ServerState, prior: np.ndarray) -> bool:
    b, length = server.model["b"], np.sqrt((server.model["Q"] ** 2).sum(axis=1))
    near = (b <= prior + RISE + 1e-12).all() and (b >= prior - FALL - 1e-12).all()
    return bool(near and (length <= 0.1 + 0.5 * np.log10(COUNTS + 1) + 1e-12).all())


def test_by_hand() -> None:
    """Two items, through which a parabola goes: only lengths and biases are bounded."""
    memory = region(np.array([0.0, 9.0]), np.array([0.0, 1.0]))
    theta = np.array([[3.0, 4.0, 7.0], [0.3, 0.4, -7.0]])
    expected = np.array([[0.06, 0.08, RISE], [0.3, 0.4, 1.0 - FALL]])
    np.testing.assert_allclose(project(theta, memory), expected)
    np.testing.assert_array_equal(project(theta, {}), theta)  # no counts yet
    np.testing.assert_allclose(undirected_rows(np.array([4.0, 9.0])), [2.0, 3.0])


def test_one_item_against_the_popular_direction_is_brought_back_and_the_others_stay() -> None:
    """A hundred items whose first coordinate is a tenth of log10(count + 1), one popular one turned round."""
    counts = np.linspace(10, 2000, 100)
    known = np.log10(counts + 1)
    Q = np.column_stack([0.1 * known, np.where(np.arange(100) % 2, 0.2, -0.2)])
    lied = Q.copy()
    lied[90] = [-1.2, 0.2]
    memory = region(counts, np.zeros(100))
    found = project(np.column_stack([lied, np.zeros(100)]), memory)
    others = np.arange(100) != 90
    np.testing.assert_allclose(found[others, :2], Q[others], atol=1e-12)
    assert 0.1 * known[90] - SLACK - 0.05 < found[90, 0] < 0.1 * known[90] - SLACK + 0.05
    assert found[90, 1] == pytest.approx(0.2, abs=0.04)  # tastes are free


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@given(st.floats(0.001, 1e9), st.integers(0, 2**32 - 1))
@examples(0.3)
def test_no_sum_leaves_it(optimiser: Optimiser, scale: float, seed: int) -> None:
    """Whatever the rows say, the next model is within reach of the counts; without the region it is not."""
    rng = np.random.default_rng(seed)
    width = 4 + (optimiser == "per-contributor")
    values = scale * rng.standard_normal((ITEMS, width))
    if optimiser == "per-contributor":
        values[:, -1] = 1.0
    sent = Total(Update({"items": SparseRows(INFO.listed, values)}), 20)
    mine = trusting(optimiser)
    server = begun(mine)
    prior = server.model["b"]
    for _ in range(3):
        server = mine.server_step("train", server, sent)[0]
        assert inside(server, prior)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_without_it_a_long_row_goes_far(optimiser: Optimiser) -> None:
    values = np.tile([200.0, 200.0, 200.0, 200.0], (ITEMS, 1))
    if optimiser == "per-contributor":
        values = np.pad(values, ((0, 0), (0, 1)), constant_values=1.0)
    plain, bounded = trusting(optimiser, False), trusting(optimiser)
    far, near = begun(plain), begun(bounded)
    prior = far.model["b"]
    for _ in range(60):
        sent = Total(Update({"items": SparseRows(INFO.listed, values)}), 20)
        far, near = plain.server_step("train", far, sent)[0], bounded.server_step("train", near, sent)[0]
    assert inside(near, prior)
    assert not inside(far, prior)


def test_the_column_that_counts_senders_is_not_shortened() -> None:
    sent = SparseRows(np.array([0], np.int32), np.array([[3.0, 4.0, 100.0]]))
    np.testing.assert_allclose(shorten_rows(sent, np.array([1.0]), 2).values, [[0.6, 0.8, 100.0]])


def test_needs_the_prior() -> None:
    with pytest.raises(SettingError, match="trust_region must go with prior"):
        FPL(trust_region=True)


def test_one_client_a_round_is_bounded_too() -> None:
    """The compiled path of single rounds adds without a server's step; it must not be taken then."""
    mine = FPL(factors=3, precision="float64", prior=True, trust_region=True, alpha=2.0)
    plan = Plan(mine, crowd(20, 12), Schedule(clients=1, rounds_per_epoch=100, epochs=1), seed=1)
    compiled, plain = fit(plan, runtime=InProcess()), fit(plan, runtime=InProcess(path="plain"))
    for name, array in compiled.model.items():
        np.testing.assert_allclose(array, plain.model[name], rtol=1e-9)
    length = np.sqrt((compiled.model["Q"] ** 2).sum(axis=1))
    counts = np.bincount(plan.people.item, minlength=plan.info.items)
    assert (length <= 0.1 + 0.5 * np.log10(counts + 1) + 1e-9).all()
