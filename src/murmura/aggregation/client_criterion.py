"""A criterion: one property of a client, measured on the client, as a number from 0 to 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.contract import FederationInfo, History
from murmura.core.errors import DataError
from murmura.core.update import Arrays, Update


@dataclass(frozen=True, eq=False)
class ClientView:
    """What a criterion may look at: what this client holds and shares, what it received, what it would send."""

    info: FederationInfo
    history: History  # without the rows its owner shares with nobody: they count in no criterion
    model: Arrays  # the public model it received
    update: Update | None = None  # its own, for criteria that need it


class Criterion(ABC):
    """A named property of a client: 0 is none of it, 1 all there can be."""

    name: str
    reveals: str  # one sentence: what its value tells about a person
    needs_update: ClassVar[bool] = False  # it is measured after the client has trained
    needs_features: ClassVar[bool] = False  # of items

    @abstractmethod
    def measure(self, view: ClientView) -> float:
        """The value of one client."""

    def check(self, info: FederationInfo) -> None:
        """Refuse a federation in which it cannot be measured, before anything is trained; by default none."""
        return


def measured(criteria: Sequence[Criterion], view: ClientView) -> Floats:
    """The values of one client, (criteria,); refuses one that is no number from 0 to 1."""
    values = np.array([one.measure(view) for one in criteria], np.float64)
    for one, value in zip(criteria, values.tolist()):
        if (why := out_of_range(one.name, value)) is not None:
            raise DataError(why)
    return values


def out_of_range(name: str, value: float) -> str | None:
    """Why this is no value of a criterion, in one sentence; None: it is one."""
    if 0 <= value <= 1:
        return None
    return f"the criterion '{name}' must be a number from 0 to 1, but is {value:g}; mend or scale its measure."
