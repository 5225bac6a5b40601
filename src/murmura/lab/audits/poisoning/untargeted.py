"""Untargeted attacks: a model that is worse for everybody.

drift    Fang, Cao, Jia and Gong: Local Model Poisoning Attacks to Byzantine-Robust Federated Learning (USENIX
         Security 2020): what honest clients would send, turned round. Yu, Liu, Wu, Yu, Yu and Zhang:
         Untargeted Attack against Federated Recommendation Systems via Poisonous Item Embeddings and the
         Defense (AAAI 2023)
freeze   ours: AdaGrad (Duchi, Hazan and Singer, JMLR 2011) never forgets a square, so that one upload as long
         as the check of the sum allows makes its later steps small (docs/channel.md, What a sum is held to)
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from murmura.lab.audits.poisoning.liars import Lie
from murmura.lab.audits.poisoning.poisoning import LiarsView, PoisoningAttack, scaled

from murmura.lab.audits.poisoning.promotion import FAR, LIMIT


class Drift(PoisoningAttack):
    """What liars would send if they were honest, turned round, at the full length of the clip."""

    name: ClassVar[str] = "drift"
    title: ClassVar[str] = "honest updates turned round, as long as the clip allows"

    def lie(self, view: LiarsView) -> Lie | None:
        """Nothing where people are counted: there is no opposite of a count."""
        return None if view.counts_people else Lie(scaled(view.honest(), -FAR))


class AdaptiveDrift(PoisoningAttack):
    """Knows the bounds of rows: in every round the same direction, each row as long as it may be.

    What is popular is lowered, what is not is raised; an optimiser that divides by what it has seen follows a
    direction that never changes furthest.
    """

    name: ClassVar[str] = "drift-adaptive"
    title: ClassVar[str] = "popular items lowered and others raised, each row in proportion to its bound"

    def lie(self, view: LiarsView) -> Lie | None:
        """Rows by the root of how popular they are."""
        if view.counts_people:
            return None
        if view.table.space == "feature":
            return Lie(scaled(view.honest(), -FAR))
        listed, up = view.context.info.listed, view.lifting()
        count = view.popularity[listed].astype(np.float64)
        weights = np.where(count > np.quantile(count, 0.9), -1.0, 1.0) * np.sqrt(count + count.mean())
        return Lie(view.moving(listed, FAR * weights[:, None] * up))


class Freeze(PoisoningAttack):
    """One upload in the first round of training, at the limit of what the check of the sum lets through."""

    name: ClassVar[str] = "freeze"
    title: ClassVar[str] = "one upload as long as a sum may be, in the first round"
    by_share: ClassVar[bool] = False

    def lie(self, view: LiarsView) -> Lie | None:
        """Every number alike, with signs at random."""
        if view.counts_people or view.context.round > self.until(view):
            return None
        table, rows = view.table, view.place(view.context.info.listed)
        signs = np.where(view.stream.coins(0.5, len(rows) * table.width), 1.0, -1.0)
        return Lie(view.with_rows(rows, signs.reshape(len(rows), table.width)), beyond=LIMIT)

    def until(self, view: LiarsView) -> int:
        """The last round in which it lies: the first of training, after the exchanges before it."""
        return sum(phase.repeat or 0 for phase in view.plot.algorithm.phases(view.context.info))


class AdaptiveFreeze(Freeze):
    """One such upload in every round."""

    name: ClassVar[str] = "freeze-adaptive"
    title: ClassVar[str] = "one upload as long as a sum may be, in every round"

    def until(self, view: LiarsView) -> int:
        """It never ends."""
        return view.context.round
