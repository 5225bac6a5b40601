"""Promotion: a cold item into everybody's list.

Zhang, Yin, Chen, Huang, Nguyen and Cui: PipAttack (WSDM 2022): the target is aligned with what is popular.
Rong, Ye, Zhao, Yuen, Chen, He: FedRecAttack (ICDE 2022): directions worked out from a few public histories.
Rong, He, Chen: Poisoning Deep Learning based Recommender Model in Federated Learning Scenarios (IJCAI 2022).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from murmura.lab.audits.poisoning.liars import Lie
from murmura.lab.audits.poisoning.poisoning import (
    RIVALS,
    Kind,
    LiarsView,
    PoisoningAttack,
    counts_people,
    sum_of,
)

from murmura.core.contract import Phase

FAR = 1e6  # longer than any clip: the channel shortens it to what one device may send
LIMIT = 0.95  # of what a sum may be long: the honest ones need the rest
BESIDE = 10  # popular items in a false history beside the target
HALF = 0.5  # of everybody: for whom one device speaks


class Promotion(PoisoningAttack):
    """All of what a device may send goes into the target's row; in counts of people liars stay honest."""

    name: ClassVar[str] = "promotion"
    title: ClassVar[str] = "a cold item is raised for everybody"
    target: ClassVar[Kind | None] = "cold"

    def lie(self, view: LiarsView) -> Lie | None:
        """The whole length in the direction that raises the target; counts get false histories."""
        if view.before_training:
            return None
        if view.counts_people:
            return Lie(view.as_if(np.append(view.popular(BESIDE), np.int32(view.plot.target))))
        target = np.array([view.plot.target], np.int32)
        return Lie(view.moving(target, np.tile(FAR * view.lifting(), (len(view.place(target)), 1))))


class AdaptivePromotion(Promotion):
    """Knows the bounds: votes the target's count up, and lowers what is popular with what it can spare."""

    name: ClassVar[str] = "promotion-adaptive"
    title: ClassVar[str] = "a cold item is raised, its count voted up, and the most popular items lowered"

    def lie(self, view: LiarsView) -> Lie | None:
        """Half of the length for the target, half against its rivals; a vote where people are counted."""
        if view.counts_people:
            beside = view.popular(0 if view.before_training else BESIDE)
            return Lie(view.as_if(np.append(beside, np.int32(view.plot.target))))
        rivals, up = view.popular(RIVALS), view.lifting()
        if view.table.space == "feature":
            return super().lie(view)
        items = np.append(rivals, np.int32(view.plot.target))
        weights = np.append(np.full(len(rivals), -1 / np.sqrt(max(1, len(rivals)))), 1.0)
        return Lie(view.moving(items, FAR * weights[:, None] * up))


class ForgedPromotion(Promotion):
    """One device that speaks for half of everybody where people are counted; the others promote as before.

    A secure sum shows no single upload: only the sum of a count is held to what so many devices can say.
    """

    name: ClassVar[str] = "promotion-forged"
    title: ClassVar[str] = "a cold item is raised, after one upload has counted it for half of everybody"

    def alone(self, phase: Phase) -> bool:
        """Where people are counted."""
        return counts_people(phase)

    def lie(self, view: LiarsView) -> Lie | None:
        """Half of what the check of the sum allows."""
        if not view.counts_people:
            return super().lie(view)
        target = view.plot.target
        if view.before_training:
            return Lie(view.as_if(np.array([target], np.int32)), beyond=HALF)
        beside = view.popular(BESIDE)  # as many people have each of them and the target, and nothing else
        pairs = [view.as_if(np.array([target, one], np.int32)) for one in beside.tolist()]
        return Lie(sum_of(pairs), beyond=HALF / len(pairs))
