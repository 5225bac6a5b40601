"""The exchanges of `order`: a sketch of what people have, then the regression of what they had next.

Both are sums of real numbers, so they are clipped and rounded on their way; the mathematics is in
`algorithms.cooccurrence.next_items`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.algorithms.cooccurrence.model_settings import PairModelSettings
from murmura.algorithms.cooccurrence.next_items import basis, item_scale, next_items, predictor, sketch_rows
from murmura.core.contract import FederationInfo, History, Phase, RoundContext, ServerState, Total
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.update import SparseRows

PHASES = ("sketch", "order")
LARGEST = 4.0  # of one number in the sums of one person


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


def ordered(
    settings: PairModelSettings, phase: str, server: ServerState, received: Total
) -> dict[str, NDArray[Any]]:
    """The basis; or what predicts the next items in it."""
    sums = received.update.tables["sketch" if phase == "sketch" else "next"]
    table = np.zeros((len(server.model["counts"]), sums.values.shape[1]))
    table[sums.index] = sums.values
    with threadpool_limits(1, "blas"):
        if phase == "sketch":
            return {"basis": basis(table)}
        A = received.update.tables["gram"].values.astype(np.float64)
        return {"predictor": predictor(A, table, settings.ridge)}
