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
from murmura.core.rng import Words
from murmura.core.update import Arrays, SparseRows, Update

CRITERIA = "criteria"  # a phase, and a table of what clients send
WEIGHT = "weight"  # a table of what clients send
WEIGHTING = "weighting"  # a table of the public model
OURS = (CRITERIA, WEIGHT, WEIGHTING)
# what is sent beside an update is this much of what it says: a channel clips the length of the whole message,
# and so small a part of it takes nothing from the rest. A table that declares so small a bound loses no digit
SMALL = 2.0**-10
_FIRST = np.zeros(1, np.int32)


def criteria_table(criteria: int, bound: float) -> TableSpec:
    """The criteria of a client."""
    return TableSpec(CRITERIA, "dense", 1, criteria, "float64", bound)


def weight_table() -> TableSpec:
    """g / cap, its square, and whether g is the cap."""
    return TableSpec(WEIGHT, "dense", 1, 3, "float64", SMALL)


def weighting_table(criteria: int) -> TableSpec:
    """A Standing, in whole numbers: a download of half precision leaves these as they are."""
    return TableSpec(WEIGHTING, "dense", 1, 2 * (len(Standing.HEAD) + criteria), "uint32")


def check(name: str, training: Sequence[Phase]) -> None:
    """Refuse what cannot be weighed: updates the server reads, whole numbers, tables named like ours."""
    if not training:
        raise SettingError(f"{name} must train in rounds to be weighted, but it exchanges something once.")
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
    smallest: float = np.nan  # of n w, where each is known
    largest: float = np.nan

    @staticmethod
    def of(shares: Floats, cap: float) -> Shares:
        """Of shares that are known."""
        whole = shares.sum()
        extremes = (shares.min(), shares.max()) if whole > 0 else (1.0, 1.0)
        own = (one * len(shares) / (whole or len(shares)) for one in extremes)
        return Shares(whole, np.square(shares).sum(), float((shares >= cap).sum()), *own)

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
    rounds: int = 0  # weighed so far
    effective: float = 0.0  # (sum g)^2 / sum g^2, added up over these rounds
    capped: float = 0.0  # clients at the cap, added up
    smallest: float = np.nan  # n w of the client that counted least and most in any round, where each is known
    largest: float = np.nan

    HEAD = ("clients", "rounds", "effective", "capped", "smallest", "largest")

    @staticmethod
    def first(criteria: int) -> Standing:
        """Before the first round."""
        return Standing(np.zeros(criteria))

    def words(self) -> Words:
        """As a table of the public model: the bits of float64 numbers as pairs of whole words."""
        numbers = np.concatenate([[getattr(self, name) for name in self.HEAD], self.sums])
        return np.ascontiguousarray(numbers.astype("<f8")).view("<u4").astype(np.uint32)[None, :]

    @staticmethod
    def read(model: Arrays) -> Standing:
        """From the public model."""
        numbers = np.ascontiguousarray(model[WEIGHTING].ravel().astype("<u4")).view("<f8").astype(np.float64)
        head = dict(zip(Standing.HEAD, numbers.tolist()))
        clients, rounds = int(head.pop("clients")), int(head.pop("rounds"))
        return Standing(numbers[len(Standing.HEAD) :], clients, rounds, **head)

    def normalised(self, sums: Floats, clients: int) -> Standing:
        """After an exchange of criteria."""
        return replace(self, sums=np.maximum(sums, 0.0), clients=clients)

    def weighed(self, shares: Shares) -> Standing:
        """After a round whose clients counted so much."""
        effective = shares.total**2 / shares.squares if shares.squares > 0 else 0.0
        return replace(
            self,
            rounds=self.rounds + 1,
            effective=self.effective + effective,
            capped=self.capped + shares.capped,
            smallest=float(np.fmin(self.smallest, shares.smallest)),
            largest=float(np.fmax(self.largest, shares.largest)),
        )

    def shown(self) -> dict[str, float]:
        """For the table beside accuracy; a weight is told in equal shares: 2 is twice as much as on average."""
        found = {"effective clients": self.effective / max(self.rounds, 1), "capped": self.capped}
        if not np.isnan(self.largest):
            found |= {"smallest weight": self.smallest, "largest weight": self.largest}
        return found
