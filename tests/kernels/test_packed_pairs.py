"""Packed counters: the sum of everyone's words is the pooled matrix, exactly, and never more than is public."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.arrays import Ints
from murmura.core.errors import FederationError
from murmura.kernels.cooccurrence.packing import PackedPairs, add_pairs
from tests.hypothesis_profiles import examples


def people(seed: int, n: int, items: int) -> list[Ints]:
    random = np.random.default_rng(seed)
    likes = random.random((n, items)) < random.random(items) ** 3
    return [np.flatnonzero(row).astype(np.int32) for row in likes]


def counts_of(crowd: list[Ints], items: int) -> np.ndarray:
    return np.bincount(np.concatenate([*crowd, np.zeros(0, np.int32)]), minlength=items).astype(np.int64)


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
