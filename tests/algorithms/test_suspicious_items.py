"""Counts that leap and rows that look copied are told and shrunk; honest releases are left as they are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.exact_sums import pairs_of
from benchmarks.poisoned_sums import Known, clone, poisoned, released

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence, layout
from murmura.algorithms.cooccurrence.next_items import claimed
from murmura.algorithms.cooccurrence.release_differences import EARLIER
from murmura.algorithms.cooccurrence.suspicious_items import believed, copies, leaps, shrink_pairs
from murmura.core.arrays import Longs
from murmura.core.contract import ServerState
from murmura.core.interactions import Interactions
from murmura.core.population import ObservedSum
from murmura.data.sources.registry import load
from murmura.data.sources.synthetic import synth
from murmura.engine.federated_model import FederatedModel
from murmura.runtimes.simulation import simulated

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


def test_a_row_is_shrunk_to_the_count_that_was_expected() -> None:
    before, after = np.array([5, 50, 4]), np.array([5, 200, 9])
    part = believed(before, after, 1.0)
    assert part.tolist() == [1.0, 0.25, 1.0]
    G = np.array([[5.0, 4, 1], [4, 200, 8], [1, 8, 9]])
    shrunk = G.copy()
    shrink_pairs(shrunk, part)
    assert shrunk.tolist() == [[5, 2, 1], [2, 50, 4], [1, 4, 9]]
    assert np.linalg.eigvalsh(shrunk).min() >= 0
    assert leaps(before, after, 1.0, noise=100.0).size == 0  # noise alone makes such counts


def release_of(
    name: str, data: Interactions, before: ServerState | None = None, **own: Any
) -> tuple[FederatedModel, ServerState]:
    sums = list[ObservedSum]()
    own = {**own, "minimum_cohort": 2}
    model = simulated(name, own).fit(data, 0, record_sums=sums.append)
    return released(model, sums, before)


def exposure(model: FederatedModel) -> float:
    lists = model.recommend(np.arange(1000, dtype=np.int32), 10)
    return float((lists.item == COLD).any(axis=1).mean())


def with_liars(data: Interactions, n: int) -> Interactions:
    """False histories of the cold item and a few popular ones."""
    popular = np.argsort(-data.item_counts)[:8]
    rows = np.tile(np.append(popular, COLD), n)
    return Interactions.of(
        np.append(data.user, data.n_users + np.repeat(np.arange(n), 9)), np.append(data.item, rows)
    )


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("fed-item-knn", {"least": 9, "cap": 300}),
        ("fed-ease", {"least": 9, "cap": 300, "reg": 20.0}),
        ("fed-ease", {"epsilon": 8.0, "hopeless": True}),
        ("fed-mostpop", {"epsilon": 8.0}),
    ],
)
def test_an_item_that_leaps_since_the_last_release_is_promoted_in_no_list(
    name: str, own: dict[str, Any]
) -> None:
    """Without an earlier release there is nothing to compare with, and it is."""
    data = honest(0)
    forged = with_liars(data, 900)
    first, _ = release_of(name, forged, **own)
    assert exposure(first) > 0
    _, before = release_of(name, data, **own)
    second, after = release_of(name, forged, before, **own)
    assert exposure(second) == 0
    method = second.plan.algorithm
    assert "grew from" in method.alarm(after)
    assert method.alarm(before) == ""
    third, _ = release_of(name, forged, after, **own)  # whoever stays is believed: the operator was told
    assert exposure(third) == exposure(first)


def test_of_two_rows_that_look_copied_the_rarer_item_is_left_out() -> None:
    forged = with_copies(honest(0), 100)
    trusting, _ = release_of("fed-item-knn", forged)
    careful, state = release_of("fed-item-knn", forged, least=9, cap=300)
    last = int((forged.item_counts >= 9).sum()) - 1  # the place of the cold item
    assert trusting.model["similarity"][-1].any()
    assert not careful.model["similarity"][last].any()
    assert "have the same row" in careful.plan.algorithm.alarm(state)


def test_a_predictor_claims_no_more_than_others_do_for_each_owner() -> None:
    rng = np.random.default_rng(0)
    A, B = np.diag(rng.uniform(1, 3, 8)), rng.choice([-1, 1], (100, 8)).astype(np.float32)
    counts = rng.integers(15, 30, 100).astype(np.float64)
    B *= np.sqrt(counts)[:, None]
    assert (claimed(B, A, counts) == 1).all()
    B[7] *= 100
    part = claimed(B, A, counts)
    assert (np.delete(part, 7) == 1).all()
    assert part[7] < 0.1


def test_a_predictor_in_a_weak_direction_claims_more_than_its_square_sums_to() -> None:
    A, B = np.diag([0.01] + 7 * [10.0]), np.ones((100, 8), np.float32)
    B[7] = 0
    B[7, 0] = 80
    squares = np.einsum("ij,jk,ik->i", B, A, B)
    assert squares[7] < squares[0]  # these alone let it pass, and few people would get much of it
    part = claimed(B, A, np.full(100, 20.0))
    assert (np.delete(part, 7) == 1).all()
    assert part[7] < 0.25


def test_an_alarm_is_one_line_and_names_the_first_of_many() -> None:
    def server(counts: Longs, **kept: Longs) -> ServerState:
        private = {"people": np.array([200]), "scale": np.ones(1), **kept}
        private["pairs"] = np.zeros(layout(counts, 5).pairs.words, np.uint64)
        return ServerState({"counts": counts[:, None].astype(np.uint32)}, private)

    method, counts = Cooccurrence(ease=1.0, cap=10), np.full(6, 8)
    assert method.alarm(server(counts)) == ""
    before = {EARLIER + "people": np.array([200]), EARLIER + "counts": counts}
    assert method.alarm(server(counts, **before)) == ""
    grown = np.where(np.arange(6) < 2, 80, counts)
    assert method.alarm(server(grown, **before)) == (
        "item 0 grew from 8 to 80 owners, and 1 more like it: false histories look like this; "
        "this release shrinks such rows"
    )
    believing = replace(method, cap=0).alarm(server(grown, **before))
    assert believing.endswith("false histories look like this; nothing is changed")
