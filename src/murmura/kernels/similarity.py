"""The most similar rows of a sparse table by four measures, compared whole or where both rows have an entry.

`kernels.sparse.nearest_rows` has the cosine of whole rows with its asymmetry; here is what rating prediction
compares, and the other measures of neighbourhoods. The plain twin is in tests/kernels/test_similarity.py.
"""

from __future__ import annotations

from math import sqrt
from typing import Literal, NamedTuple

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.progress import SILENT, Progress
from murmura.kernels.compiled import compiled
from murmura.kernels.sparse import STRIDE, Sparse, collect, push, stacked, worse

Measure = Literal["cosine", "pearson", "jaccard", "euclidean"]
COSINE, PEARSON, JACCARD, EUCLIDEAN = range(4)
CODES: dict[Measure, int] = {
    "cosine": COSINE,
    "pearson": PEARSON,
    "jaccard": JACCARD,
    "euclidean": EUCLIDEAN,
}
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
    first: int, last: int, rows: Sparse, columns: Sparse, totals: RowTotals,
    kind: int, common: bool, shrink: float, k: int,
) -> tuple[Longs, Ints, Floats]:  # fmt: skip
    """The neighbours of rows first .. last - 1: where each begins, their codes, their similarities."""
    n = len(rows.start) - 1
    start = np.zeros(last - first + 1, np.int64)
    index = np.empty((last - first) * min(k, n), np.int32)
    value = np.empty(len(index), np.float64)
    met, touched = np.full(n, -1, np.int32), np.empty(n, np.int32)
    shared = Shared(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), met, touched)
    codes, similarities = np.empty(k, np.int32), np.empty(k)
    at = 0
    for row in range(first, last):
        codes[:] = n  # a heap of nobody: less similar than anyone
        similarities[:] = 0.0
        for code in touched[: _compare(row, rows, columns, shared)]:
            if code == row:
                continue
            both = shared.both[code]
            similarity = _similarity(kind, common, row, code, shared, totals) * (both / (both + shrink))
            if similarity > 0.0 and worse(0, code, similarity, codes, similarities):
                push(k, code, similarity, codes, similarities)
        at = collect(n, codes, similarities, index, value, at)
        start[row - first + 1] = at
    return start, index[:at].copy(), value[:at].copy()


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
    n, columns = len(rows.start) - 1, table.transpose(n_columns)
    row = np.repeat(np.arange(n), np.diff(table.start))
    totals = RowTotals(
        np.diff(table.start).astype(np.float64),
        np.bincount(row, table.value, minlength=n).astype(np.float64),
        table.squares(),
        float(n_columns),
    )
    parts: list[tuple[Longs, Ints, Floats]] = []
    progress.begin("neighbours", n - first)
    for begin in range(first, n, STRIDE):
        end = min(begin + STRIDE, n)
        parts.append(_nearest(begin, end, table, columns, totals, CODES[measure], common, shrink, k))
        progress.advance(end - begin)
    progress.end()
    return stacked(parts)


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
