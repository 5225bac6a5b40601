"""What comes next: a ridge regression of people's next items on where their newest items lie. Ours.

A person's items, weighted by recency and by D = sqrt(mean count / count), are a point phi in the basis V of the
directions in which people differ most. V is found from one sum, a sketch Y of the Gram matrix of everyone's
items: Y = sum of (D x)(D x)' S with a public random S, each person's D x of length 1 (Halko, Martinsson and
Tropp 2011). Then phi and the items that follow, at several cuts of each history, give two further sums,
A = sum phi phi' and C = sum phi y', and B = (A + ridge)^-1 C predicts the next items: phi B.

The exchanges are the sketch, then the regression: sums of real numbers, which a channel clips and rounds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.algorithms.cooccurrence.item_model import PairModelSettings, item_scale, position
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.contract import FederationInfo, History, Phase, RoundContext, ServerState, Total
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.update import SparseRows

PHASES = ("sketch", "order")
CLAIM = 2.3  # times the median of what predictors claim per owner: costs .1 % of P@10 on ml-100k
LARGEST = 4.0  # of one number in the sums of one person
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


def order_phases(settings: PairModelSettings, info: FederationInfo) -> tuple[Phase, ...]:
    """A sketch, then the regression of next items."""
    if not settings.order:
        return ()
    width = settings.rank + 1
    sketch = TableSpec("sketch", "item", info.items, settings.rank, bound=1.0)
    following = TableSpec("next", "item", info.items, width, bound=LARGEST)
    gram = TableSpec("gram", "dense", width, width, bound=LARGEST)
    return (
        Phase("sketch", MessageSpec((sketch,)), repeat=1, receives=MessageSpec(), follows="counts"),
        Phase("order", MessageSpec((following, gram)), repeat=1, follows="counts"),
    )


def order_widths(settings: PairModelSettings) -> dict[str, int]:
    """The tables that are published, by width."""
    return {"basis": settings.rank, "predictor": settings.rank + 1} if settings.order else {}


def order_sums(settings: PairModelSettings, context: RoundContext, own: History) -> dict[str, SparseRows]:
    """What a client adds to the sketch; or where its people stood at each cut, under what followed."""
    counts = context.info.counts
    scale = item_scale(np.zeros(context.info.items, np.int64) if counts is None else counts, settings.least)
    own = own.rows(scale[own.item] > 0)
    each, width = [own.rows(own.owners == person) for person in own.people.tolist()], settings.rank + 1
    if context.phase == "sketch":
        made = (SparseRows(one.item, _small(sketch_rows(one.item, scale, settings.rank), 1.0)) for one in each)
        return {"sketch": sum(made, SparseRows.empty(settings.rank))}
    V, gram, rows = context.model["basis"], np.zeros((width, width)), SparseRows.empty(width)
    for one in each:
        assert one.time is not None
        found = next_items(one.item, one.time, scale, V, settings.decay)
        gram, rows = gram + found.gram, rows + SparseRows(found.items, found.rows.astype(np.float32))
    rows = SparseRows(rows.index, _small(rows.values, LARGEST))
    return {"next": rows, "gram": SparseRows(np.arange(width, dtype=np.int32), _small(gram, LARGEST))}


def _small(values: NDArray[Any], bound: float) -> NDArray[np.float32]:
    small: NDArray[np.float32] = np.clip(values, -bound, bound).astype(np.float32)
    return small


def claimed(B: Singles, A: Floats, owners: Floats) -> Floats:
    """(items,) the part of each predictor that is within `CLAIM` times what a predictor claims per owner.

    b A b' is the square of what a predictor says, summed over all cuts of all people. That of a few owners is
    small, whatever numbers one device sends for it. The median is that of many rows, which one cannot all move.
    The mean of A's diagonal is added in every direction: in the weakest ones few people lie, but far out, and a
    predictor says much to them that is small in the sum.
    """
    said, M = B.astype(np.float64), A + np.trace(A) / len(A) * np.eye(len(A))
    claims = np.einsum("ij,jk,ik->i", said, M, said) / np.maximum(owners, 1)
    most = CLAIM * float(np.median(claims[claims > 0])) if (claims > 0).any() else 0.0
    part: Floats = np.sqrt(most / np.maximum(claims, max(most, 1e-300)))
    return part


def ordered(
    settings: PairModelSettings, phase: str, server: ServerState, received: Total, owners: Floats | None = None
) -> dict[str, NDArray[Any]]:
    """The basis; or what predicts the next items in it: as far as so many `owners` of each are believed."""
    sums = received.update.tables["sketch" if phase == "sketch" else "next"]
    table = np.zeros((len(server.model["counts"]), sums.values.shape[1]))
    table[sums.index] = sums.values
    with threadpool_limits(1, "blas"):
        if phase == "sketch":
            return {"basis": basis(table)}
        A = received.update.tables["gram"].values.astype(np.float64)
        B = predictor(A, table, settings.ridge)
        if owners is not None:
            part = owners / np.maximum(server.model["counts"][:, 0], 1)
            B *= (part * claimed(B, A, owners))[:, None].astype(np.float32)
        return {"predictor": B}
