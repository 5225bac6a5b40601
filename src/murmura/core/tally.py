"""What has left the clients of a simulation so far: which positives, how many rows, how many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Bytes, Longs
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

    def count_updates(self, sends: MessageSpec, visits: int, rows: Mapping[str, int]) -> None:
        """Add what so many visits sent that had so many rows of each table, exact to the codec."""
        self.visits += visits
        self.rows_up += sum(rows.values())
        self.bytes_up += visits * sends.message_bytes(dict.fromkeys(rows, 0))
        self.bytes_up += sum(rows[t.name] * t.row_bytes for t in sends.tables)

    def count_vectors(self, visits: int, rows: int, upload_bytes: int) -> None:
        """Add what so many visits sent through a channel: messages of so many rows and bytes each."""
        self.visits += visits
        self.rows_up += visits * rows
        self.bytes_up += visits * upload_bytes

    def count_down(self, rows: int, length: int) -> None:
        """Add what was downloaded: so many rows, so many bytes."""
        self.rows_down += rows
        self.bytes_down += length
