"""Packed counters: the sum of everyone's words is the pooled matrix, exactly, and never more than is public."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.arrays import Ints
from murmura.core.errors import FederationError
from murmura.kernels.packing import PackedPairs, add_pairs
from tests.hypothesis_profiles import examples


def people(seed: int, n: int, items: int) -> list[Ints]:
    random = np.random.default_rng(seed)
    likes = random.random((n, items)) < random.random(items) ** 3
    return [np.flatnonzero(row).astype(np.int32) for row in likes]


def counts_of(crowd: list[Ints], items: int) -> np.ndarray:
    return np.bincount(np.concatenate([*crowd, np.zeros(0, np.int32)]), minlength=items).astype(np.int64)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 40), st.integers(1, 4))
@examples(60)
def test_the_sum_of_all_words_is_the_pooled_matrix(seed: int, n: int, items: int, least: int) -> None:
    crowd = people(seed, n, items)
    pairs = PackedPairs.of(counts_of(crowd, items), least)
    plain = sum((pairs.pack(own).astype(np.int64) for own in crowd), np.zeros(pairs.words, np.int64))
    ranks = [pairs.own_ranks(own) for own in crowd]
    start = np.concatenate([[0], np.cumsum([len(one) for one in ranks])]).astype(np.int64)
    compiled = np.zeros(pairs.words, np.int64)
    add_pairs(0, n, start, np.concatenate(ranks).astype(np.int32), *pairs.places, compiled)
    assert (plain == compiled).all()
    assert (plain <= pairs.bounds).all()
    together = np.zeros((items, items))
    for own in crowd:
        together[np.ix_(own, own)] += 1
    np.fill_diagonal(together, 0)
    assert (pairs.unpack(plain.astype(np.uint32)) == together[np.ix_(pairs.items, pairs.items)]).all()


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(0, 1))
@examples(30)
def test_parts_of_the_words_count_as_much_as_they_are_told_to(seed: int, items: int, cut: float) -> None:
    """In the order of items, some left out: as if each part were unpacked by itself."""
    crowd = people(seed, 20, items)
    pairs = PackedPairs.of(counts_of(crowd, items), 1)
    total = sum((pairs.pack(own) for own in crowd), np.zeros(pairs.words, np.uint32))
    end = int(cut * pairs.words)
    first, second = total.copy(), total.copy()
    first[end:], second[:end] = 0, 0
    expected = (pairs.unpack(first) + 2 * pairs.unpack(second)).astype(np.int32)
    at = np.where(np.arange(len(pairs)) % 3 == 0, -1, np.argsort(np.argsort(pairs.items))).astype(np.int32)
    G = np.zeros((len(pairs), len(pairs)), np.int32)
    pairs.unpack_into(G, total, at, np.array([end, pairs.words]), np.array([1.0, 2.0]))
    kept = np.flatnonzero(at >= 0)
    assert (G[np.ix_(at[kept], at[kept])] == expected[np.ix_(kept, kept)]).all()
    assert G.sum() == expected[np.ix_(kept, kept)].sum()


def test_two_known_items() -> None:
    """Three people have both: counts 3 and 3 need two bits, and the only counter stands first."""
    pairs = PackedPairs.of(np.array([3, 0, 3]), 1)
    assert pairs.words == 1
    assert pairs.bounds.tolist() == [3]
    assert (3 * pairs.pack(np.array([0, 2], np.int32))).tolist() == [3]


def test_a_full_house_keeps_every_bound() -> None:
    """Everyone has everything: every counter is as large as it may be, and no word overflows."""
    items, n = 30, 2000
    pairs = PackedPairs.of(np.full(items, n), 1)
    total = n * pairs.pack(np.arange(items, dtype=np.int32)).astype(np.int64)
    assert (total == pairs.bounds).all()
    assert (pairs.unpack(total.astype(np.uint32)) + n * np.eye(items) == n).all()


def test_a_counter_above_its_count_is_refused() -> None:
    pairs = PackedPairs.of(np.array([5, 5, 5]), 1)
    lie = pairs.pack(np.arange(3, dtype=np.int32)).astype(np.int64) * 6
    with pytest.raises(FederationError, match=r"must occur at most 5 times.*counted 6 times"):
        pairs.unpack(lie.astype(np.uint32))


@pytest.mark.parametrize("items", [0, 1, 2])
def test_hardly_any_items(items: int) -> None:
    pairs = PackedPairs.of(np.full(items, 7), 1)
    assert pairs.words == max(0, items - 1)
    assert pairs.unpack(pairs.pack(np.arange(items, dtype=np.int32))).sum() == 2 * max(0, items - 1)
