"""Who shares a client, as settings; data.groups turns them into groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from murmura.core.arrays import Ints
from murmura.core.errors import SettingError
from murmura.core.settings import Count, settings


@settings
class Grouping:
    """Groups drawn at random, or named by a table.

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


@dataclass(frozen=True, eq=False)
class TrainingGroups:
    """Groups of users who were one client each in a training."""

    of: Ints  # (users,) the group of every user, -1: in none
    names: tuple[str, ...]
    refused: dict[int, str]  # groups left out of an exchange, and why
