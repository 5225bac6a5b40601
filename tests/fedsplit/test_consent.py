"""Nothing that leaves a group is made from a rating that is not shared: no mean, no factor, no sum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.algorithms.one_shot.co_statistics import CoStatistics, FedSplitSvd
from murmura.algorithms.one_shot.ridge_rater import ItemMeans
from murmura.core.contract import Algorithm, FederationInfo, History, Phase, RoundContext
from murmura.core.errors import DataError
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.core.update import Arrays, Update
from murmura.lab.rivals.federated.fedmf import FedMF
from murmura.testing.checks import same_update

ITEMS = 40
PUBLIC = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), 3, 300, people=6)
SMALL: dict[str, Any] = {"factors": 3, "patterns": 4, "epochs": 40}
METHODS: dict[str, Algorithm] = {
    "printed": FedSplit(**SMALL),
    "counts": FedSplit(**SMALL, bias="counts"),
    "means": FedSplit(**SMALL, bias="means", finish="ridge"),
    "judged": FedSplit(**SMALL, judge="weigh"),
    "prior": FedSplit(**SMALL, unrated="prior"),
    "decoys": FedSplit(**SMALL, unrated="decoys"),
    "svd": FedSplitSvd(factors=3, rating_patterns=3, mask_patterns=2),
    "co-statistics": CoStatistics(rating_patterns=3, mask_patterns=2, block=15),
    "item-means": ItemMeans(),
    "fedmf": FedMF(factors=3),
}


def group() -> History:
    """Six people with about a third of thirty items; what four items got from anybody is not shared."""
    random = np.random.default_rng(0)
    rows = [(p, i) for p in range(6) for i in range(30) if random.random() < 0.3]
    person, item = np.array(rows, np.int32).T
    value = random.integers(1, 6, len(rows)).astype(np.float64)
    return History(item, value, np.where(item % 7 == 3, 0.0, 1.0), person)


def before(method: Algorithm) -> Arrays:
    """A model as it might be after exchange 0."""
    model = dict(method.server_init(PUBLIC, Rng(server_secret(0))).model)
    model["mu"] = np.array([3.2])
    if "prior" in model:
        drawn = np.random.default_rng(3).uniform(0.05, 0.6, (ITEMS, 2))
        model["prior"] = drawn.astype(model["prior"].dtype)
    return model


def sent(method: Algorithm, phase: Phase, history: History) -> Update:
    secret = client_secrets(0, 1)[0]
    context = RoundContext(PUBLIC, phase.name, 1, before(method))
    state = method.client_init(PUBLIC, history, Rng(secret))
    return method.client_step(context, state, history, Rng(secret, 1))[1]


@pytest.mark.parametrize("name", METHODS)
def test_what_leaves_is_the_same_with_other_hidden_ratings_and_without_them(name: str) -> None:
    method, history = METHODS[name], group()
    hidden = history.consent == 0
    assert 0 < hidden.sum() < len(history)
    changed = replace(history, value=np.where(hidden, 6 - history.value, history.value))
    shown = replace(history, value=np.where(hidden, history.value, 6 - history.value))
    for phase in method.phases(PUBLIC):
        update = sent(method, phase, history)
        assert same_update(update, sent(method, phase, changed))
        assert same_update(update, sent(method, phase, history.rows(~hidden)))
        assert not same_update(update, sent(method, phase, shown)) or phase.sends.tables == ()


@pytest.mark.parametrize("name", METHODS)
def test_an_item_one_member_hides_is_hidden_for_all(name: str) -> None:
    """A shared rating of it would name the item that somebody keeps to herself."""
    method, history = METHODS[name], group()
    first = history.item == history.item[0]
    assert first.sum() > 1
    share = np.ones(len(history))
    share[0] = 0.0
    for phase in method.phases(PUBLIC):
        alone = sent(method, phase, replace(history, consent=share))
        assert same_update(alone, sent(method, phase, replace(history, consent=np.where(first, 0.0, 1.0))))
        shows = method.client_discloses(
            phase, alone, replace(history, consent=share), Rng(client_secrets(0, 1)[0], 1)
        )
        assert not (shows & first).any()


@pytest.mark.parametrize("name", METHODS)
def test_who_shares_nothing_adds_nothing(name: str) -> None:
    method, history = METHODS[name], replace(group(), consent=np.zeros(len(group())))
    for phase in method.phases(PUBLIC):
        if phase.combine == "each":
            with pytest.raises(DataError, match="two people with ratings"):
                sent(method, phase, history)
            continue
        update = sent(method, phase, history)
        assert not any(update.scalars.values())
        assert not any(table.values.any() for table in update.tables.values())
