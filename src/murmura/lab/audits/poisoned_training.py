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
from pydantic import PlainSerializer, PlainValidator

from murmura.core.arrays import Bools, Floats, Ints
from murmura.core.catalogue import Split
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.rng import Rng, server_secret
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.evaluation import evaluate
from murmura.evaluation.intervals import Interval, bootstrap_intervals
from murmura.lab.audits.colluding_clients import OWN, Conspiracy, Kind, PoisoningAttack
from murmura.runtimes.simulation import FederatedMethod

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
