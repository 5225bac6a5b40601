"""Poisoning audited: a federation is trained honestly and with liars, and everybody else's lists are compared.

A share of the clients lies; everything is measured on those who do not. Of a target: in which share of the
lists of people who do not have it it is (ER@10, the exposure ratio), and its mean place among what they lack.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator

from murmura.core.arrays import Bools, Floats, Ints
from murmura.core.catalogue import Split
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.rng import Rng, server_secret
from murmura.core.update import add_up
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.evaluation import evaluate
from murmura.evaluation.significance import Interval, bootstrap_intervals
from murmura.lab.audits.colluding_clients import (
    OWN,
    RIVALS,
    Conspiracy,
    Kind,
    Lie,
    MaliciousView,
    PoisoningAttack,
    scaled,
)
from murmura.runtimes.simulation import FederatedMethod

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
    return Lie(add_up(pairs), beyond=HALF / len(pairs))


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


ONE_UP = "a cold item is raised"
RAISED, VOTED = f"{ONE_UP} for everybody", f"{ONE_UP}, its count voted up, and the most popular items lowered"
FORGED = f"{ONE_UP}, after one upload has counted it for half of everybody"
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


AT = 10  # the length of a list
COLD = 4  # owners of a cold target, or the next more there are
BLOCK = 512  # people scored at once
CLEAN = "clean"


def _three(found: Interval) -> list[float | None]:
    """As a file keeps it: mean, low and high, None where it is not defined."""
    return [None if math.isnan(x) else x for x in (found.mean, found.low, found.high)]


def _interval(kept: Any) -> Interval:
    mean, low, high = (math.nan if x is None else float(x) for x in kept)
    return Interval(mean, low, high)


Intervals = dict[str, Annotated[Interval, PlainValidator(_interval), PlainSerializer(_three)]]


@dataclass(frozen=True)
class PoisoningPlan:
    """How many lie, and about what."""

    shares: tuple[float, ...] = (0.01, 0.05)  # of the clients, one training each
    target: str = ""  # an item by its owner's id; "": chosen by the attack

    def __post_init__(self) -> None:
        for share in self.shares:
            if not 0 < share < 1:
                raise SettingError(
                    f"the share of malicious clients must be above 0 and below 1, but is {share:g}."
                )


DEFAULT = PoisoningPlan()


@dataclass(frozen=True)
class PoisoningFinding:
    """What liars made of everybody else's lists, beside the same training without lies."""

    seed: int
    attack: str
    title: str
    liars: int  # how many of all clients
    clients: int
    target: str  # under its owner's id; "" where the attack has none
    owners: int
    values: Intervals


def poison(
    ready: FederatedMethod,
    split: Split,
    seed: int,
    attacks: Sequence[PoisoningAttack],
    poisoning: PoisoningPlan = DEFAULT,
    relevant_from: float | None = None,
    progress: Progress = SILENT,
) -> Iterator[PoisoningFinding]:
    """Train once without lies, and once for each attack and share of liars, with one seed."""
    plan = ready.plan(split.train, seed, None)
    if ready.groups(split.train, seed) is not None:
        raise SettingError(
            f"malicious clients must be single, but {ready.name} has groups; take another method."
        )
    clean = fit(plan, runtime=ready.runtime, progress=progress)
    for attack in attacks:
        item = _target(attack.target, split.train, seed, poisoning.target)
        before = _exposure(clean, split, item, relevant_from)
        for share in (0.0,) if attack.alone == "always" else poisoning.shares:
            malicious = _malicious(plan, seed, share)
            plot = Conspiracy(
                attack, plan.algorithm, plan.people, malicious, -1 if item is None else item, seed
            )
            poisoned = fit(plan, runtime=ready.runtime, progress=progress, liars=plot)
            after = _exposure(poisoned, split, item, relevant_from)
            seen = after | {f"{key} {CLEAN}": column for key, column in before.items()}
            yield PoisoningFinding(
                seed,
                attack.name,
                attack.title,
                1 if attack.alone == "always" else int(malicious.sum()),
                plan.info.clients,
                "" if item is None else str(split.train.items.labels[item]),
                0 if item is None else int(split.train.item_counts[item]),
                bootstrap_intervals({key: column[~malicious] for key, column in seen.items()}),
            )


def _malicious(plan: Plan, seed: int, share: float) -> Bools:
    """Who lies: a share of the clients, at least one."""
    malicious = np.zeros(plan.info.clients, np.bool_)
    count = max(1, round(share * plan.info.clients))
    malicious[Rng(server_secret(seed)).stream(OWN).choose(plan.info.clients, count)] = True
    return malicious


def _target(kind: Kind | None, train: Interactions, seed: int, named: str) -> int | None:
    """The item: the one that is named; of cold ones one of the coldest; of popular ones one of the first."""
    if kind is None:
        return None
    counts = train.item_counts
    if named:
        found = np.flatnonzero(train.items.labels.astype(str) == named)
        if not len(found) or not counts[found[0]]:
            raise SettingError(f"the target must be an item on offer in training, but '{named}' is none.")
        return int(found[0])
    if kind == "popular":
        return int(np.argsort(-counts, kind="stable")[seed % AT])
    some = np.flatnonzero(counts >= min(COLD, int(counts.max())))
    coldest = some[counts[some] == counts[some].min()]
    return int(coldest[seed % len(coldest)])


def _exposure(
    model: FederatedModel, split: Split, item: int | None, relevant_from: float | None
) -> dict[str, Floats]:
    """Precision of everybody with test rows; the target's part in the lists of who does not have it.

    (users,) each, NaN where it is not defined.
    """
    train = split.train
    users = np.flatnonzero(train.user_counts).astype(np.int32)
    precision, exposed, place = np.full((3, train.n_users), np.nan)
    lists = model.recommend(users, AT)
    found = evaluate(lists, split, cutoffs=(AT,), relevant_from=relevant_from, metrics=("P",))
    precision[found.users] = found.per_user[f"P@{AT}"]
    if item is not None:
        has = np.zeros(train.n_users, np.bool_)
        has[train.user[train.item == item]] = True
        exposed[lists.user] = (lists.item == item).any(axis=1)
        exposed[has] = np.nan
        others = users[~has[users]]
        for first in range(0, len(others), BLOCK):
            some = others[first : first + BLOCK]
            place[some] = _places(model, some, item)
    return {f"P@{AT}": precision, f"ER@{AT}": exposed, "rank": place}


def _places(model: FederatedModel, users: Ints, item: int) -> Floats:
    """The place of the item among what each of the users does not have, 1 the first."""
    scores = model.score(users).astype(np.float64)
    mine = scores[:, item].copy()
    scores[:, ~model.candidates] = -np.inf
    for row, user in enumerate(users.tolist()):
        scores[row, model.train.by_user.of(user)] = -np.inf
    places: Floats = 1.0 + (scores > mine[:, None]).sum(axis=1)
    return places
