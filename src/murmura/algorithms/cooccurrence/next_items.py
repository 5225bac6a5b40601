"""What comes next: a ridge regression of people's next items on where their newest items lie. Ours.

A person's items, weighted by recency and by D = sqrt(mean count / count), are a point phi in the basis V of the
directions in which people differ most. V is found from one sum, a sketch Y of the Gram matrix of everyone's
items: Y = sum of (D x)(D x)' S with a public random S, each person's D x of length 1 (Halko, Martinsson and
Tropp 2011). Then phi and the items that follow, at several cuts of each history, give two further sums,
A = sum phi phi' and C = sum phi y', and B = (A + ridge)^-1 C predicts the next items: phi B.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from murmura.algorithms.cooccurrence.scoring import recency
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.rng import Purpose, Rng

CUTS = tuple(range(4, 10))  # tenths of a history after which the next tenth is predicted


class NextItems(NamedTuple):
    """What one person adds to the sums: phi phi', and phi under each item that follows."""

    gram: Floats  # (rank + 1, rank + 1)
    items: Ints  # (n,) ascending
    rows: Floats  # (n, rank + 1)


@lru_cache(maxsize=2)
def public_sketch(items: int, rank: int) -> Floats:
    """S: (items, rank) normals that everybody can draw, of variance 1 / rank."""
    drawn = Rng(np.zeros(2, np.uint32)).stream(Purpose.SKETCH).normals(items * rank)
    sketch: Floats = drawn.reshape(items, rank) / np.sqrt(rank)
    sketch.flags.writeable = False
    return sketch


def item_scale(counts: Longs, least: int) -> Floats:
    """D: rare items weigh more; those that take no part nothing."""
    there = counts >= least
    mean = float(counts[there].mean()) if there.any() else 1.0
    return np.where(there, np.sqrt(mean / np.maximum(counts, 1)), 0.0)


def sketch_rows(own: Ints, scale: Floats, rank: int) -> Floats:
    """(own, rank) what one person adds to the sketch: her items' rows, of length about 1 in all."""
    x = scale[own]
    length = np.sqrt((x**2).sum())
    x = x / length if length > 0 else x
    return np.outer(x, x @ public_sketch(len(scale), rank)[own])


def basis(Y: Floats) -> Singles:
    """V: orthonormal columns that span the sketch, in float32; zeros where it has more columns than rows."""
    V: Singles = np.zeros(Y.shape, np.float32)
    found, _ = np.linalg.qr(Y)
    V[:, : found.shape[1]] = found
    return V


def position(own: Ints, time: Longs, scale: Floats, V: Singles, decay: float) -> Floats:
    """phi of someone with these items: (rank + 1,), the last is 1."""
    weighed = recency(time, decay) * scale[own]
    return np.append(np.sqrt(V.shape[1]) * (weighed @ V[own].astype(np.float64)), 1.0)


def next_items(own: Ints, time: Longs, scale: Floats, V: Singles, decay: float) -> NextItems:
    """The sums of one history over its cuts; rows of one time are in the order of their numbers."""
    order, width = np.lexsort((own, time)), V.shape[1] + 1
    own, time = own[order], time[order]
    gram, followed, rows = np.zeros((width, width)), [np.zeros(0, np.int32)], [np.zeros((0, width))]
    for tenth in CUTS:
        cut, end = tenth * len(own) // 10, -(-(tenth + 1) * len(own) // 10)
        if not 0 < cut < end:
            continue
        phi = position(own[:cut], time[:cut], scale, V, decay) / np.sqrt(len(CUTS))
        gram += np.outer(phi, phi)
        followed.append(own[cut:end])
        rows.append(np.broadcast_to(phi / np.sqrt(len(CUTS)), (end - cut, width)))
    items, place = np.unique(np.concatenate(followed), return_inverse=True)
    total = np.zeros((len(items), width))
    np.add.at(total, place, np.concatenate(rows))
    return NextItems(gram, items.astype(np.int32), total)


def predictor(A: Floats, C: Floats, ridge: float) -> Singles:
    """B: (items, rank + 1); the ridge is relative to the mean of A's diagonal, and spares the constant."""
    rank = len(A) - 1
    shrink = np.append(np.full(rank, ridge * float(np.trace(A[:rank, :rank])) / rank), 0.0)
    shrink += 1e-9 * max(1.0, float(A[rank, rank]))  # where nobody has a history long enough to be cut
    return np.asarray(np.linalg.solve(A + np.diag(shrink), C.T).T, np.float32)
