"""What it costs to leave out of exact pairs what malicious devices could add, and what it keeps from outsiders.

Items take part from `least` and `tolerated` owners on, and at most `cap` of one person (`murmura serve
--tolerate`). Malicious devices here keep every proof: each counts whole items once, at most `cap` of them. They
know the counts of an earlier release, and together lift the rarest items they can.

price      P@10 and IC@10 of `fed-ease` with the kept settings, and the items that take part; beside them the
           items that would take part with trimmed groups: `counts` as sums of public groups of at least the
           minimum, less the largest groups of each item, as many as are tolerated
reading    people who are the only honest owner of an item that takes part, so that the pairs with it are their
           list; and people of whom their rarest item tells another one for certain

`python -m benchmarks.tolerated_sums docs/results/tolerated-sums.csv` writes a line for each case.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.exact_sums import pairs_of, write_figures
from murmura.algorithms import algorithm
from murmura.algorithms.cooccurrence.cooccurrence import SAFE
from murmura.algorithms.cooccurrence.item_model import evenly, rarest_rows, telling
from murmura.core.arrays import Bools, Longs
from murmura.core.contract import FederationInfo
from murmura.core.interactions import Interactions
from murmura.core.settings import as_dict
from murmura.data.sources.registry import load
from murmura.engine.prepared import prepare
from murmura.engine.protocol import protocol
from murmura.server.coordinator.setup import guarded
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.methods import published_settings

DATA = {"ml-100k": "fpl", "ml-1m": "fpl:order=day", "amazon-digital-music": "fpl"}
TOLERATED = (0, 4, None)  # None: the default of a served federation
LIARS = (0, 1, 4, 10)
MINIMUM = 100  # people in a group
HEAD = ["data", "tolerated", "least", "cap", "P@10", "IC@10", "items", "items of trimmed groups"]
HEAD += [f"{what}, {liars} liars" for what in ("only owners", "told for certain") for liars in LIARS]


def lifted(counts: Longs, least: int, liars: int, cap: int) -> Longs:
    """The counts after so many devices have listed `cap` items each, those of fewest owners first."""
    claimed, left = counts.copy(), np.full(liars, cap)
    for item in np.argsort(counts, kind="stable").tolist():
        missing = least - int(counts[item])
        if not counts[item] or missing <= 0 or missing > (left > 0).sum():
            continue
        left[np.argsort(-left, kind="stable")[:missing]] -= 1
        claimed[item] = least
    return claimed


def trimmed(data: Interactions, least: int, tolerated: int, minimum: int = MINIMUM) -> Bools:
    """(items,) which take part if those have `least` owners who are not in its largest groups.

    A public hash puts people into groups, so that a malicious device is in one of them alone.
    """
    groups = max(1, data.n_users // minimum)
    of = np.random.default_rng(0).permutation(data.n_users) % groups
    each = np.zeros((groups, data.n_items), np.int64)
    np.add.at(each, (of[data.user], data.item), 1)
    few = groups - min(tolerated, groups)
    taken: Bools = np.sort(each, axis=0)[:few].sum(axis=0) >= least
    return taken


def read(data: Interactions, least: int, liars: int, cap: int) -> tuple[int, int]:
    """How many people are the only honest owner of an item in the pairs; of how many another item is told."""
    counts = np.asarray(data.item_counts, np.int64)
    there = np.flatnonzero(lifted(counts, least, liars, cap) >= least)
    place = np.full(data.n_items, -1)
    place[there] = np.arange(len(there))
    known = np.flatnonzero(place[data.item] >= 0)
    owner, item = data.user[known].astype(np.int64), place[data.item[known]].astype(np.int32)
    part = Interactions.of(np.append(owner, 0)[:-1], item)
    own = counts[there]
    only = np.unique(owner[own[item] == 1])
    tells = telling(pairs_of(part), own) | (own == 1)
    return len(only), int(tells[item[rarest_rows(owner, item, own)]].sum())


def cases(name: str, rules: str) -> Iterator[list[object]]:
    """A line for each number of tolerated devices, and for the cap alone."""
    dataset = load(name, None)
    ready = prepare(dataset, protocol(rules, dataset))
    train, kept = ready.split.train, published_settings(rules, name, "fed-ease", {})
    info = FederationInfo.of(train)
    for tolerated in TOLERATED:
        preset, _ = guarded(algorithm("fed-ease")(**kept), info, tolerated)
        whole = as_dict(preset)
        least, cap = int(whole["least"]), int(whole["cap"])
        for used in (0, cap):
            models = {"fed-ease": {"name": "fed-ease", **kept, "least": least, "cap": used}}
            with tempfile.TemporaryDirectory() as folder:
                (found,) = compare(plan(dataset, rules, models, metrics=("P", "IC")), Path(folder))
            rows = np.lexsort((train.item, train.user))
            capped = train.rows(rows[evenly(train.user[rows].astype(np.int64), used)])
            taken = int((capped.item_counts >= least).sum())
            reads = [read(capped, least, liars, cap) for liars in LIARS]
            groups = int(
                trimmed(capped, kept.get("least", SAFE), whole["least"] - kept.get("least", SAFE)).sum()
            )
            values = [f"{found.values[key]:.6g}" for key in ("P@10", "IC@10")]
            line = [
                name,
                whole["least"] - kept.get("least", SAFE),
                least,
                used or "none",
                *values,
                taken,
                groups,
            ]
            yield [*line, *(only for only, _ in reads), *(told for _, told in reads)]


def main(path: str) -> None:
    """Print each line, then write all."""
    found = []
    for name, rules in DATA.items():
        for line in cases(name, rules):
            print(*line, sep=", ", flush=True)
            found.append(line)
    write_figures(path, HEAD, found)


if __name__ == "__main__":
    main(sys.argv[1])
