"""Who takes part, how often, and who shares a client: matters of the run, not of the algorithm."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from murmura.core.contract import FederationInfo
from murmura.core.errors import SettingError
from murmura.core.settings import Count, settings

# strict: 1 is one client and 0.1 a tenth of them; 1.0 could be meant as either and is refused
Clients = (
    Annotated[int, Field(ge=1, strict=True)] | Annotated[float, Field(gt=0, lt=1, strict=True)] | Literal["all"]
)
EpochRounds = Count | Literal["visits", "triples"]


@settings
class Schedule:
    """Clients per round, rounds per epoch and epochs; by default everyone, once an epoch.

    `clients` is a count, a fraction of all clients or "all"; a count above those there are is all of them.
    Both published readings of an epoch are here; X+ is the number of training interactions, m the clients per
    round, T the triples of a visit. "visits": an epoch makes X+ visits, m * rpe = X+ (the authors' code; FPL,
    long version, eq. 10). "triples": it uses X+ triples, m * T * rpe = X+ (Ferrara's thesis, 4.5.2).
    """

    clients: Clients = "all"  # of a round: a count, a fraction of all, or all
    rounds_per_epoch: EpochRounds = 1  # a count, or so many that an epoch has X+ visits or X+ triples
    epochs: Count = 20  # how long it trains
    rounds: Count | None = None  # stop after so many rounds, whatever the epochs

    def cohort(self, info: FederationInfo) -> int:
        """The number of clients in a round."""
        if self.clients == "all":
            return info.clients
        if isinstance(self.clients, float):
            return max(1, round(self.clients * info.clients))
        return min(self.clients, info.clients)

    def epoch_rounds(self, info: FederationInfo, triples: float) -> int:
        """The number of rounds in an epoch, when a visit uses `triples` on average."""
        if isinstance(self.rounds_per_epoch, int):
            return self.rounds_per_epoch
        visits = info.interactions if self.rounds_per_epoch == "visits" else info.interactions / triples
        # 1e-9: X+ / (X+ / U) is U, also after rounding
        return max(1, int(visits / self.cohort(info) + 1e-9))

    def total_rounds(self, info: FederationInfo, triples: float) -> int:
        """The number of rounds in the whole training."""
        return self.rounds or self.epochs * self.epoch_rounds(info, triples)


@settings
class Grouping:
    """Groups of people who share a client, drawn at random or named by a table; `data.groups` makes them.

    random   users in a random order, cut into groups of uniformly random sizes from `smallest` to `largest`
    a file   a table with a header, whose columns `user_column` and `group_column` say who is in which group;
             the table of ratings itself serves when it has such a column
    """

    groups: str = "random"  # random, or a table with a header that says who is in which group
    smallest: Count = 3  # people of a random group at least
    largest: Count = 30  # people of a random group at most
    grouping_seed: Annotated[int, Field(ge=0)] | None = None  # None: the seed of the run
    user_column: str = "user"  # of that table
    group_column: str = "group"  # of that table

    def check(self) -> None:
        """Refuse sizes that go downwards, before anything is made."""
        if self.smallest > self.largest:
            raise SettingError(
                f"the sizes of groups must go upwards, but go from {self.smallest} to {self.largest}; "
                "raise largest or lower smallest."
            )
