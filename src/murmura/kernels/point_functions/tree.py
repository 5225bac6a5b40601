"""Boyle, Gilboa and Ishai: Function secret sharing: improvements and extensions (CCS 2016), for all bins.

The tree is that of the IDPF of draft-irtf-cfrg-vdaf in its inner levels. A node is a seed of 16 bytes and a
control bit; `extend` makes two of it, the lowest bit of a seed being its control bit. Where the control bit is
1 the public correction of the level is added. The two parties begin with random seeds and the bits 0 and 1; off
the path to the one place their nodes are equal. A level without numbers keeps the seeds that it has, so
`convert` is for the last level alone, whose numbers are below p: larger words are skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from murmura.core.arrays import Bytes, Longs
from murmura.kernels.compiled import compiled
from murmura.kernels.point_functions.aes import Word, hashed
from murmura.kernels.proofs.field import MODULUS, Elements, add, inner, multiply, subtract

_P = np.uint64(MODULUS)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Corrections(NamedTuple):
    """The public part of the keys of all bins, and the fixed keys of its hashes."""

    extend: Elements  # (22,) round keys
    convert: Elements  # (22,)
    seeds: Elements  # (bins, depth, 2)
    controls: Bytes  # (bins, depth, 2)
    numbers: Elements  # (bins, numbers)


class Folded(NamedTuple):
    """What a proof needs of all places: sums over the places of each bin, f the flag and y of the payload."""

    flags: Elements  # (places, 1) f
    weighted: Elements  # (bins,) Σ r f
    squared: Elements  # (bins,) Σ r² f
    payload: Elements  # (bins,) Σ y with y = Σ t Y
    moved: Elements  # (bins,) Σ r y


@compiled(inline=True)
def _children(keys: Elements, lo: Word, hi: Word) -> Any:
    """(lo, hi, bit) of both children, before any correction."""
    left_lo, left_hi = hashed(keys, lo, hi)
    right_lo, right_hi = hashed(keys, lo ^ _ONE, hi)
    return (left_lo & ~_ONE, left_hi, left_lo & _ONE), (right_lo & ~_ONE, right_hi, right_lo & _ONE)


@compiled(inline=True)
def stretch(keys: Elements, lo: Word, hi: Word, out: Elements, count: int) -> None:
    """So many numbers of the field from a seed; `out` has room for whole blocks."""
    large = False
    for block in range((count + 1) // 2):
        first, second = hashed(keys, lo ^ np.uint64(1 + block), hi)  # block 0 would be the next level's seed
        out[2 * block], out[2 * block + 1] = first, second
    for i in range(count):
        large |= out[i] >= _P
    block, found = 0, 0
    while large and found < count:
        words = hashed(keys, lo ^ np.uint64(1 + block), hi)
        block += 1
        for word in words:
            if word < _P and found < count:
                out[found] = word
                found += 1


@compiled
def generate(
    extend: Elements, convert: Elements, roots: Elements, at: Longs, numbers: Elements, depth: int
) -> tuple[Elements, Bytes, Elements]:
    """The corrections by which the roots (2, bins, 2) stand for `numbers` (bins, n) at the places (bins,)."""
    bins, n = numbers.shape
    seeds, controls = np.empty((bins, depth, 2), np.uint64), np.empty((bins, depth, 2), np.uint8)
    corrections = np.empty((bins, n), np.uint64)
    drawn = np.empty((2, n + 1), np.uint64)
    for bin in range(bins):
        lo, hi = roots[:, bin, 0].copy(), roots[:, bin, 1].copy()
        control = np.array([_ZERO, _ONE])
        for level in range(depth):
            right = np.uint64(at[bin] >> (depth - 1 - level) & 1)
            (l0, r0), (l1, r1) = _children(extend, lo[0], hi[0]), _children(extend, lo[1], hi[1])
            if right:
                lost_lo, lost_hi = l0[0] ^ l1[0], l0[1] ^ l1[1]
            else:
                lost_lo, lost_hi = r0[0] ^ r1[0], r0[1] ^ r1[1]
            left_bit, right_bit = l0[2] ^ l1[2] ^ right ^ _ONE, r0[2] ^ r1[2] ^ right
            kept0, kept1, bit = (r0, r1, right_bit) if right else (l0, l1, left_bit)
            before0, before1 = control[0], control[1]
            lo[0], hi[0] = kept0[0] ^ before0 * lost_lo, kept0[1] ^ before0 * lost_hi
            lo[1], hi[1] = kept1[0] ^ before1 * lost_lo, kept1[1] ^ before1 * lost_hi
            control[0], control[1] = kept0[2] ^ before0 * bit, kept1[2] ^ before1 * bit
            seeds[bin, level, 0], seeds[bin, level, 1] = lost_lo, lost_hi
            controls[bin, level, 0], controls[bin, level, 1] = left_bit, right_bit
        for party in range(2):
            stretch(convert, lo[party], hi[party], drawn[party], n)
        for c in range(n):
            found = add(subtract(numbers[bin, c], drawn[0, c]), drawn[1, c])
            corrections[bin, c] = subtract(_ZERO, found) if control[1] else found
    return seeds, controls, corrections


@compiled
def nodes_of(
    extend: Elements, seeds: Elements, controls: Bytes, root: Elements, party: int, width: int, out: Elements
) -> None:
    """The last nodes of one bin into `out` (width + 1, 3): lo, hi, control bit."""
    depth, count = len(seeds), 1
    out[0, 0], out[0, 1], out[0, 2] = root[0], root[1], np.uint64(party)
    for level in range(depth):
        below = (width - 1 >> (depth - 1 - level)) + 1
        lo, hi = seeds[level, 0], seeds[level, 1]
        left_bit, right_bit = np.uint64(controls[level, 0]), np.uint64(controls[level, 1])
        for k in range(count - 1, -1, -1):
            bit = out[k, 2]
            left, right = _children(extend, out[k, 0], out[k, 1])
            mask = _ZERO - bit
            out[2 * k, 0], out[2 * k, 1] = left[0] ^ (lo & mask), left[1] ^ (hi & mask)
            out[2 * k, 2] = left[2] ^ (left_bit & bit)
            if 2 * k + 1 < below:
                out[2 * k + 1, 0], out[2 * k + 1, 1] = right[0] ^ (lo & mask), right[1] ^ (hi & mask)
                out[2 * k + 1, 2] = right[2] ^ (right_bit & bit)
        count = below


@compiled(inline=True)
def _row(convert: Elements, node: Elements, correction: Elements, out: Elements) -> None:
    """The numbers of one place, the first party's sign."""
    stretch(convert, node[0], node[1], out, len(correction))
    if node[2]:
        for c in range(len(correction)):
            out[c] = add(out[c], correction[c])


@compiled
def add_expanded(key: Corrections, roots: Elements, party: int, width: int, sums: Elements) -> None:
    """Add what one party's key stands for to (places, numbers) in place."""
    bins, n = key.numbers.shape
    nodes, row = np.empty((width + 1, 3), np.uint64), np.empty(n + 1, np.uint64)
    for bin in range(bins):
        nodes_of(key.extend, key.seeds[bin], key.controls[bin], roots[bin], party, width, nodes)
        for i in range(width):
            _row(key.convert, nodes[i], key.numbers[bin], row)
            here = sums[bin * width + i]
            if party:
                for c in range(n):
                    here[c] = subtract(here[c], row[c])
            else:
                for c in range(n):
                    here[c] = add(here[c], row[c])


@compiled
def fold(key: Corrections, roots: Elements, party: int, width: int, r: Elements, t: Elements) -> Folded:
    """What a proof needs of one key: r (width,) for the places of a bin, t (numbers - 1,) for a payload."""
    bins, n = key.numbers.shape
    nodes, row = np.empty((width + 1, 3), np.uint64), np.empty(n + 1, np.uint64)
    flags, found = np.empty((bins * width, 1), np.uint64), np.zeros((4, bins), np.uint64)
    for bin in range(bins):
        nodes_of(key.extend, key.seeds[bin], key.controls[bin], roots[bin], party, width, nodes)
        for i in range(width):
            _row(key.convert, nodes[i], key.numbers[bin], row)
            flag, payload = row[0], inner(t, row[1:])
            weighted = multiply(r[i], flag)
            flags[bin * width + i, 0] = subtract(_ZERO, flag) if party else flag
            found[0, bin] = add(found[0, bin], weighted)
            found[1, bin] = add(found[1, bin], multiply(r[i], weighted))
            found[2, bin] = add(found[2, bin], payload)
            found[3, bin] = add(found[3, bin], multiply(r[i], payload))
    if party:
        for k in range(4):
            for bin in range(bins):
                found[k, bin] = subtract(_ZERO, found[k, bin])
    return Folded(flags, found[0], found[1], found[2], found[3])
