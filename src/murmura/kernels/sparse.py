"""Sparse matrices by rows inside compiled loops: nearest rows, and sums of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.interactions import RowIndex
from murmura.core.progress import SILENT, Progress
from murmura.kernels.compiled import compiled

Table = NDArray[Any]  # a dense matrix, float32 or float64
STRIDE = 512  # rows between two reports of progress


class Sparse(NamedTuple):
    """A sparse matrix: row r holds columns `column[start[r]:start[r + 1]]`, with `value` beside it."""

    start: Longs  # (rows + 1,)
    column: Ints  # (entries,)
    value: Floats  # (entries,)

    @staticmethod
    def of(start: NDArray[Any], column: NDArray[Any], value: NDArray[Any]) -> Sparse:
        """Read-only, so that a compiled loop meets one type whoever made the matrix."""
        return Sparse(frozen(start, np.int64), frozen(column, np.int32), frozen(value, np.float64))

    @staticmethod
    def of_rows(rows: RowIndex, binary: bool = False) -> Sparse:
        """The same matrix; with `binary` every entry is 1."""
        return Sparse.of(rows.start, rows.index, np.ones(len(rows.index)) if binary else rows.value)

    @staticmethod
    def of_people(person: Ints, column: Ints, value: Floats, people: int) -> Sparse:
        """Ratings in any order as a matrix of people and columns."""
        order = np.lexsort((column, person))
        start = np.concatenate(([0], np.cumsum(np.bincount(person, minlength=people))))
        return Sparse.of(start, column[order], value[order])

    def transpose(self, n_columns: int) -> Sparse:
        """The same matrix by columns."""
        row = np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))
        start = np.zeros(n_columns + 1, np.int64)
        np.cumsum(np.bincount(self.column, minlength=n_columns), out=start[1:])
        order = np.argsort(self.column, kind="stable")
        return Sparse.of(start, row[order], self.value[order])

    def squares(self) -> Floats:
        """The sum of squares of each row."""
        row = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return np.bincount(row, self.value**2, minlength=len(self.start) - 1).astype(np.float64)


def frozen(array: NDArray[Any], kind: type) -> NDArray[Any]:
    """The array as contiguous numbers of one kind that cannot be written to."""
    view: NDArray[Any] = np.ascontiguousarray(array, kind).view()
    view.flags.writeable = False
    return view


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
def collect(nobody: int, codes: Ints, similarities: Floats, index: Ints, value: Floats, at: int) -> int:
    """Write the neighbours of a heap from a place on, without its empty places; the place after them."""
    for place in range(len(codes)):
        if codes[place] < nobody:
            index[at], value[at] = codes[place], similarities[place]
            at += 1
    return at


@compiled
def _nearest(
    first: int, last: int, rows: Sparse, columns: Sparse, own: Floats, others: Floats, shrink: float, k: int
) -> tuple[Longs, Ints, Floats]:
    """The neighbours of rows first .. last - 1: where each begins, their codes, their similarities."""
    n = len(rows.start) - 1
    start = np.zeros(last - first + 1, np.int64)
    index = np.empty((last - first) * min(k, n), np.int32)
    value = np.empty(len(index), np.float64)
    dot, met, touched = np.zeros(n), np.full(n, -1, np.int32), np.empty(n, np.int32)
    codes, similarities = np.empty(k, np.int32), np.empty(k)
    at = 0
    for row in range(first, last):
        codes[:] = n  # a heap of nobody: less similar than anyone
        similarities[:] = 0.0
        for code in touched[: _dots(row, rows, columns, dot, met, touched)]:
            similarity = dot[code] / (own[row] * others[code] + shrink)
            if code != row and dot[code] > 0.0 and worse(0, code, similarity, codes, similarities):
                push(k, code, similarity, codes, similarities)
        at = collect(n, codes, similarities, index, value, at)
        start[row - first + 1] = at
    return start, index[:at].copy(), value[:at].copy()


def nearest_rows(
    rows: Sparse,
    n_columns: int,
    k: int,
    asymmetry: float = 0.5,
    shrink: float = 0.0,
    progress: Progress = SILENT,
) -> Sparse:
    """The k most similar other rows b of every row a: a.b / (|a|^(2 asymmetry) |b|^(2 - 2 asymmetry) + shrink).

    Asymmetry 1/2 without shrinkage is the cosine. Only similarities above 0 count; ties go to the lower code.
    """
    columns, squares, n = rows.transpose(n_columns), rows.squares(), len(rows.start) - 1
    own, others = squares**asymmetry, squares ** (1 - asymmetry)
    parts: list[tuple[Longs, Ints, Floats]] = []
    progress.begin("neighbours", n)
    for first in range(0, n, STRIDE):
        last = min(first + STRIDE, n)
        parts.append(_nearest(first, last, rows, columns, own, others, shrink, k))
        progress.advance(last - first)
    progress.end()
    return stacked(parts)


def stacked(parts: Sequence[tuple[Longs, Ints, Floats]]) -> Sparse:
    """Parts of a table below each other: of each where its rows begin, their columns, their values."""
    lengths = np.concatenate([np.diff(start) for start, _, _ in parts])
    return Sparse.of(
        np.concatenate(([0], np.cumsum(lengths))),
        np.concatenate([index for _, index, _ in parts]),
        np.concatenate([value for _, _, value in parts]),
    )


@compiled
def _sums(wanted: Ints, left: Sparse, right: Sparse, out: Table) -> None:
    for row in range(len(wanted)):
        line, who = out[row], wanted[row]
        for place in range(left.start[who], left.start[who + 1]):
            weight, source = left.value[place], left.column[place]
            for other in range(right.start[source], right.start[source + 1]):
                line[right.column[other]] += weight * right.value[other]


def product_rows(wanted: Ints, left: Sparse, right: Sparse, n_columns: int) -> Singles:
    """Some rows of left @ right, dense: (wanted, n_columns)."""
    out: Singles = np.zeros((len(wanted), n_columns), np.float32)
    _sums(np.ascontiguousarray(wanted, np.int32), left, right, out)
    return out


def gram(rows: Sparse, columns: Sparse) -> Floats:
    """rows @ rows.T, dense; `columns` is the same matrix by columns."""
    n = len(rows.start) - 1
    out: Floats = np.zeros((n, n))
    _sums(np.arange(n, dtype=np.int32), rows, columns, out)
    return out


@compiled
def dense_times_sparse(left: Table, right: Sparse, out: Table) -> None:
    """Add left @ right to `out`: (rows, n) @ (n, columns)."""
    for row in range(left.shape[0]):
        line = out[row]
        for source in range(left.shape[1]):
            weight = left[row, source]
            for place in range(right.start[source], right.start[source + 1]):
                line[right.column[place]] += weight * right.value[place]


@compiled
def sparse_times_dense(wanted: Ints, left: Sparse, right: Table, out: Table) -> None:
    """Add some rows of left @ right to `out`: whole rows of `right` are added, no zero is touched."""
    for row in range(len(wanted)):
        who = wanted[row]
        for place in range(left.start[who], left.start[who + 1]):
            weight = out.dtype.type(left.value[place])
            source = left.column[place]
            for column in range(right.shape[1]):
                out[row, column] += weight * right[source, column]
