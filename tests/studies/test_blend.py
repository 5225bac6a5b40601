"""Blends are chosen from two trainings, without a test row, and score as a training with them would."""

import numpy as np
import pytest

from murmura.core.errors import SettingError
from murmura.data.sources.registry import load
from murmura.engine.prepared import prepare
from murmura.engine.protocol import protocol
from murmura.lab.blend.run import MODEL, Blend, blended, blends, choose
from murmura.runtimes.simulation import simulated

SMALL = {"epochs": 3, "item_factors": 4, "factors": 2, "item_reg": 2.0, "gamma": 0.1}


def test_the_most_accurate_that_covers_enough_is_chosen() -> None:
    found = [
        Blend(0.0, 0.0, 0.3, 10),
        Blend(0.1, 0.0, 0.2, 20),
        Blend(0.1, 0.1, 0.2, 30),
        Blend(0.2, 0.1, 0.1, 40),
    ]
    assert choose(found, 0) is found[0]
    assert choose(found, 15) is found[2]  # of equals the wider
    assert choose(found, 40) is found[3]
    with pytest.raises(SettingError, match="41 is above the widest, 40"):
        choose(found, 41)


@pytest.mark.slow
def test_a_blend_is_what_a_training_with_it_gives() -> None:
    dataset = load("embedded")
    prepared = prepare(dataset, protocol("kgflex", dataset))
    train = prepared.split.train
    one = simulated(MODEL, {**SMALL, "weight": 0.3, "discount": 0.1}).fit(train)
    other = blended(simulated(MODEL, SMALL).fit(train), 0.3, 0.1)
    users = np.arange(20, dtype=np.int32)
    assert one.score(users).tobytes() == other.score(users).tobytes()
    found = list(blends(prepared, SMALL, "nDCG@10", ((0.0, 0.3), (0.0, 0.1))))
    assert [(blend.weight, blend.discount) for blend in found] == [
        (0.0, 0.0),
        (0.0, 0.1),
        (0.3, 0.0),
        (0.3, 0.1),
    ]
    assert len({blend.accuracy for blend in found}) > 1
    assert all(0 < blend.coverage <= train.n_items for blend in found)
