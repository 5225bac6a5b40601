"""An operator is told of counts that leap and of rows that look copied, and of nothing in honest releases."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.exact_sums import pairs_of
from benchmarks.poisoned_sums import Known, clone, poisoned

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence, layout
from murmura.algorithms.cooccurrence.release_differences import EARLIER
from murmura.algorithms.cooccurrence.suspicious_items import copies, leaps
from murmura.core.arrays import Longs
from murmura.core.contract import ServerState
from murmura.core.interactions import Interactions
from murmura.data.sources.registry import load
from murmura.data.sources.synthetic import synth

COLD, MODEL = 300, 3


def honest(seed: int) -> Interactions:
    """A crowd with an item that nobody has yet."""
    crowd = synth(users=2000, items=COLD, interactions=60_000, seed=seed).interactions
    return Interactions.of(np.append(crowd.user, 0), np.append(crowd.item, COLD))


def with_copies(data: Interactions, n: int) -> Interactions:
    """False histories with the cold item in place of a popular one."""
    G, counts = pairs_of(data), data.item_counts
    model, rng = int(np.argsort(-counts)[MODEL]), np.random.default_rng(1)
    drawn = [
        np.append(np.flatnonzero(rng.random(COLD) < G[model, :COLD] / counts[model]), COLD) for _ in range(n)
    ]
    who = np.repeat(data.n_users + np.arange(n), [len(one) for one in drawn])
    return Interactions.of(np.append(data.user, who), np.append(data.item, np.concatenate(drawn)))


@pytest.mark.parametrize("seed", range(3))
def test_honest_rows_are_no_copies_and_a_copied_one_is(seed: int) -> None:
    data = honest(seed)
    counts = np.asarray(data.item_counts, np.int64)
    assert copies(pairs_of(data), counts, data.n_users) == []
    forged = with_copies(data, 100)
    found = copies(pairs_of(forged), np.asarray(forged.item_counts, np.int64), forged.n_users)
    assert found == [(int(np.argsort(-counts)[MODEL]), COLD)]


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m"])
def test_real_rows_are_no_copies_and_a_twentieth_of_false_ones_is_found(name: str, data_dir: Path) -> None:
    data = load(name, data_dir).interactions
    G, counts = pairs_of(data), np.asarray(data.item_counts, np.int64)
    assert copies(G, counts, data.n_users) == []
    random, n = np.random.default_rng(1), max(60, data.n_users // 20)
    liars = random.choice(data.n_users, n, replace=False).astype(np.int32)
    known = Known(counts, G, 4 * len(data) // data.n_users, random)
    target, model = int(counts.argmin()), int(known.popular(5, -1)[4])
    forged = poisoned(data, liars, [clone(known, target) for _ in liars])
    found = copies(pairs_of(forged), np.asarray(forged.item_counts, np.int64), data.n_users)
    assert found == [(min(target, model), max(target, model))]


def test_counts_that_grow_with_everybody_do_not_leap() -> None:
    before = np.array([5, 50, 500, 5000, 5])
    assert leaps(before, np.array([12, 105, 1010, 10_100, 66]), 2.0).tolist() == [4]


def test_an_alarm_is_one_line_and_names_the_first_of_many() -> None:
    def server(counts: Longs, **kept: Longs) -> ServerState:
        private = {"people": np.array([200]), "scale": np.ones(1), **kept}
        private["pairs"] = np.zeros(layout(counts, 5).pairs.words, np.uint64)
        return ServerState({"counts": counts[:, None].astype(np.uint32)}, private)

    method, counts = Cooccurrence(ease=1.0), np.full(6, 8)
    assert method.alarm(server(counts)) == ""
    before = {EARLIER + "people": np.array([200]), EARLIER + "counts": counts}
    assert method.alarm(server(counts, **before)) == ""
    grown = np.where(np.arange(6) < 2, 80, counts)
    assert method.alarm(server(grown, **before)) == (
        "item 0 grew from 8 to 80 owners, and 1 more like it: false histories look like this"
    )
