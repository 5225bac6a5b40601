"""Updates that speak of every item: who is made up to have rated, what consent keeps out, what is bounded."""

import numpy as np
import pytest

from murmura.algorithms.fedsplit.cover import (
    _raters,
    prior_of,
    prior_sums,
    with_decoys,
)
from murmura.algorithms.fedsplit.fedsplit import FedSplit, Unrated
from murmura.core.arrays import Bools, Floats
from murmura.core.contract import FederationInfo, History, RoundContext
from murmura.core.rng import Rng, client_secrets
from murmura.core.update import Update
from tests.fedsplit.test_kit import GroupKit

ITEMS, MU = 40, 3.4
PUBLIC = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), 3, 300, people=6)
METHOD = FedSplit(factors=3, patterns=4, epochs=60, unrated="decoys")


def prior() -> Floats:
    random = np.random.default_rng(3)
    return np.column_stack([random.normal(0, 0.4, ITEMS), random.uniform(0.05, 0.6, ITEMS)])


def group(seed: int = 0) -> History:
    """Six people, each with some of the first 30 items."""
    random = np.random.default_rng(seed)
    rows = [(p, i) for p in range(6) for i in range(30) if random.random() < 0.3]
    person, item = np.array(rows, np.int32).T
    value = random.integers(1, 6, len(rows)).astype(np.float64)
    return History(item, value, np.ones(len(rows)), person)


def letter(history: History, method: FedSplit = METHOD) -> Update:
    model = {"mu": np.array([MU]), "prior": prior().astype(np.float32)}
    context = RoundContext(
        PUBLIC, "factors", 1, {**model, "patterns": np.zeros((ITEMS, 4)), "b": np.zeros(ITEMS)}
    )
    state = method.client_init(PUBLIC, history, Rng(client_secrets(0, 1)[0]))
    return method.client_step(context, state, history, Rng(client_secrets(0, 1)[0], 1))[1]


class TestPrior(GroupKit):
    def make(self) -> FedSplit:
        return FedSplit(factors=3, patterns=4, epochs=200, unrated="prior")


class TestDecoys(GroupKit):
    def make(self) -> FedSplit:
        return FedSplit(factors=3, patterns=4, epochs=200, unrated="decoys", clip=5.0)


def forced(chance: Floats, random: np.random.Generator) -> Bools:
    """The impostor: one person drawn evenly must rate, the others as they like."""
    rated = random.random(chance.shape) < chance
    rated[random.integers(0, len(chance), chance.shape[1]), np.arange(chance.shape[1])] = True
    return rated


def test_raters_are_drawn_as_if_somebody_had_rated() -> None:
    """Everyone's chance given that somebody rates is q_u / (1 - prod(1 - q)); within four standard errors."""
    n, q = 20_000, np.array([0.05, 0.3, 0.1])
    expected = q / (1 - np.prod(1 - q))
    error = 4 * np.sqrt(expected * (1 - expected) / n)
    who, which = _raters(np.tile(q[:, None], (1, n)), Rng(client_secrets(1, 1)[0]).stream(9))
    assert len(np.unique(which)) == n
    assert (np.abs(np.bincount(who, minlength=3) / n - expected) < error).all()
    wrong = forced(np.tile(q[:, None], (1, n)), np.random.default_rng(0)).mean(axis=1)
    assert (np.abs(wrong - expected) > error).all()


def test_every_item_gets_a_rating_of_somebody_in_the_group_and_true_ones_stay() -> None:
    history = group()
    people = np.arange(6, dtype=np.int32)
    covered = with_decoys(history, people, PUBLIC, prior(), MU, Rng(client_secrets(0, 1)[0]).stream(9))
    assert set(covered.item.tolist()) == set(range(ITEMS))
    assert covered.person is not None
    assert history.person is not None
    true = set(zip(history.person.tolist(), history.item.tolist(), history.value.tolist()))
    rows = set(zip(covered.person.tolist(), covered.item.tolist(), covered.value.tolist()))
    assert true <= rows
    made_up = {row[1] for row in rows - true}
    assert made_up == set(range(ITEMS)) - set(history.item.tolist())
    assert set(covered.value.tolist()) <= set(history.value.tolist())
    assert (np.diff(covered.person * ITEMS + covered.item) > 0).all()


@pytest.mark.parametrize("unrated", ["prior", "decoys"])
def test_every_item_on_offer_has_a_row_and_no_number_is_beyond_the_bound(unrated: Unrated) -> None:
    method = FedSplit(factors=3, patterns=4, epochs=60, unrated=unrated, clip=0.5)
    sent = letter(group(), method).tables["items"]
    assert len(sent) == ITEMS
    assert sent.values[:, :3].any(axis=1).all()
    assert np.abs(sent.values).max() == 0.5
    free = letter(group(), FedSplit(factors=3, patterns=4, epochs=60, unrated=unrated))
    phase = method.phases(PUBLIC)[1]
    assert "must be at most 0.5" in (method.server_refuses(phase, free) or "")


def test_the_prior_is_the_shrunk_mean_and_the_share_of_people() -> None:
    histories = [group(seed) for seed in range(3)]
    sums = sum(prior_sums(one, ITEMS) for one in histories)
    found = prior_of(np.asarray(sums), MU, 18)
    item, value = (np.concatenate([getattr(one, name) for one in histories]) for name in ("item", "value"))
    for j in (0, 7, 35):
        own = value[item == j]
        assert found[j] == pytest.approx([(own - MU).sum() / (len(own) + 5), len(own) / 18])
