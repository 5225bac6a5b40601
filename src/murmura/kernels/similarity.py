"""The most similar rows of a sparse table by five measures, compared whole or where both rows have an entry.

The reference implementations are in tests/kernels.
"""

from __future__ import annotations

from math import sqrt
from typing import Literal, NamedTuple

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.progress import SILENT, Progress
from murmura.kernels.compiled import compiled
from murmura.kernels.sparse import Sparse

Measure = Literal["cosine", "pearson", "jaccard", "euclidean"]
COSINE, PEARSON, JACCARD, EUCLIDEAN, ASYMMETRIC = range(5)
CODES: dict[Measure, int] = {
    "cosine": COSINE,
    "pearson": PEARSON,
    "jaccard": JACCARD,
    "euclidean": EUCLIDEAN,
}
STRIDE = 512  # rows between two reports of progress
FLAT = 1e-12  # a row whose variance is this part of its squares or less does not vary


class RowTotals(NamedTuple):
    """What a similarity of whole rows needs beside their product."""

    entries: Floats  # (rows,) how many
    sum: Floats  # (rows,)
    square: Floats  # (rows,)
    columns: float


class Shared(NamedTuple):
    """The entries of one row beside those of every other row that shares a column with it."""

    both: Floats  # (rows,) columns where both have an entry
    dot: Floats
    own: Floats  # squares of the one row in shared columns
    other: Floats  # squares of the other
    met: Ints  # the row this was last filled for
    touched: Ints  # who was met


@compiled
def _dots(row: int, rows: Sparse, columns: Sparse, dot: Floats, met: Ints, touched: Ints) -> int:
    """Add the dot products of one row with every row that shares an entry; return how many those are."""
    count = 0
    for place in range(rows.start[row], rows.start[row + 1]):
        column, value = rows.column[place], rows.value[place]
        for other in range(columns.start[column], columns.start[column + 1]):
            code = columns.column[other]
            if met[code] != row:
                met[code] = row
                dot[code] = 0.0
                touched[count] = code
                count += 1
            dot[code] += value * columns.value[other]
    return count


@compiled
def push(size: int, code: int, similarity: float, codes: Ints, similarities: Floats) -> None:
    """Put one neighbour into a full heap whose root is the worst: least similar, of equals the higher code."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and worse(child + 1, codes[child], similarities[child], codes, similarities):
            child += 1
        if not worse(child, code, similarity, codes, similarities):
            break
        codes[at], similarities[at] = codes[child], similarities[child]
        at = child
    codes[at], similarities[at] = code, similarity


@compiled
def worse(at: int, code: int, similarity: float, codes: Ints, similarities: Floats) -> bool:
    """Whether the neighbour at a place of the heap is worse than another one."""
    return bool(similarities[at] < similarity or (similarities[at] == similarity and codes[at] > code))


@compiled
def collect(empty: int, codes: Ints, similarities: Floats, index: Ints, value: Floats, at: int) -> int:
    """Write the neighbours of a heap from a place on, without its empty places; the place after them."""
    for place in range(len(codes)):
        if codes[place] < empty:
            index[at], value[at] = codes[place], similarities[place]
            at += 1
    return at


@compiled
def _compare(row: int, rows: Sparse, columns: Sparse, shared: Shared) -> int:
    """Fill `shared` for one row; return how many rows share a column with it."""
    found = 0
    for place in range(rows.start[row], rows.start[row + 1]):
        column, value = rows.column[place], rows.value[place]
        for entry in range(columns.start[column], columns.start[column + 1]):
            code, there = columns.column[entry], columns.value[entry]
            if shared.met[code] != row:
                shared.met[code] = row
                shared.both[code] = shared.dot[code] = shared.own[code] = shared.other[code] = 0.0
                shared.touched[found] = code
                found += 1
            shared.both[code] += 1.0
            shared.dot[code] += value * there
            shared.own[code] += value * value
            shared.other[code] += there * there
    return found


@compiled
def _similarity(kind: int, common: bool, a: int, b: int, shared: Shared, totals: RowTotals) -> float:
    """How alike rows a and b are; 0 where the measure is not defined."""
    n, dot = float(shared.both[b]), float(shared.dot[b])
    if kind == JACCARD:
        return n / float(totals.entries[a] + totals.entries[b] - n)
    own, other = (shared.own[b], shared.other[b]) if common else (totals.square[a], totals.square[b])
    if kind == EUCLIDEAN:
        gap = max(own + other - 2.0 * dot, 0.0)
        return 1.0 / (1.0 + sqrt(gap / n if common else gap))
    if kind == PEARSON and not common:
        dot -= float(totals.sum[a] * totals.sum[b]) / totals.columns
        own -= totals.sum[a] ** 2 / totals.columns
        other -= totals.sum[b] ** 2 / totals.columns
    if own <= FLAT * totals.square[a] or other <= FLAT * totals.square[b]:
        return 0.0
    return dot / sqrt(own * other)


@compiled
def _nearest(
    first: int, last: int, rows: Sparse, columns: Sparse, totals: RowTotals, own: Floats, others: Floats,
    kind: int, common: bool, shrink: float, k: int,
) -> tuple[Longs, Ints, Floats]:  # fmt: skip
    """The neighbours of rows first .. last - 1: how many each has, their codes, their similarities."""
    n = len(rows.start) - 1
    count = np.zeros(last - first, np.int64)
    index = np.empty((last - first) * min(k, n), np.int32)
    value = np.empty(len(index), np.float64)
    met, touched = np.full(n, -1, np.int32), np.empty(n, np.int32)
    shared = Shared(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), met, touched)
    codes, similarities = np.empty(k, np.int32), np.empty(k)
    at = 0
    for row in range(first, last):
        codes[:] = n  # a heap of nobody: less similar than anyone
        similarities[:] = 0.0
        if kind == ASYMMETRIC:
            found = _dots(row, rows, columns, shared.dot, met, touched)
        else:
            found = _compare(row, rows, columns, shared)
        for code in touched[:found]:
            if code == row:
                continue
            if kind == ASYMMETRIC:
                similarity = shared.dot[code] / (own[row] * others[code] + shrink)
            else:
                both = shared.both[code]
                similarity = _similarity(kind, common, row, code, shared, totals) * (both / (both + shrink))
            if similarity > 0.0 and worse(0, code, similarity, codes, similarities):
                push(k, code, similarity, codes, similarities)
        count[row - first] = -at
        at = collect(n, codes, similarities, index, value, at)
        count[row - first] += at
    return count, index[:at].copy(), value[:at].copy()


def nearest_rows(
    rows: Sparse,
    n_columns: int,
    k: int,
    asymmetry: float = 0.5,
    shrink: float = 0.0,
    progress: Progress = SILENT,
    asking: Sparse | None = None,
) -> Sparse:
    """The k most similar other rows b of every row a: a.b / (|a|^(2 asymmetry) |b|^(2 - 2 asymmetry) + shrink).

    Asymmetry 1/2 without shrinkage is the cosine. Only similarities above 0 count; ties go to the lower code.
    a is a row of `asking`, where that is given: the same rows with other values.
    """
    return _neighbours(0, rows, n_columns, ASYMMETRIC, False, asymmetry, shrink, k, progress, asking)


@compiled
def _most_shared(near: Sparse, asking: Sparse, rows: Sparse, out: Floats) -> None:
    for row in range(len(near.start) - 1):
        for place in range(near.start[row], near.start[row + 1]):
            a, b = asking.start[row], rows.start[near.column[place]]
            end, others = asking.start[row + 1], rows.start[near.column[place] + 1]
            while a < end and b < others:
                own, other = asking.column[a], rows.column[b]
                if own == other and asking.value[a] > out[place]:
                    out[place] = asking.value[a]
                if own <= other:
                    a += 1
                if other <= own:
                    b += 1


def most_shared(near: Sparse, asking: Sparse, rows: Sparse) -> Floats:
    """For each neighbour b of each row a: the largest value that `asking` has where both have an entry."""
    out: Floats = np.zeros(len(near.column))
    _most_shared(near, asking, rows, out)
    return out


def similar_rows(
    rows: Sparse,
    n_columns: int,
    k: int,
    measure: Measure,
    common: bool = False,
    shrink: float = 0.0,
    first: int = 0,
    progress: Progress = SILENT,
) -> Sparse:
    """The k most similar other rows of every row from `first` on.

    Whole rows have zeros where they have no entry. With `common` only columns where both have one count:
    the cosine of these entries, Pearson the same of entries less their row's own mean, the Euclidean distance
    per entry. Jaccard looks at who has an entry alone. A distance d is the similarity 1 / (1 + d). All are
    multiplied by n / (n + shrink), n being the shared columns; rows without one are no neighbours, nor are
    those with a similarity of 0 or below; ties go to the lower code.
    """
    table = centred_rows(rows) if common and measure == "pearson" else rows
    return _neighbours(first, table, n_columns, CODES[measure], common, 0.5, shrink, k, progress)


def _neighbours(
    first: int, rows: Sparse, n_columns: int,
    kind: int, common: bool, asymmetry: float, shrink: float, k: int, progress: Progress,
    asking: Sparse | None = None,
) -> Sparse:  # fmt: skip
    """The neighbours of every row from `first` on, found some rows at a time."""
    columns, squares, entries = rows.transpose(n_columns), rows.squares(), np.diff(rows.start)
    asking = rows if asking is None else asking
    own, others, n = asking.squares() ** asymmetry, squares ** (1 - asymmetry), len(entries)
    total = np.bincount(np.repeat(np.arange(n), entries), rows.value, minlength=n).astype(np.float64)
    totals = RowTotals(entries.astype(np.float64), total, squares, float(n_columns))
    parts = []
    progress.begin("neighbours", n - first)
    for begin in range(first, n, STRIDE):
        end = min(begin + STRIDE, n)
        parts.append(_nearest(begin, end, asking, columns, totals, own, others, kind, common, shrink, k))
        progress.advance(end - begin)
    progress.end()
    count, index, value = (np.concatenate(column) for column in zip(*parts))
    return Sparse.of(np.concatenate(([0], np.cumsum(count))), index, value)


def centred_rows(rows: Sparse) -> Sparse:
    """Every entry less the mean of its row; of a row of equal entries exactly 0."""
    n = len(rows.start) - 1
    row = np.repeat(np.arange(n), np.diff(rows.start))
    count = np.maximum(np.diff(rows.start), 1)
    values = rows.value - (np.bincount(row, rows.value, minlength=n) / count)[row]
    flat: Bools = np.bincount(row, np.abs(values) > FLAT * np.abs(rows.value), minlength=n) == 0
    return Sparse.of(rows.start, rows.column, np.where(flat[row], 0.0, values))


def with_row(rows: Sparse, column: Ints, value: Floats) -> Sparse:
    """The same table with one more row at its end."""
    return Sparse.of(
        np.append(rows.start, rows.start[-1] + len(column)),
        np.concatenate([rows.column, column]),
        np.concatenate([rows.value, value]),
    )
