"""Demotion: a popular item out of everybody's list.

Zhang, Yin, Chen, Huang, Nguyen and Cui: PipAttack (WSDM 2022), with its sign turned round.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from murmura.lab.audits.poisoning.liars import Lie
from murmura.lab.audits.poisoning.poisoning import RIVALS, Kind, LiarsView, PoisoningAttack

from murmura.lab.audits.poisoning.promotion import FAR


class Demotion(PoisoningAttack):
    """All of what a device may send lowers the target's row."""

    name: ClassVar[str] = "demotion"
    title: ClassVar[str] = "a popular item is lowered for everybody"
    target: ClassVar[Kind | None] = "popular"

    def lie(self, view: LiarsView) -> Lie | None:
        """The whole length against the target; where people are counted nobody has it."""
        if view.before_training:
            return None
        if view.counts_people:
            return Lie(view.as_if(view.popular(RIVALS)))
        target = np.array([view.plot.target], np.int32)
        return Lie(view.moving(target, np.tile(-FAR * view.lifting(), (len(view.place(target)), 1))))


class AdaptiveDemotion(Demotion):
    """Knows the bounds: raises the target's rivals with the length it can spare, and counts them alone."""

    name: ClassVar[str] = "demotion-adaptive"
    title: ClassVar[str] = "a popular item is lowered, and its rivals are raised and voted up"

    def lie(self, view: LiarsView) -> Lie | None:
        """Half of the length against the target, half for its rivals."""
        if view.counts_people:
            return Lie(view.as_if(view.popular(RIVALS)))
        if view.table.space == "feature":
            return super().lie(view)
        rivals, up = view.popular(RIVALS), view.lifting()
        items = np.append(rivals, np.int32(view.plot.target))
        weights = np.append(np.full(len(rivals), 1 / np.sqrt(max(1, len(rivals)))), -1.0)
        return Lie(view.moving(items, FAR * weights[:, None] * up))
