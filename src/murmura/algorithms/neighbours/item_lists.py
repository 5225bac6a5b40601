"""What the server makes of the sums: directions, candidates for pairs, lists of neighbours.

The two sketches are those of Halko, Martinsson and Tropp (SIAM Review 2011) for the Gram matrix of people's
histories, everybody's row of length 1 / n and items by c^-1/2. Low rank names pairs well and weighs them badly,
so the candidates' pairs are counted exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.model import NO_ITEM
from murmura.core.rng import Purpose, Rng

BLOCK = 256  # rows whose candidates are found at once
STRONG, CLIPPED = 1e-4, 0.999  # of the strongest direction; of all numbers of the public directions
POPULAR = 0.1  # the power of a candidate's count beside its cosine

Packed = NDArray[np.uint64]


def item_scale(counts: Longs, part: Bools) -> Floats:
    """c^-1/2 of the items that take part, 0 of others."""
    return np.where(part, 1 / np.sqrt(np.maximum(counts, 1)), 0.0)


def first_rows(items: Ints, counts: Longs, least: int, rank: int) -> Floats:
    """Public random signs by (least / c)^1/2: (items, rank) within [-1, 1]; 0 for items too rare."""
    words = -(-rank // 32)
    places = items.astype(np.int64)[:, None] * words + np.arange(words)
    drawn = Rng(np.zeros(2, np.uint32)).stream(Purpose.SKETCH).words_at(places.ravel())
    bits = np.unpackbits(drawn.astype("<u4").view(np.uint8), bitorder="little").reshape(len(items), -1)[
        :, :rank
    ]
    lengths: Floats = least**0.5 * item_scale(counts[items], counts[items] >= least)
    return np.where(bits, 1.0, -1.0) * lengths[:, None]


def directions(Y: Floats, scale: Floats) -> Singles:
    """Rows of C^-1/2 Q within [-1, 1] as they are published, Q R = C^-1/2 Y; zeros beyond the items' number."""
    with threadpool_limits(1, "blas"):
        Q, _ = np.linalg.qr(scale[:, None] * Y)
    rows = scale[:, None] * Q
    sizes = np.abs(rows[scale > 0])
    largest = float(np.quantile(sizes, CLIPPED)) if sizes.size else 0.0
    shown: Singles = np.zeros(Y.shape, np.float16)
    shown[:, : rows.shape[1]] = np.clip(rows / (largest or 1.0), -1, 1)
    return shown


def item_points(Y: Floats, shown: Floats, scale: Floats) -> Singles:
    """(items, directions) of length 1: cosines between them are what the low rank says of two items."""
    Q = shown / np.where(scale > 0, scale, 1.0)[:, None]
    with threadpool_limits(1, "blas"):
        Y = scale[:, None] * Y
        S = Q.T @ Y
        e, U = np.linalg.eigh((S + S.T) / 2)
        strong = e > max(STRONG * e[-1], 1e-6 * abs(np.trace(S)) / len(S))
        if not strong.any():
            return np.zeros((len(Y), 1), np.float32)
        V, s, _ = np.linalg.svd(Y @ (U[:, strong] / np.sqrt(e[strong])), full_matrices=False)
    h = V * s
    length = np.linalg.norm(h, axis=1)
    points: Singles = (h / np.where(length > 0, length, 1)[:, None]).astype(np.float32)
    return points


def candidates(points: Singles, counts: Longs, part: Bools, capacity: Longs) -> Ints:
    """(items, most) for each item the nearest others, popular ones a little nearer; -1 beyond its capacity."""
    items, most = np.flatnonzero(part).astype(np.int32), int(capacity.max(initial=0))
    found = np.full((len(part), most), NO_ITEM, np.int32)
    width = min(most, len(items) - 1)
    if width < 1:
        return found
    mine, liked = points[items], (counts[items] ** POPULAR).astype(np.float32)
    with threadpool_limits(1, "blas"):
        for first in range(0, len(items), BLOCK):
            here = np.arange(first, min(first + BLOCK, len(items)))
            near = mine[here] @ mine.T
            near *= np.where(near > 0, liked, 1)
            near[here - first, here] = -np.inf
            best = np.argpartition(-near, width - 1, axis=1)[:, :width]
            best.sort(axis=1)  # ties to the lower number
            order = np.argsort(-np.take_along_axis(near, best, 1), axis=1, kind="stable")
            chosen = items[np.take_along_axis(best, order, 1)]
            inside = np.arange(width) < capacity[items[here]][:, None]
            found[items[here], :width] = np.where(inside, chosen, NO_ITEM)
    return found


def nearest(weight: Floats, named: Ints, k: int) -> tuple[Ints, Singles]:
    """The k largest weights of each row and whose they are, the largest first; only those above 0."""
    k = min(k, weight.shape[1])
    order = np.argsort(-weight, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(weight, order, 1)
    item = np.where(best > 0, np.take_along_axis(named, order, 1), NO_ITEM).astype(np.int32)
    return item, np.maximum(best, 0).astype(np.float32)


def in_a_word(items: int) -> int:
    """How many item numbers, and the number of nobody, share 64 bits."""
    return 64 // items.bit_length()


def packed(numbers: Ints, items: int) -> Packed:
    """(rows, words) item numbers as they are published; -1 is nobody."""
    each = in_a_word(items)
    wide = np.full((len(numbers), -(-numbers.shape[1] // each) * each), items, np.uint64)
    wide[:, : numbers.shape[1]] = np.where(numbers < 0, items, numbers)
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(64 // each)
    words: Packed = (wide.reshape(len(numbers), -1, each) << shifts).sum(axis=2, dtype=np.uint64)
    return words


def unpacked(words: NDArray[Any], items: int, width: int) -> Ints:
    """(rows, width) the item numbers, -1 for nobody."""
    each = in_a_word(items)
    shifts, mask = np.arange(each, dtype=np.uint64) * np.uint64(64 // each), np.uint64(2 ** (64 // each) - 1)
    numbers = ((words.astype(np.uint64)[:, :, None] >> shifts) & mask).reshape(
        len(words), each * words.shape[1]
    )[:, :width]
    return np.where(numbers < np.uint64(items), numbers, np.uint64(0)).astype(np.int32) - (
        numbers >= np.uint64(items)
    ).astype(np.int32)


def pair_weights(
    sums: Floats, enough: Bools, counts: Longs, named: Ints, rows: Ints, powers: tuple[float, float]
) -> Floats:
    """W = S / (c_i^a c_j^b) of the pairs that are published, 0 of others."""
    own, others = (
        np.maximum(counts[rows], 1) ** powers[0],
        np.maximum(counts[np.maximum(named, 0)], 1) ** powers[1],
    )
    weight: Floats = np.where(enough & (named >= 0), sums / (own[:, None] * others), 0.0)
    return weight
