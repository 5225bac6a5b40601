"""The generator against the authors' known answers, a plain twin, and its own promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.kernels import philox
from tests.kernels.plain_philox import Stream, plain_block

word = st.integers(0, 2**32 - 1)

# Random123 distribution, kat_vectors, rows "philox4x32 10": counter, key, answer
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def key_of(seed: int) -> philox.Words:
    return np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)


def compiled_block(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(w) for w in philox.block(*(np.uint64(x) for x in (*counter, *key))))


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, ...], answer: tuple[int, ...]) -> None:
    assert compiled_block(counter, key) == answer
    assert plain_block(counter, key) == answer


@given(st.tuples(word, word, word, word), st.tuples(word, word))
def test_block_equals_its_plain_twin(counter: tuple[int, ...], key: tuple[int, ...]) -> None:
    assert compiled_block(counter, key) == plain_block(counter, key)


def test_a_stream_can_be_entered_anywhere() -> None:
    key = key_of(2**40 + 7)
    out = np.empty(64, np.uint32)
    philox.fill_words(key, 1, 2, 3, 5, out)
    assert out.tolist() == [philox.word_at(key, 1, 2, 3, 20 + n) for n in range(64)]
    plain = Stream((7, 256), (1, 2, 3), place=20)
    assert out.tolist() == [plain.word() for _ in range(64)]


@given(word, st.integers(1, 2**32 - 1))
def test_bounded_numbers_lie_below_their_bound(w: int, n: int) -> None:
    value, fair = philox.bounded(np.uint64(w), np.uint64(n))
    assert value == w * n >> 32 < n
    assert fair == ((w * n) % 2**32 >= 2**32 % n)


def test_every_bounded_number_has_equally_many_fair_words() -> None:
    # on 2**32 words and n = 3 * 2**30 every number below n has exactly one fair word, so a quarter is rejected
    n = np.uint64(3 << 30)
    words = np.arange(0, 2**32, 2**32 // 30_000, dtype=np.uint64)
    rejected = sum(not philox.bounded(w, n)[1] for w in words)
    expected, spread = len(words) / 4, 4 * np.sqrt(len(words) * 3 / 16)
    assert abs(rejected - expected) < spread


def test_draws_reject_and_move_on_like_the_twin() -> None:
    n = 3 << 30  # one word in four is rejected
    plain = Stream((9, 0), (4, 5, 6))
    place, key = np.uint64(0), key_of(9)
    for _ in range(200):
        value, place = philox.draw_below(key, 4, 5, 6, place, n)
        assert value == plain.below(n)
        assert place == plain.place
    assert place > 220


def test_permutation_equals_the_twin_and_keeps_every_element() -> None:
    order = np.arange(700)  # more draws than words are drawn ahead
    philox.permute(order, key_of(3), 1, 0, 0)
    plain = list(range(700))
    stream = Stream((3, 0), (1, 0, 0))
    for last in range(699, 0, -1):
        other = stream.below(last + 1)
        plain[last], plain[other] = plain[other], plain[last]
    assert order.tolist() == plain
    assert sorted(plain) == list(range(700))


def test_uniform_doubles_have_the_moments_of_the_unit_interval() -> None:
    n = 50_001
    out = np.empty((2, n))
    philox.fill_uniform(np.array([[11, 0], [7, 3]], np.uint32), 0, 0, 0, out)
    assert out.min() >= 0
    assert out.max() < 1
    for row in out:
        assert abs(row.mean() - 1 / 2) < 4 / np.sqrt(12 * n)
        assert abs(row.var() - 1 / 12) < 4 / np.sqrt(180 * n)  # the variance of (x - 1/2)**2 is 1/180
    some = [0, 1, 2, 777, n - 1]
    assert out[0, some].tolist() == [Stream((11, 0), (0, 0, 0), place=2 * i).double() for i in some]
    assert out[1, some].tolist() == [Stream((7, 3), (0, 0, 0), place=2 * i).double() for i in some]
    assert philox.uniform(np.uint64(2**32 - 1), np.uint64(2**32 - 1)) == 1 - 2**-53
