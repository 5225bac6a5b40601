"""Sparse matrices by rows inside compiled loops, and sums of their rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.interactions import RowIndex
from murmura.kernels.compiled import compiled

Table = NDArray[Any]  # a dense matrix, float32 or float64


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
    def of_users(person: Ints, column: Ints, value: Floats, people: int) -> Sparse:
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
