"""What weighting adds to messages: criteria, shares, and a small table of the public model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.contract import Phase
from murmura.core.errors import SettingError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.update import Arrays, SparseRows, Update

CRITERIA = "criteria"  # a phase, and a table of what clients send
WEIGHT = "weight"  # a table of what clients send: g / cap, its square, and whether g is the cap
QUALITY = "quality"  # and one: how much of its data the received model gets right, and whether it has any
WEIGHTING = "weighting"  # a table of the public model, and what the server keeps
OURS = (CRITERIA, WEIGHT, QUALITY, WEIGHTING)
# what is sent beside an update is this much of what it says: a channel clips the length of the whole message,
# and so small a part of it takes nothing from the rest. A table that declares so small a bound loses no digit
SMALL = 2.0**-10
_MANY = 2.0**16  # clients
_FIRST = np.zeros(1, np.int32)


def row_table(name: str, width: int, bound: float | None = None) -> TableSpec:
    """A dense table of one row: what a client says of itself, or a Standing."""
    return TableSpec(name, "dense", 1, width, "float64", bound)


def check(name: str, training: Sequence[Phase], alone: bool) -> None:
    """Refuse what cannot be weighed: updates the server reads, whole numbers, tables named like ours."""
    if not training:
        raise SettingError(f"{name} must train in rounds to be weighted, but it exchanges something once.")
    if alone and len(training) > 1:
        raise SettingError(
            f"{name} must have one exchange a round for criteria of updates and for adapt_order, but has "
            f"{len(training)}; leave those out."
        )
    for phase in training:
        if phase.combine == "each":
            raise SettingError(
                f"{name} must send sums to be weighted, but its server reads every update of phase "
                f"'{phase.name}'; leave the criteria out."
            )
        for table in phase.sends.tables:
            if table.dtype == "uint32" or table.name in OURS or phase.name in OURS:
                raise SettingError(
                    f"{name} must send real numbers under names other than {', '.join(OURS)} to be weighted, "
                    f"but phase '{phase.name}' sends the {table.dtype} table '{table.name}'; leave out the "
                    "criteria."
                )


def inner_phase(phase: Phase) -> Phase:
    """The phase without what weighting adds to its messages."""
    tables = tuple(table for table in phase.sends.tables if table.name not in OURS)
    if len(tables) == len(phase.sends.tables):
        return phase
    return replace(phase, sends=MessageSpec(tables, phase.sends.scalars), combine="sum")


def inner(update: Update) -> Update:
    """The update without what weighting adds to it."""
    return Update({name: rows for name, rows in update.tables.items() if name not in OURS}, update.scalars)


def inner_tables(tables: Arrays) -> Arrays:
    """Of a public model, or of what a server keeps, what is the inner algorithm's own."""
    return {name: table for name, table in tables.items() if name != WEIGHTING}


def scaled(update: Update, by: float) -> Update:
    """So many times an update, in the types of its tables."""
    if by == 1:
        return update
    tables = {
        name: SparseRows(rows.index, rows.values * rows.values.dtype.type(by))
        for name, rows in update.tables.items()
    }
    return Update(tables, {name: value * by for name, value in update.scalars.items()})


def row(values: Floats) -> SparseRows:
    """A dense table of one row."""
    return SparseRows(_FIRST, np.asarray(values, np.float64)[None, :])


class Shares(NamedTuple):
    """The shares g of the clients of a round, summed up."""

    total: float  # sum g
    squares: float  # sum g^2
    capped: float  # how many are at the cap
    smallest: float = 0.0  # of w, where each is known
    largest: float = 0.0

    @staticmethod
    def of(shares: Floats, cap: float) -> Shares:
        """Of shares that are known."""
        total = float(shares.sum())
        extremes = [float(one) / (total or 1.0) for one in (shares.min(), shares.max())]
        return Shares(total, float(np.square(shares).sum()), float((shares >= cap).sum()), *extremes)

    def row(self, cap: float) -> SparseRows:
        """As a client sends its own, or a compiled path those of a cohort."""
        return row(np.array([self.total / cap, self.squares / cap**2, self.capped]) * SMALL)

    @staticmethod
    def read(sent: SparseRows, cap: float) -> Shares:
        """From what clients sent, summed up."""
        total, squares, capped = (sent.values.ravel() / SMALL).tolist()
        return Shares(total * cap, squares * cap**2, round(capped))


@dataclass(frozen=True, eq=False)
class Standing:
    """What the public model says of the weights: the sums of the round at work, and how rounds turned out."""

    sums: Floats  # (criteria,) S_i
    clients: int = 0  # n, of these sums
    effective: float = 0.0  # (sum g)^2 / sum g^2 in clients of a round, the mean over all rounds
    capped: float = 0.0  # the share of visits at the cap
    smallest: float = 0.0  # w of the client that counted least and most in any round
    largest: float = 0.0  # 0: no single weight is known
    order: int = 0  # of the criteria, in the round at work

    COLUMNS = 6  # before the sums

    @staticmethod
    def first(criteria: int) -> Standing:
        """Before the first round."""
        return Standing(np.zeros(criteria))

    def table(self) -> Floats:
        """As the public model holds it: in powers of two, so exactly, and small enough for half precision."""
        head = [self.clients / _MANY, self.effective, self.capped, self.smallest, self.largest, self.order]
        return np.concatenate([head, self.sums / _above(self.clients)])[None, :]

    @staticmethod
    def read(model: Arrays) -> Standing:
        """From the public model."""
        numbers = model[WEIGHTING].ravel()
        clients = round(float(numbers[0]) * _MANY)
        sums = numbers[Standing.COLUMNS :] * _above(clients)
        effective, capped, smallest, largest, order = numbers[1 : Standing.COLUMNS].tolist()
        return Standing(sums, clients, effective, capped, smallest, largest, int(order))

    def normalised(self, sums: Floats, clients: int, order: int) -> Standing:
        """After an exchange of criteria."""
        return replace(self, sums=np.maximum(sums, 0.0), clients=clients, order=order)

    def weighed(self, shares: Shares, clients: int, before: int) -> Standing:
        """After a round whose clients counted so much; so many rounds were weighed before it."""
        effective = shares.total**2 / shares.squares / clients if shares.squares > 0 else 0.0
        smallest = min(self.smallest, shares.smallest) if before else shares.smallest
        return replace(
            self,
            effective=self.effective + (effective - self.effective) / (before + 1),
            capped=self.capped + (shares.capped / clients - self.capped) / (before + 1),
            smallest=smallest,
            largest=max(self.largest, shares.largest),
        )

    def shown(self) -> dict[str, float]:
        """For the table beside accuracy; a weight in equal shares: 2 counts twice as much as usual."""
        n = self.clients
        known = (
            {"smallest weight": n * self.smallest, "largest weight": n * self.largest} if self.largest else {}
        )
        return {"effective clients": n * self.effective, "capped": self.capped, **known}


def _above(clients: int) -> float:
    """The smallest power of two that is at least so many."""
    return float(1 << max(clients - 1, 0).bit_length())
