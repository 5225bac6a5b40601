"""What the server does with a sum, against the papers' formulas written out number by number."""

import numpy as np
import pytest

from murmura.algorithms.optimisers import Optimiser, begin, longest_rows, move, shorten_rows
from murmura.core.update import SparseRows

ROWS = [np.array([0, 2], np.int32), np.array([2, 3], np.int32), np.array([2], np.int32)]


def sums(width: int) -> list[SparseRows]:
    rng = np.random.default_rng(1)
    return [SparseRows(index, rng.normal(size=(len(index), width))) for index in ROWS]


def climb(kind: Optimiser, rate: float, parts: list[SparseRows]) -> list[list[float]]:
    theta = np.ones((4, 2))
    memory = begin(kind, theta)
    for part in parts:
        theta, memory = move(kind, rate, theta, memory, part)
    values: list[list[float]] = theta.tolist()
    return values


def test_the_plain_sum() -> None:
    expected = np.ones((4, 2))
    for part in sums(2):
        for row, gradient in zip(part.index, part.values):
            expected[row] += 0.1 * gradient
    assert climb("sum", 0.1, sums(2)) == expected.tolist()


def test_per_contributor_divides_by_the_last_column() -> None:
    parts = [SparseRows(p.index, np.column_stack([p.values, np.full(len(p), 4.0)])) for p in sums(2)]
    expected = np.ones((4, 2))
    for part in sums(2):
        expected[part.index] += 0.1 * (part.values / 4.0)
    assert climb("per-contributor", 0.1, parts) == expected.tolist()


def test_per_contributor_leaves_a_row_whose_contributors_weigh_nothing() -> None:
    part = SparseRows(ROWS[0], np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]]))
    assert climb("per-contributor", 0.1, [part]) == [[1, 1], [1, 1], [1.2, 1.4], [1, 1]]


def test_adagrad_divides_by_the_root_of_all_squares_so_far() -> None:
    expected, squares = [[1.0, 1.0] for _ in range(4)], [[0.0, 0.0] for _ in range(4)]
    for part in sums(2):
        for row, gradient in zip(part.index.tolist(), part.values.tolist()):
            for f, g in enumerate(gradient):
                squares[row][f] += g * g
                expected[row][f] += 0.1 * g / (squares[row][f] ** 0.5 + 1e-8)
    np.testing.assert_allclose(climb("adagrad", 0.1, sums(2)), expected, rtol=1e-14)


def test_adam_with_its_bias_correction_moves_every_row() -> None:
    expected = np.ones((4, 2))
    mean, squares = np.zeros((4, 2)), np.zeros((4, 2))
    for t, part in enumerate(sums(2), start=1):
        dense = np.zeros((4, 2))
        dense[part.index] = part.values
        mean = 0.9 * mean + 0.1 * dense
        squares = 0.999 * squares + 0.001 * dense**2
        expected = expected + 0.02 * (mean / (1 - 0.9**t)) / (np.sqrt(squares / (1 - 0.999**t)) + 1e-8)
    found = climb("adam", 0.02, sums(2))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[1] == [1.0, 1.0]  # a row that never had a gradient stays
    assert found[0] != climb("adam", 0.02, sums(2)[:1])[0]  # one that had follows its momentum


@pytest.mark.parametrize("kind", ["sum", "adagrad", "adam"])
def test_nothing_given_is_changed(kind: Optimiser) -> None:
    theta = np.ones((4, 2))
    memory = {name: array.copy() for name, array in begin(kind, theta).items()}
    for array in (theta, *memory.values()):
        array.flags.writeable = False
    move(kind, 0.1, theta, memory, sums(2)[0])


def test_rows_within_their_bound_are_the_same_rows_and_longer_ones_keep_their_direction() -> None:
    sent = SparseRows(ROWS[0], np.array([[3.0, 4.0], [30.0, -40.0]]))
    assert shorten_rows(sent, np.array([5.0, 50.0])) is sent
    cut = shorten_rows(sent, np.array([5.0, 10.0]))
    assert cut.values.tolist() == [[3.0, 4.0], [6.0, -8.0]]
    assert sent.values[1].tolist() == [30.0, -40.0]
    narrow = shorten_rows(SparseRows(ROWS[0], sent.values.astype(np.float32)), np.array([5.0, 10.0]))
    assert narrow.values.dtype == np.float32


def test_a_bound_holds_what_a_poisson_number_of_unit_vectors_adds_up_to() -> None:
    """Even if all point the same way, for any mean; the mean alone does not."""
    rng = np.random.default_rng(0)
    for mean in (0.01, 0.5, 20.0, 300.0):
        drawn = rng.poisson(mean, 100_000)
        assert drawn.max() <= longest_rows(np.array([mean]))[0]
        assert drawn.max() > mean
