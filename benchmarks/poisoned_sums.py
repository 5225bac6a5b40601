"""What malicious devices that keep every bound do to models of sums, and what the trust region leaves of it.

They take the places of honest devices, know the counts and pairs of an earlier release, and adapt: the target
is the coldest item that they can bring into the pairs. What is measured are the lists of honest people, on the
validation part. With a second release the server has the counts of an honest one to compare with.

promotion   the target and the ten most popular items
spread      the target and fifty of the two hundred most popular items, in each history others
short       the target and one popular item, in each history another one: normalised sums give it most weight
clone       the target in place of a popular item, the others as often as they occur with that one
mimic       the same and the popular item too, so that no row looks copied
slow        as `promotion`, of the coldest item whose count does not leap
numbers     what no history gives, added to a sum of real numbers in the target's row, as long as it may be
somebody    the same towards whoever lies farthest out, whose history they know
unclipped   as `numbers`, as long as the whole sum may be
demotion    the fifty most popular items without the target, which is popular
drift       as many items as the cap allows, drawn at random
null        the history of an honest person: what removing anybody at all does to P@10

`python -m benchmarks.poisoned_sums docs/results/poisoned-sums.csv [DATA ...]` writes a line for each method,
attack, number of malicious devices and release; methods are as `murmura serve` has them. What one device does
is the mean over several, as removing anybody at all moves P@10 by some parts in a thousand.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.exact_sums import pairs_of, write_figures
from murmura.algorithms import algorithm
from murmura.algorithms.cooccurrence.item_model import item_scale, position
from murmura.algorithms.cooccurrence.suspicious_items import leaps
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.catalogue import Split
from murmura.core.contract import FederationInfo, ServerState
from murmura.core.interactions import Interactions
from murmura.core.model import RankedLists
from murmura.core.population import ObservedSum
from murmura.core.rng import Rng
from murmura.core.settings import as_dict
from murmura.core.update import SparseRows
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
FEW = 0.005  # of the devices: more are measured beside an earlier release too
# of one device and of the noise: the mean is what one device does. Few people and small models differ most
DRAWS, MORE_DRAWS = 3, {("ml-100k", "fed-mostpop epsilon 4"): 20, ("ml-100k", "fed-ease epsilon 4"): 60}
AT, FILLERS, RIVALS, ANCHORS = 10, 10, 50, 200
NUMBERS = ("numbers", "somebody", "unclipped")  # beside a short history: nobody proves them
CLIP = 30.0  # how long what one device adds to a sum of real numbers may be
HEAD = [
    "data",
    "method",
    "release",
    "attack",
    "liars",
    "owners",
    "ER@10",
    "ER@10 clean",
    "P@10",
    "P@10 clean",
    "P@10 SE",  # of the mean difference, over draws
    "draws",
]


@dataclass(frozen=True, eq=False)
class Known:
    """What everybody reads in an earlier release, and the cap."""

    counts: Longs
    G: Floats
    cap: int
    rng: np.random.Generator
    histories: tuple[Longs, ...] = ()

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


def mimic(known: Known, target: int) -> Longs:
    """A clone that has the popular item too."""
    return np.append(clone(known, target), known.popular(5, target)[4:])[-known.cap :]


def demotion(known: Known, target: int) -> Longs:
    """The rivals of the target."""
    return known.popular(RIVALS, target)


def drift(known: Known, target: int) -> Longs:
    """Noise."""
    return known.rng.choice(len(known.counts), min(known.cap, len(known.counts)), replace=False)


def null(known: Known, target: int) -> Longs:
    """Another honest person again."""
    return known.histories[known.rng.integers(len(known.histories))]


LIES: dict[str, Lie] = {
    "promotion": promotion,
    "spread": spread,
    "short": short,
    "clone": clone,
    "mimic": mimic,
    "slow": promotion,
    "demotion": demotion,
    "drift": drift,
    "null": null,
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


def unleaping(counts: Longs, least: int, liars: int) -> int:
    """The item with the fewest owners that takes part once the liars have it, and does not leap by that."""
    some = np.flatnonzero(counts + liars >= max(1, least))
    calm = np.setdiff1d(some, leaps(counts, counts + liars, 1.0))
    return int(calm[counts[calm].argmin()])


def weakest(A: Floats) -> Floats:
    """Where a number in the target's row weighs most."""
    _, vectors = np.linalg.eigh(A)
    found: Floats = vectors[:, 0] * np.sign(vectors[:, 0] @ A[-1])
    return found


def towards_somebody(A: Floats, model: FederatedModel, histories: tuple[Interactions, ...]) -> Floats:
    """What makes a predictor say most to one person within the bound of its claim."""
    own = as_dict(model.plan.algorithm)
    scale = item_scale(model.model["counts"][:, 0].astype(np.int64), own["least"])
    V = np.asarray(model.model["basis"], np.float32)
    points = [position(one.item, one.time, scale, V, own["decay"]) for one in histories if one.time is not None]
    P = np.array(points).T
    towards = np.linalg.solve(A + np.trace(A) / len(A) * np.eye(len(A)), P)
    found: Floats = A @ towards[:, (P * towards).sum(axis=0).argmax()]
    return found / np.linalg.norm(found)


def with_numbers(sums: list[ObservedSum], target: int, numbers: Floats) -> list[ObservedSum]:
    """The regression's sum after malicious devices have added these in the target's row."""
    *others, last = sums
    tables = last.total.update.tables
    row = SparseRows(np.array([target], np.int32), numbers[None].astype(np.float32))
    update = replace(last.total.update, tables={**tables, "next": tables["next"] + row})
    return [*others, replace(last, total=replace(last.total, update=update))]


def released(
    model: FederatedModel, sums: list[ObservedSum], before: ServerState | None = None
) -> tuple[FederatedModel, ServerState]:
    """The release that these sums are, the first or one after another, and what the server keeps."""
    method = model.plan.algorithm
    state = before or method.server_init(model.plan.info, Rng(np.zeros(2, np.uint32)))
    for one in sums:
        state, _ = method.server_step(one.phase.name, state, one.total)
    return replace(model, model=dict(state.model)), state


def measured(lists: RankedLists, split: Split, honest: Ints, target: int) -> tuple[float, float]:
    """ER@10 of the target among honest people who lack it, and their P@10."""
    asked = np.isin(lists.user, honest)
    lists = RankedLists(lists.user[asked], lists.item[asked], lists.score[asked])
    found = evaluate(lists, split, cutoffs=(AT,), metrics=("P",))
    lacking = ~np.isin(lists.user, split.train.user[split.train.item == target])
    return float((lists.item[lacking] == target).any(axis=1).mean()), float(found.per_user[f"P@{AT}"].mean())


def lines(name: str, label: str) -> Iterator[list[object]]:
    """All of one method on one data set."""
    method, own, dataset = label.split()[0], METHODS[label], load(name, None)
    split = prepare(dataset, protocol(RULES[name], dataset)).selection().split
    train, people = split.train, split.train.n_users
    counts, G, info = np.asarray(train.item_counts, np.int64), pairs_of(train), FederationInfo.of(train)
    kept = published_settings(RULES[name], name, method, own)
    served, _ = guarded(algorithm(method)(**{**kept, **own, **small_cohort(method, own, people)}), info)
    settings = {key: value for key, value in as_dict(served).items() if key not in served.unused()}
    ready, least = simulated(method, settings), int(settings.get("least", 1))
    cap = int(settings.get("cap", 0)) or 4 * -(-len(train) // people)

    histories = tuple(train.item[train.user == person] for person in np.unique(train.user))
    everyone, draws = np.flatnonzero(train.user_counts).astype(np.int32), MORE_DRAWS.get((name, label), DRAWS)

    @lru_cache(maxsize=draws)
    def honest_release(draw: int) -> tuple[RankedLists, ServerState]:
        sums = list[ObservedSum]()
        model, state = released(ready.fit(train, draw, record_sums=sums.append), sums)
        return model.recommend(everyone, AT), state

    for attack, lie in (LIES | dict.fromkeys(NUMBERS, short) if method == "fed-order" else LIES).items():
        for share in dict.fromkeys(max(1, round(share * people)) for share in SHARES):
            found = list[tuple[str, Floats]]()
            for draw in range(draws if share == 1 else 1):
                rng = np.random.default_rng((share, draw))
                malicious = np.sort(rng.choice(people, share, replace=False)).astype(np.int32)
                honest = np.setdiff1d(everyone, malicious)
                target = coldest(counts, least, share)
                if attack in ("demotion", "drift", "null"):
                    target = int(counts.argmax())
                elif attack == "slow":
                    target = unleaping(counts, least, share)
                known, sums = Known(counts, G, cap, rng, histories), list[ObservedSum]()
                forged = poisoned(train, malicious, [lie(known, target) for _ in range(share)])
                fitted = ready.fit(forged, draw, record_sums=sums.append)
                if attack in NUMBERS:
                    A = sums[-1].total.update.tables["gram"].values.astype(np.float64)
                    length = CLIP * (people if attack == "unclipped" else share)
                    others = tuple(train.rows(train.user == person) for person in honest)
                    direction = towards_somebody(A, fitted, others) if attack == "somebody" else weakest(A)
                    sums = with_numbers(sums, target, length * direction)
                clean, before = honest_release(draw)
                honestly = measured(clean, split, honest, target)
                for release, state in (("first", None), ("second", before))[: 1 + (share > FEW * people)]:
                    lists = released(fitted, sums, state)[0].recommend(honest, AT)
                    after = measured(lists, split, honest, target)
                    found.append((release, np.array([after[0], honestly[0], after[1], honestly[1]])))
            for release in dict.fromkeys(name for name, _ in found):
                drawn = np.array([values for name, values in found if name == release])
                figures, lost = [f"{value:.6g}" for value in drawn.mean(axis=0)], drawn[:, 3] - drawn[:, 2]
                error = f"{lost.std(ddof=1) / np.sqrt(len(lost)):.3g}" if len(lost) > 1 else ""
                yield [name, label, release, attack, share, int(counts[target]), *figures, error, len(lost)]


def main(path: str, *names: str) -> None:
    """Print each line; after each method write all. A name may be of data, or of DATA:METHOD."""
    found = list[list[object]]()
    for name in names or RULES:
        data, _, only = name.partition(":")
        for label in [only] if only else METHODS:
            if label == "fed-order" and data == "ml-1m" and not only:  # it has no compiled path
                continue
            for line in lines(data, label):
                print(*line, sep=", ", flush=True)
                found.append(line)
            write_figures(path, HEAD, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
