"""Who leaves is taken out of exact sums to the bit; why nobody is alone, shown by the attack."""

from dataclasses import replace

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.algorithms.cooccurrence.private import PrivateCooccurrence
from murmura.algorithms.cooccurrence.release_differences import Release, ReleaseDifference
from murmura.algorithms.fpl.fpl import FPL
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, ServerState
from murmura.core.errors import FederationError, SettingError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.schedule import Schedule
from murmura.engine.federation import Federation
from murmura.engine.plan import Plan
from murmura.kernels.proofs.pair_words import RankedItems
from murmura.lab import unlearning
from murmura.lab.unlearning import unlearned
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

EVERYONE, ITEMS, LEAST = 40, 25, 3
ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)
METHODS = [
    Cooccurrence(ease=1.0, reg=5.0, least=LEAST),
    Cooccurrence(knn=1.0, k=4, least=LEAST),
    Cooccurrence(knn=0.5, ease=1.0, k=40, least=12),  # many items fall out of the pairs
]


def federation(
    method: Algorithm, data: Interactions, minimum: int = 1, path: str = "auto", pi: float = 1.0
) -> Federation:
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=minimum)
    plan = Plan(method, data, Schedule(clients="all", rounds=1), Consent(pi=pi), channel=channel)
    runtime = InProcess(path=path)  # type: ignore[arg-type]
    f = Federation.begin(plan, runtime.kernel_for(method, plan.algorithm.phases(plan.info)))
    runtime.run(f, range(plan.itinerary.rounds))
    return f


def data() -> Interactions:
    return crowd(EVERYONE, ITEMS)


def never_in(people: list[int]) -> Interactions:
    """The same data of a world without these people."""
    whole = data()
    there, stay = ~np.isin(whole.user, people), np.setdiff1d(np.arange(EVERYONE), people)
    users = Vocabulary(whole.users.labels[stay])
    user = np.searchsorted(stay, whole.user[there]).astype(np.int32)
    time = None if whole.time is None else whole.time[there]
    return replace(whole, user=user, item=whole.item[there], value=whole.value[there], time=time, users=users)


def assert_same(found: ServerState, expected: ServerState) -> None:
    for mine, theirs in ((found.model, expected.model), (found.private, expected.private)):
        assert mine.keys() == theirs.keys()
        for name in theirs:
            np.testing.assert_array_equal(mine[name], theirs[name], strict=True)


@pytest.mark.parametrize("path", ["plain", "auto"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("people", [[7], [0], [1], [3, 9, 20, 39]])
def test_the_release_is_the_one_they_were_never_in_to_the_bit(
    method: Cooccurrence, path: str, people: list[int]
) -> None:
    """The first person has no item, the second has them all."""
    f = federation(method, data(), path=path)
    expected = federation(method, never_in(people), path=path)
    assert_same(unlearned(f, people), expected.server)


def test_items_that_become_too_rare_leave_the_pairs() -> None:
    method = METHODS[2]
    before = federation(method, data()).server
    after = unlearned(federation(method, data()), [1, 5, 6])
    sizes = [
        len(RankedItems.of(one.model["counts"][:, 0].astype(np.int64), method.least)) for one in (before, after)
    ]
    assert 2 < sizes[1] < sizes[0]


def test_what_she_kept_to_herself_is_not_subtracted() -> None:
    """At pi below 1 the same coins fall again: rows that were never shared are not subtracted."""
    f = federation(METHODS[0], data(), pi=0.5)
    after = unlearned(f, [1])
    fewer = f.server.model["counts"][:, 0].astype(int) - after.model["counts"][:, 0].astype(int)
    assert set(fewer.tolist()) == {0, 1}
    assert 0 < fewer.sum() < ITEMS  # person 1 has all items and shared half of them


def read_from_difference(before: ServerState, after: ServerState) -> tuple[Ints, int]:
    """What whoever has both releases reads: items whose count differs, and how many people that must be of."""
    difference = ReleaseDifference(Release.of(after), Release.of(before), LEAST)
    return np.flatnonzero(difference.counts).astype(np.int32), int(difference.counts.max())


def hers(person: int) -> Ints:
    whole = data()
    return np.sort(whole.item[whole.user == person])


def test_a_single_one_would_be_read_from_the_difference_so_she_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The attack against a release that takes out one person: her list and her pairs, without an error."""
    f = federation(METHODS[0], data(), minimum=8)
    with pytest.raises(SettingError, match="at least 8 people must leave a release together, but 1 do"):
        unlearned(f, [7])
    with pytest.raises(SettingError, match="but 7 do"):
        unlearned(f, [2, 3, 4, 5, 6, 7, 8, 7])
    monkeypatch.setattr(unlearning, "check_batch", lambda *_: None)
    items, most = read_from_difference(f.server, unlearned(f, [7]))
    assert most == 1
    assert items.tolist() == hers(7).tolist()
    difference = ReleaseDifference(Release.of(unlearned(f, [7])), Release.of(f.server), LEAST)
    both, grown = difference.pairs()
    own = np.isin(both, hers(7))
    np.testing.assert_array_equal(grown, np.outer(own, own) & ~np.eye(len(both), dtype=bool))


def test_of_a_batch_the_difference_is_a_sum_of_as_many_as_a_release_needs() -> None:
    f, batch = federation(METHODS[0], data(), minimum=8), [4, 5, 6, 7, 8, 9, 10, 11]
    items, most = read_from_difference(f.server, unlearned(f, batch))
    assert most > 1
    union = np.unique(np.concatenate([hers(person) for person in batch]))
    assert items.tolist() == union.tolist()
    assert all(set(hers(person).tolist()) < set(items.tolist()) for person in batch)  # nobody's own list


def test_a_release_in_which_as_many_have_come_and_gone_is_no_ones_list() -> None:
    """Person 7 leaves while eight others come: the difference has items of theirs in it, with both signs."""
    newcomers = [30, 31, 32, 33, 34, 35, 36, 37]
    before = federation(METHODS[0], never_in(newcomers)).server
    after = federation(METHODS[0], never_in([7])).server
    counts = ReleaseDifference(Release.of(before), Release.of(after), LEAST).counts
    assert not np.array_equal(np.flatnonzero(counts < 0), hers(7))
    assert not np.array_equal(np.flatnonzero(counts), hers(7))


def test_who_was_not_in_it_cannot_be_taken_out() -> None:
    method = METHODS[0]
    small, f = federation(method, never_in([1])), federation(method, data())
    gone = {
        phase.name: unlearning._sum(f, phase, done, np.array([1], np.int32))
        for done, phase in enumerate(f.plan.itinerary.setup)
    }
    gone["counts"].update.tables["counts"].values[:] += np.uint32(EVERYONE)
    with pytest.raises(FederationError, match="only people who are in a release"):
        method.server_unlearn(small.server, gone)


def test_where_there_are_no_sums_the_bound_is_stated() -> None:
    trained = federation(FPL(factors=2), data())
    with pytest.raises(
        SettingError, match="bounded by the clip and the noise, and a new training leaves her out"
    ):
        unlearned(trained, [3])
    parts = federation(Cooccurrence(ease=1.0, parts=2, least=LEAST), data())
    with pytest.raises(SettingError, match="make a new release without them"):
        unlearned(parts, [3])


def test_noisy_sums_are_not_subtracted_from() -> None:
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=1, epsilon=50.0, hopeless=True)
    plan = Plan(PrivateCooccurrence(eigenvectors=4), data(), ONCE, channel=channel)
    f = Federation.begin(plan)
    InProcess(path="plain").run(f, range(plan.itinerary.rounds))
    with pytest.raises(SettingError, match="epsilon bounds what noisy ones tell of anybody"):
        unlearned(f, [3])


def test_packing_sums_is_the_opposite_of_unpacking() -> None:
    counts = np.array([1, 3, 4, 9, 30, 2, 3], np.int64)
    layout = RankedItems.of(counts, 2)
    rng = np.random.default_rng(0)
    G = np.triu(rng.integers(0, 2**30, (len(layout), len(layout))) % (1 + layout.counts[:, None]), 1)
    found = layout.pairs.unpack(layout.pairs.pack_sums(G.astype(np.int64)))
    np.testing.assert_array_equal(found, G + G.T)
