"""Between two releases: new items of a device count at once, and who took no part has a list of her own."""

from typing import Any

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.central import PooledItemKnn
from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import History
from murmura.core.interactions import Interactions
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.item_weights import NearestItems
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

SECURE = ChannelSettings(channel="secure-sum", minimum_cohort=1)
SETTINGS: dict[str, Any] = {"knn": 1.0, "k": 30, "least": 1, "recency": 1.0}


def data() -> Interactions:
    return crowd(80, 30)


def trained(train: Interactions, groups: Ints | None = None) -> FederatedModel:
    return fit(Plan(Cooccurrence(**SETTINGS), train, groups=groups, channel=SECURE), runtime=InProcess())


def by_hand(model: FederatedModel, item: Ints, time: Longs) -> Floats:
    """Rows of weights added up, the newest with 1, the one before it with a half, and so on."""
    counts = model.model["counts"][:, 0]
    known = np.flatnonzero(counts)
    near = NearestItems(model.model["neighbours"].astype(np.int32), model.model["similarity"]).dense()
    gap = np.array([(time > when).sum() + ((time == when).sum() - 1) / 2 for when in time])
    own, weight = np.searchsorted(known, item), 1 / (1 + gap)
    scores = np.full(len(counts), -np.inf)
    scores[known] = weight @ near[own]
    return scores


def test_an_item_that_a_device_adds_after_the_release_counts_in_its_own_ranking() -> None:
    model, train = trained(data()), data()
    user = 3
    state = {name: stack[user] for name, stack in model.ready.items()}
    known = History.of(train, user)
    assert known.time is not None
    new = int(np.setdiff1d(np.flatnonzero(train.item_counts), known.item)[0])
    item, time = np.append(known.item, new), np.append(known.time, known.time.max() + 1)
    more = History.private(item.astype(np.int32), 1.0, time=time)
    method, context = Cooccurrence(**SETTINGS), model.ready_context
    before = method.client_score(context, state, known)[0]
    after = method.client_score(context, state, more)[0]
    some = np.flatnonzero(train.item_counts)
    assert not np.allclose(before[some], after[some])
    expected = by_hand(model, more.item, np.asarray(more.time))
    assert np.corrcoef(expected[some], after[some])[0, 1] == pytest.approx(1, abs=1e-6)
    assert np.array_equal(np.argsort(-expected[some])[:5], np.argsort(-after[some])[:5])


def test_people_who_took_no_part_have_lists_of_their_own() -> None:
    """Two of them with other items get other lists, those that their rows give, and change no sum."""
    train = data()
    groups = np.arange(80, dtype=np.int32)
    groups[78:] = -1
    model, without = trained(train, groups), train.rows(train.user < 78)
    assert np.array_equal(model.model["counts"][:, 0], without.item_counts)
    lists = model.recommend(np.array([78, 79], np.int32), 10).item
    assert not np.array_equal(lists[0], lists[1])
    for user, shown in zip((78, 79), lists):
        own = History.of(train, user)
        scores = by_hand(model, own.item, np.asarray(own.time))
        scores[own.item] = -np.inf
        assert set(shown[shown >= 0].tolist()) == set(np.argsort(-scores)[: (shown >= 0).sum()].tolist())


def test_a_strangers_times_count_where_they_are_known() -> None:
    """With the same items in another order she gets another list, the same from pooled data."""
    train = data()
    model, pooled = trained(train), PooledItemKnn(**SETTINGS).fit(train)
    items = np.flatnonzero(train.item_counts)[:6].astype(np.int32)
    forth, back = np.arange(6), np.arange(6)[::-1]
    lists = [one.recommend_history(items, 10, forth).item[0].tolist() for one in (model, pooled)]
    assert lists[0] == lists[1]
    assert model.recommend_history(items, 10, back).item[0].tolist() != lists[0]
    alike = model.recommend_history(items, 10).item[0].tolist()
    assert model.recommend_history(items, 10, np.zeros(6, np.int64)).item[0].tolist() == alike
    twice, when = np.append(items, items[0]), np.append(forth, -5)  # an item counts at its latest time
    assert model.recommend_history(twice, 10, when).item[0].tolist() == lists[0]


def test_a_known_person_asked_for_as_a_stranger_has_the_same_list() -> None:
    train = data()
    model, own = trained(train), History.of(train, 3)
    again = model.recommend_history(own.item, 10, own.time).item
    assert np.array_equal(again, model.recommend(np.array([3], np.int32), 10).item)
