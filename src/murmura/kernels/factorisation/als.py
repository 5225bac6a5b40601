"""The normal equations of implicit-feedback least squares: one small Cholesky solve per row.

All rows share Y'Y = V diag(e) V'. In the basis V the shared part is diagonal for every ridge, and a row with n
entries and F factors costs min(n, F) cubed: with few entries its n x n dual system is solved instead.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats
from murmura.kernels.compiled import compiled
from murmura.kernels.sparse import Sparse


@compiled(fast=True)
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for f in range(len(a)):
        total += a[f] * b[f]
    return total


@compiled
def _add(c: float, y: Floats, x: Floats) -> None:
    """x += c y; loops compile in a fraction of the time of array expressions."""
    for f in range(len(x)):
        x[f] += c * y[f]


@compiled
def _solve_in_place(A: Floats, n: int, x: Floats) -> None:
    """x becomes A^-1 x for the first n rows of A, positive definite; its upper triangle is overwritten."""
    for k in range(n):
        top = A[k, k:n]
        scale = 1.0 / np.sqrt(top[0])
        for j in range(len(top)):
            top[j] *= scale
        x[k] *= scale
        for i in range(1, n - k):
            _add(-top[i], top[i:], A[k + i, k + i : n])
        _add(-x[k], top[1:], x[k + 1 : n])
    for k in range(n - 1, -1, -1):
        x[k] = (x[k] - _dot(A[k, k + 1 : n], x[k + 1 : n])) / A[k, k]


@compiled
def _solve_primal(Z: Floats, w: Floats, D: Floats, A: Floats, x: Floats) -> None:
    """x += (diag(D) + Z' W Z)^-1 Z' (1 + w), four entries at a time; the last three entries weigh nothing."""
    F = len(D)
    for a in range(F):
        for b in range(a, F):
            A[a, b] = D[a] if a == b else 0.0
    for n in range(0, len(Z) - 3, 4):
        z0, z1, z2, z3 = Z[n], Z[n + 1], Z[n + 2], Z[n + 3]
        w0, w1, w2, w3 = w[n], w[n + 1], w[n + 2], w[n + 3]
        for a in range(F):
            row, y0, y1, y2, y3 = A[a, a:], z0[a:], z1[a:], z2[a:], z3[a:]
            c0, c1, c2, c3 = w0 * z0[a], w1 * z1[a], w2 * z2[a], w3 * z3[a]
            for b in range(len(row)):
                row[b] += c0 * y0[b] + c1 * y1[b] + c2 * y2[b] + c3 * y3[b]
    for n in range(len(Z) - 3):
        _add(1.0 + w[n], Z[n], x)
    _solve_in_place(A, F, x)


@compiled
def _solve_dual(Z: Floats, w: Floats, D: Floats, A: Floats, t: Floats, x: Floats) -> None:
    """x += D^-1 Z' t, where (W^-1 + Z D^-1 Z') t = W^-1 (1 + w); Z is overwritten by Z D^-1/2."""
    for a in range(len(Z)):
        z = Z[a]
        for f in range(len(D)):
            z[f] /= np.sqrt(D[f])
        t[a] = (1.0 + w[a]) / w[a]
    for a in range(len(Z)):
        for b in range(a, len(Z)):
            A[a, b] = _dot(Z[a], Z[b])
        A[a, a] += 1.0 / w[a]
    _solve_in_place(A, len(Z), t)
    for a in range(len(Z)):
        _add(t[a], Z[a], x)
    for f in range(len(D)):
        x[f] /= np.sqrt(D[f])


@compiled
def _solve_rows(
    rows: Sparse, alpha: float, ridge: Floats, Y: Floats, e: Floats, longest: int, out: Floats
) -> None:
    """Every row's solution in the basis in which Y'Y is diag(e); `out` comes in as zeros."""
    F = Y.shape[1]
    A, D, t = np.empty((F, F)), np.empty(F), np.empty(F)
    Z, w = np.zeros((longest + 3, F)), np.zeros(longest + 3)
    for row in range(len(out)):
        first, n = rows.start[row], rows.start[row + 1] - rows.start[row]
        for place in range(n):
            y = Y[rows.column[first + place]]
            for f in range(F):
                Z[place, f] = y[f]
            w[place] = alpha * rows.value[first + place]
        for f in range(F):
            D[f] = e[f] + ridge[row]
        if 0 < n < F:
            _solve_dual(Z[:n], w[:n], D, A, t, out[row])
        elif n:
            for place in range(n, n + 3):
                w[place] = 0.0
            _solve_primal(Z[: n + 3], w[: n + 3], D, A, out[row])


def solve_rows(rows: Sparse, alpha: float, ridge: Floats, Y: Floats) -> Floats:
    """Row r: (Y'Y + alpha Y'R Y + ridge_r I)^-1 Y'(1 + alpha R) 1, R its values, all above 0; no entries: 0.

    Hu, Koren and Volinsky, equation 4, with the confidence c = 1 + alpha * value on the row's own entries.
    """
    out: Floats = np.zeros((len(rows.start) - 1, Y.shape[1]))
    e, V = np.linalg.eigh(Y.T @ Y)
    longest = int(np.diff(rows.start).max(initial=0))
    _solve_rows(rows, alpha, ridge, Y @ V, np.maximum(e, 0.0), longest, out)
    found: Floats = out @ V.T
    return found


def solve_own_rows(rows: Sparse, ridge: Floats, Y: Floats) -> Floats:
    """Row r: (sum y y' + ridge_r I)^-1 sum y over its own entries: ridge regression to the target 1."""
    out: Floats = np.zeros((len(rows.start) - 1, Y.shape[1]))
    longest = int(np.diff(rows.start).max(initial=0))
    _solve_rows(rows, 1.0, ridge, Y, np.zeros(Y.shape[1]), longest, out)
    return out / 2.0  # with weights of 1 in place of alpha R the right side is that of 1 + 1
