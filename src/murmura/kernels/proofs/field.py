"""Whole numbers modulo p = 2⁶⁴ − 2³² + 1, one in each 64-bit word, compiled.

With e = 2³² − 1, 2⁶⁴ is e and 2⁹⁶ is −1 modulo p: a product of 128 bits is reduced by one short product, one
addition and one subtraction. Every function takes and gives words below p. The reference implementation is
`tests.channel.plain_proofs`, on whole numbers of Python.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from murmura.kernels.compiled import compiled

Elements = NDArray[np.uint64]  # numbers below MODULUS

MODULUS = 2**64 - 2**32 + 1
TWO_POWER = 2**32  # the largest order of a root of unity that is a power of two
GENERATOR = pow(7, (MODULUS - 1) // TWO_POWER, MODULUS)  # of that order
HALF = (MODULUS + 1) // 2  # the share of 1 of each of two aggregators
ELEMENT_BYTES = 8

_P = np.uint64(MODULUS)
_E = np.uint64(2**32 - 1)
_SHORT = np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@compiled
def add(a: np.uint64, b: np.uint64) -> np.uint64:
    """a + b."""
    left = _P - b
    return a - left if a >= left else a + b


@compiled
def subtract(a: np.uint64, b: np.uint64) -> np.uint64:
    """a - b."""
    return a - b if a >= b else a + (_P - b)


@compiled
def multiply_whole(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The upper and the lower 64 bits of a product of any two words."""
    a0, a1 = a & _E, a >> _SHORT
    b0, b1 = b & _E, b >> _SHORT
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> _SHORT) + (left & _E) + right
    return a1 * b1 + (left >> _SHORT) + (middle >> _SHORT), (middle << _SHORT) | (low & _E)


@compiled
def reduced(high: np.uint64, low: np.uint64) -> np.uint64:
    """high 2⁶⁴ + low."""
    top, rest = high >> _SHORT, high & _E
    less = low - top
    if less > low:
        less -= _E
    more = rest * _E
    total = less + more
    if total < more:
        total += _E
    return total - _P if total >= _P else total


@compiled
def multiply(a: np.uint64, b: np.uint64) -> np.uint64:
    """a b."""
    high, low = multiply_whole(a, b)
    return reduced(high, low)


@compiled
def power(a: np.uint64, exponent: int) -> np.uint64:
    """a to a power of at least 0."""
    result, base, left = _ONE, a, np.uint64(exponent)
    while left > _ZERO:
        if left & _ONE:
            result = multiply(result, base)
        base = multiply(base, base)
        left >>= _ONE
    return result


@compiled
def inverse(a: np.uint64) -> np.uint64:
    """The number whose product with a is 1; 0 has none, and gives 0."""
    result, base, left = _ONE, a, _P - np.uint64(2)
    while left > _ZERO:
        if left & _ONE:
            result = multiply(result, base)
        base = multiply(base, base)
        left >>= _ONE
    return result


@compiled
def root_of_unity(order: int) -> np.uint64:
    """A root of unity of this order, a power of two."""
    root, times = np.uint64(GENERATOR), TWO_POWER // order
    while times > 1:
        root = multiply(root, root)
        times //= 2
    return root


@compiled
def inner(a: Elements, b: Elements) -> np.uint64:
    """The sum of a_i b_i, reduced once: the whole sum is carry 2¹²⁸ + high 2⁶⁴ + low."""
    low, high, carry = _ZERO, _ZERO, _ZERO
    for i in range(len(a)):
        top, bottom = multiply_whole(a[i], b[i])
        low += bottom
        top += _ONE if low < bottom else _ZERO  # the upper half of a product is never 2⁶⁴ − 1
        high += top
        carry += _ONE if high < top else _ZERO
    return subtract(reduced(high, low), reduced(_ZERO, carry << _SHORT))  # 2¹²⁸ is −2³²


@compiled
def total(a: Elements) -> np.uint64:
    """The sum of a_i."""
    found = _ZERO
    for i in range(len(a)):
        found = add(found, a[i])
    return found


@compiled
def added(a: Elements, b: Elements) -> Elements:
    """a_i + b_i."""
    result = np.empty_like(a)
    for i in range(len(a)):
        result[i] = add(a[i], b[i])
    return result


@compiled
def add_into(a: Elements, b: Elements) -> None:
    """Add b_i to a_i in place."""
    for i in range(len(a)):
        a[i] = add(a[i], b[i])


@compiled
def subtracted(a: Elements, b: Elements) -> Elements:
    """a_i - b_i."""
    result = np.empty_like(a)
    for i in range(len(a)):
        result[i] = subtract(a[i], b[i])
    return result


@compiled
def multiplied(a: Elements, b: Elements) -> Elements:
    """a_i b_i."""
    result = np.empty_like(a)
    for i in range(len(a)):
        result[i] = multiply(a[i], b[i])
    return result


@compiled
def scaled(a: Elements, by: np.uint64) -> Elements:
    """a_i times one number."""
    result = np.empty_like(a)
    for i in range(len(a)):
        result[i] = multiply(a[i], by)
    return result


@compiled
def row_inners(a: Elements, b: Elements) -> Elements:
    """Σ_c a_ic b_c of each row."""
    result = np.empty(len(a), np.uint64)
    for i in range(len(a)):
        result[i] = inner(a[i], b)
    return result


@compiled
def row_totals(a: Elements) -> Elements:
    """Σ_c a_ic of each row."""
    result = np.empty(len(a), np.uint64)
    for i in range(len(a)):
        result[i] = total(a[i])
    return result
