"""Which rows of a summed table tell of which items: of an item table, of features, of all items on offer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.contract import FederationInfo, Phase
from murmura.core.update import Update


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The table of a phase whose rows tell of items."""

    table: str
    rows: int
    width: int
    start: Longs  # (items + 1,)
    row: Ints  # item i is told of by rows row[start[i] : start[i + 1]]

    @staticmethod
    def of(phase: Phase, info: FederationInfo) -> RowSpace | None:
        """Of the first table that has such rows; None: the phase has no such table."""
        for table in phase.sends.tables:
            if table.space == "item":
                each, rows = np.ones(info.items, np.int64), np.arange(info.items, dtype=np.int32)
            elif table.space == "feature" and info.features is not None:
                each, rows = np.diff(info.features.start), info.features.feature
            elif table.space == "dense" and table.rows == len(info.listed) and table.width > 1:
                each, rows = np.zeros(info.items, np.int64), np.arange(len(info.listed), dtype=np.int32)
                each[info.listed] = 1
            else:
                continue
            start = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
            return RowSpace(table.name, table.rows, table.width, start, rows)
        return None

    def dense(self, update: Update) -> Singles:
        """The table with a row for everything: (rows, width)."""
        whole = np.zeros((self.rows, self.width), np.float32)
        sent = update.tables[self.table]
        whole[sent.index] = sent.values
        return whole

    def of_items(self, items: Ints) -> Ints:
        """The rows that tell of any of these items, ascending."""
        parts = [self.row[self.start[item] : self.start[item + 1]] for item in items.tolist()]
        return np.unique(np.concatenate(parts)).astype(np.int32) if parts else np.empty(0, np.int32)

    def item_scores(self, scores: Floats) -> Floats:
        """The mean of its rows' scores for every item, 0 where it has none: (..., rows) to (..., items)."""
        n = np.diff(self.start)
        whole = np.zeros((*scores.shape[:-1], len(n)))
        there = n > 0
        if there.any():
            sums = np.add.reduceat(scores[..., self.row], self.start[:-1][there], axis=-1)
            whole[..., there] = sums / n[there]
        return whole
