"""How many rounds a federation needs to come near its best (Ferrara's thesis, 4.4.3), by the curves of trials.

A trial that is scored on the validation part after every epoch leaves a curve. Where its row states how many
rounds an epoch has, the curve is one over rounds; of those rounds one can say what they cost a client.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.runs.trials import Trial

NEAR = 0.95  # of the best value


@dataclass(frozen=True, eq=False)
class ConvergenceCurve:
    """What one configuration scored after so many rounds."""

    label: str
    clients: str  # in a round, as they were set
    triples: str  # of a visit, as they were set
    rounds: Longs  # (epochs,)
    value: Floats  # (epochs,)

    @property
    def best(self) -> float:
        """The highest value there was; epochs after a divergence have none."""
        return float(np.nanmax(self.value))

    def rounds_to(self, target: float) -> int | None:
        """The first rounds after which the value is at least the target; None: never."""
        reached = np.flatnonzero(self.value >= target)
        return int(self.rounds[reached[0]]) if len(reached) else None


def convergence(tried: Sequence[Trial]) -> list[ConvergenceCurve]:
    """The trials that have a curve and say how many rounds an epoch has."""
    found = []
    for one in tried:
        length = one.settings.get("rounds_per_epoch")
        if not np.isnan(one.curve).all() and isinstance(length, int):
            rounds: Longs = length * np.arange(1, len(one.curve) + 1)
            clients, triples = (str(one.settings.get(key, "")) for key in ("clients", "triples"))
            found.append(ConvergenceCurve(one.row, clients, triples, rounds, np.array(one.curve)))
    return found
