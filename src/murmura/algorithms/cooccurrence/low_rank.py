"""EASE from the strongest directions of a noisy table of what people have together.

Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019). With G = V diag(w) V' + rest and s = w /
(w + reg), P = (G + reg I)^-1 is (I - V diag(s) V') / reg without the rest, so that with A = V diag(sqrt s) the
weight from i to j is A_i . A_j / (1 - |A_j|^2): one row of A for each item is all a device needs.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Floats, Ints, Longs, Singles

MOST_TOGETHER = 0.5  # of sqrt(G_ii G_jj): beyond, an entry is cut. Few people who lie together stand out there

NOISE = 3.0  # deviations of an entry: what noise alone makes is left, as cutting it would cut what is true too
SHRINK = 0.5  # of the noise edge: what noise adds to a direction, more or less, is taken off


def triangle(n: int) -> int:
    """How many pairs a <= b of n there are."""
    return n * (n + 1) // 2


def pair_places(ranks: Ints, n: int) -> Longs:
    """Where the pairs a <= b of ascending ranks stand in the upper triangle, row by row: ascending."""
    a, b = np.triu_indices(len(ranks))
    first, second = ranks[a].astype(np.int64), ranks[b].astype(np.int64)
    return first * n - first * (first - 1) // 2 + second - first


def pair_values(n: int) -> Singles:
    """x x' / n of someone with n items, in that order: sqrt 2 off the diagonal, of length 1 in all."""
    a, b = np.triu_indices(n)
    values: Singles = (np.where(a == b, 1.0, np.sqrt(2.0)) / max(n, 1)).astype(np.float32)
    return values


def symmetric(upper: Floats, n: int) -> Floats:
    """(n, n) the table whose upper triangle was summed up."""
    G = np.zeros((n, n))
    G[np.triu_indices(n)] = upper
    G[np.triu_indices(n, 1)] /= np.sqrt(2.0)
    return G + np.triu(G, 1).T


def noise_edge(sigma: float, n: int) -> float:
    """The strongest direction of noise alone, sigma on the diagonal of (n, n) and sigma / sqrt 2 off it."""
    return float(sigma * np.sqrt(2.0 * n))


def cut_entries(G: Floats, sigma: float) -> Floats:
    """Entries off the diagonal no larger than honest people make them, or noise of sigma on the diagonal."""
    own = np.sqrt(np.maximum(G.diagonal(), 0.0))
    most = np.maximum(MOST_TOGETHER * np.outer(own, own), NOISE * sigma / np.sqrt(2.0))
    cut = np.clip(G, -most, most)
    np.fill_diagonal(cut, G.diagonal())
    return cut


def item_factors(G: Floats, rank: int, reg: float, sigma: float) -> Singles:
    """A: (n, rank), from the strongest directions, less what noise adds to them; zeros fill it up."""
    from scipy.linalg import eigh

    n, A = len(G), np.zeros((len(G), rank))
    few = min(rank, n)
    with threadpool_limits(1, "blas"):
        w, V = eigh(G, subset_by_index=(n - few, n - 1))
    w = np.maximum(w - SHRINK * noise_edge(sigma, n), 0.0)
    share = w / (w + reg)
    A[:, :few] = (V * np.sqrt(share))[:, ::-1]
    factors: Singles = A.astype(np.float32)
    return factors


def low_rank_scores(A: Singles, own: Ints, weight: Floats) -> Singles:
    """(n,) the scores of all items for someone with these, each of this weight; her own say nothing here."""
    taste = weight.astype(np.float32) @ A[own]
    scores: Singles = (A @ taste) / (1 - np.einsum("nf,nf->n", A, A))
    return scores
