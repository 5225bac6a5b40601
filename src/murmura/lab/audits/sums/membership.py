"""The final model alone: was somebody in its training at all? A control: it should tell nearly nothing.

Yeom, Giacomelli, Fredrikson and Jha: Privacy risk in machine learning (CSF 2018): members fit a model better. A
person is folded into the public model with all her items, as anybody can who knows them, and scored by how far
her own items then stand above the mean of all, in standard deviations. Some people fit any model better: the
same in a model without her is taken off (Watson, Guo, Cormode and Sablayrolles: On the importance of difficulty
calibration in membership inference attacks, ICLR 2022).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints
from murmura.core.contract import Algorithm
from murmura.lab.audits.attack import Attack
from murmura.lab.audits.sums.observed import tiny_phases


class ModelMembership(Attack):
    """How well her own items fit a model that was trained with her, or without."""

    name: ClassVar[str] = "model-membership"
    title: ClassVar[str] = "was she in the training? Her history and the final model known, nothing else"
    reads: ClassVar[Literal["updates", "sums"]] = "sums"

    def fits(self, algorithm: Algorithm) -> bool:
        """Whatever ranks items and reads no single update."""
        phases = tiny_phases(algorithm)
        ranks = type(algorithm).client_score is not Algorithm.client_score
        return ranks and bool(phases) and all(phase.combine == "sum" for phase in phases)

    def score(self, scores: NDArray[np.floating], own: Ints, listed: Ints) -> float:
        """Higher: rather a member."""
        offered = scores[listed].astype(np.float64)
        spread = float(offered.std())
        return float((scores[own].mean() - offered.mean()) / spread) if spread > 0 else 0.0
