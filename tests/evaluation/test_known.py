"""Small examples worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from murmura.core.catalogue import Relation
from murmura.core.interactions import Interactions, Vocabulary
from murmura.evaluation import evaluate
from murmura.evaluation.formulas import (
    activity_groups,
    category_bias,
    disparity,
    gini_index,
    popularity_groups,
    users_with_item,
)
from murmura.evaluation.registry import ALL_METRICS
from tests.evaluation.worlds import lists_of, split_of

# Two users, lists of 4. User 0 likes {0, 5} and sees 5 second: one hit of two. User 1 likes {1, 2, 3}, rated
# 5, 4, 3, and sees 3 first and 1 third: two hits of three.
TRAIN = {0: {6}, 1: {6, 7}}
TEST = {0: {0: 4.0, 5: 5.0}, 1: {1: 5.0, 2: 4.0, 3: 3.0}}
SHOWN = {0: [7, 5, 8, 9], 1: [3, 8, 1, 9]}
SECOND, THIRD = 1 / math.log2(3), 1 / math.log2(4)


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    lists = lists_of(SHOWN, 4)
    return evaluate(lists, split_of(TRAIN, TEST, 10), cutoffs=(4,), relevant_from=3, metrics=ALL_METRICS).values


@pytest.mark.parametrize(
    ("key", "by_hand"),
    [
        ("P@4", (1 / 4 + 2 / 4) / 2),
        ("R@4", (1 / 2 + 2 / 3) / 2),
        ("F1@4", 2 * 0.375 * (7 / 12) / (0.375 + 7 / 12)),
        ("F1u@4", (2 / 6 + 4 / 7) / 2),
        ("HR@4", 1.0),
        ("nDCG@4", (SECOND / (1 + SECOND) + (1 + THIRD) / (1 + SECOND + THIRD)) / 2),
        ("nDCGg@4", (7 * SECOND / (7 + 3 * SECOND) + (1 + 7 * THIRD) / (7 + 3 * SECOND + THIRD)) / 2),
        ("nDCGt@4", (SECOND + 1 + THIRD) / 2),
        ("MRR@4", (1 / 2 + 1) / 2),
        ("MAP@4", ((1 / 2) / 2 + (1 + 2 / 3) / 3) / 2),
        ("IC@4", 6.0),  # 1, 3, 5, 7 once, 8 and 9 twice
        ("Gini@4", (-1 + 1 + 3 + 5 + 2 * 7 + 2 * 9) / (9 * 8)),
        ("SE@4", 4 * (1 / 8) * 3 + 2 * (2 / 8) * 2),
    ],
)
def test_two_users_by_hand(found: dict[str, float], key: str, by_hand: float) -> None:
    assert found[key] == pytest.approx(by_hand, rel=1e-12)


def test_the_thesis_equation_is_not_normalised() -> None:
    split = split_of({0: {4}}, {0: {0: 1.0, 1: 1.0, 2: 1.0}}, 5)
    perfect = evaluate(lists_of({0: [0, 1, 2]}, 3), split, cutoffs=(3,), metrics=("nDCG", "nDCGt")).values
    assert perfect["nDCG@3"] == pytest.approx(1.0)
    assert perfect["nDCGt@3"] == pytest.approx(1 + SECOND + THIRD)


def test_graded_gain_survives_values_of_thousands() -> None:
    split = split_of({0: {4}}, {0: {0: 5000.0, 1: 4999.0}}, 5)
    second_first = evaluate(lists_of({0: [1, 0]}, 2), split, cutoffs=(2,), metrics=("nDCGg",)).values
    assert second_first["nDCGg@2"] == pytest.approx((0.5 + SECOND) / (1 + 0.5 * SECOND))


@pytest.mark.parametrize(
    ("counts", "n", "by_hand"),
    [
        ([3, 3, 3, 3], 4, 0.0),  # everything equally often
        ([8, 0, 0, 0], 4, 1.0),  # one item to everyone
        ([1, 3], 2, 0.5),  # (-1 * 1 + 1 * 3) / (1 * 4)
        ([2, 0, 1], 3, (0 * 1 + 2 * 2) / (2 * 3)),
        ([5], 1, 0.0),
    ],
)
def test_gini_by_hand(counts: list[int], n: int, by_hand: float) -> None:
    assert gini_index(np.array(counts), n) == pytest.approx(by_hand)


def test_gini_counts_items_never_shown_as_zero_over_the_chosen_catalogue() -> None:
    split = split_of({0: {0, 1, 2}}, {0: {3: 1.0, 4: 1.0}}, 5)  # 3 training items in a catalogue of 5
    lists = lists_of({0: [0]}, 1)
    whole = evaluate(lists, split, cutoffs=(1,), metrics=("Gini", "G")).values
    assert whole == {"Gini@1": 1.0, "G@1": 0.0}
    two = lists_of({0: [0, 1]}, 2)
    assert evaluate(two, split, cutoffs=(2,), metrics=("Gini",)).values["Gini@2"] == pytest.approx(6 / 8)
    trained = evaluate(two, split, cutoffs=(2,), metrics=("Gini",), gini_catalogue="train").values
    assert trained["Gini@2"] == pytest.approx(2 / 4)


def test_the_head_takes_the_item_that_crosses_and_the_lower_id_of_a_tie() -> None:
    # counts 4, 1, 2, 2, 1 of 10: item 0 reaches 4, item 2 reaches 6, item 3 (same count, higher id) exactly 8
    train = {0: {0, 1, 2, 3}, 1: {0, 2, 3}, 2: {0, 4}, 3: {0}}
    split = split_of(train, {0: {5: 1.0}}, 6)
    groups = popularity_groups(split.train)
    assert np.flatnonzero(groups.head).tolist() == [0, 2, 3]
    assert np.flatnonzero(groups.tail).tolist() == [1, 4]  # item 5 has no training row: it is in neither


def test_another_order_breaks_ties_of_popularity_when_asked() -> None:
    split = split_of({0: {0, 1, 2, 3, 4}}, {0: {5: 1.0}}, 6)  # five equal items: four make 80 %
    groups = popularity_groups(split.train, np.array([4, 5, 0, 3, 2, 1]))
    assert np.flatnonzero(groups.tail).tolist() == [1]


def test_popularity_metrics_by_hand() -> None:
    train = {0: {0, 1, 2, 3}, 1: {0, 2, 3}, 2: {0, 4}, 3: {0}}  # head {0, 2, 3}, tail {1, 4}
    test = {2: {2: 1.0, 3: 1.0, 1: 1.0}, 3: {4: 1.0, 2: 1.0}}
    lists = lists_of({2: [2, 1], 3: [3, 1]}, 2)
    found = evaluate(lists, split_of(train, test, 6), cutoffs=(2,), metrics=("ACLT", "PopREO", "PopRSP")).values
    assert found["ACLT@2"] == 1.0
    head, tail = 1 / 3, 1 / 2  # hits among relevant: 2 of {2, 3; 2}, 1 of {1; 4}
    assert found["PopREO@2"] == pytest.approx((tail - head) / (tail + head))
    head, tail = 2 / (2 + 2), 2 / (1 + 2)  # shown among unseen pairs of users 2 and 3
    assert found["PopRSP@2"] == pytest.approx((tail - head) / (tail + head))


FOOD = Relation(("food", "night"), np.array([0, 1, 2, 2], np.int32), np.array([0, 0, 0, 1], np.int32))


def test_bias_by_hand_with_an_item_of_two_categories_and_one_of_none() -> None:
    # items 0, 1 food; 2 food and night; 3 unlabelled: food is 3 of 3 items, night 1 of 3
    times = np.array([2, 0, 2, 9])
    assert category_bias(times, FOOD) == pytest.approx([1.0, (2 / 4) / (1 / 3)])
    split = split_of({0: {0, 1, 2}, 1: {0, 3}}, {0: {3: 1.0}}, 4)
    source = category_bias(split.train.item_counts, FOOD)
    assert source == pytest.approx([1.0, (1 / 4) / (1 / 3)])
    lists = category_bias(np.bincount([2, 3, 2], minlength=4), FOOD)
    assert lists == pytest.approx([1.0, 3.0])
    assert disparity(source, lists) == pytest.approx([0.0, (3 - 0.75) / 0.75])


def test_bias_disparity_is_keyed_by_category_and_cutoff() -> None:
    split = split_of({0: {0, 1, 2}, 1: {0, 3}}, {0: {3: 1.0}, 1: {1: 1.0}}, 4)
    lists = lists_of({0: [2, 3], 1: [2]}, 2)
    found = evaluate(lists, split, cutoffs=(1, 2), metrics=("BD",), categories=FOOD).values
    assert list(found) == ["BD/food@1", "BD/night@1", "BD/food@2", "BD/night@2"]
    assert found["BD/night@2"] == pytest.approx(3.0)


def test_novelty_by_hand() -> None:
    train = {0: {0, 1}, 1: {0}, 2: {0, 2}, 3: {3}}  # item 0 has three of four people, the others one; six rows
    test = {1: {1: 1.0, 4: 1.0}, 3: {0: 1.0}}
    lists = lists_of({1: [1, 0], 3: [2, 0]}, 2)
    found = evaluate(lists, split_of(train, test, 5), cutoffs=(2,), metrics=("EPC", "EFD"))
    places = 1 + SECOND
    assert found.per_user["EPC@2"] == pytest.approx([0.75 / places, 0.25 * SECOND / places])
    assert found.per_user["EFD@2"] == pytest.approx([math.log2(6) / places, SECOND * math.log2(2) / places])


def test_an_item_nobody_has_is_as_new_as_can_be() -> None:
    split = split_of({0: {0, 1}, 1: {0, 1}}, {0: {2: 1.0}}, 3)
    found = evaluate(lists_of({0: [2]}, 1), split, cutoffs=(1,), metrics=("EPC", "EFD")).values
    assert found == {"EPC@1": 1.0, "EFD@1": 2.0}  # one of four rows


def test_who_has_an_item_twice_counts_once() -> None:
    code = np.array([0, 0, 1], np.int32)
    twice = Interactions(Vocabulary(np.arange(2)), Vocabulary(np.arange(2)), code, code * 0, np.ones(3))
    assert users_with_item(twice).tolist() == [2, 0]


NIGHT = Relation(("food", "night"), np.arange(4, dtype=np.int32), np.array([0, 0, 1, 1], np.int32))


def test_bias_disparity_of_groups_by_hand() -> None:
    # rows 1, 2, 2, 3: user 0 is light, 1 and 2 are middle, 3 is heavy; each category has half of the items
    split = split_of({0: {0}, 1: {0, 2}, 2: {1, 3}, 3: {0, 1, 2}}, {0: {2: 1.0}, 1: {1: 1.0}, 3: {3: 1.0}}, 4)
    young = {"young": np.array([1.0, 0.0, np.nan, 0.5])}
    said = replace(split, data=replace(split.data, attributes=young))
    lists = lists_of({0: [2], 1: [1], 3: [3]}, 1)
    found = evaluate(lists, said, cutoffs=(1,), metrics=("BDu",), categories=NIGHT).values
    assert found == pytest.approx(
        {
            "BDu/light/food@1": -1.0,
            "BDu/light/night@1": math.nan,  # the light user has nothing of the night
            "BDu/middle/food@1": 1.0,  # half of the rows, all of the lists
            "BDu/middle/night@1": -1.0,
            "BDu/heavy/food@1": -1.0,
            "BDu/heavy/night@1": 2.0,  # a third of the rows, all of the lists
            "BDu/young/food@1": -1.0,
            "BDu/young/night@1": 3.0,  # one of four rows, all of the lists
            "BDu/not young/food@1": 1.0,
            "BDu/not young/night@1": -1.0,
        },
        nan_ok=True,
    )
    assert (
        "BDu/young/food@1"
        not in evaluate(lists, split, cutoffs=(1,), metrics=("BDu",), categories=NIGHT).values
    )


def test_people_with_equally_many_rows_are_in_one_group() -> None:
    equal = activity_groups(split_of({0: {0}, 1: {1}, 2: {2}}, {3: {0: 1.0}}, 4).train)
    assert {name: np.flatnonzero(members).tolist() for name, members in equal.items()} == {
        "light": [0, 1, 2],
        "middle": [],
        "heavy": [],
    }
