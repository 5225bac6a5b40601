"""Pairs by bases: every pair stands once, and sums come back to the unit."""

from __future__ import annotations

import numpy as np
import pytest

from murmura.core.arrays import Longs
from murmura.core.errors import FederationError
from murmura.kernels.proofs.field import MODULUS, added
from murmura.kernels.proofs.pair_words import PairWords, counters_in_a_word
from tests.channel.plain_circuits import rows

LAYOUTS = [
    np.array([], np.int64),
    np.array([5], np.int64),
    np.array([5, 5], np.int64),
    np.array([1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233], np.int64),
    np.array([7] * 30, np.int64),
    np.array([9] * 5 + [10**6] * 9 + [2**40] * 3, np.int64),
]


def seen(histories: list[Longs], n: int) -> Longs:
    G = np.zeros((n, n), np.int64)
    for own in histories:
        G[np.ix_(own, own)] += 1
    return G


@pytest.mark.parametrize("bounds", LAYOUTS, ids=len)
@pytest.mark.parametrize("diagonal", [False, True])
def test_words_are_those_of_the_definition(bounds: Longs, diagonal: bool) -> None:
    layout, rng = PairWords(bounds, diagonal), np.random.default_rng(len(bounds))
    plain = rows(layout, MODULUS)
    assert layout.words == sum(len(row.words) for row in plain)
    assert layout.groups == 1 + max((group for row in plain for group in row.groups), default=-1)
    own = np.flatnonzero(rng.random(len(bounds)) < 0.6)
    expected = [
        sum(weight for j, weight in word if j in own) if i in own else 0
        for i, row in enumerate(plain)
        for word in row.words
    ]
    assert layout.pack(own).tolist() == expected


@pytest.mark.parametrize("bounds", LAYOUTS, ids=len)
@pytest.mark.parametrize("diagonal", [False, True])
def test_sums_come_back(bounds: Longs, diagonal: bool) -> None:
    n, rng = len(bounds), np.random.default_rng(1)
    layout, histories = PairWords(bounds, diagonal), []
    total = np.zeros(layout.words, np.uint64)
    left = bounds.copy()
    for _ in range(40):  # no item more often than its bound
        own = np.flatnonzero((left > 0) & (rng.random(n) < 0.5))
        left[own] -= 1
        histories.append(own)
        total = added(total, layout.pack(own))
    G, expected = np.zeros((n, n), np.int64), seen(histories, n)
    layout.unpack_into(G, total, np.arange(n, dtype=np.int32))
    if not diagonal:
        np.fill_diagonal(expected, 0)
    assert (expected == G).all()
    assert (layout.pack_sums(expected) == total).all()


def test_a_counter_above_its_bound_is_refused() -> None:
    layout = PairWords(np.array([1000, 1000, 1001], np.int64))  # of one class, so that there is room
    G = np.zeros((3, 3), np.int64)
    words = layout.pack_sums(np.array([[0, 1001, 0], [0, 0, 0], [0, 0, 0]]))
    with pytest.raises(FederationError, match="rank 0 must occur at most 1000 times, but is counted 1001"):
        layout.unpack_into(G, words, np.arange(3, dtype=np.int32))


def test_noise_may_make_sums_negative() -> None:
    n, base, rng = 23, 2 * 300_000 + 1, np.random.default_rng(2)
    layout = PairWords(np.full(n, base - 1, np.int64), diagonal=True)
    signed = np.triu(rng.integers(-300_000, 300_001, (n, n)))
    signed[0, 0], signed[0, 1] = 300_000, -300_000
    expected = signed + np.triu(signed, 1).T
    assert (layout.unpack_signed(layout.pack_sums(expected)) == expected).all()


@pytest.mark.parametrize("base", [2, 3, 6, 6041, 2**21, 2**21 + 2**20, 2**32 - 1, 2**32, 2**32 + 1, MODULUS])
def test_as_many_counters_as_fit(base: int) -> None:
    k = counters_in_a_word(base)
    assert base**k <= MODULUS < base ** (k + 1)
