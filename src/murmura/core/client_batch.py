"""Many clients side by side, for a step that visits them at once: histories, randomness, what they send.

Row k of every array is of one client. Histories have different lengths: what is behind a client's last row is
padding, which `held` leaves out. The words of a client's streams are those it draws in a visit of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.population import Population
from murmura.core.rng import Purpose, Words, philox
from murmura.core.update import SparseRows, Update

NO_ROW = -1  # in an index: nothing is sent from this place


@dataclass(frozen=True, eq=False)
class ClientBatch:
    """The histories of some clients, padded to one length, and their randomness in one round."""

    clients: Ints  # (clients,) their numbers
    length: Longs  # (clients,) how many rows each holds
    item: Ints  # (clients, longest) ascending for each person; 0 in the padding
    value: Floats  # (clients, longest)
    consent: Floats  # (clients, longest) 0 in the padding
    secrets: Words  # (clients, 2)
    round: int
    person: Ints | None = None  # (clients, longest) whose row it is, when clients hold several people
    time: Longs | None = None  # (clients, longest)

    @classmethod
    def of(cls, people: Population, clients: Ints, round: int) -> Self:
        """These clients of a population, with the consent that counts in this round."""
        first, length = people.start[clients], people.start[clients + 1] - people.start[clients]
        place = np.arange(int(length.max(initial=0)))
        held = place < length[:, None]
        rows = (first[:, None] + place)[held]

        def padded(column: Any) -> Any:
            if column is None:
                return None
            wide = np.zeros(held.shape, column.dtype)
            wide[held] = column[rows]
            return wide

        item, value, consent = padded(people.item), padded(people.value), padded(people.consent)
        secrets, more = people.secrets[clients], (padded(people.person), padded(people.time))
        made = cls(clients, length, item, value, consent, secrets, round, *more)
        if people.per_round:
            made = replace(made, consent=made.coins(Purpose.CONSENT).astype(np.float64))
        return made

    def __len__(self) -> int:
        return len(self.clients)

    @cached_property
    def held(self) -> Bools:
        """(clients, longest) where a client holds a row."""
        return np.arange(self.item.shape[1]) < self.length[:, None]

    def words(self, purpose: int, n: int) -> Words:
        """(clients, n) the first words of every client's stream for one purpose."""
        counter = np.zeros((1, -(-n // 4), 4), np.uint32)
        counter[..., 0] = np.arange(counter.shape[1])
        counter[..., 1:3] = self.round, int(purpose)
        return philox(counter, self.secrets[:, None]).reshape(len(self), -1)[:, :n]

    def coins(self, purpose: int = Purpose.COINS) -> Bools:
        """(clients, longest) one coin for each row, as `stream(purpose).coins(consent)` of every client."""
        return self.words(purpose, self.item.shape[1]) < np.floor(self.consent * 2.0**32)

    def shared_items(self) -> Ints:
        """(clients, longest) the items of the rows whose coin says yes, NO_ROW at the others."""
        return np.where(self.coins(), self.item, NO_ROW).astype(np.int32)


@dataclass(frozen=True, eq=False)
class BatchRows:
    """What every client sends of one table: at each place a row, or none where the index is NO_ROW.

    The rows of a client are ascending, each once; None is every row of a dense table.
    """

    index: Ints | None  # (clients, places)
    values: NDArray[Any]  # (clients, places, width)

    def of(self, place: int) -> SparseRows:
        """What one client of the batch sends."""
        if self.index is None:
            return SparseRows(np.arange(self.values.shape[1], dtype=np.int32), self.values[place])
        sent = self.index[place] != NO_ROW
        return SparseRows(self.index[place][sent], self.values[place][sent])


@dataclass(frozen=True, eq=False)
class BatchUpdate:
    """The updates of many clients."""

    tables: Mapping[str, BatchRows] = field(default_factory=dict)
    scalars: Mapping[str, Floats] = field(default_factory=dict)  # (clients,) each

    def of(self, place: int) -> Update:
        """The update of one client of the batch."""
        tables = {name: rows.of(place) for name, rows in self.tables.items()}
        return Update(tables, {name: float(column[place]) for name, column in self.scalars.items()})
