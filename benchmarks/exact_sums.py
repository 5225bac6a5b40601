"""What exact sums of counts and pairs give away, and what one upload does to them, on whole data sets.

known-item     people of whom the pairs tell another item for certain, once their rarest of at least five owners
               is known
noisy-item     what the same assertions are worth of the noisy sums at epsilon 4, beside as many items at random
one-liar       people whose whole history is read after one device has counted four more owners of every item
model          pair counts that are right to the last one when they are worked out from the published weights
copied-row     people into whose first ten a cold item comes by one upload: a false count, a popular item's row

`python -m benchmarks.exact_sums docs/results/exact-sums.csv` writes one line for each figure. Every figure is
counted against the histories; nothing is estimated.
"""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.algorithms.cooccurrence.item_model import PairModel, pair_weights, rarest_rows, telling
from murmura.algorithms.cooccurrence.private import PrivateCooccurrence, symmetric
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.channel import EPSILON
from murmura.core.interactions import Interactions
from murmura.core.population import ObservedSum
from murmura.data.sources.registry import load
from murmura.runtimes.simulation import simulated, small_cohort

LEAST = 5  # the default
KNOWN = ("ml-1m", "ml-100k", "yahoo-movies")
SHARES, LOOKED_AT, TOP = (0.1, 0.3), 400, 10  # of everybody, for whom one upload speaks; people; their lists
REG = 500.0  # the default
Line = tuple[str, str, str, int, int]  # figure, data, case, how many, of how many


def pairs_of(data: Interactions) -> Floats:
    """How often two items occur together; zeros on the diagonal."""
    X = np.zeros((data.n_users, data.n_items), np.float32)  # whole numbers below 2**24: exact
    X[data.user, data.item] = 1
    G: Floats = (X.T @ X).astype(np.float64)
    np.fill_diagonal(G, 0)
    return G


def known_item(data: Interactions, G: Floats, counts: Longs) -> Iterator[tuple[str, int, int]]:
    """Each of the assertions is checked: all owners of the one item have the other."""
    there = counts >= LEAST
    tells = np.zeros(len(counts), np.bool_)
    tells[there] = telling(G[np.ix_(there, there)], counts[there])
    rows = np.flatnonzero(there[data.item])
    owner, item = data.user[rows].astype(np.int64), data.item[rows]
    first = rarest_rows(owner, item, counts)
    told = first[tells[item[first]]]
    right = asserted = 0
    for row in told.tolist():
        rare = item[row]
        others = np.flatnonzero(there & (G[rare] == counts[rare]))
        asserted += len(others)
        right += len(np.intersect1d(others, data.item[data.user == owner[row]]))
    yield "people", len(told), data.n_users
    yield "assertions that are right", right, asserted


def noisy_item(data: Interactions) -> Iterator[tuple[str, int, int]]:
    """Nobody's rarest item of the core tells another one for certain: noise makes equal counts by itself."""
    seen = list[ObservedSum]()
    few = small_cohort("fed-ease", {}, data.n_users)
    simulated("fed-ease", {"epsilon": EPSILON, **few}).fit(data, record_sums=seen.append)
    pairs = next(one for one in seen if one.phase.name == "pairs")
    core = PrivateCooccurrence().core(pairs.info)
    G = symmetric(pairs.total.update.tables["pairs"].values[:, 0].astype(np.float64), len(core))
    rank = np.full(data.n_items, -1)
    rank[core] = np.arange(len(core))
    has = np.zeros((data.n_users, len(core)), np.bool_)
    known = rank[data.item] >= 0
    has[data.user[known], rank[data.item[known]]] = True
    own, asserted, right, chance = G.diagonal(), 0, 0, 0.0
    for mine in has[has.any(axis=1)]:
        ranks = np.flatnonzero(mine)
        rare = ranks[own[ranks].argmin()]
        others = np.flatnonzero((G[rare] >= own[rare]) & (np.arange(len(core)) != rare))
        asserted += len(others)
        right += int(mine[others].sum())
        chance += len(others) * (len(ranks) - 1) / (len(core) - 1)
    yield "assertions that are right", right, asserted
    yield "items at random that are right", round(chance), asserted


def one_liar(data: Interactions, G: Floats, counts: Longs) -> Iterator[tuple[str, int, int]]:
    """The liar adds to the counts alone; of an item that one more person has the row is that person's list."""
    claimed = counts + (LEAST - 1)
    whole = set()
    for item in np.flatnonzero(claimed == LEAST).tolist():
        (owner,) = data.user[data.item == item].tolist()
        read = np.append(np.flatnonzero(G[item] > 0), item)
        if np.array_equal(np.sort(read), np.unique(data.item[data.user == owner])):
            whole.add(owner)
    yield "whole histories", len(whole), data.n_users


def from_model(G: Floats, counts: Longs) -> tuple[int, int]:
    """B = I - P D^-1 with P = (G + reg I)^-1, so (I - B)^-1 = D (G + reg I), and D follows from the counts."""
    there = np.flatnonzero(counts >= LEAST)
    G, own = G[np.ix_(there, there)], counts[there]
    B = pair_weights(Cooccurrence(ease=1.0, reg=REG), G.copy(), counts, None)["ease"].astype(np.float64)
    inverse = np.linalg.inv(np.eye(len(own)) - B)
    found = inverse * ((own + REG) / np.diag(inverse))[:, None]
    upper = np.triu_indices(len(own), 1)
    return int((np.rint(found[upper]) == G[upper]).sum()), len(upper[0])


def copied_row(data: Interactions, G: Floats, counts: Longs) -> Iterator[tuple[str, int, int]]:
    """Lists with a cold item, of people who do not have it: without a lie, and with one upload's."""
    rng = np.random.default_rng(0)
    target = int(rng.choice(np.flatnonzero(counts == LEAST - 1)))
    lacking = np.setdiff1d(np.arange(data.n_users), data.user[data.item == target])
    people = rng.choice(lacking, LOOKED_AT, replace=False)
    yield "no lie", listed(data, G, counts, target, people), LOOKED_AT
    for share in SHARES:
        model = int(
            np.argmin(np.abs(counts - share * data.n_users))
        )  # a popular item, which it is made to equal
        row = G[model].copy()
        row[model], row[target] = counts[model], 0
        said, forged = counts.copy(), G.copy()
        said[target] += counts[model]
        forged[target] += row
        forged[:, target] += row
        found = listed(data, forged, said, target, people)
        yield f"one upload counts it for {share:g} of the people", found, LOOKED_AT


def listed(data: Interactions, G: Floats, counts: Longs, target: int, people: Ints | Longs) -> int:
    """Into how many people's first ten the item comes."""
    method = Cooccurrence(ease=1.0, reg=REG)
    items = method.weighed(counts)
    tables = pair_weights(method, G[np.ix_(items, items)], counts, None)
    model = PairModel.of(method, {**tables, "counts": counts[:, None].astype(np.uint32)})
    found = 0
    for person in people.tolist():
        own = data.item[data.user == person]
        scores = model.scores(own.astype(np.int32), None).astype(np.float64)
        scores[own] = -np.inf
        found += target in np.argsort(-scores, kind="stable")[:TOP]
    return found


def lines() -> Iterator[Line]:
    """All figures, as they are found."""
    for name in KNOWN:
        data = load(name, None).interactions
        G, counts = pairs_of(data), np.asarray(data.item_counts, np.int64)
        for case, found, of in known_item(data, G, counts):
            yield "known-item", name, case, found, of
        for case, found, of in noisy_item(data):
            yield "noisy-item", name, case, found, of
        for case, found, of in one_liar(data, G, counts):
            yield "one-liar", name, case, found, of
        yield "model", name, "pair counts", *from_model(G, counts)
        if name == "ml-1m":
            for case, found, of in copied_row(data, G, counts):
                yield "copied-row", name, case, found, of


def main(path: str) -> None:
    """Print each figure, then write all."""
    found = []
    for line in lines():
        print(*line, f"{line[3] / line[4]:.4f}", sep=", ", flush=True)
        found.append((*line, f"{line[3] / line[4]:.6g}"))
    write_figures(path, ["figure", "data", "case", "found", "of", "share"], found)


def write_figures(path: str, head: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    """A small CSV of figures."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)


if __name__ == "__main__":
    main(sys.argv[1])
