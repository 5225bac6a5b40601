"""Whether somebody is in a noisy release: the best test there is finds as much as (epsilon, delta) allows.

The attacker knows everybody else's upload, hers, and the noise of one aggregator. What is left is hers or
nothing, and the noise of the other one. The likelihood ratio is the best test (Neyman and Pearson): its scores
are normal with a distance of mu.
"""

import math

import numpy as np
import pytest
from scipy.stats import norm

from murmura.channel.noise import discrete_gaussian
from murmura.channel.noise_terms import mu_of
from murmura.channel.weighted_chain import WeightedChain
from murmura.core.arrays import Floats, Longs
from murmura.core.contract import RoundContext
from murmura.core.interactions import Interactions
from murmura.engine.visit import visit
from murmura.kernels.proofs.field import Elements
from murmura.kernels.proofs.weighted_items import WeightedCounts, off_diagonal
from murmura.runtimes.simulation import simulated
from murmura.testing.data import crowd

EPSILON, DRAWS = 4.0, 1500


def scores(data: Interactions, halved: bool) -> tuple[Floats, Floats, float]:
    """Scores of releases with her and without, and the mu that the terms of the release promise."""
    given = {"epsilon": EPSILON, "minimum_cohort": 1, "hopeless": True}
    plan = simulated("fed-ease", given).plan(data, 0, None)
    counts = plan.algorithm.expected_counts(data)
    assert counts is not None
    plan, most = plan.with_counts(counts), int(data.user_counts.argmax())
    random = np.random.default_rng(0)
    there, absent = np.zeros(DRAWS), np.zeros(DRAWS)
    for phase in plan.algorithm.phases(plan.info):
        chain, context = plan.chains[phase.name], RoundContext(plan.info, phase.name, 0, {})
        history, rng = plan.people.history(most, 0), plan.people.rng(most, 0)
        sent = visit(plan.algorithm, phase, context, {}, history, rng, chain).vector
        assert sent is not None
        assert isinstance(chain, WeightedChain)
        for sigma, hers in numbers(chain, sent[1:]):
            for scored, signal in ((there, hers), (absent, 0 * hers)):
                noise = discrete_gaussian(sigma, DRAWS * len(hers), random.bytes).reshape(DRAWS, -1)
                scored += (signal + noise / (1 + halved)) @ hers / sigma**2
    return there, absent, mu_of(EPSILON, plan.noise.delta)


def numbers(chain: WeightedChain, released: Elements) -> list[tuple[int, Longs]]:
    """What somebody adds that is not 0, in steps, by the deviation of the noise in it."""
    if isinstance(chain.product, WeightedCounts):
        parts = [(chain.sigma, released.astype(np.int64))]
    else:
        G = chain.product.words.unpack_signed(released)
        off = G[np.triu_indices(len(G), 1)]
        parts = [(chain.sigma, G.diagonal()), (off_diagonal(chain.sigma), off)]
    return [(sigma, hers[hers > 0]) for sigma, hers in parts]


def advantage(there: Floats, absent: Floats, mu: float) -> tuple[float, float]:
    """True positives less false ones where both errors are alike, and the standard error."""
    right, wrong = float((there > mu**2 / 2).mean()), float((absent > mu**2 / 2).mean())
    return right - wrong, math.sqrt((right * (1 - right) + wrong * (1 - wrong)) / DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("halved", [False, True])
def test_the_best_test_of_membership_reaches_what_the_terms_allow_and_no_more(halved: bool) -> None:
    there, absent, mu = scores(crowd(60, 40), halved)
    allowed = 2 * norm.cdf(mu / 2) - 1
    found, error = advantage(there, absent, mu)
    assert (abs(found - allowed) < 3 * error) is not halved
    assert (abs(there.mean() - absent.mean() - mu**2) < 3 * mu * math.sqrt(2 / DRAWS)) or halved
