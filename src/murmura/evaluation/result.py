"""What an evaluation answers."""

from __future__ import annotations

from dataclasses import dataclass

from murmura.core.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The metrics of one set of lists: averaged, and per user where a metric has a value per user.

    A user for whom a metric is not defined (no relevant test item) has NaN there and no part in the average.
    """

    values: dict[str, float]  # "P@10" -> the value in the table
    per_user: dict[str, Floats]  # "P@10" -> (users,)
    users: Ints  # (users,) codes, ascending
