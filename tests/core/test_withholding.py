"""What people keep back at equal pi: the right number, the right ones, and the same ones for ever."""

import numpy as np
import pytest

from murmura.channel.consent_draws import ConsentChoices
from murmura.core.arrays import Bools
from murmura.core.consent import Consent, NonDisclosurePolicy, sticky_limit, undisclosed_rows
from murmura.core.errors import DataError, SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.rng import client_secrets
from murmura.testing import crowd

POLICIES: tuple[NonDisclosurePolicy, ...] = ("random", "categories", "rarest", "newest")


def world() -> Interactions:
    """A crowd with times; item i is of category i mod 4, and of category 4 where it is a multiple of 7.

    Every item has a feature of its own besides, which is no category.
    """
    data = crowd(40, 60)
    items = np.arange(data.n_items)
    item = np.concatenate([items, items, items[::7]]).astype(np.int32)
    label = np.concatenate([items, 60 + items % 4, np.full(len(items[::7]), 64)]).astype(np.int32)
    labels = (*(f"shape={i}" for i in items), *(f"category={name}" for name in "abcde"))
    features = ItemFeatures.of(labels, data.n_items, item, label)
    time = np.random.default_rng(2).permutation(len(data)).astype(np.int64)
    return Interactions(data.users, data.items, data.user, data.item, data.value, time, features)


def hidden(policy: NonDisclosurePolicy, pi: float, data: Interactions) -> Bools:
    return undisclosed_rows(policy, data, np.full(data.n_users, pi), client_secrets(5, data.n_users))


@pytest.mark.parametrize("policy", POLICIES)
def test_everyone_shares_floor_pi_n_and_a_smaller_pi_hides_more_of_the_same(
    policy: NonDisclosurePolicy,
) -> None:
    data, before = world(), None
    counts = np.diff(data.by_user.start)
    user = np.repeat(np.arange(data.n_users), counts)
    for pi in (1.0, 0.7, 0.29, 0.0):
        now = hidden(policy, pi, data)
        assert (np.bincount(user[~now], minlength=data.n_users) == sticky_limit(pi, counts)).all()
        assert before is None or (now >= before).all()
        before = now


def test_the_rarest_and_the_newest_are_hidden_first() -> None:
    data = world()
    rows = data.by_user
    assert data.time is not None
    popularity, time = np.asarray(data.item_counts)[rows.index], data.time[rows.order]
    rare, new = hidden("rarest", 0.5, data), hidden("newest", 0.5, data)
    for u in range(data.n_users):
        own = slice(rows.start[u], rows.start[u + 1])
        if rare[own].any() and not rare[own].all():
            assert popularity[own][rare[own]].max() <= popularity[own][~rare[own]].min()
            assert time[own][new[own]].min() > time[own][~new[own]].max()


def test_categories_are_hidden_whole_all_but_the_last() -> None:
    data = world()
    rows, marked = data.by_user, hidden("categories", 0.5, data)
    for u in range(data.n_users):
        own = slice(rows.start[u], rows.start[u + 1])
        split = 0
        for category in range(5):
            items = rows.index[own]
            member = items % 7 == 0 if category == 4 else items % 4 == category
            here = marked[own][member]
            split += bool(here.any() and not here.all())
        # one category is hidden in part; with it every other that one of its items has as well
        assert split <= 4
    whole = hidden("categories", 1.0, data)
    assert not whole.any()
    people = {tuple(np.unique(rows.of(u)[marked[rows.start[u] : rows.start[u + 1]]] % 4)) for u in range(40)}
    assert len(people) > 4  # everybody has an order of her own


@pytest.mark.parametrize("policy", POLICIES[1:])
def test_what_is_hidden_is_never_shared_and_the_rest_is(policy: NonDisclosurePolicy) -> None:
    data = world()
    secrets = client_secrets(5, data.n_users)
    choices = ConsentChoices.of(Consent(pi=0.4, hides=policy), data, secrets)
    consent = choices.population(data, secrets).consent
    assert (consent == np.where(hidden(policy, 0.4, data), 0.0, 1.0)).all()


def test_a_policy_that_cannot_be_kept_is_refused() -> None:
    data = crowd(10, 20)
    plain = Interactions(Vocabulary(np.arange(10)), data.items, data.user, data.item, data.value)
    with pytest.raises(DataError, match="no times"):
        hidden("newest", 0.5, plain)
    with pytest.raises(DataError, match="no item has one"):
        hidden("categories", 0.5, plain)
    with pytest.raises(SettingError, match="must be 'sticky'"):
        Consent(pi=0.5, hides="rarest", disclosure="per-triple")
