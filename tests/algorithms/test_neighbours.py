"""fed-neighbours: sums that say of how many users they are, lists as of all pairs, bytes of a history."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.algorithms.neighbours import item_lists
from murmura.algorithms.neighbours.central import PooledNeighbours
from murmura.algorithms.neighbours.fed_neighbours import FedNeighbours
from murmura.algorithms.neighbours.loops import HeldRows, clients_without_bins
from murmura.algorithms.neighbours.row_numbers import CandidateCounters, PersonWeights, SketchNumbers
from murmura.algorithms.preset import ONCE
from murmura.channel.ledger import DeviceCosts, device_costs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.point_functions.bins import assigned, place_table
from murmura.kernels.point_functions.sizes import Bins
from murmura.runtimes.inprocess import InProcess


def tastes(users: int = 80, items: int = 40, seed: int = 5) -> Interactions:
    """Users who have items of their own half three times as often; one has nearly all."""
    rng = np.random.default_rng(seed)
    half = (np.arange(items) % 2)[None, :] == (np.arange(users) % 2)[:, None]
    has = rng.random((users, items)) < np.where(half, 0.3, 0.1)
    has[0] = True
    user, item = np.nonzero(has)
    return Interactions.of(user, item)


def fitted(method: FedNeighbours, data: Interactions) -> FederatedModel:
    through = ChannelSettings(channel="secure-sum", minimum_cohort=2)
    return fit(Plan(method, data, ONCE, seed=3, channel=through), runtime=InProcess())


def weights_of(model: FederatedModel, k: int) -> np.ndarray:
    items = model.plan.info.items
    near = item_lists.unpacked(model.model["neighbours"], items, k)
    table = np.zeros((items, items))
    row, column = np.nonzero(near >= 0)
    table[row, near[row, column]] = model.model["similarity"][row, column]
    return table


@pytest.mark.parametrize("kind", ["one", "root", "inverse"])
@pytest.mark.parametrize("least", [1, 2, 3, 5])
def test_a_sum_says_whether_it_is_of_enough_users(kind: str, least: int) -> None:
    rng, weights = np.random.default_rng(least), PersonWeights(kind, least)  # type: ignore[arg-type]
    for users in range(12):
        for _ in range(40):
            own = rng.choice([1, 2, 3, 8, 20, 60, 400], users)
            total = np.array([sum(weights.of(int(n)) for n in own)])
            assert weights.enough(total)[0] == (users >= least)
            assert weights.users(total)[0] in (-1, users)


def test_without_the_count_of_users_heavy_pairs_of_two_would_be_published() -> None:
    """A sum of weights alone cannot tell two users of 8 from sixteen of 1."""
    weights = PersonWeights("inverse", 3)
    assert weights.of(2) - 1 == 8 * (weights.of(400) - 1)
    assert not weights.enough(np.array([2 * weights.of(2)]))[0]
    assert weights.enough(np.array([16 * weights.of(400)]))[0]


@pytest.mark.parametrize("most", [3, 500, 40_000, 10**6])
def test_sums_of_rounded_rows_are_right_within_their_steps(most: int) -> None:
    rng, numbers = np.random.default_rng(0), SketchNumbers(10, most)
    count = min(most, 300)
    values, u = rng.uniform(-1, 1, (count, 10)), rng.random((count, 10))
    rows = np.stack([numbers.pack(numbers.rounded(x, v)) for x, v in zip(values, u)])
    found = numbers.sums(rows.sum(axis=0, dtype=np.uint64)[None, :])[0]
    step = 2 / numbers.levels
    assert np.abs(found - values.sum(axis=0)).max() < 6 * step * count**0.5 / 2 + 1e-9
    assert numbers.width <= 33 or numbers.rank != 64


def test_counters_are_those_that_were_added() -> None:
    rng, weights = np.random.default_rng(1), PersonWeights("inverse", 3)
    counts = np.array([0, 3, 40, 900, 20_000])
    held = CandidateCounters.of(counts, counts >= 3, weights, 6, 20)
    assert held.capacity[0] == 0
    wanted = np.minimum(rng.integers(0, 2**31, (5, 20)), (counts * weights.most)[:, None])
    words = np.zeros((5, 6), np.uint64)
    for item in range(5):
        for slot in range(int(held.capacity[item])):
            power = held.bases[item] ** np.uint64(slot % held.digits[item])
            words[item, slot // held.digits[item]] += np.uint64(wanted[item, slot]) * power
    found = held.unpack(np.arange(5, dtype=np.int32), words)
    inside = np.arange(found.shape[1]) < held.capacity[:, None]
    assert (found == np.where(inside, wanted[:, : found.shape[1]], 0)).all()


@pytest.mark.parametrize("items", [3, 255, 256, 65_535, 10**6])
def test_item_numbers_survive_packing(items: int) -> None:
    numbers = np.random.default_rng(items).integers(-1, items, (7, 11)).astype(np.int32)
    assert (item_lists.unpacked(item_lists.packed(numbers, items), items, 11) == numbers).all()


@pytest.mark.parametrize(("kind", "least"), [("one", 1), ("root", 1), ("inverse", 3)])
def test_with_all_candidates_the_weights_are_those_of_all_pairs(kind: str, least: int) -> None:
    data = tastes()
    shared = {"weight": kind, "k": 39, "least_pairs": least}
    model = fitted(FedNeighbours(least=1, most_candidates=39, **shared), data)  # type: ignore[arg-type]
    votes = PooledNeighbours(**shared).fit(data).votes  # type: ignore[arg-type,attr-defined]
    table = np.zeros((40, 40))
    for row in range(40):
        here = slice(votes.start[row], votes.start[row + 1])
        table[row, votes.column[here]] = votes.value[here]
    table /= PersonWeights(kind, least).most  # type: ignore[arg-type]
    found = weights_of(model, 39)
    assert ((found > 0) == (table > 0)).all()
    assert np.abs(found - table).max() <= 2.0**-10 * table.max()


def test_pairs_of_too_few_users_are_never_published() -> None:
    data = tastes()
    owned = np.zeros((80, 40))
    owned[data.user, data.item] = 1
    together = owned.T @ owned
    found = weights_of(fitted(FedNeighbours(least=1, least_pairs=4, most_candidates=39, k=39), data), 39)
    assert (together[found > 0] >= 4).all()
    assert (found[together < 4] == 0).all()


def test_rare_items_take_no_part_after_the_counts() -> None:
    data = tastes()
    rare = np.flatnonzero(data.item_counts < 15)
    assert len(rare)
    model = fitted(FedNeighbours(least=15), data).model
    for name in ("directions", "similarity"):
        assert not model[name][rare].any()
    near = item_lists.unpacked(model["neighbours"], 40, 200)
    assert not np.isin(near[near >= 0], rare).any()


def test_who_finds_no_bin_is_found_as_by_the_device() -> None:
    rng, bins = np.random.default_rng(2), Bins(60, 4)
    sizes = rng.integers(0, bins.count + 2, 200)
    own = [np.sort(rng.choice(60, n, replace=False)).astype(np.int32) for n in sizes]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    yes = np.ones(int(start[-1]), np.bool_)
    rows = HeldRows(start, np.concatenate(own), yes, yes)
    lacking = clients_without_bins(rows, place_table(bins) // bins.width, bins.count)
    wanted = [len(assigned(bins, one.tolist())) < len(one) for one in own]
    assert lacking.tolist() == wanted
    assert 10 < sum(wanted) < 190


def costs(items: int, clients: int) -> DeviceCosts:
    preset = algorithm("fed-neighbours")()
    info = FederationInfo(items, np.arange(items, dtype=np.int32), clients, 27 * clients)
    through = preset.channel_settings()
    return device_costs(preset.algorithm(), info, preset.schedule(), through, private_reads=True)


def test_bytes_follow_a_history_and_not_the_catalogue() -> None:
    for items, clients in ((40_981, 29_858), (100_000, 30_000)):
        found = costs(items, clients)
        assert found.up <= 0.8e6
        assert found.down <= 0.85e6
    large = costs(1_000_000, 1_000_000)
    assert max(large.up, large.down) <= 1e6
    smaller = costs(100_000, 1_000_000)
    assert large.up + large.down <= 1.3 * (smaller.up + smaller.down)


@pytest.mark.parametrize("name", ["fed-ease", "fed-item-knn"])
def test_dense_pairs_of_a_large_catalogue_are_refused_before_the_counts(name: str) -> None:
    info = FederationInfo(40_981, np.arange(40_981, dtype=np.int32), 29_858, 810_128)
    method = algorithm(name)().algorithm()
    with pytest.raises(SettingError, match=r"memory_gb must be at least 20\.2 for the weights between 40981"):
        method.check_size(info)
    enough = algorithm(name)(memory_gb=30.0).algorithm()
    with pytest.raises(SettingError, match=r"at most 400 MB in one release, .* or take fed-neighbours"):
        enough.check_size(replace(info, counts=np.full(40_981, 20, np.int64)))


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(SettingError, match="discount must be 0 for fed-neighbours"):
        FedNeighbours(discount=0.1)
    info = FederationInfo(10**7, np.arange(10**7, dtype=np.int32), 100, 1000)
    with pytest.raises(SettingError, match=r"memory_gb must be at least 126\.8"):
        FedNeighbours().check_size(info)
