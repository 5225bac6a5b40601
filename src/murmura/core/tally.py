"""What has left the clients of a simulation so far: which positives, how many rows, how many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Bytes, Longs
from murmura.core.contract import FederationInfo
from murmura.core.message import MessageSpec
from murmura.core.population import Population


@dataclass(eq=False)
class Tally:
    """What has left the clients so far; a runtime adds to it."""

    sent: Bytes  # (rows,) 1: this positive has been disclosed at least once
    disclosed: Longs  # (clients,) how many of a client's positives have been
    item_rows: Longs  # (items,) how often a row of this item was sent
    visits: int = 0
    rows_up: int = 0
    bytes_up: int = 0
    rows_down: int = 0
    bytes_down: int = 0

    @staticmethod
    def empty(population: Population, items: int) -> Tally:
        """Nothing has left."""
        rows = np.zeros(len(population.item), np.uint8)
        return Tally(rows, np.zeros(population.clients, np.int64), np.zeros(items, np.int64))

    def count(
        self,
        info: FederationInfo,
        receives: MessageSpec,
        sends: MessageSpec,
        visits: int,
        rows: Mapping[str, int],
    ) -> None:
        """Add the traffic of so many visits that sent so many rows of each table, exact to the codec."""
        self.visits += visits
        self.rows_up += sum(rows.values())
        self.bytes_up += visits * sends.message_bytes(dict.fromkeys(rows, 0))
        self.bytes_up += sum(rows[t.name] * t.row_bytes for t in sends.tables)
        self.count_down(info, receives, visits)

    def count_vectors(
        self, info: FederationInfo, receives: MessageSpec, visits: int, rows: int, upload_bytes: int
    ) -> None:
        """Add the traffic of so many visits through a channel: messages of so many rows and bytes each."""
        self.visits += visits
        self.rows_up += visits * rows
        self.bytes_up += visits * upload_bytes
        self.count_down(info, receives, visits)

    def count_down(self, info: FederationInfo, receives: MessageSpec, visits: int) -> None:
        """Add so many downloads of a public model."""
        listed = len(info.listed)
        self.rows_down += visits * max(
            (listed if t.space == "item" else t.rows for t in receives.tables), default=0
        )
        self.bytes_down += visits * receives.model_bytes(listed)
