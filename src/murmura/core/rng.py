"""Randomness of training: Philox4x32-10, keyed by a client's secret, a round and a purpose.

Salmon, Moraes, Dror and Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). docs/randomness.md
specifies every draw, vectors/rng.json holds golden answers; `kernels.philox` is the same, compiled. A draw is a
function of (secret, round, purpose, place): no order of work, worker count or restart changes it. Never for
privacy noise or secret shares: those need fresh system randomness.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.errors import SettingError

Words = NDArray[np.uint32]
LOW = 2**32 - 1
_FEW = 16  # up to so many blocks whole numbers of Python are quicker than arrays


class Purpose(IntEnum):
    """What a stream is for; an algorithm of your own takes numbers from OWN on."""

    SECRET = 0
    INIT = 1
    SELECT = 2
    TRIPLES = 3
    COINS = 4
    CONSENT = 5
    CHOICE = 6
    WARM = 7
    REFRESH = 8
    FOLD_IN = 9
    ROUNDING = 10
    BLOCK = 11
    GAIN = 12
    BATCHES = 13
    WORK = 14
    WITHHOLD = 15
    PART = 16
    SKETCH = 17
    CANDIDATES = 18
    OWN = 1024


def philox(counter: NDArray[Any], key: NDArray[Any]) -> Words:
    """The four words at each counter (..., 4) under each key (..., 2): (..., 4)."""
    counters = (counter[..., n].astype(np.uint64) for n in range(4))
    words = _block(*counters, *(key[..., n].astype(np.uint64) for n in range(2)))
    return np.stack(np.broadcast_arrays(*words), axis=-1).astype(np.uint32)


def _block(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """The same in 64 bits: of whole numbers of Python, or of arrays of them."""
    for _ in range(10):
        first, second = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & LOW, (first >> 32) ^ c3 ^ k1, first & LOW
        k0, k1 = (k0 + 0x9E3779B9) & LOW, (k1 + 0xBB67AE85) & LOW
    return c0, c1, c2, c3


def client_secrets(seed: int, clients: int, first: int = 0) -> Words:
    """The secret of so many clients of a simulation, from the first on: (clients, 2)."""
    counter = np.zeros((clients, 4), np.uint32)
    counter[:, 0] = np.arange(first, first + clients)
    return np.ascontiguousarray(philox(counter, _seed_key(seed))[:, :2])


def server_secret(seed: int) -> Words:
    """The secret the server draws its cohorts and its first model with: (2,)."""
    return philox(np.array([0, 1, Purpose.SECRET, 0]), _seed_key(seed))[:2]


def guest_secret(seed: int) -> Words:
    """The secret of someone who was not there in training: (2,)."""
    return philox(np.array([0, 2, Purpose.SECRET, 0]), _seed_key(seed))[:2]


@dataclass(frozen=True, eq=False)
class Rng:
    """The randomness of one machine in one round; every purpose has its own stream, from the beginning."""

    secret: Words  # (2,)
    round: int = 0

    def stream(self, purpose: int) -> Stream:
        """The words for one purpose."""
        return Stream(self.secret, self.round, int(purpose))


class Stream:
    """The words of one (secret, round, purpose), read one after the other."""

    def __init__(self, secret: Words, round: int, purpose: int) -> None:
        self._secret, self._round, self._purpose = secret, round, purpose
        self._ahead: list[int] = []
        self._block = 0

    def word(self) -> int:
        """The next 32 bits."""
        if not self._ahead:
            self._ahead = self._blocks(1)[::-1].tolist()
        return self._ahead.pop()

    def words(self, n: int) -> Words:
        """The next n words."""
        missing = max(0, n - len(self._ahead))
        got = np.concatenate([np.array(self._ahead[::-1], np.uint32), self._blocks(-(-missing // 4))])
        self._ahead = got[n:][::-1].tolist()
        return got[:n]

    def words_at(self, places: Longs) -> Words:
        """The words at these places of the stream, wherever it has been read to."""
        counter = np.zeros((len(places), 4), np.uint32)
        counter[:, 0] = places >> 2
        counter[:, 1:3] = self._round, self._purpose
        words: Words = philox(counter, self._secret)[np.arange(len(places)), places & 3]
        return words

    def below(self, n: int) -> int:
        """A whole number below n, 1 <= n < 2**32 (Lemire 2019): unfair words are passed over."""
        while True:
            product = self.word() * n
            if product & LOW >= 2**32 % n:
                return product >> 32

    def coins(self, share: Floats | float, n: int | None = None) -> Bools:
        """One coin per entry of `share` (or n coins): heads with that probability, one word each."""
        size = len(np.atleast_1d(share)) if n is None else n
        return self.words(size) < np.floor(np.asarray(share, np.float64) * 2.0**32)

    def normals(self, n: int) -> Floats:
        """n standard normals, one word each."""
        return standard_normal(self.words(n))

    def choose(self, n: int, m: int) -> Ints:
        """m different numbers below n, ascending (Floyd 1987): m draws, whatever n is."""
        chosen: set[int] = set()
        for last in range(n - m, n):
            drawn = self.below(last + 1)
            chosen.add(last if drawn in chosen else drawn)
        return np.array(sorted(chosen), np.int32)

    def _blocks(self, n: int) -> Words:
        first, self._block = self._block, self._block + n
        if n <= _FEW:
            k0, k1 = self._secret.tolist()
            blocks = (_block(first + k, self._round, self._purpose, 0, k0, k1) for k in range(n))
            return np.array([word for block in blocks for word in block], np.uint32)
        counter = np.zeros((n, 4), np.uint32)
        counter[:, 0] = np.arange(first, first + n)
        counter[:, 1:3] = self._round, self._purpose
        return philox(counter, self._secret).reshape(-1)


# Wichura 1988, algorithm AS 241, PPND7: about seven digits, by +, -, *, / and a square root alone
_CENTRE = (
    (3.3871327179e0, 5.0434271938e1, 1.5929113202e2, 5.9109374720e1),
    (1.0, 1.7895169469e1, 7.8757757664e1, 6.7187563600e1),
)
_TAIL = (
    (1.4234372777e0, 2.7568153900e0, 1.3067284816e0, 1.7023821103e-1),
    (1.0, 7.3700164250e-1, 1.2021132975e-1, 0.0),
)
_LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476


def standard_normal(words: Words) -> Floats:
    """The normal quantile of (word + 1/2) / 2**32, in operations that every language rounds alike."""
    u = (words.astype(np.float64) + 0.5) * 2.0**-32
    q = u - 0.5
    r = 0.180625 - q * q
    centre = q * (_cubic(_CENTRE[0], r) / _cubic(_CENTRE[1], r))
    far = np.abs(q) > 0.425
    t = np.sqrt(-_log(np.minimum(u[far], 1.0 - u[far]))) - 1.6
    tail = _cubic(_TAIL[0], t) / _cubic(_TAIL[1], t)
    centre[far] = np.where(q[far] < 0, -tail, tail)
    return centre


def _cubic(c: tuple[float, ...], x: Floats) -> Floats:
    return ((c[3] * x + c[2]) * x + c[1]) * x + c[0]


def _log(x: Floats) -> Floats:
    """The natural logarithm by its odd series: libraries disagree in the last bit, this does not."""
    m, e = np.frexp(x)
    small = m < _SQRT_HALF
    m, e = np.where(small, 2.0 * m, m), np.where(small, e - 1, e)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = np.full_like(z, 1.0 / 13.0)
    for k in (11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = series * z + 1.0 / k
    return e * _LN2 + 2.0 * s * series


def _seed_key(seed: int) -> Words:
    if not 0 <= seed < 2**64:
        raise SettingError(f"the seed must be a whole number from 0 to 2**64 - 1, but it is {seed}.")
    return np.array([seed & LOW, seed >> 32], np.uint32)
