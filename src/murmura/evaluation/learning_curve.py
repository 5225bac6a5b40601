"""How fast a federation learns to classify: the local accuracies of its clients after every round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.evaluation.registry import ACCURACY, TARGETS

SHARES = tuple(percent / 100 for percent in range(10, 100, 10))  # of the clients


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The share of its test samples every client's model gets right, round by round."""

    accuracy: Floats  # (rounds, clients)
    held_out: Longs  # (clients,) test samples

    @property
    def weighted(self) -> Floats:
        """The accuracy after each round: local ones, weighted by the size of the local test set (LEAF)."""
        mean: Floats = self.accuracy @ self.held_out / self.held_out.sum()
        return mean

    def rounds_to(self, share: float, target: float) -> float:
        """The first round in which so many clients have a local accuracy above the target; NaN: none."""
        above = (self.accuracy > target).mean(axis=1)
        reached = np.flatnonzero(above >= share - 1e-9)
        return float(reached[0] + 1) if len(reached) else math.nan

    def values(self) -> dict[str, float]:
        """The mean accuracy over rounds, and the rounds to every target for every share of the clients."""
        found = {
            rounds_name(share, target): self.rounds_to(share, target) for target in TARGETS for share in SHARES
        }
        return {f"{ACCURACY}/rounds": float(self.weighted.mean()), **found}


def rounds_name(share: float, target: float) -> str:
    """What the rounds until that share of clients exceeds that accuracy are called: rounds/50>80."""
    return f"rounds/{round(100 * share)}>{round(100 * target)}"
