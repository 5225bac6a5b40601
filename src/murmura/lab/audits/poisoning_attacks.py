"""Attacks by clients who send what they like: promotion, demotion, and a worse model for everybody."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.contract import Phase
from murmura.lab.audits.colluding_clients import (
    RIVALS,
    Kind,
    Lie,
    MaliciousView,
    PoisoningAttack,
    counts_clients,
    scaled,
    sum_of,
)

FAR = 1e6  # longer than any clip: the channel shortens it to what one device may send
LIMIT = 0.95  # of what a sum may be long: the honest ones need the rest
FILLERS = 10  # popular items in a false history beside the target
HALF = 0.5  # of everybody: for whom one device speaks


class Promotion(PoisoningAttack):
    """All of what a device may send goes into the target's row; in counts of people liars stay honest.

    Promotion: a cold item into everybody's list.

    Zhang, Yin, Chen, Huang, Nguyen and Cui: PipAttack (WSDM 2022): the target is aligned with what is popular.
    Rong, Ye, Zhao, Yuen, Chen, He: FedRecAttack (ICDE 2022): directions worked out from a few public histories.
    Rong, He, Chen: Poisoning Deep Learning based Recommender Model in Federated Learning Scenarios (IJCAI
    2022).
    """

    name: ClassVar[str] = "promotion"
    title: ClassVar[str] = "a cold item is raised for everybody"
    target: ClassVar[Kind | None] = "cold"

    def lie(self, view: MaliciousView) -> Lie | None:
        """The whole length in the direction that raises the target; counts get false histories."""
        if view.before_training:
            return None
        if view.counts_clients:
            return Lie(view.as_if(np.append(view.popular(FILLERS), np.int32(view.plot.target))))
        target = np.array([view.plot.target], np.int32)
        return Lie(view.moving(target, np.tile(FAR * view.lifting(), (len(view.place(target)), 1))))


class AdaptivePromotion(Promotion):
    """Knows the bounds: votes the target's count up, and lowers what is popular with what it can spare."""

    name: ClassVar[str] = "promotion-adaptive"
    title: ClassVar[str] = "a cold item is raised, its count voted up, and the most popular items lowered"

    def lie(self, view: MaliciousView) -> Lie | None:
        """Half of the length for the target, half against its rivals; a vote where people are counted."""
        if view.counts_clients:
            fillers = view.popular(0 if view.before_training else FILLERS)
            return Lie(view.as_if(np.append(fillers, np.int32(view.plot.target))))
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
        return counts_clients(phase)

    def lie(self, view: MaliciousView) -> Lie | None:
        """Half of what the check of the sum allows."""
        if not view.counts_clients:
            return super().lie(view)
        target = view.plot.target
        if view.before_training:
            return Lie(view.as_if(np.array([target], np.int32)), beyond=HALF)
        fillers = view.popular(FILLERS)  # as many people have each of them and the target, and nothing else
        pairs = [view.as_if(np.array([target, one], np.int32)) for one in fillers.tolist()]
        return Lie(sum_of(pairs), beyond=HALF / len(pairs))


class Demotion(PoisoningAttack):
    """All of what a device may send lowers the target's row.

    Demotion: a popular item out of everybody's list.

    Zhang, Yin, Chen, Huang, Nguyen and Cui: PipAttack (WSDM 2022), with its sign turned round.
    """

    name: ClassVar[str] = "demotion"
    title: ClassVar[str] = "a popular item is lowered for everybody"
    target: ClassVar[Kind | None] = "popular"

    def lie(self, view: MaliciousView) -> Lie | None:
        """The whole length against the target; where people are counted nobody has it."""
        if view.before_training:
            return None
        if view.counts_clients:
            return Lie(view.as_if(view.popular(RIVALS)))
        target = np.array([view.plot.target], np.int32)
        return Lie(view.moving(target, np.tile(-FAR * view.lifting(), (len(view.place(target)), 1))))


class AdaptiveDemotion(Demotion):
    """Knows the bounds: raises the target's rivals with the length it can spare, and counts them alone."""

    name: ClassVar[str] = "demotion-adaptive"
    title: ClassVar[str] = "a popular item is lowered, and its rivals are raised and voted up"

    def lie(self, view: MaliciousView) -> Lie | None:
        """Half of the length against the target, half for its rivals."""
        if view.counts_clients:
            return Lie(view.as_if(view.popular(RIVALS)))
        if view.table.space == "feature":
            return super().lie(view)
        rivals, up = view.popular(RIVALS), view.lifting()
        items = np.append(rivals, np.int32(view.plot.target))
        weights = np.append(np.full(len(rivals), 1 / np.sqrt(max(1, len(rivals)))), -1.0)
        return Lie(view.moving(items, FAR * weights[:, None] * up))


class Drift(PoisoningAttack):
    """What liars would send if they were honest, turned round, at the full length of the clip.

    Untargeted attacks: a model that is worse for everybody.

    drift    Fang, Cao, Jia and Gong: Local Model Poisoning Attacks to Byzantine-Robust Federated Learning
             (USENIX Security 2020): what honest clients would send, turned round. Yu, Liu, Wu, Yu, Yu and
             Zhang: Untargeted Attack against Federated Recommendation Systems via Poisonous Item Embeddings and
             the Defense (AAAI 2023)
    freeze   ours: AdaGrad (Duchi, Hazan and Singer, JMLR 2011) never forgets a square, so that one upload as
             long as the check of the sum allows makes its later steps small (docs/channel.md, What a sum is
             held to)
    """

    name: ClassVar[str] = "drift"
    title: ClassVar[str] = "honest updates turned round, as long as the clip allows"

    def lie(self, view: MaliciousView) -> Lie | None:
        """Nothing where people are counted: there is no opposite of a count."""
        return None if view.counts_clients else Lie(scaled(view.honest(), -FAR))


class AdaptiveDrift(PoisoningAttack):
    """Knows the bounds of rows: in every round the same direction, each row as long as it may be.

    What is popular is lowered, what is not is raised; an optimiser that divides by what it has seen follows a
    direction that never changes furthest.
    """

    name: ClassVar[str] = "drift-adaptive"
    title: ClassVar[str] = "popular items lowered and others raised, each row in proportion to its bound"

    def lie(self, view: MaliciousView) -> Lie | None:
        """Rows by the root of how popular they are."""
        if view.counts_clients:
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

    def lie(self, view: MaliciousView) -> Lie | None:
        """Every number alike, with signs at random."""
        if view.counts_clients or view.context.round > self.until(view):
            return None
        table, rows = view.table, view.place(view.context.info.listed)
        signs = np.where(view.stream.coins(0.5, len(rows) * table.width), 1.0, -1.0)
        return Lie(view.with_rows(rows, signs.reshape(len(rows), table.width)), beyond=LIMIT)

    def until(self, view: MaliciousView) -> int:
        """The last round in which it lies: the first of training, after the exchanges before it."""
        return sum(phase.repeat or 0 for phase in view.plot.algorithm.phases(view.context.info))


class AdaptiveFreeze(Freeze):
    """One such upload in every round."""

    name: ClassVar[str] = "freeze-adaptive"
    title: ClassVar[str] = "one upload as long as a sum may be, in every round"

    def until(self, view: MaliciousView) -> int:
        """It never ends."""
        return view.context.round
