"""Tables of pairs that no people have: cut to what is possible; those of people are left alone, to the bit."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from murmura.core.arrays import Floats
from murmura.core.errors import SettingError
from murmura.kernels import item_weights
from murmura.kernels.item_weights import cut_negative, ease_weights
from murmura.kernels.proofs.field import MODULUS
from murmura.kernels.proofs.pair_words import PairWords
from tests.hypothesis_profiles import examples


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(0, 30), st.integers(1, 5000))
@examples(40)
def test_whatever_a_word_holds_every_counter_is_possible_afterwards(seed: int, items: int, most: int) -> None:
    random = np.random.default_rng(seed)
    pairs = PairWords(np.sort(random.integers(1, most + 1, items)))
    words = random.integers(0, MODULUS, pairs.words, np.uint64)
    pairs.cut(words)
    G = pairs.unpack(words)  # refuses what is impossible
    assert (np.minimum.outer(pairs.bounds, pairs.bounds) >= G).all()
    assert pairs.cut(words) == 0
    assert (pairs.pack_sums(G.astype(np.int64)) == words).all()


def test_only_what_is_impossible_is_cut() -> None:
    """To the base 1,002: one counter says 1,001 of 1,000, one stands where no pair does, one is beyond all."""
    pairs, base = PairWords(np.array([1000, 1000, 1001])), 1002
    words = np.array([1001 * base + 4 * base**2 + 3 * base**5, 2 + 6 * base**2, 0], np.uint64)
    assert pairs.cut(words) == 3
    assert pairs.unpack(words)[np.triu_indices(3, 1)].tolist() == [1000, 4, 6]


def table(seed: int, people: int, items: int) -> Floats:
    random = np.random.default_rng(seed)
    X = (random.random((people, items)) < random.random(items)).astype(np.float64)
    X[:, items // 2] = X[:, 0]  # two items that everybody has together: no inverse without a ridge
    return X.T @ X


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(2, 60), st.floats(0, 1))
@examples(40)
def test_a_table_of_people_stays_as_it_is(seed: int, people: int, items: int, sending: float) -> None:
    """Also where only some of those who were counted have sent pairs, scaled to all."""
    random = np.random.default_rng(seed)
    X = (random.random((people, items)) < random.random(items)).astype(np.float64)
    X[:, -1] = X[:, 0]
    sent = X[: max(1, int(sending * people))]
    scale = people / len(sent)
    G, own = scale * (sent.T @ sent), scale * X.sum(axis=0)
    before = G.copy()
    assert cut_negative(G, own) == 0
    np.testing.assert_array_equal(G.diagonal(), own)
    np.fill_diagonal(before, own)
    np.testing.assert_array_equal(G, before)


def test_without_the_tolerance_of_the_arithmetic_people_are_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with a direction of exactly 0 fails the test by rounding alone."""
    found = []
    for seed in range(20):
        G = table(seed, 40, 60)
        found.append(cut_negative(G, G.diagonal().copy()))
    assert found == [0] * 20
    monkeypatch.setattr(item_weights, "TEST_ROUNDING", 0.0)
    for seed in range(20):
        G = table(seed, 40, 60)
        found.append(cut_negative(G, G.diagonal().copy()))
    assert sum(found) > 0


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(4, 50))
@examples(40)
def test_a_table_of_nobody_loses_its_negative_directions_and_keeps_its_counts(seed: int, items: int) -> None:
    random = np.random.default_rng(seed)
    own = random.integers(1, 100, items).astype(np.float64)
    side = np.arange(items) % 2
    G = np.where(side[:, None] != side, np.minimum.outer(own, own), 0.0)
    lie = G.copy()
    np.fill_diagonal(lie, own)
    strongest = -np.linalg.eigvalsh(lie)[0]
    assume(strongest > 0.5)
    with pytest.raises(SettingError, match="reg must be large enough"):
        ease_weights(lie.copy(), 0.9 * strongest)  # what one device ended a release with
    assert cut_negative(G, own) > 0
    np.testing.assert_array_equal(G.diagonal(), own)
    assert np.linalg.eigvalsh(G)[0] > -1e-9 * own.sum()
    assert (np.abs(G) <= np.sqrt(np.outer(own, own)) * (1 + 1e-9)).all()
    assert np.isfinite(ease_weights(G, 0.1)).all()
