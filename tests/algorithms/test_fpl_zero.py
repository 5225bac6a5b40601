"""pi = 0: nobody sends a positive, and the sum of the negatives teaches how popular every item is."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from murmura.core.interactions import Interactions
from murmura.data.sources.synthetic import synth
from murmura.runtimes.simulation import simulate

ITEMS = 120
NOTHING = {"pi": 0.0, "factors": 4, "alpha": 0.005}  # is shared


@pytest.fixture(scope="module")
def data() -> Interactions:
    return synth(users=200, items=ITEMS, interactions=4000, seed=1).interactions


def test_an_item_is_pushed_down_by_those_who_do_not_have_it(data: Interactions) -> None:
    """One triple a visit pushes j down with probability 1/m_u, m_u the items on offer that u has not."""
    rounds = 300
    fitted = simulate("pfpl", data, {**NOTHING, "rounds": rounds})
    held = np.zeros((data.n_users, data.n_items), np.bool_)
    held[data.user, data.item] = True
    listed = np.asarray(data.item_counts) > 0
    chance = np.where(held, 0.0, 1.0 / (listed.sum() - held.sum(axis=1))[:, None])[:, listed]
    expected, sent = rounds * chance.sum(axis=0), fitted.ledger.item_rows[listed]
    spread = np.sqrt(rounds * (chance * (1 - chance)).sum(axis=0))
    assert (np.abs(sent - expected) < 5 * spread).all()
    assert np.nanmax(fitted.ledger.disclosed) == 0


def test_the_biases_learn_popularity_from_negatives_alone(data: Interactions) -> None:
    popularity, found = np.asarray(data.item_counts), []
    for rounds in (1, 3000):
        model = simulate("pfpl", data, {**NOTHING, "rounds": rounds}).model
        found.append(float(spearmanr(model["b"], popularity).statistic))
    assert abs(found[0]) < 4 / np.sqrt(ITEMS)  # the first values know nothing
    assert found[1] > 0.9


def test_the_lists_of_people_who_share_nothing_become_those_of_what_is_popular(data: Interactions) -> None:
    fitted = simulate("pfpl", data, {**NOTHING, "rounds": 3000})
    scores, popularity = fitted.score(np.arange(data.n_users, dtype=np.int32)), np.asarray(data.item_counts)
    head = set(np.argsort(-popularity, kind="stable")[: ITEMS // 10].tolist())
    best = np.argsort(-scores, axis=1, kind="stable")[:, : ITEMS // 10]
    share = np.mean([item in head for row in best for item in row.tolist()])
    assert share > 0.5  # a random recommender has 0.1
