"""What malicious devices that keep every bound do to models of sums: false histories, and nothing else.

They take the places of honest devices, know the counts and pairs of an earlier release, and adapt: the target
is the coldest item that they can bring into the pairs. What is measured are the lists of honest people, on the
validation part.

promotion   the target and the ten most popular items
spread      the target and fifty of the two hundred most popular items, in each history others
short       the target and one popular item, in each history another one: normalised sums give it most weight
clone       the target in place of a popular item, the others as often as they occur with that one
demotion    the fifty most popular items without the target, which is popular
drift       as many items as the cap allows, drawn at random

`python -m benchmarks.poisoned_sums docs/results/poisoned-sums.csv [DATA ...]` writes a line for each method,
attack and number of malicious devices; methods are as `murmura serve` has them.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.exact_sums import pairs_of, write_figures
from murmura.algorithms import algorithm
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.catalogue import Split
from murmura.core.contract import FederationInfo
from murmura.core.interactions import Interactions
from murmura.core.settings import as_dict
from murmura.data.sources.registry import load
from murmura.engine.federated_model import FederatedModel
from murmura.engine.prepared import prepare
from murmura.engine.protocol import protocol
from murmura.evaluation import evaluate
from murmura.runtimes.simulation import simulated, small_cohort
from murmura.server.coordinator.setup import guarded
from murmura.studies.methods import published_settings

RULES = {"ml-100k": "fpl", "ml-1m": "fpl:order=day"}
METHODS: dict[str, dict[str, Any]] = {
    "fed-ease": {},
    "fed-item-knn": {},
    "fed-order": {},
    "fed-ease epsilon 4": {"epsilon": 4.0},
    "fed-mostpop epsilon 4": {"epsilon": 4.0},
}
SHARES = (0.0, 0.001, 0.01, 0.05)  # of the devices; at least one
AT, FILLERS, RIVALS, ANCHORS = 10, 10, 50, 200
HEAD = ["data", "method", "attack", "liars", "owners", "ER@10", "ER@10 clean", "P@10", "P@10 clean"]


@dataclass(frozen=True, eq=False)
class Known:
    """What everybody reads in an earlier release, and the cap."""

    counts: Longs
    G: Floats
    cap: int
    rng: np.random.Generator

    def popular(self, n: int, target: int) -> Longs:
        """The n most popular items beside the target."""
        order = np.argsort(-self.counts, kind="stable")
        found: Longs = order[order != target][:n]
        return found


Lie = Callable[[Known, int], Longs]  # of one device


def promotion(known: Known, target: int) -> Longs:
    """A plausible history."""
    return np.append(known.popular(FILLERS, target), target)


def short(known: Known, target: int) -> Longs:
    """Two items."""
    return np.append(known.rng.choice(known.popular(ANCHORS, target), 1), target)


def spread(known: Known, target: int) -> Longs:
    """Somebody who has much of what is popular."""
    return np.append(known.rng.choice(known.popular(ANCHORS, target), RIVALS, replace=False), target)


def clone(known: Known, target: int) -> Longs:
    """As somebody who has the fifth most popular item; it alone is left out."""
    (model,) = known.popular(5, target)[4:]
    drawn = np.flatnonzero(known.rng.random(len(known.counts)) < known.G[model] / known.counts[model])
    others = drawn[drawn != target]
    return np.append(known.rng.permutation(others)[: known.cap - 1], target)


def demotion(known: Known, target: int) -> Longs:
    """The rivals of the target."""
    return known.popular(RIVALS, target)


def drift(known: Known, target: int) -> Longs:
    """Noise."""
    return known.rng.choice(len(known.counts), min(known.cap, len(known.counts)), replace=False)


LIES: dict[str, Lie] = {
    "promotion": promotion,
    "spread": spread,
    "short": short,
    "clone": clone,
    "demotion": demotion,
    "drift": drift,
}


def coldest(counts: Longs, least: int, liars: int) -> int:
    """The item with the fewest owners that takes part once the liars have it."""
    some = np.flatnonzero(counts >= max(1, least - liars))
    return int(some[counts[some].argmin()])


def poisoned(train: Interactions, malicious: Ints, histories: list[Longs]) -> Interactions:
    """The rows of these people replaced by false ones."""
    kept = train.rows(~np.isin(train.user, malicious))
    added = np.concatenate(histories).astype(np.int32)
    who = np.repeat(malicious, [len(one) for one in histories]).astype(np.int32)
    value = np.append(kept.value, np.full(len(added), train.value.max()))
    time = None
    if train.time is not None and kept.time is not None:
        places = np.concatenate([np.arange(len(one)) for one in histories])
        time = np.append(kept.time, int(train.time.max()) + places)  # the target comes last
    return replace(
        kept, user=np.append(kept.user, who), item=np.append(kept.item, added), value=value, time=time
    )


def measured(model: FederatedModel, split: Split, honest: Ints, target: int) -> tuple[float, float]:
    """ER@10 of the target among honest people who lack it, and their P@10."""
    lists = model.recommend(honest, AT)
    found = evaluate(lists, split, cutoffs=(AT,), metrics=("P",))
    lacking = ~np.isin(lists.user, split.train.user[split.train.item == target])
    return float((lists.item[lacking] == target).any(axis=1).mean()), float(found.per_user[f"P@{AT}"].mean())


def lines(name: str) -> Iterator[list[object]]:
    """All of one data set."""
    dataset = load(name, None)
    split = prepare(dataset, protocol(RULES[name], dataset)).selection().split
    train, people = split.train, split.train.n_users
    counts, G, info = np.asarray(train.item_counts, np.int64), pairs_of(train), FederationInfo.of(train)
    for label, own in METHODS.items():
        method = label.split()[0]
        if method == "fed-order" and name == "ml-1m":  # it has no compiled path
            continue
        kept = published_settings(RULES[name], name, method, own)
        served, _ = guarded(algorithm(method)(**{**kept, **own, **small_cohort(method, own, people)}), info)
        settings = {key: value for key, value in as_dict(served).items() if key not in served.unused()}
        ready, least = simulated(method, settings), int(settings.get("least", 1))
        cap = int(settings.get("cap", 0)) or 4 * -(-len(train) // people)
        clean = ready.fit(train)
        for attack, lie in LIES.items():
            for share in dict.fromkeys(max(1, round(share * people)) for share in SHARES):
                rng = np.random.default_rng(share)
                malicious = np.sort(rng.choice(people, share, replace=False)).astype(np.int32)
                honest = np.setdiff1d(np.flatnonzero(train.user_counts), malicious).astype(np.int32)
                popular = attack in ("demotion", "drift")
                target = int(counts.argmax()) if popular else coldest(counts, least, share)
                known = Known(counts, G, cap, rng)
                lies = [lie(known, target) for _ in range(share)]
                after = ready.fit(poisoned(train, malicious, lies))
                exposed, precision = measured(after, split, honest, target)
                before, honestly = measured(clean, split, honest, target)
                values = [f"{value:.6g}" for value in (exposed, before, precision, honestly)]
                yield [name, label, attack, share, int(counts[target]), *values]


def main(path: str, *names: str) -> None:
    """Print each line, then write all."""
    found = []
    for name in names or RULES:
        for line in lines(name):
            print(*line, sep=", ", flush=True)
            found.append(line)
    write_figures(path, HEAD, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
