"""Does a reason decide? Fidelity by removal: how often someone's first item leaves her list without it.

A reason is a feature that the item shares with her. Three are compared: the first one that is told (the most
informative of those that speak for the item), the one with the largest term, and one at random, of which the
expected value is taken. Each is taken from the scores of all items, and the list made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.errors import SettingError
from murmura.core.model import Model, ScoreTerms
from murmura.lab.analyses.entry_analysis import EntryAnalysis
from murmura.studies.scorer import Scorer

REASONS = ("first reason", "largest term", "random feature")
LENGTH = 10  # of the lists


@dataclass(frozen=True)
class Fidelity:
    """One entry: how often its reasons pass, as means over people and seeds."""

    label: str
    seeds: int
    people: float  # who share a feature with their first item
    shared: float  # features that one shares with it
    leaves: dict[str, float]  # reason -> how often the item leaves the first LENGTH
    falls: dict[str, float]  # reason -> how often it is no longer the first


def fidelity_of(model: Model) -> tuple[Floats, Floats, Ints] | None:
    """(people, reasons) how often the first item leaves the list, and the first place; features shared by each.

    People who share no feature with their first item are left out; None: the model's scores are no sums
    over features of items.
    """
    users = np.flatnonzero(model.train.user_counts).astype(np.int32)
    first = model.recommend(users, 1).item[:, 0]
    allowed, shared = np.flatnonzero(model.candidates), list[int]()
    leaves, falls = list[Floats](), list[Floats]()
    for user, item in zip(users.tolist(), first.tolist()):
        terms = model.terms(user)
        if terms is None or not terms.features:
            return None
        features = terms.of(item) if item >= 0 else np.empty(0, np.int32)
        features = features[features < terms.features]
        if len(features):
            offered = np.setdiff1d(allowed, model.train.by_user.of(user)).astype(np.int32)
            leaves.append(removals(terms, item, features, offered, LENGTH))
            falls.append(removals(terms, item, features, offered, 1))
            shared.append(len(features))
    shape = (-1, len(REASONS))
    return np.reshape(leaves, shape), np.reshape(falls, shape), np.array(shared, np.int32)


def removals(terms: ScoreTerms, item: int, features: Ints, offered: Ints, k: int) -> Floats:
    """(reasons,) whether the item leaves the first k without its first reason, its largest, one at random.

    `features` are those it shares with her, the most informative first. Without one that speaks for the item
    there is no reason, and nothing that could pass.
    """
    drops = np.array([terms.drops(item, feature, offered, k) for feature in features.tolist()])
    speaks = terms.values[features, item] > 0
    first, largest = int(speaks.argmax()), int(terms.values[features, item].argmax())
    return np.array([drops[first] & speaks[first], drops[largest] & speaks[largest], drops.mean()], np.float64)


def _entry(label: str, runs: Sequence[Scorer]) -> Fidelity | None:
    """What was found with every seed; None where scores are no sums."""
    measured = []
    for one in runs:
        found = fidelity_of(one.model())
        if found is None:
            return None
        measured.append(found)
    leaves, falls = (np.mean([one[part].mean(axis=0) for one in measured], axis=0) for part in (0, 1))
    people = [len(one[2]) for one in measured]
    shared = [one[2].mean() for one in measured]
    named: list[dict[str, float]] = [dict(zip(REASONS, values.tolist())) for values in (leaves, falls)]
    return Fidelity(label, len(runs), float(np.mean(people)), float(np.mean(shared)), *named)


FIDELITY = EntryAnalysis(
    "fidelity.json",
    list[Fidelity],
    _entry,
    lambda _, labels: SettingError(
        f"fidelity needs a model whose scores are sums over features, but {labels} have none; run one such as "
        "kgflex."
    ),
)
