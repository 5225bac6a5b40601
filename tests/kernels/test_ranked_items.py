"""Packed counters of items by rank: the sum of everyone's words is the pooled matrix, exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.arrays import Ints
from murmura.core.errors import FederationError
from murmura.kernels.proofs.field import Elements
from murmura.kernels.proofs.pair_words import RankedItems
from tests.hypothesis_profiles import examples


def people(seed: int, n: int, items: int) -> list[Ints]:
    random = np.random.default_rng(seed)
    likes = random.random((n, items)) < random.random(items) ** 3
    return [np.flatnonzero(row).astype(np.int32) for row in likes]


def counts_of(crowd: list[Ints], items: int) -> np.ndarray:
    return np.bincount(np.concatenate([*crowd, np.zeros(0, np.int32)]), minlength=items).astype(np.int64)


def packed(ranked: RankedItems, own: Ints) -> Elements:
    return ranked.pairs.pack(ranked.own_ranks(own).astype(np.int64))


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 40), st.integers(1, 4))
@examples(60)
def test_the_sum_of_all_words_is_the_pooled_matrix(seed: int, n: int, items: int, least: int) -> None:
    crowd = people(seed, n, items)
    ranked = RankedItems.of(counts_of(crowd, items), least)
    plain = sum((packed(ranked, own) for own in crowd), np.zeros(ranked.pairs.words, np.uint64))
    ranks = [ranked.own_ranks(own) for own in crowd]
    start = np.concatenate([[0], np.cumsum([len(one) for one in ranks])]).astype(np.int64)
    compiled = np.zeros(ranked.pairs.words, np.uint64)
    ranked.pairs.add_histories(start, np.concatenate(ranks).astype(np.int64), compiled)
    assert (plain == compiled).all()
    together = np.zeros((items, items))
    for own in crowd:
        together[np.ix_(own, own)] += 1
    np.fill_diagonal(together, 0)
    assert (ranked.pairs.unpack(plain) == together[np.ix_(ranked.items, ranked.items)]).all()
    assert ranked.pairs.cut(plain) == 0


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 5))
@examples(30)
def test_parts_of_the_words_count_as_much_as_they_are_told_to(seed: int, items: int, parts: int) -> None:
    """In the order of items, some left out: as if each part were unpacked by itself."""
    crowd = people(seed, 20, items)
    ranked = RankedItems.of(counts_of(crowd, items), 1)
    total = sum((packed(ranked, own) for own in crowd), np.zeros(ranked.pairs.words, np.uint64))
    expected, scale, covered = np.zeros((len(ranked), len(ranked))), np.zeros(len(ranked)), 0
    for part in range(parts):
        there, one = ranked.words_of(part, parts), np.zeros_like(total)
        assert there.start == covered
        covered = there.stop
        one[there] = total[there]
        expected += (1 + part) * ranked.pairs.unpack(one)
        scale[slice(*ranked.rows_of(part, parts))] = 1 + part
    assert covered == len(total)
    at = np.where(np.arange(len(ranked)) % 3 == 0, -1, np.argsort(np.argsort(ranked.items))).astype(np.int32)
    G = np.zeros((len(ranked), len(ranked)), np.int32)
    ranked.pairs.unpack_into(G, total, at, scale)
    kept = np.flatnonzero(at >= 0)
    assert (G[np.ix_(at[kept], at[kept])] == expected[np.ix_(kept, kept)]).all()
    assert G.sum() == expected[np.ix_(kept, kept)].sum()


def test_a_full_house_keeps_every_bound() -> None:
    """Everyone has everything: every counter is as large as it may be, and no word overflows."""
    items, n = 30, 2000
    ranked = RankedItems.of(np.full(items, n), 1)
    total = np.uint64(n) * packed(ranked, np.arange(items, dtype=np.int32))
    assert (ranked.pairs.unpack(total) + n * np.eye(items) == n).all()


def test_a_counter_above_its_count_is_refused() -> None:
    ranked = RankedItems.of(np.array([5, 5, 5]), 1)
    lie = np.uint64(6) * packed(ranked, np.arange(3, dtype=np.int32))
    with pytest.raises(FederationError, match=r"must occur at most 5 times.*counted \d+ times"):
        ranked.pairs.unpack(lie)


@pytest.mark.parametrize("items", [0, 1, 2])
def test_hardly_any_items(items: int) -> None:
    ranked = RankedItems.of(np.full(items, 7), 1)
    words = packed(ranked, np.arange(items, dtype=np.int32))
    assert ranked.pairs.unpack(words).sum() == 2 * max(0, items - 1)
