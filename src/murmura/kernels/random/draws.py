"""Coins, normals and whole numbers from streams of words, compiled: the twins of `core.rng.Stream`."""

from __future__ import annotations

from math import frexp, sqrt
from typing import Any

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.random.philox import Word, Words, block, bounded, draw_below, word_at

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
