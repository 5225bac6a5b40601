"""Exact sums tell something for certain of people of whom one item is known; noisy ones guess."""

import numpy as np
from benchmarks.exact_sums import known_item, noisy_item, pairs_of

from murmura.core.interactions import Interactions
from murmura.data.sources.synthetic import synth


def test_epsilon_leaves_no_certain_disclosure() -> None:
    crowd = synth(users=300, items=100, interactions=6000, seed=1).interactions
    six = np.arange(6)  # who all have two more items
    data = Interactions.of(np.append(crowd.user, [six, six]), np.append(crowd.item, [6 * [100], 6 * [101]]))
    counts = np.asarray(data.item_counts, np.int64)
    exact = {case: (found, of) for case, found, of in known_item(data, pairs_of(data), counts)}
    assert exact["people"][0] >= 6
    assert exact["assertions that are right"][0] == exact["assertions that are right"][1]
    noisy = {case: found / of for case, found, of in noisy_item(data)}
    assert noisy["assertions that are right"] < 1.3 * noisy["items at random that are right"] < 0.5
