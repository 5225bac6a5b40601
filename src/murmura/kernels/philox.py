"""Salmon, Moraes, Dror and Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). Philox4x32-10.

A counter-based generator: 128 random bits are a pure function of a 128-bit counter and a 64-bit key, so draw
number n of client u in round t needs no state and no predecessor. Only 32-bit operations: numpy, compiled loops
and TypeScript agree bit by bit.

A *stream* is a key (k0, k1) and the upper counter words (c1, c2, c3); word w of the stream is word w % 4 of the
block with c0 = w // 4. Words travel as uint64 that hold 32 bits: the compiler then never changes their sign.

Then coins, normals and whole numbers from streams of words: `core.rng.Stream`, compiled.
"""

from __future__ import annotations

from math import frexp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled

Word = Any  # np.uint64 below 2**32
Words = NDArray[np.uint32]

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@compiled(inline=True)
def _round(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word, n: int) -> tuple[Word, Word, Word, Word]:
    """Round n: two products, the words crossed over under the key moved on n times."""
    first, second = _M0 * c0, _M1 * c2
    moved0, moved1 = (k0 + np.uint64(n) * _W0) & _LOW, (k1 + np.uint64(n) * _W1) & _LOW
    return (second >> _SHIFT) ^ c1 ^ moved0, second & _LOW, (first >> _SHIFT) ^ c3 ^ moved1, first & _LOW


@compiled(inline=True)
def block(
    c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The four words at one counter under one key; written out, so that a loop over counters runs in lanes."""
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 0)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 1)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 2)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 3)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 4)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 5)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 6)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 7)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, 8)
    return _round(c0, c1, c2, c3, k0, k1, 9)


@compiled
def fill_words(key: Words, c1: Word, c2: Word, c3: Word, first: Word, out: Words) -> None:
    """Words 4 * first .. of a stream into `out`, whose length is a multiple of four."""
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    c1, c2, c3, first = np.uint64(c1), np.uint64(c2), np.uint64(c3), np.uint64(first)
    for b in range(len(out) // 4):
        w0, w1, w2, w3 = block((first + np.uint64(b)) & _LOW, c1, c2, c3, k0, k1)
        out[4 * b] = w0
        out[4 * b + 1] = w1
        out[4 * b + 2] = w2
        out[4 * b + 3] = w3


@compiled
def fill_streams(keys: Words, c1: Word, c2: Word, out: Words) -> None:
    """The first words of a stream for every key, a row per key; a row's length is a multiple of four."""
    for row in range(len(out)):
        fill_words(keys[row], c1, c2, np.uint64(0), np.uint64(0), out[row])


@compiled
def bounded(word: Word, n: Word) -> tuple[np.uint64, bool]:
    """A word as a whole number below n (Lemire 2019), and whether it is fair: an unfair one is drawn again.

    n is at least 1 and below 2**32. The high half of word * n is uniform once the 2**32 mod n words that would
    favour some numbers are rejected.
    """
    product = np.uint64(word) * np.uint64(n)
    low = product & _LOW
    fair = low >= np.uint64(n) or low >= (np.uint64(1) << _SHIFT) % np.uint64(n)
    return product >> _SHIFT, bool(fair)


@compiled
def uniform(high: Word, low: Word) -> float:
    """Two words as a double in [0, 1): 27 bits of the first, 26 of the second, in steps of 2**-53."""
    return (float(high >> np.uint64(5)) * 67108864.0 + float(low >> np.uint64(6))) / 9007199254740992.0


@compiled
def word_at(key: Words, c1: Word, c2: Word, c3: Word, place: Word) -> np.uint64:
    """Word number `place` of a stream."""
    words = block(
        np.uint64(place) >> np.uint64(2),
        np.uint64(c1),
        np.uint64(c2),
        np.uint64(c3),
        np.uint64(key[0]),
        np.uint64(key[1]),
    )
    last = np.uint64(place) & np.uint64(3)
    if last == np.uint64(0):
        return words[0]
    if last == np.uint64(1):
        return words[1]
    return words[2] if last == np.uint64(2) else words[3]


@compiled
def draw_below(key: Words, c1: Word, c2: Word, c3: Word, place: Word, n: Word) -> tuple[np.uint64, np.uint64]:
    """A whole number below n from word `place` of a stream on, and the place after the last word used."""
    while True:
        value, fair = bounded(word_at(key, c1, c2, c3, place), n)
        place = np.uint64(place) + np.uint64(1)
        if fair:
            return value, place


@compiled
def permute(order: Longs, key: Words, c1: Word, c2: Word, c3: Word) -> None:
    """Shuffle in place (Fisher and Yates, from the end), with a stream of its own."""
    words = np.empty(256, np.uint32)
    at, block_ = len(words), 0
    for last in range(len(order) - 1, 0, -1):
        n = np.uint64(last + 1)
        unfair = (np.uint64(1) << _SHIFT) % n
        while True:
            if at == len(words):
                fill_words(key, c1, c2, c3, np.uint64(block_), words)
                at, block_ = 0, block_ + len(words) // 4
            product = np.uint64(words[at]) * n
            at += 1
            if product & _LOW >= unfair:
                break
        other = np.int64(product >> _SHIFT)
        order[last], order[other] = order[other], order[last]


@compiled
def fill_uniform(keys: Words, c1: Word, c2: Word, c3: Word, out: Floats) -> None:
    """Doubles in [0, 1), a row per key: number n of a row comes from words 2n and 2n + 1 of its stream."""
    c1, c2, c3 = np.uint64(c1), np.uint64(c2), np.uint64(c3)
    for row in range(len(out)):
        k0, k1 = np.uint64(keys[row, 0]), np.uint64(keys[row, 1])
        half = out.shape[1] // 2
        for b in range(half):
            w0, w1, w2, w3 = block(np.uint64(b), c1, c2, c3, k0, k1)
            out[row, 2 * b] = uniform(w0, w1)
            out[row, 2 * b + 1] = uniform(w2, w3)
        if out.shape[1] % 2:
            w0, w1, w2, w3 = block(np.uint64(half), c1, c2, c3, k0, k1)
            out[row, 2 * half] = uniform(w0, w1)


_ZERO = np.uint64(0)
_INIT = np.uint64(Purpose.INIT)
_SELECT = np.uint64(Purpose.SELECT)
_CONSENT = np.uint64(Purpose.CONSENT)


@compiled
def heads(word: Word, consent: float) -> bool:
    """A coin that falls on heads with probability `share`."""
    return bool(np.uint64(word) < np.uint64(consent * 4294967296.0))


@compiled
def coin_at(key: Words, c1: Word, c2: Word, place: int, consent: float) -> bool:
    """Coin number `place` of a stream; a share of 0 or 1 asks no word."""
    if consent <= 0.0:
        return False
    if consent >= 1.0:
        return True
    return heads(word_at(key, c1, c2, _ZERO, np.uint64(place)), consent)


@compiled
def one_of(key: Words, round_: int, n: int) -> np.uint64:
    """The one client of a round among n: `choose(n, 1)` of the server's SELECT stream."""
    c0 = _ZERO
    while True:
        w0, w1, w2, w3 = block(c0, np.uint64(round_), _SELECT, _ZERO, np.uint64(key[0]), np.uint64(key[1]))
        for word in (w0, w1, w2, w3):
            value, fair = bounded(word, np.uint64(n))
            if fair:
                return value
        c0 += np.uint64(1)


@compiled
def normal(word: Word) -> float:
    """A standard normal from one word (Wichura's PPND7), bit-equal to `core.rng.standard_normal`."""
    u = (float(word) + 0.5) * 2.0**-32
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        top = ((5.9109374720e1 * r + 1.5929113202e2) * r + 5.0434271938e1) * r + 3.3871327179e0
        return q * (top / (((6.7187563600e1 * r + 7.8757757664e1) * r + 1.7895169469e1) * r + 1.0))
    t = sqrt(-_log(min(u, 1.0 - u))) - 1.6
    top = ((1.7023821103e-1 * t + 1.3067284816e0) * t + 2.7568153900e0) * t + 1.4234372777e0
    tail = top / (((0.0 * t + 1.2021132975e-1) * t + 7.3700164250e-1) * t + 1.0)
    return -tail if q < 0 else tail


@compiled
def _log(x: float) -> float:
    m, e = frexp(x)
    if m < 0.7071067811865476:
        m = 2.0 * m
        e -= 1
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 / 13.0
    for k in (11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = series * z + 1.0 / k
    return e * 0.6931471805599453 + 2.0 * s * series


@compiled
def initial_rows(keys: Words, scale: float, out: Any) -> None:
    """The first private vector of every client: row u is scale times the INIT normals of client u, round 0."""
    width = out.shape[1]
    for u in range(out.shape[0]):
        for n in range(width):
            out[u, n] = scale * normal(word_at(keys[u], _ZERO, _INIT, _ZERO, np.uint64(n)))


@compiled
def fill_sticky(start: Longs, limit: Longs, excluded: Bools, secrets: Words, consent: Floats) -> None:
    """The sticky draw of every client at once, as `channel.consent_draws.extend_record` has it.

    Share 1 for the rows a client draws, at most limit[u] of those it does not exclude; 0 for the others.
    """
    for u in range(len(start) - 1):
        first, last = start[u], start[u + 1]
        undecided = np.empty(last - first, np.int64)
        left = 0
        for row in range(first, last):
            consent[row] = 0.0
            if not excluded[row]:
                undecided[left] = row
                left += 1
        place = _ZERO
        for _ in range(min(limit[u], left)):
            k, place = draw_below(secrets[u], _ZERO, _CONSENT, _ZERO, place, np.uint64(left))
            consent[undecided[k]] = 1.0
            left -= 1
            undecided[k] = undecided[left]


@compiled
def fill_block(
    start: Longs, order: Longs, limit: Longs, excluded: Bools, secrets: Words, consent: Floats
) -> None:
    """The stretch of every client at once, as `channel.consent_draws.extend_block` has it.

    `order` has the rows of each client from the oldest to the newest. Share 1 for a stretch of limit[u] of the
    rows a client does not exclude, or of all of them where they are fewer; 0 for the others.
    """
    for u in range(len(start) - 1):
        first, last = start[u], start[u + 1]
        allowed = np.empty(last - first, np.int64)
        left = 0
        for place in range(first, last):
            row = order[place]
            consent[row] = 0.0
            if not excluded[row]:
                allowed[left] = row
                left += 1
        size = min(limit[u], left)
        if size > 0:
            begin, _ = draw_below(secrets[u], _ZERO, _CONSENT, _ZERO, _ZERO, np.uint64(left - size + 1))
            for k in range(size):
                consent[allowed[int(begin) + k]] = 1.0
