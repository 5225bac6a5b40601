"""Relevant items among drawn ones: known answers, a plain twin, and draws that are what they say."""

import numpy as np
import pytest

from murmura.baselines.unpersonalised import MostPop
from murmura.core.arrays import Ints
from murmura.core.catalogue import TEST, Split
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng, client_secrets
from murmura.data.splits.temporal import LeaveOneOut
from murmura.engine.experiment import score
from murmura.engine.protocol import Protocol
from murmura.evaluation.relevance import Relevance
from murmura.evaluation.sampled import (
    CandidateDraws,
    evaluate_sampled,
    refuse_too_many,
    sampled_key,
    sampled_lists,
)
from murmura.kernels.ranking import draw_unmet

ITEMS = 30


def world(seed: int = 0, users: int = 12) -> Split:
    """Everyone has eight items, one or two of them held out."""
    rng = np.random.default_rng(seed)
    item = np.concatenate([rng.permutation(ITEMS)[:8] for _ in range(users)])
    part = np.tile([TEST, 0, 0, 0, 0, 0, 0, 0], users).astype(np.uint8)
    part[1::16] = TEST
    user = np.repeat(np.arange(users), 8)
    every = Interactions.of(np.r_[user, np.full(ITEMS, users)], np.r_[item, np.arange(ITEMS)])
    return Split("world", every, np.r_[part, np.zeros(ITEMS, np.uint8)])


def drawn(split: Split, users: Ints, m: int, draw: int, seed: int = 3) -> Ints:
    data, out = split.data, np.empty((len(users), m), np.int32)
    keys = client_secrets(seed, data.n_users)
    draw_unmet(users, data.by_user.start, data.by_user.index, data.n_items, keys, draw, out)
    return out


def test_a_draw_is_the_one_the_specification_says() -> None:
    split, users = world(), np.arange(12, dtype=np.int32)
    secrets = client_secrets(3, split.data.n_users)
    for draw in (0, 1, 7):
        found = drawn(split, users, 9, draw)
        for user in users.tolist():
            unmet = np.setdiff1d(np.arange(ITEMS), split.data.by_user.of(user))
            places = Rng(secrets[user], draw).stream(Purpose.CANDIDATES).choose(len(unmet), 9)
            assert sorted(found[user].tolist()) == unmet[places].tolist()


def test_all_that_is_left_can_be_drawn_and_no_more() -> None:
    split, users = world(), np.arange(12, dtype=np.int32)
    everything = drawn(split, users, ITEMS - 8, 0)
    for user in users.tolist():
        assert sorted([*everything[user].tolist(), *split.data.by_user.of(user).tolist()]) == list(range(ITEMS))
    refuse_too_many(split.data, users, ITEMS - 8)
    with pytest.raises(
        SettingError, match=r"but it is 23 and user 0 lacks 22 of the 30 items; draw 22 or fewer"
    ):
        refuse_too_many(split.data, users, ITEMS - 7)


def test_every_unmet_item_is_drawn_alike() -> None:
    split, times = world(), np.zeros(ITEMS)
    for draw in range(4000):
        times[drawn(split, np.zeros(1, np.int32), 5, draw)] += 1
    unmet = np.setdiff1d(np.arange(ITEMS), split.data.by_user.of(0))
    assert times.sum() == times[unmet].sum() == 20_000
    share = 5 / len(unmet)
    assert np.abs(times[unmet] - 4000 * share).max() < 4.5 * np.sqrt(4000 * share * (1 - share))


def test_lists_are_those_of_a_plain_loop() -> None:
    split, how = world(2), CandidateDraws(6, 3, 3)
    truth = Relevance.of(split)
    scores = (
        np.random.default_rng(1).integers(0, 5, (split.data.n_users, ITEMS)).astype(np.float32)
    )  # many ties
    lists = sampled_lists(lambda users: scores[users].copy(), split.data, truth, how, 4)
    for draw, found in enumerate(lists):
        others = drawn(split, truth.users, 6, draw)
        for row, user in enumerate(truth.users.tolist()):
            held = split.test.by_user.of(user)
            order = [(-scores[user, i], 0, place, i) for place, i in enumerate(others[row].tolist())]
            order += [(-scores[user, i], 1, place, i) for place, i in enumerate(held.tolist())]
            assert found.item[row].tolist() == [i for *_, i in sorted(order)][:4]


def test_ties_are_against_the_relevant_item() -> None:
    split = world()
    flat = evaluate_sampled(
        lambda users: np.zeros((len(users), ITEMS)),
        split,
        CandidateDraws(5, 2, 0),
        cutoffs=(5, 7),
        metrics=("HR",),
    )
    assert flat.values == {"HR/sampled@5": 0.0, "HR/sampled@7": 1.0}  # two relevant items at most come last


def test_what_is_never_listed_is_no_hit() -> None:
    split = world()
    nothing = evaluate_sampled(
        lambda users: np.full((len(users), ITEMS), -np.inf),
        split,
        CandidateDraws(5, 2, 0),
        metrics=("HR", "IC"),
    )
    assert nothing.values == {"HR/sampled@10": 0.0}  # and coverage is of full lists alone


def test_the_full_ranking_stays_and_the_sampled_one_stands_beside_it() -> None:
    split = world()
    full = Protocol(name="full", filters=(), split=LeaveOneOut(), cutoffs=(3,))
    beside = Protocol(name="both", filters=(), split=LeaveOneOut(), cutoffs=(3,), candidates=6, draws=4)
    model = MostPop().fit(split.train)
    alone = score(model, split, full, 1, (3,)).evaluation
    both = score(model, split, beside, 1, (3,)).evaluation
    assert {key: both.values[key] for key in alone.values} == alone.values
    assert set(both.values) - set(alone.values) == {sampled_key(f"{key}@3") for key in ("P", "R", "nDCG")}
    mean = both.per_user["R/sampled@3"].mean()
    assert both.values["R/sampled@3"] == pytest.approx(mean)
    assert mean > alone.values["R@3"]  # fewer to beat


def test_another_seed_draws_others_and_the_same_one_the_same() -> None:
    split, users = world(), np.arange(12, dtype=np.int32)
    assert (drawn(split, users, 6, 0) == drawn(split, users, 6, 0)).all()
    assert (drawn(split, users, 6, 0) != drawn(split, users, 6, 1)).any()
    assert (drawn(split, users, 6, 0, seed=4) != drawn(split, users, 6, 0)).any()
    assert (drawn(split, users[5:], 6, 0) == drawn(split, users, 6, 0)[5:]).all()  # whoever else is asked
