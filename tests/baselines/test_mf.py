"""Where logistic matrix factorisation draws its negatives from."""

import numpy as np

from murmura.core.interactions import Interactions
from murmura.kernels.factorisation.triple_sampling import UserItems
from murmura.lab.rivals.mf import Mf

ITEMS, HELD = 20, 5


def people(users: int = 40) -> Interactions:
    rng = np.random.default_rng(0)
    item = np.concatenate([rng.permutation(ITEMS)[:HELD] for _ in range(users)])
    return Interactions.of(np.repeat(np.arange(users), HELD), item)


def own(train: Interactions, users: np.ndarray, items: np.ndarray) -> int:
    held = set(zip(train.user.tolist(), train.item.tolist()))
    return sum(pair in held for pair in zip(users.tolist(), items.tolist()))


def test_an_unmet_negative_is_never_ones_own() -> None:
    train = people()
    users, items = Mf(negatives=50).drawn_negatives(train, 0, 1)
    assert len(users) == 50 * len(train)
    assert own(train, users, items) == 0


def test_of_all_items_ones_own_are_drawn_as_often_as_any() -> None:
    train = people()
    every = Mf(negatives=50, negatives_from="all")
    users, items = every.drawn_negatives(train, 0, 1)  # what a check for leaks sees: without one's own
    assert own(train, users, items) == 0
    n, share = 50 * len(train), 1 - HELD / ITEMS
    assert abs(len(users) - n * share) < 4 * np.sqrt(n * share * (1 - share))
    nobody = every.drawn_from(UserItems.of(train))
    assert (nobody.start == 0).all()
    assert nobody.listed.tolist() == UserItems.of(train).listed.tolist()


def test_the_rule_changes_what_is_learned() -> None:
    train = people()
    unmet, every = (Mf(epochs=2, negatives_from=rule).fit(train) for rule in ("unmet", "all"))
    assert not np.array_equal(unmet.P, every.P)
    assert np.array_equal(every.P, Mf(epochs=2, negatives_from="all").fit(train).P)
