"""Lists that are short, missing, superfluous, in another order or wrong; settings that cannot be."""

import numpy as np
import pytest

from murmura.core.catalogue import TEST, TRAIN, Split
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import RankedLists
from murmura.evaluation import DEFAULT_METRICS, Relevance, evaluate, metric_of
from murmura.evaluation.registry import ALL_METRICS
from tests.evaluation.worlds import lists_of, split_of

TRAIN_ROWS = {0: {4}, 1: {4, 5}, 2: {0}}
TEST_ROWS = {0: {0: 5.0, 1: 2.0}, 1: {2: 2.0}, 2: {3: 5.0}}  # with relevant_from 3 user 1 has nothing relevant
SPLIT = split_of(TRAIN_ROWS, TEST_ROWS, 6)


def test_a_short_list_is_still_divided_by_k() -> None:
    short = evaluate(lists_of({0: [0], 1: [2], 2: [3]}, 4), SPLIT, cutoffs=(4,), metrics=("P", "R")).values
    assert short["P@4"] == pytest.approx(1 / 4)
    assert short["R@4"] == pytest.approx((1 / 2 + 1 + 1) / 3)


def test_a_user_without_a_list_counts_as_one_with_an_empty_list() -> None:
    without = evaluate(lists_of({0: [0, 1]}, 2), SPLIT, cutoffs=(2,), metrics=ALL_METRICS)
    empty = evaluate(lists_of({0: [0, 1], 1: [], 2: []}, 2), SPLIT, cutoffs=(2,), metrics=ALL_METRICS)
    assert without.values == pytest.approx(empty.values, nan_ok=True)
    assert without.per_user["P@2"].tolist() == [1.0, 0.0, 0.0]


def test_no_list_at_all_is_zero_accuracy_and_undefined_diversity() -> None:
    nothing = RankedLists(np.empty(0, np.int32), np.empty((0, 2), np.int32), np.empty((0, 2), np.float32))
    found = evaluate(nothing, SPLIT, cutoffs=(2,), metrics=ALL_METRICS).values
    assert found["nDCG@2"] == found["IC@2"] == found["ACLT@2"] == 0.0
    assert np.isnan([found[key] for key in ("G@2", "Gini@2", "SE@2", "PopREO@2", "PopRSP@2")]).all()


def test_lists_of_users_without_test_rows_or_outside_the_data_change_nothing() -> None:
    split = split_of({**TRAIN_ROWS, 3: {1, 2}}, TEST_ROWS, 6)
    mine = {2: [3, 1], 0: [1, 5], 1: [0, 2]}
    alone = evaluate(lists_of(mine, 2), split, cutoffs=(2,), metrics=ALL_METRICS)
    crowd = {3: [5, 1], **mine, 99: [0, 2], -1: [1, 2]}
    crowded = evaluate(lists_of(crowd, 2), split, cutoffs=(2,), metrics=ALL_METRICS)
    assert alone.values == pytest.approx(crowded.values, nan_ok=True)
    assert alone.users.tolist() == crowded.users.tolist() == [0, 1, 2]


def test_only_users_with_a_relevant_item_count_in_accuracy_but_all_in_coverage() -> None:
    lists = lists_of({0: [0], 1: [2], 2: [5]}, 1)
    found = evaluate(lists, SPLIT, cutoffs=(1,), relevant_from=3, metrics=("P", "IC", "ACLT"))
    assert found.values["P@1"] == 1 / 2
    assert found.values["IC@1"] == 3
    assert np.isnan(found.per_user["P@1"]).tolist() == [False, True, False]
    assert not np.isnan(found.per_user["ACLT@1"]).any()


def test_a_repeated_test_row_is_one_relevant_item_with_its_best_value() -> None:
    user, item = np.array([0, 0, 0, 1]), np.array([7, 7, 8, 7])
    data = Interactions.of(user, item, np.array([2.0, 5.0, 1.0, 4.0]))
    split = Split("repeated", data, np.array([TEST, TEST, TRAIN, TEST], np.uint8))
    truth = Relevance.of(split, 3)
    assert truth.size.tolist() == [1, 1]
    assert truth.value.tolist() == [5.0, 4.0]


def test_measuring_against_a_kept_truth_is_the_same_as_evaluating() -> None:
    lists = lists_of({0: [0, 1], 1: [2], 2: [5]}, 2)
    kept = evaluate(lists, Relevance.of(SPLIT, 3), cutoffs=(1, 2), metrics=ALL_METRICS)
    fresh = evaluate(lists, SPLIT, cutoffs=(1, 2), relevant_from=3, metrics=ALL_METRICS)
    assert kept.values == pytest.approx(fresh.values, nan_ok=True)
    assert list(fresh.values)[: len(ALL_METRICS)] == [f"{key}@1" for key in ALL_METRICS]


def test_the_default_is_the_table_of_the_papers_at_ten() -> None:
    found = evaluate(lists_of({0: list(range(6))}, 10), SPLIT).values
    assert (
        list(found) == [f"{key}@10" for key in DEFAULT_METRICS] == ["P@10", "R@10", "nDCG@10", "IC@10", "G@10"]
    )


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ({0: [0, 1, 0]}, "must not show an item twice, but the list of user 0 does"),
        ({0: [0, 6]}, "codes below 6, but one is 6"),
    ],
)
def test_wrong_lists_are_refused(shown: dict[int, list[int]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluate(lists_of(shown, 3), SPLIT, cutoffs=(3,))


def test_two_lists_of_one_user_are_refused() -> None:
    twice = RankedLists(np.array([0, 0], np.int32), np.zeros((2, 1), np.int32), np.zeros((2, 1), np.float32))
    with pytest.raises(DataError, match="one row per user"):
        evaluate(twice, SPLIT, cutoffs=(1,))


@pytest.mark.parametrize("cutoffs", [(), (0,), (2, 2), (-1, 3)])
def test_impossible_cutoffs_are_refused(cutoffs: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match="distinct whole numbers"):
        evaluate(lists_of({0: [0]}, 4), SPLIT, cutoffs=cutoffs)


def test_lists_shorter_than_the_cutoff_are_refused() -> None:
    with pytest.raises(
        SettingError, match="cut-off 10 needs lists of at least as many places, but they have 2"
    ):
        evaluate(lists_of({0: [0]}, 2), SPLIT)


def test_an_unknown_metric_is_answered_with_the_nearest() -> None:
    with pytest.raises(SettingError, match="no metric 'NDCG': did you mean 'nDCG'"):
        evaluate(lists_of({0: [0]}, 1), SPLIT, cutoffs=(1,), metrics=("NDCG",))


def test_bias_disparity_without_categories_is_refused() -> None:
    with pytest.raises(SettingError, match="needs item categories"):
        evaluate(lists_of({0: [0]}, 1), SPLIT, cutoffs=(1,), metrics=("BD",))


def test_nothing_to_evaluate_is_refused() -> None:
    data = Interactions.of(np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(DataError, match="at least one test row, but the test part is empty"):
        Relevance.of(Split("none", data, np.zeros(2, np.uint8)))
    with pytest.raises(DataError, match="none has a value of 6 or more; lower relevant_from"):
        Relevance.of(SPLIT, 6)


@pytest.mark.parametrize("key", ["BD", "BD/Food & drink@10", "BD/a@b@5"])
def test_a_result_key_leads_to_its_metric(key: str) -> None:
    assert metric_of(key).key == "BD"
