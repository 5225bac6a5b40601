"""Negatives come from what the user has not met in training, each equally often."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

import torch

from murmura.core.interactions import Interactions
from murmura.lab.neural.histories import Histories
from murmura.lab.neural.neumf import NeuMf
from murmura.lab.neural.neumf_network import UnseenItems
from tests.neural.drawn import drawn_as_chance_says


def histories_of(rows: list[list[int]], n_items: int) -> Histories:
    start = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    column = np.array([item for row in rows for item in sorted(row)], np.int64)
    return Histories(np.arange(n_items, dtype=np.int32), start, column)


@settings(max_examples=60)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.sets(st.integers(0, n - 1)), min_size=1))
    )
)
def test_the_unmet_items_are_counted_out_in_order(case: tuple[int, list[set[int]]]) -> None:
    n_items, met = case
    unmet = UnseenItems.of(histories_of([sorted(items) for items in met], n_items))
    for user, items in enumerate(met):
        expected = [item for item in range(n_items) if item not in items]
        got = unmet.at(torch.full((len(expected),), user), torch.arange(len(expected)))
        assert got.tolist() == expected
        assert bool(unmet.has_unseen(torch.tensor([user]))[0]) == bool(expected)


def test_draws_are_uniform_over_the_unmet_and_never_met() -> None:
    n, unmet = 30_000, UnseenItems.of(histories_of([[0, 1, 5], [2], []], 7))
    for user, expected in ((0, [2, 3, 4, 6]), (1, [0, 1, 3, 4, 5, 6]), (2, list(range(7)))):
        drawn = unmet.draw(torch.full((n,), user), torch.Generator().manual_seed(11))
        counts = torch.bincount(drawn, minlength=7)
        assert torch.nonzero(counts).flatten().tolist() == expected
        p = 1 / len(expected)
        worst = max(abs(int(counts[item]) - n * p) for item in expected)
        assert worst < 5 * math.sqrt(n * p * (1 - p))


def test_someone_who_has_met_everything_draws_some_item_that_does_not_count() -> None:
    unmet = UnseenItems.of(histories_of([[0, 1, 2]], 3))
    assert not bool(unmet.has_unseen(torch.tensor([0]))[0])
    drawn = unmet.draw(torch.zeros(50, dtype=torch.long), torch.Generator().manual_seed(1))
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < 3


def test_histories_hold_each_pair_once_over_the_items_of_training() -> None:
    data = Interactions.of(np.array([7, 7, 7, 9, 9]), np.array([30, 10, 30, 20, 40]))
    train = data.rows(np.array([True, True, True, False, True]))  # item 20 and nothing else is gone
    found = Histories.of(train)
    assert found.item.tolist() == [0, 2, 3]
    assert found.start.tolist() == [0, 2, 3]
    assert found.column.tolist() == [0, 1, 2]
    assert found.lengths.tolist() == [2, 1]


def test_held_out_items_are_drawn_as_chance_says() -> None:
    assert drawn_as_chance_says(NeuMf()) == [4] * 8
