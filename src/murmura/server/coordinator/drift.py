"""How far each step moves the model, against the steps before it: an alarm for whoever watches.

A step is as long as the row of a table that it moves furthest. Steps of an honest training grow shorter slowly,
so that one which is far longer than the last ones is worth a look: perhaps somebody pulls. The measure is a
robust z-score of the logarithm, (log m - median) / (1.4826 MAD), over the last steps (Iglewicz and Hoaglin,
1993).
Everything in it follows from models that are public.
"""

from __future__ import annotations

import json
import math

import numpy as np

from murmura.core.update import Arrays
from murmura.server.database import ServerDatabase, put_fact

FACT = "movements"
REMEMBERED = 50  # steps
FEWEST = 8  # steps before an alarm is possible
ALARM = 6.0  # standard deviations, if steps were log-normal
NARROWEST = 0.05  # of the logarithms: steps that are all but equal differ by less than is worth an alarm


class DriftWatch:
    """The last steps, as the coordinator keeps them."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        self._steps: list[float] = json.loads(store.fact(FACT) or b"[]")
        self.z = 0.0  # of the last step

    @property
    def last(self) -> float:
        """How far the last step moved the row it moved furthest."""
        return self._steps[-1] if self._steps else 0.0

    @property
    def alarm(self) -> str:
        """What to tell the operator; "" where there is nothing."""
        if self.z < ALARM:
            return ""
        return (
            f"the last step moved a row by {self.last:.3g}, {self.z:.1f} deviations beyond those before it; "
            "pause and look at it, `murmura rounds rollback` goes back"
        )

    def note(self, before: Arrays, after: Arrays) -> None:
        """A step was committed."""
        moved = movement(before, after)
        if not moved:
            return
        self.z = robust_z(self._steps, moved)
        self._steps = [*self._steps, moved][-REMEMBERED:]
        self._store.write([put_fact(FACT, json.dumps(self._steps).encode())])

    def forget(self) -> None:
        """The model went back: its next step is compared with those before, not with the way back."""
        self.z = 0.0


def movement(before: Arrays, after: Arrays) -> float:
    """The largest L2 distance that a row of any table moved; tables of another shape are new."""
    longest = 0.0
    for name, array in after.items():
        old = before.get(name)
        if old is None or old.shape != array.shape or not array.size or array.dtype.kind != "f":
            continue
        moved = array.astype(np.float64) - old
        rows = moved.reshape(len(array), -1) if array.ndim else moved.reshape(1, 1)
        longest = max(longest, float(np.sqrt((rows**2).sum(axis=1)).max()))
    return longest


def robust_z(history: list[float], value: float) -> float:
    """How many robust deviations the logarithm of a step is above those of the steps before; 0 of too few."""
    if len(history) < FEWEST or not value > 0:
        return 0.0
    logs = np.log(history)
    middle = float(np.median(logs))
    spread = max(1.4826 * float(np.median(np.abs(logs - middle))), NARROWEST)
    return (math.log(value) - middle) / spread
