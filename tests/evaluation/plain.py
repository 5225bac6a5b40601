"""Every metric once more, in plain Python and straight from its formula: sets, dictionaries and loops."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from statistics import fmean, pstdev

from tests.evaluation.worlds import LABELS, World


def relevant(world: World, user: int) -> dict[int, float]:
    threshold = world.relevant_from
    return {i: v for i, v in world.test[user].items() if threshold is None or v >= threshold}


def shown(world: World, user: int) -> list[int]:
    return world.shown.get(user, [])[: world.k]


def users(world: World) -> list[int]:
    return sorted(u for u, rows in world.test.items() if rows)


def accurate_users(world: World) -> list[int]:
    return [u for u in users(world) if relevant(world, u)]


PerUser = Callable[[World, int], float]


def precision(world: World, user: int) -> float:
    return len(set(shown(world, user)) & set(relevant(world, user))) / world.k


def recall(world: World, user: int) -> float:
    return len(set(shown(world, user)) & set(relevant(world, user))) / len(relevant(world, user))


def f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r > 0 else 0.0


def hit(world: World, user: int) -> float:
    return float(any(i in relevant(world, user) for i in shown(world, user)))


def dcg(gains: list[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def unnormalised(world: World, user: int) -> float:
    return dcg([1.0 if i in relevant(world, user) else 0.0 for i in shown(world, user)])


def binary_ndcg(world: World, user: int) -> float:
    return unnormalised(world, user) / dcg([1.0] * min(world.k, len(relevant(world, user))))


def graded_ndcg(world: World, user: int) -> float:
    threshold = world.relevant_from
    if threshold is None:
        threshold = min(0.0, *(v for rows in world.test.values() for v in rows.values()))
    gain = {i: 2 ** (v - threshold + 1) - 1 for i, v in relevant(world, user).items()}
    best = sorted(gain.values(), reverse=True)[: world.k]
    return dcg([gain.get(i, 0.0) for i in shown(world, user)]) / dcg(best)


def reciprocal_rank(world: World, user: int) -> float:
    for place, item in enumerate(shown(world, user), start=1):
        if item in relevant(world, user):
            return 1 / place
    return 0.0


def average_precision(world: World, user: int) -> float:
    found, total = 0, 0.0
    for place, item in enumerate(shown(world, user), start=1):
        if item in relevant(world, user):
            found += 1
            total += found / place
    return total / min(world.k, len(relevant(world, user)))


def counts(world: World) -> Counter[int]:
    return Counter(i for u in users(world) for i in shown(world, u))


def gini(world: World, catalogue: str = "all") -> float:
    times = counts(world)
    if not times:
        return math.nan
    in_training = {i for items in world.train.values() for i in items}
    items = set(range(world.n_items)) if catalogue == "all" else in_training | set(times)
    ordered = sorted(times[i] for i in items)
    n = len(ordered)
    if n == 1:
        return 0.0
    upper = sum((2 * j - n - 1) * c for j, c in enumerate(ordered, start=1))
    return float(Fraction(upper, (n - 1) * sum(ordered)))


def entropy(world: World) -> float:
    times = counts(world)
    total = sum(times.values())
    return -sum(c / total * math.log2(c / total) for c in times.values()) if total else math.nan


def groups(world: World) -> tuple[set[int], set[int]]:
    popularity = Counter(i for items in world.train.values() for i in items)
    total = sum(popularity.values())
    head: set[int] = set()
    reached = 0
    for item in sorted(popularity, key=lambda i: (-popularity[i], i)):
        if Fraction(reached) >= Fraction(8, 10) * total:
            break
        head.add(item)
        reached += popularity[item]
    return head, set(popularity) - head


def long_tail_count(world: World, user: int) -> float:
    return float(len(set(shown(world, user)) & groups(world)[1]))


def contrast(shares: list[float]) -> float:
    mean = fmean(shares)
    return pstdev(shares) / mean if mean and not math.isnan(mean) else math.nan


def equal_opportunity(world: World) -> float:
    shares = []
    for group in groups(world):
        found = sum(len(set(shown(world, u)) & set(relevant(world, u)) & group) for u in users(world))
        there = sum(len(set(relevant(world, u)) & group) for u in users(world))
        shares.append(found / there if there else math.nan)
    return contrast(shares)


def statistical_parity(world: World) -> float:
    shares = []
    for group in groups(world):
        found = sum(len(set(shown(world, u)) & group) for u in users(world))
        there = sum(len(group - world.train.get(u, set())) for u in users(world))
        shares.append(found / there if there else math.nan)
    return contrast(shares)


def bias(world: World, rows: list[int], label: str) -> float:
    labelled = [i for i in range(world.n_items) if world.labels[i]]
    among_items = [i for i in labelled if label in world.labels[i]]
    among_rows = [i for i in rows if world.labels[i]]
    if not among_items or not among_rows:
        return math.nan
    share = sum(label in world.labels[i] for i in among_rows) / len(among_rows)
    return share / (len(among_items) / len(labelled))


def bias_disparity(world: World, label: str) -> float:
    source = bias(world, [i for items in world.train.values() for i in items], label)
    lists = bias(world, [i for u in users(world) for i in shown(world, u)], label)
    return (lists - source) / source if source > 0 else math.nan


def activity(world: World) -> dict[str, set[int]]:
    rows = {u: len(items) for u, items in world.train.items() if items}
    found: dict[str, set[int]] = {"light": set(), "middle": set(), "heavy": set()}
    ordered = sorted(rows.values())
    for user, count in rows.items():
        light = count <= ordered[math.floor((len(ordered) - 1) / 4)]
        heavy = count >= ordered[math.ceil(3 * (len(ordered) - 1) / 4)]
        found["light" if light else "heavy" if heavy else "middle"].add(user)
    return found


def group_disparity(world: World, group: str, label: str) -> float:
    members = activity(world)[group]
    own = replace(
        world,
        train={u: items for u, items in world.train.items() if u in members},
        shown={u: items for u, items in world.shown.items() if u in members},
    )
    return bias_disparity(own, label)


def novelty(world: World, user: int, of_item: Callable[[int], float]) -> float:
    gains = [of_item(i) if i in relevant(world, user) else 0.0 for i in shown(world, user)]
    return dcg(gains) / dcg([1.0] * world.k)


def having(world: World) -> Counter[int]:
    return Counter(i for items in world.train.values() for i in items)


def popularity_complement(world: World, user: int) -> float:
    people = sum(1 for items in world.train.values() if items)
    return novelty(world, user, lambda i: 1 - having(world)[i] / max(people, 1))


def free_discovery(world: World, user: int) -> float:
    total = max(1, sum(having(world).values()))
    return novelty(world, user, lambda i: -math.log2(max(1, having(world)[i]) / total))


PER_USER: dict[str, PerUser] = {
    "P": precision,
    "R": recall,
    "F1u": lambda world, user: f1(precision(world, user), recall(world, user)),
    "HR": hit,
    "nDCG": binary_ndcg,
    "nDCGg": graded_ndcg,
    "nDCGt": unnormalised,
    "MRR": reciprocal_rank,
    "MAP": average_precision,
    "ACLT": long_tail_count,
    "EPC": popularity_complement,
    "EFD": free_discovery,
}


def mean(world: World, key: str) -> float:
    over = users(world) if key == "ACLT" else accurate_users(world)
    return fmean(PER_USER[key](world, user) for user in over)


SYSTEM: dict[str, Callable[[World], float]] = {
    "F1": lambda world: f1(mean(world, "P"), mean(world, "R")),
    "IC": lambda world: float(len(counts(world))),
    "G": lambda world: 1 - gini(world),
    "Gini": gini,
    "SE": entropy,
    "PopREO": equal_opportunity,
    "PopRSP": statistical_parity,
}

LABELLED: dict[str, Callable[[World], dict[str, float]]] = {
    "BD": lambda world: {label: bias_disparity(world, label) for label in LABELS},
    "BDu": lambda world: {
        f"{group}/{label}": group_disparity(world, group, label)
        for group in ("light", "middle", "heavy")
        for label in LABELS
    },
}
