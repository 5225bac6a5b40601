"""epsilon is right: against the oracle, against brute force, and for what adds up."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from murmura.channel.noise_terms import NoiseTerms, composed, delta_of, epsilon_of, mu_of
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Phase
from murmura.core.errors import SettingError
from murmura.core.message import MessageSpec, RowBounds, TableSpec

TABLE = TableSpec("items", "item", 5, 2)
COUNTS, TRAIN = (
    Phase("counts", MessageSpec((TABLE,)), repeat=1, budget=0.1),
    Phase("train", MessageSpec((TABLE,))),
)


@pytest.mark.parametrize(
    ("multipliers", "delta"), [((1.1, 3.4), 1.65e-5), ((5.0,) * 20, 1e-5), ((0.5,), 1e-6), ((9.0,) * 75, 1e-4)]
)
def test_epsilon_is_that_of_privacy_loss_distributions(multipliers: tuple[float, ...], delta: float) -> None:
    pld = pytest.importorskip(
        "dp_accounting.pld.privacy_loss_distribution", reason="the oracle comes with the extra `test`"
    )
    whole: Any = None
    for multiplier in multipliers:
        one = pld.from_gaussian_mechanism(multiplier, value_discretization_interval=1e-3)
        whole = one if whole is None else whole.compose(one)
    assert epsilon_of(composed(multipliers), delta) == pytest.approx(
        whole.get_epsilon_for_delta(delta), rel=0.01
    )


def test_delta_is_the_largest_gap_between_two_gaussians() -> None:
    """max over events of P(A) - e^epsilon Q(A), added up on a fine grid."""
    x = np.linspace(-20, 20, 400_001)
    for mu, epsilon in ((0.5, 0.3), (1.0, 2.0), (3.0, 5.0)):
        gap = np.maximum(stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x), 0).sum() * (x[1] - x[0])
        assert delta_of(mu, epsilon) == pytest.approx(gap, rel=1e-4)


@given(st.floats(0.01, 30), st.floats(1e-9, 0.1))
def test_mu_and_epsilon_are_inverse(epsilon: float, delta: float) -> None:
    assert epsilon_of(mu_of(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-6)


def test_edges() -> None:
    assert composed([]) == 0
    assert composed([2.0, 0.0]) == math.inf
    assert epsilon_of(math.inf, 1e-5) == math.inf
    assert epsilon_of(0.0, 1e-5) == 0
    assert composed([3.0] * 9) == pytest.approx(1.0)  # months add up as their root
    for delta in (0.0, 1.0):
        with pytest.raises(SettingError, match="delta must be above 0 and below 1"):
            epsilon_of(1.0, delta)
    with pytest.raises(SettingError, match="epsilon must be a number above 0"):
        mu_of(0.0, 1e-5)


def test_terms_spend_what_they_say_and_no_more() -> None:
    settings = ChannelSettings(channel="secure-sum", epsilon=4.0)
    terms = NoiseTerms.of(settings, (COUNTS, TRAIN), {"counts": 1, "train": 20}, 6040)
    terms.check()
    assert terms.delta == 1 / 60400
    assert terms.spent(terms.answers) == pytest.approx(4.0)
    assert 0 < terms.spent({"counts": 1}) < terms.spent({"counts": 1, "train": 3}) < 4.0
    # a tenth of what may be told against all of it: multipliers as the square root, train twenty times
    ratio = terms.of_phase("train") / terms.of_phase("counts")
    assert ratio == pytest.approx(math.sqrt(20 * 0.1))
    assert "epsilon 4 at delta 1.7e-05" in terms.sentence()
    assert "nothing bounds" in NoiseTerms().sentence()


def test_noise_is_refused_where_it_cannot_be_added() -> None:
    settings = ChannelSettings(channel="secure-sum", epsilon=4.0)
    each = Phase("factors", MessageSpec((TABLE,)), combine="each")
    with pytest.raises(SettingError, match="phase 'factors' needs each one; noise is added to sums alone"):
        NoiseTerms.of(settings, (each,), {"factors": 1}, 10)
    exact = Phase("pairs", MessageSpec((TableSpec("pairs", "dense", 5, 1, "uint32", exact=RowBounds(3)),)))
    with pytest.raises(SettingError, match="exact counters are summed, as in phase 'pairs'"):
        NoiseTerms.of(settings, (exact,), {"pairs": 1}, 10)
