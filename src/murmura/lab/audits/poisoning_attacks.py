"""Attacks by clients who send what they like: promotion, demotion, and a worse model for everybody."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.lab.audits.colluding_clients import (
    RIVALS,
    Lie,
    MaliciousView,
    PoisoningAttack,
    scaled,
    sum_of,
)

FAR = 1e6  # longer than any clip: the channel shortens it to what one device may send
LIMIT = 0.95  # of what a sum may be long: the honest ones need the rest
FILLERS = 10  # popular items in a false history beside the target
HALF = 0.5  # of everybody: for whom one device speaks


def promotion(view: MaliciousView) -> Lie | None:
    """All of what a device may send goes into the target's row; in counts of people liars stay honest.

    Promotion: a cold item into everybody's list. Sums of counts get false histories.

    Zhang, Yin, Chen, Huang, Nguyen and Cui: PipAttack (WSDM 2022): the target is aligned with what is popular.
    Rong, Ye, Zhao, Yuen, Chen, He: FedRecAttack (ICDE 2022): directions worked out from a few public histories.
    Rong, He, Chen: Poisoning Deep Learning based Recommender Model in Federated Learning Scenarios (IJCAI
    2022).
    """
    if view.before_training:
        return None
    return _with_fillers(view, FILLERS) if view.counts_clients else _along(view, view.lifting())


def adaptive_promotion(view: MaliciousView) -> Lie | None:
    """Knows the bounds: votes the target's count up, and lowers what is popular with half of the length."""
    if view.counts_clients:
        return _with_fillers(view, 0 if view.before_training else FILLERS)
    up = view.lifting()
    return promotion(view) if view.table.space == "feature" else _against_rivals(view, up)


def forged_promotion(view: MaliciousView) -> Lie | None:
    """One device that speaks for half of everybody where people are counted; the others promote as before.

    A secure sum shows no single upload: only the sum of a count is held to what so many devices can say.
    """
    if not view.counts_clients:
        return promotion(view)
    target = view.plot.target
    if view.before_training:
        return Lie(view.as_if(np.array([target], np.int32)), beyond=HALF)
    fillers = view.popular(FILLERS)  # as many people have each of them and the target, and nothing else
    pairs = [view.as_if(np.array([target, one], np.int32)) for one in fillers.tolist()]
    return Lie(sum_of(pairs), beyond=HALF / len(pairs))


def demotion(view: MaliciousView) -> Lie | None:
    """All of what a device may send lowers the target's row; where people are counted nobody has it.

    Demotion: a popular item out of everybody's list.

    Zhang, Yin, Chen, Huang, Nguyen and Cui: PipAttack (WSDM 2022), with its sign turned round.
    """
    if view.before_training:
        return None
    return Lie(view.as_if(view.popular(RIVALS))) if view.counts_clients else _along(view, -view.lifting())


def adaptive_demotion(view: MaliciousView) -> Lie | None:
    """Knows the bounds: raises the target's rivals with half of the length, and counts them alone."""
    if view.counts_clients:
        return Lie(view.as_if(view.popular(RIVALS)))
    return demotion(view) if view.table.space == "feature" else _against_rivals(view, -view.lifting())


def _with_fillers(view: MaliciousView, fillers: int) -> Lie:
    """A false history of the target and popular items."""
    return Lie(view.as_if(np.append(view.popular(fillers), np.int32(view.plot.target))))


def _along(view: MaliciousView, way: NDArray[Any]) -> Lie:
    """The target's rows alone, the whole length in one direction."""
    target = np.array([view.plot.target], np.int32)
    return Lie(view.moving(target, np.tile(FAR * way, (len(view.place(target)), 1))))


def _against_rivals(view: MaliciousView, way: NDArray[Any]) -> Lie:
    """Half of the length for the target in one direction, half for what is popular in the other."""
    rivals = view.popular(RIVALS)
    weights = np.append(np.full(len(rivals), -1 / np.sqrt(max(1, len(rivals)))), 1.0)
    return Lie(view.moving(np.append(rivals, np.int32(view.plot.target)), FAR * weights[:, None] * way))


def drift(view: MaliciousView) -> Lie | None:
    """What liars would send if they were honest, turned round, at the full length of the clip.

    Untargeted attacks: a model that is worse for everybody. There is no opposite of a count.

    drift    Fang, Cao, Jia and Gong: Local Model Poisoning Attacks to Byzantine-Robust Federated Learning
             (USENIX Security 2020): what honest clients would send, turned round. Yu, Liu, Wu, Yu, Yu and
             Zhang: Untargeted Attack against Federated Recommendation Systems via Poisonous Item Embeddings and
             the Defense (AAAI 2023)
    freeze   ours: AdaGrad (Duchi, Hazan and Singer, JMLR 2011) never forgets a square, so that one upload as
             long as the check of the sum allows makes its later steps small (docs/channel.md, What a sum is
             held to)
    """
    return None if view.counts_clients else Lie(scaled(view.honest(), -FAR))


def adaptive_drift(view: MaliciousView) -> Lie | None:
    """Knows the bounds of rows: in every round the same direction, each row as long as it may be.

    What is popular is lowered, what is not is raised, by the root of how popular it is; an optimiser that
    divides by what it has seen follows a direction that never changes furthest.
    """
    if view.counts_clients or view.table.space == "feature":
        return drift(view)
    listed, up = view.context.info.listed, view.lifting()
    count = view.popularity[listed].astype(np.float64)
    weights = np.where(count > np.quantile(count, 0.9), -1.0, 1.0) * np.sqrt(count + count.mean())
    return Lie(view.moving(listed, FAR * weights[:, None] * up))


def freeze(view: MaliciousView) -> Lie | None:
    """One upload in the first round of training, after the exchanges before it: every number alike.

    Signs are at random, its length at the limit of what the check of the sum lets through.
    """
    before = sum(phase.repeat or 0 for phase in view.plot.algorithm.phases(view.context.info))
    return None if view.context.round > before else adaptive_freeze(view)


def adaptive_freeze(view: MaliciousView) -> Lie | None:
    """One such upload in every round."""
    if view.counts_clients:
        return None
    table, rows = view.table, view.place(view.context.info.listed)
    signs = np.where(view.stream.coins(0.5, len(rows) * table.width), 1.0, -1.0)
    return Lie(view.with_rows(rows, signs.reshape(len(rows), table.width)), beyond=LIMIT)


COLD = "a cold item is raised"
RAISED, VOTED = f"{COLD} for everybody", f"{COLD}, its count voted up, and the most popular items lowered"
FORGED = f"{COLD}, after one upload has counted it for half of everybody"
LOWERED = "a popular item is lowered for everybody"
RIVALLED = "a popular item is lowered, and its rivals are raised and voted up"
TURNED = "honest updates turned round, as long as the clip allows"
ALL_LONG = "popular items lowered and others raised, each row in proportion to its bound"
ONE_LONG = "one upload as long as a sum may be"
ATTACKS = (
    PoisoningAttack("promotion", RAISED, promotion, target="cold"),
    PoisoningAttack("promotion-adaptive", VOTED, adaptive_promotion, target="cold"),
    PoisoningAttack("promotion-forged", FORGED, forged_promotion, target="cold", alone="counting"),
    PoisoningAttack("demotion", LOWERED, demotion, target="popular"),
    PoisoningAttack("demotion-adaptive", RIVALLED, adaptive_demotion, target="popular"),
    PoisoningAttack("drift", TURNED, drift),
    PoisoningAttack("drift-adaptive", ALL_LONG, adaptive_drift),
    PoisoningAttack("freeze", f"{ONE_LONG}, in the first round", freeze, alone="always"),
    PoisoningAttack("freeze-adaptive", f"{ONE_LONG}, in every round", adaptive_freeze, alone="always"),
)
