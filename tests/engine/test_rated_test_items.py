"""Candidates `rated-test`: lists are of a user's own test items, ranked, and some of them are relevant."""

import numpy as np
import pytest

from murmura.baselines.unpersonalised import MostPop
from murmura.core.catalogue import TEST, Catalogue, Dataset, Split
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.settings import as_dict
from murmura.data.splits.random_holdout import LegacyRandomHoldout
from murmura.engine.experiment import experiment, score
from murmura.engine.prepared import prepare
from murmura.engine.protocol import Candidates, Protocol, protocol
from murmura.studies.methods import method

POPULAR = {0: 5, 1: 4, 2: 3, 3: 2, 4: 1}  # item -> training rows; item 5 has none


def known() -> Split:
    """User 0 holds out items 1 (rated 1), 2 (rated 5), 4 (rated 4), 5 (rated 5); others make items popular."""
    rows = [(0, 1, 1.0), (0, 2, 5.0), (0, 4, 4.0), (0, 5, 5.0)]
    part = [TEST] * len(rows)
    for item, times in POPULAR.items():
        rows += [(1 + place, item, 3.0) for place in range(times)]
        part += [0] * times
    user, items, value = (np.array(column) for column in zip(*rows))
    data = Interactions.of(user, items, value)
    return Split("known", data, np.array(part, np.uint8))


def rules(candidates: Candidates) -> Protocol:
    return Protocol(
        name="known",
        filters=(),
        split=LegacyRandomHoldout(),
        relevant_from=3.0,
        candidates=candidates,
        cutoffs=(2,),
    )


def test_known_answers() -> None:
    split = known()
    model = MostPop().fit(split.train)
    found = score(model, split, rules("rated-test"), 1, (2, 4))
    assert found.lists is not None
    assert found.lists.item.tolist() == [[1, 2, 4, -1]]  # by popularity; item 5 occurs in no training row
    values = found.evaluation.values
    assert values["P@2"] == 0.5  # of items 1 and 2 the second is relevant
    assert values["R@2"] == pytest.approx(1 / 3)
    assert values["nDCG@2"] == pytest.approx((1 / np.log2(3)) / (1 + 1 / np.log2(3)))
    assert values["P@4"] == 0.5
    assert values["R@4"] == pytest.approx(2 / 3)
    every = score(model, split, rules("all-unrated"), 1, (2,))
    assert every.lists is not None
    assert every.lists.item.tolist() == [[0, 1]]  # item 0, the most popular, is in nobody's test part
    assert every.evaluation.values["P@2"] == 0


@pytest.mark.parametrize("name", ["user-knn", "sfpl"])
def test_lists_are_the_test_items_in_the_order_of_all_items(name: str) -> None:
    """A twin in plain Python: the whole ranking, then only what the user has held out."""
    random = np.random.default_rng(3)
    user, item = np.nonzero(random.random((30, 25)) < 0.6)
    data = Interactions.of(user, item, random.integers(1, 6, len(user)).astype(float))
    split = LegacyRandomHoldout().apply(data)
    short = {"epochs": 2} if name == "sfpl" else {}
    found = experiment(method(name, short), split, rules("rated-test"), cutoffs=(25,))
    whole = found.model.recommend(found.evaluation.users, 25)
    assert found.lists is not None
    for who, own, everything in zip(whole.user.tolist(), found.lists.item.tolist(), whole.item.tolist()):
        held_out = set(split.test.by_user.of(who).tolist())
        assert [one for one in own if one >= 0] == [one for one in everything if one in held_out]


def test_it_is_asked_for_by_the_name_of_a_protocol() -> None:
    random = np.random.default_rng(3)
    user, item = np.nonzero(random.random((40, 30)) < 0.7)
    data = Interactions.of(user, item, random.integers(1, 6, len(user)).astype(float))
    dataset = Dataset("ours", data, Catalogue(data.items))
    usual, other = protocol("kgflex", dataset), protocol("kgflex:candidates=rated-test,seed=7", dataset)
    assert other.candidates == "rated-test"
    assert other.split == LegacyRandomHoldout(test=0.2, validation=0.2, seed=7)
    assert "candidates" not in as_dict(usual)  # folders of runs are as they were
    assert as_dict(other)["candidates"] == "rated-test"
    assert prepare(dataset, other).split.name == "random-legacy(test=0.2, validation=0.2, seed=7)"
    with pytest.raises(SettingError, match="candidates"):
        protocol("kgflex:candidates=some", dataset)


@pytest.mark.parametrize("name", ["default", "fpl", "cold", "ratings"])
def test_refused_where_every_list_would_be_perfect(name: str) -> None:
    data = known().data
    with pytest.raises(SettingError, match="needs a protocol in which some held-out rows are relevant"):
        protocol(f"{name}:candidates=rated-test", Dataset("ours", data, Catalogue(data.items)))
