"""Non-negative factors of a dense matrix: X ~ W H (FedSPLIT, section 3.1).

Multiplicative updates (Lee and Seung, NIPS 2000; equations 2 and 3) never raise the squared error, nor make a
factor negative. They start from a non-negative double singular value decomposition (Boutsidis, Gallopoulos:
Pattern Recognition 2008), whose exact zeros are lifted: an update multiplies, so it cannot leave a zero.

The work is products of dense matrices, left to BLAS on one thread: no result depends on the number of cores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Bools

Matrix = NDArray[Any]  # float32 or float64

LIFT = 0.01  # a zero of the start becomes this part of the matrix's mean
NOTHING = 1e-20  # a factor below is none
EVERY = 10  # updates between two looks at the error


class Nmf(NamedTuple):
    """A factorisation, and the relative squared error (equation 4) after every EVERY updates."""

    W: Matrix  # (rows, K)
    H: Matrix  # (K, columns)
    errors: list[float]


def nmf(X: Matrix, K: int, iterations: int = 1000, tolerance: float = 1e-5, known: Bools | None = None) -> Nmf:
    """Factorise X; stop when an update gains less than `tolerance` of the squared norm, on average over EVERY.

    With `known` only those entries count: the others may hold anything (they choose K, held out).
    """
    with threadpool_limits(1, "blas"):
        mask = None
        if known is not None:
            X, mask = np.where(known, X, 0), known.astype(X.dtype)
        W, H = nndsvd(X, K)
        norm = float(np.vdot(X, X)) or 1.0
        tiny = np.finfo(X.dtype).tiny
        errors: list[float] = []
        for done in range(1, iterations + 1):
            W, H = _update(X, W, H, mask, tiny)
            if done % EVERY == 0:
                if mask is not None:  # what fades away here would slow every product down
                    W[W < NOTHING], H[H < NOTHING] = 0, 0
                errors.append(_squared_error(X, W, H, mask) / norm)
                if len(errors) > 1 and errors[-2] - errors[-1] < tolerance * EVERY:
                    break
    return Nmf(W, H, errors)


def nndsvd(X: Matrix, K: int) -> tuple[Matrix, Matrix]:
    """The start: of each singular pair the sign's side with more weight, zeros lifted."""
    U, s, V = _leading(X, K)
    W, H = np.zeros((X.shape[0], K), X.dtype), np.zeros((K, X.shape[1]), X.dtype)
    for f in range(len(s)):
        u, v = U[:, f], V[:, f]
        sides = [(np.maximum(sign * u, 0), np.maximum(sign * v, 0)) for sign in (1, -1)]
        if f == 0:  # the leading pair of a non-negative matrix has one sign, up to rounding
            sides = [(np.abs(u), np.abs(v))]
        weights = [float(np.linalg.norm(x) * np.linalg.norm(y)) for x, y in sides]
        (x, y), weight = max(zip(sides, weights), key=lambda side: side[1])
        if weight > 0:
            scale = np.sqrt(s[f] * weight)
            W[:, f] = scale * x / np.linalg.norm(x)
            H[f] = scale * y / np.linalg.norm(y)
    floor = LIFT * X.mean()
    return np.maximum(W, floor), np.maximum(H, floor)


def _leading(X: Matrix, K: int) -> tuple[Matrix, Matrix, Matrix]:
    """The K largest singular values with their vectors, from the Gram matrix of the shorter side."""
    from scipy.linalg import eigh

    wide = X.shape[0] < X.shape[1]
    gram = (X @ X.T if wide else X.T @ X).astype(np.float64)
    n = len(gram)
    values, vectors = eigh(gram, subset_by_index=(max(0, n - K), n - 1))
    values, short = np.maximum(values[::-1], 0), vectors[:, ::-1]
    some = values > values[:1] * 1e-12  # below: rounding
    s, short = np.sqrt(values[some]).astype(X.dtype), short[:, some].astype(X.dtype)
    long = (X.T @ short if wide else X @ short) / s
    return (short, s, long) if wide else (long, s, short)


def _update(X: Matrix, W: Matrix, H: Matrix, mask: Matrix | None, tiny: Any) -> tuple[Matrix, Matrix]:
    """Equation 2, then equation 3 with the new W."""
    below = W @ (H @ H.T) if mask is None else (mask * (W @ H)) @ H.T
    W = W * ((X @ H.T) / np.maximum(below, tiny))
    below = (W.T @ W) @ H if mask is None else W.T @ (mask * (W @ H))
    return W, H * ((W.T @ X) / np.maximum(below, tiny))


def _squared_error(X: Matrix, W: Matrix, H: Matrix, mask: Matrix | None) -> float:
    if mask is not None:
        left = X - mask * (W @ H)
        return float(np.vdot(left, left))
    crossed, gram = W.T @ X, (W.T @ W) @ H
    return max(0.0, float(np.vdot(X, X)) - 2 * float(np.vdot(crossed, H)) + float(np.vdot(gram, H)))
