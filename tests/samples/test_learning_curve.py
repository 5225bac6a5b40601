"""Rounds to a target and the mean over rounds, worked out by hand; which samples were right, in a folder."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from murmura.core.interactions import Interactions, Vocabulary
from murmura.lab.classification.classified_samples import CurveRecorder, LearningCurve, answers_of, rounds_name

CURVE = LearningCurve(
    np.array([[0.5, 0.7, 0.1, 0.2], [0.8, 0.71, 0.6, 0.7], [0.9, 0.9, 0.9, 0.72], [0.6, 0.6, 0.6, 0.6]]),
    np.array([10, 10, 10, 30]),
)


@pytest.mark.parametrize(
    ("share", "target", "rounds"),
    [(0.25, 0.7, 2), (0.5, 0.7, 2), (0.75, 0.7, 3), (1.0, 0.7, 3), (0.5, 0.8, 3), (0.75, 0.85, 3)],
)
def test_the_first_round_in_which_so_many_are_strictly_above(share: float, target: float, rounds: int) -> None:
    assert CURVE.rounds_to(share, target) == rounds


def test_a_target_that_nobody_exceeds_has_no_round() -> None:
    assert math.isnan(CURVE.rounds_to(0.25, 0.9))
    assert math.isnan(CURVE.values()[rounds_name(0.1, 0.95)])


def test_a_round_weighs_local_accuracies_by_the_size_of_their_test_sets() -> None:
    wanted = [(5 + 7 + 1 + 6) / 60, (8 + 7.1 + 6 + 21) / 60, (9 * 3 + 21.6) / 60, 0.6]
    assert CURVE.weighted == pytest.approx(wanted)
    assert CURVE.values()["accuracy/rounds"] == pytest.approx(np.mean(wanted))


def test_a_share_of_ten_clients_is_met_by_exactly_so_many() -> None:
    """Three tenths are 0.30000000000000004 in floating point, and three of ten clients are enough."""
    ten = LearningCurve(np.array([[0.9] * 3 + [0.1] * 7]), np.ones(10, np.int64))
    assert ten.rounds_to(0.1 + 0.2, 0.8) == 1
    assert math.isnan(ten.rounds_to(0.4, 0.8))


def test_answers_are_kept_client_by_client_in_the_order_of_the_samples() -> None:
    people, things = Vocabulary(np.array(["a", "b", "c"])), Vocabulary(np.arange(5))
    user = np.array([2, 0, 2, 0, 2], np.int32)  # b has held nothing out
    test = Interactions(people, things, user, np.arange(5, dtype=np.int32), np.zeros(5))
    right = np.isin(test.item, [0, 3])  # c's first, a's second
    assert answers_of(right, test) == [("a", "01"), ("c", "100")]


@pytest.mark.parametrize(("until", "ends"), [(None, []), (0.5, [3]), (0.0, [2, 3])])
def test_a_training_ends_when_nine_tenths_exceed_the_accuracy(until: float | None, ends: list[int]) -> None:
    """Ten clients of two samples: in round 2 all have one right, in round 3 nine have both and one has one."""
    people, things = Vocabulary(np.arange(10)), Vocabulary(np.arange(20))
    user, item = np.repeat(np.arange(10), 2).astype(np.int32), np.arange(20, dtype=np.int32)
    recorder = CurveRecorder(Interactions(people, things, user, item, np.zeros(20)), None, until)
    wrong = {1: item >= 0, 2: item % 2 == 0, 3: item == 0}
    stopped = []
    for number, missed in wrong.items():
        model: Any = SimpleNamespace(predict=lambda user, item, missed=missed: missed[item].astype(float))
        if not recorder.watch(number, model):
            stopped.append(number)
    assert stopped == ends
