"""What the weights between items are made of: who occurs with whom how often, and what is known of the items.

Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019), with item features as further rows; and
Item-kNN with the asymmetric cosine of Aiolli (RecSys 2013), as in `baselines.neighbours`. Items as vectors over
their features: Salton and Buckley, Term-weighting approaches in automatic text retrieval (1988).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.errors import SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions
from murmura.kernels.sparse import Sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BLOCK = 512  # rows of a table that are made at once
TEST_ROUNDING = float(np.finfo(np.float64).eps)  # of one operation in the test of `cut_negative`


class NearestItems(NamedTuple):
    """The nearest items of every item, the nearest first; weight 0 where there are fewer."""

    item: Ints  # (n, k) places among the items that take part
    weight: Singles  # (n, k)

    def dense(self) -> Singles:
        """(n, n) by source and target: what an owned item adds to the score of another."""
        n, k = self.item.shape
        weights: Singles = np.zeros((n, n), np.float32)
        there = self.weight > 0
        weights[self.item[there], np.repeat(np.arange(n), k).reshape(n, k)[there]] = self.weight[there]
        return weights


def inverse(G: Floats, ridge: float) -> Floats:
    """(G + ridge I)^-1 of a symmetric positive semi-definite G, which is overwritten (Cholesky)."""
    from scipy.linalg import lapack

    G.flat[:: len(G) + 1] += ridge
    factor, failed = lapack.dpotrf(G.T, lower=0, overwrite_a=1)  # G.T: LAPACK's own order, no copy
    if failed:
        raise SettingError(f"reg must be large enough to invert the table, but {ridge:g} is not; raise it.")
    upper, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
    for row in range(len(upper)):
        upper[row + 1 :, row] = upper[row, row + 1 :]
    full: Floats = upper.T
    return full


def cut_negative(G: Floats, own: Floats) -> int:
    """Make G, with `own` on its diagonal, positive semi-definite; how many of its directions were not.

    Sums of x x' are. The diagonal stays, so that no entry is above sqrt(own_i own_j) either. What the
    arithmetic of the test itself can make is left: it moves no eigenvalue by more than (n + 2) eps trace G
    (Higham: Accuracy and Stability of Numerical Algorithms, 2002, theorem 10.3).
    """
    from scipy.linalg import eigh, lapack

    n, diagonal = len(G), np.arange(len(G))
    tolerance = (n + 2) * TEST_ROUNDING * max(1.0, float(own.sum()))
    with threadpool_limits(1, "blas"):
        G[diagonal, diagonal] = own + tolerance
        _, failed = lapack.dpotrf(G.T, lower=0, clean=0, overwrite_a=1)  # the other half keeps G
        for row in range(n):
            G[row + 1 :, row] = G[row, row + 1 :]
        G[diagonal, diagonal] = own
        if not failed:
            return 0
        w, V = eigh(G, subset_by_value=(-np.inf, -tolerance))
        for first in range(0, n, BLOCK):
            block = slice(first, first + BLOCK)
            G[block] -= (V[block] * w) @ V.T
    scale = np.sqrt(own / np.maximum(G.diagonal(), np.finfo(np.float64).tiny))
    G *= scale[:, None]
    G *= scale
    G[diagonal, diagonal] = own
    return len(w)


def ease_weights(G: Floats, reg: float) -> Singles:
    """B = -P / diag P with zeros on its diagonal, P = (G + reg I)^-1; G is overwritten."""
    P = inverse(G, reg)
    P /= -P.diagonal().copy()
    B: Singles = P.astype(np.float32)
    B += 0  # LAPACK makes zeros of either sign, as memory happens to lie
    np.fill_diagonal(B, 0)
    return B


def nearest_items(
    G: Floats, counts: Longs | Floats, k: int, asymmetry: float, shrink: float, power: float
) -> NearestItems:
    """The k items j most similar to each item i: G_ij / (c_i^asymmetry c_j^(1 - asymmetry) + shrink).

    The weight is that similarity to the given power. Only similarities above 0 count, an item is not its own
    neighbour, ties go to the lower place.
    """
    n, k = len(G), min(k, max(1, len(G) - 1))
    often = np.where(counts > 0, counts, 1).astype(np.float64)  # who was never counted is nobody's neighbour
    own, others = often**asymmetry, often ** (1 - asymmetry)
    item, weight = np.zeros((n, k), np.int32), np.zeros((n, k), np.float32)
    for row in range(n):
        similar = G[row] / (own[row] * others + shrink)
        similar[row] = 0.0
        best = np.argsort(-similar, kind="stable")[:k]
        found = similar[best]
        item[row], weight[row] = best, np.where(found > 0, found**power, 0)
    return NearestItems(item, weight)


def feature_table(features: ItemFeatures, items: Ints) -> csr_matrix:
    """(items, features) of rows of length 1 or 0, weighted by inverse document frequency.

    Features of one item or of more than half of them tell nothing apart; an item without any is like no other.
    """
    from scipy.sparse import csr_matrix

    known = features.restrict(items)
    owners = np.bincount(known.feature, minlength=len(known))
    useful = (owners >= 2) & (owners <= len(items) / 2)
    idf = np.where(useful, np.log(len(items) / np.maximum(owners, 1)), 0.0)
    table = csr_matrix((idf[known.feature], known.feature, known.start), shape=(len(items), max(1, len(known))))
    length = np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
    return table.multiply(1 / np.where(length > 0, length, 1)[:, None]).tocsr()


def add_feature_cosines(G: Floats, features: ItemFeatures, items: Ints, share: float) -> None:
    """Add so much of the cosine of items by their features to G."""
    scaled = feature_table(features, items)
    for first in range(0, len(items), BLOCK):
        block = slice(first, first + BLOCK)
        G[block] += share * (scaled[block] @ scaled.T).toarray()


class ItemVectors(NamedTuple):
    """Every item as a vector over the features that were kept; one without any is all 0.

    An item has a feature or not, so that its weight is the feature's idf alone, scaled to unit length:
    w_if = log(N / n_f) / |w_i|,  N items, n_f of which have feature f.
    """

    weights: Sparse  # (items, kept features), rows of length 1 or 0
    kept: Longs  # (kept features,) which feature each column is


def require_features(train: Interactions, name: str) -> ItemFeatures:
    """Refuse to learn from items of which nothing is known."""
    if train.features is None or not len(train.features):
        raise SettingError(
            f"{name} needs items with features, but the data have none; give them with --features FILE, or "
            "choose another protocol or model."
        )
    return train.features


def item_vectors(features: ItemFeatures, least_share: float | None, name: str) -> ItemVectors:
    """The items' vectors over the features that at least this share of all items has; None: over all."""
    counts = np.bincount(features.feature, minlength=len(features))
    known = counts >= (least_share or 0.0) * features.items
    if not known.any():
        raise SettingError(
            f"{name}.least_share must leave at least one feature, but none of the {len(features)} belongs to "
            f"{least_share} of the items; lower it."
        )
    pair = known[features.feature]
    item, feature = item_of_pairs(features)[pair], features.feature[pair]
    idf = np.log(features.items / counts[feature])
    length = np.sqrt(np.bincount(item, idf**2, minlength=features.items))[item]
    value = np.divide(idf, length, out=np.zeros_like(idf), where=length > 0)
    start = np.searchsorted(item, np.arange(features.items + 1))
    return ItemVectors(Sparse.of(start, (np.cumsum(known) - 1)[feature], value), np.flatnonzero(known))


def item_of_pairs(features: ItemFeatures) -> Longs:
    """(pairs,) the item of each pair."""
    return np.repeat(np.arange(features.items), np.diff(features.start))
