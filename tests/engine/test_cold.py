"""Protocol `cold`: items nobody has met are ranked by what is known of them, and by nothing else."""

import numpy as np
import pytest

from murmura.core.arrays import Bools
from murmura.core.catalogue import TEST, VALIDATION, Split
from murmura.core.interactions import Interactions
from murmura.core.model import Model
from murmura.core.settings import changed
from murmura.data.sources.registry import load
from murmura.data.splits.random_holdout import ColdItems
from murmura.engine.experiment import experiment, score
from murmura.engine.prepared import prepare, whole_split
from murmura.engine.protocol import Protocol, protocol
from murmura.runtimes.simulation import simulate
from murmura.studies.methods import method
from tests.baselines.kit import featured

ITEMS = 40


@pytest.fixture(scope="module")
def board() -> Split:
    """Everyone likes about half of the items of her colour and none of the other; the colour is a feature."""
    likes = np.random.default_rng(5).random((60, ITEMS)) < 0.5
    likes &= np.arange(ITEMS)[None, :] % 2 == np.arange(60)[:, None] % 2
    user, item = np.nonzero(likes)
    data = Interactions.of(user, item)
    coloured = featured(data, *([item % 2] for item in range(ITEMS)))
    return ColdItems(test=0.25, validation=0.25, seed=3).apply(coloured)


def rules() -> Protocol:
    return Protocol(name="cold", filters=(), split=ColdItems(), cutoffs=(3,))


def held(split: Split) -> Bools:
    return split.test.item_counts > 0


def test_an_item_is_in_one_part_whole(board: Split) -> None:
    parts = [np.unique(board.data.item[board.part == part]) for part in (0, VALIDATION, TEST)]
    assert [len(part) for part in parts] == [23, 7, 10]  # a quarter, then a quarter of the rest
    assert len(np.unique(np.concatenate(parts))) == ITEMS
    again = ColdItems(test=0.25, validation=0.25, seed=3).apply(board.data)
    assert np.array_equal(again.part, board.part)
    assert not np.array_equal(ColdItems(test=0.25, seed=4).apply(board.data).part == TEST, board.part == TEST)


def test_what_is_chosen_on_is_cold_too_and_knows_no_test_item(board: Split) -> None:
    choice = board.selection()
    assert not (held(choice) & (choice.train.item_counts > 0)).any()
    assert not (held(choice) & held(board)).any()


@pytest.mark.parametrize("name", ["vsm", "kahfm", "kgflex", "kgflex-hybrid"])
def test_features_find_the_cold_items_of_the_own_colour(board: Split, name: str) -> None:
    settings = {"clients": 30, "epochs": 60, "unshared": "keep"} if name.startswith("kgflex") else {}
    outcome = experiment(method(name, settings), board, rules())
    assert outcome.lists is not None
    shown = outcome.lists.item
    assert held(board)[shown[shown >= 0]].all()
    assert (shown % 2 == outcome.lists.user[:, None] % 2).all()
    blind = experiment(method("mostpop", {}), board, rules()).lists
    assert blind is not None
    assert held(board)[blind.item].all()
    assert not (blind.item % 2 == blind.user[:, None] % 2).all()  # nothing but features could tell


def test_the_vectors_of_cold_items_are_what_their_features_say(board: Split) -> None:
    settings = {"clients": 30, "epochs": 20, "negatives": 20, "first_limit": 200, "second_limit": 200}
    alone = simulate("kgflex", board.train, settings)
    users, cold = np.arange(60, dtype=np.int32), held(board)
    features = alone.score(users)
    expected = 0.25 * features / features.std(axis=1, keepdims=True)
    without = simulate("kgflex-hybrid", board.train, {**settings, "weight": 0.25, "content": 0.0})
    np.testing.assert_allclose(without.score(users)[:, cold], expected[:, cold], rtol=1e-5, atol=1e-9)
    assert not np.allclose(without.score(users)[:, ~cold], expected[:, ~cold])
    drawn = simulate("kgflex-hybrid", board.train, {**settings, "weight": 0.0, "content": 1.0})
    own = np.arange(ITEMS)[None, :] % 2 == users[:, None] % 2  # items of her colour
    scores = drawn.score(users)
    hers, others = (np.nanmean(np.where(mask, scores, np.nan)[:, cold]) for mask in (own, ~own))
    assert hers > others, "a cold item of her colour must score above one of the other"


def test_every_other_protocol_ranks_the_items_of_training(board: Split) -> None:
    model: Model = method("vsm", {}).fit(board.train)
    lists = score(model, board, protocol("default", load("embedded")), 1, (3,)).lists
    assert lists is not None
    assert not held(board)[lists.item].any()


def test_the_protocol_is_that_of_kgflex_but_for_the_split() -> None:
    dataset = load("embedded")
    ours, theirs = protocol("cold", dataset), protocol("kgflex", dataset)
    assert changed(ours, name="kgflex", split=theirs.split, gini_catalogue="train") == theirs
    whole = whole_split(dataset, ours)
    assert not (held(whole) & (whole.train.item_counts > 0)).any()
    assert whole.train.features is not None
    assert prepare(dataset, ours).describe()
