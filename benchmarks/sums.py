"""Models made of sums: one device's step, the server's solve for 10,000 items, and a whole fit beside EASE.

device  what a device with the longest history does in both exchanges, the places of the counters included,
        which everybody works out from the counts; all items take part
solve   10,000 made-up items: packed sums become EASE's weights; its peak memory is that of the whole process
fit     fed-item-knn of ml-1m, order inside days hidden, kept settings, with everybody's list; EASE beside it
"""

import os
import resource
import time
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import world
from benchmarks.sides import Benchmark, Side, Skipped, Work
from murmura.algorithms.cooccurrence import cooccurrence
from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.channel.phase_chains import chain
from murmura.channel.shares import split
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.catalogue import Split
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, History, RoundContext, ServerState, Total
from murmura.core.rng import Rng, client_secrets
from murmura.core.update import SparseRows, Update
from murmura.engine.prepared import whole_split
from murmura.engine.protocol import protocol
from murmura.engine.visit import visit
from murmura.studies.methods import defaults, method

ITEMS, PEOPLE, EACH = 10_000, 10_000, 100  # of the made-up solve
REG, COLUMNS = 500.0, 20  # columns of the weights that are checked
STEP, SOLVE, GIGABYTES, FIT = 0.2, 120.0, 4.0, 30.0  # the goals
TOP = 10


@dataclass(frozen=True)
class Sent:
    """What left a device: its number of items, the bytes of both exchanges, and the pairs it counted."""

    items: int
    bytes: int
    pairs: int


def device() -> Work:
    train = world.train()
    counts = np.asarray(train.item_counts, np.int64)
    longest = int(np.argmax(train.user_counts))
    mine = History.of(train, longest)
    mine = replace(mine, consent=np.ones(len(mine)))
    method, channel = Cooccurrence(knn=1.0, least=1), ChannelSettings(channel="secure-sum")
    listed, rng = np.arange(train.n_items, dtype=np.int32), Rng(client_secrets(0, 1)[0], 1)

    def work() -> Sent:
        cooccurrence._layout.cache_clear()  # a device works it out once
        info = FederationInfo(train.n_items, listed, train.n_users, len(train))
        state, sent = method.client_init(info, mine, rng), 0
        for known in (info, replace(info, counts=counts)):
            phase = method.phases(known)[0 if known is info else 1]
            through = chain(channel, phase, known, train.n_users)
            made = visit(method, phase, RoundContext(known, phase.name, 0, {}), state, mine, rng, through)
            assert made.vector is not None
            split(made.vector, through.ring)
            state, sent = made.state, sent + through.upload_bytes
        assert made.vector is not None
        together = cooccurrence.layout(counts, 1).pairs.unpack(made.vector[1:])  # a device counts a pair once
        return Sent(len(mine), sent, int(together.sum()) // 2)

    return work


def judge_device(mine: Sent, _: None) -> tuple[str, str]:
    assert mine.pairs == mine.items * (mine.items - 1) // 2, "every pair is counted once"
    return (
        f"{mine.items:,} items of {world.train().n_items:,}, {mine.pairs:,} pairs; {mine.bytes:,} bytes leave",
        "",
    )


@dataclass(frozen=True)
class Solved:
    """What a solve took, and how far its weights are from what they must be."""

    seconds: float  # CPU
    peak_gb: float
    error: float  # of the checked columns, relative to their largest entry
    items: int


def made_up(items: int, people: int, each: int) -> tuple[Longs, Ints]:
    """(people + 1,) where everyone's items begin, and the items, ascending for everyone."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.integers(0, items, (people, each)), axis=1)
    kept = np.ones(rows.shape, np.bool_)
    kept[:, 1:] = rows[:, 1:] != rows[:, :-1]
    return np.concatenate([[0], np.cumsum(kept.sum(axis=1))]), rows[kept].astype(np.int32)


def summed(start: Longs, item: Ints, items: int) -> tuple[Cooccurrence, ServerState, Total]:
    """A server that has the counts, and the packed sum of everybody's pairs."""
    method = Cooccurrence(ease=1.0, least=1, reg=REG, memory_gb=GIGABYTES)
    info = FederationInfo(items, np.arange(items, dtype=np.int32), len(start) - 1, len(item))
    counts = np.bincount(item, minlength=items).astype(np.uint32)
    told = Total(Update({"counts": SparseRows(info.listed, counts[:, None])}), len(start) - 1)
    server, _ = method.server_step("counts", method.server_init(info, Rng(np.zeros(2, np.uint32))), told)
    ranked = cooccurrence.layout(counts.astype(np.int64), 1)
    ranks = np.concatenate([np.sort(ranked.ranks[item[a:b]]) for a, b in pairwise(start)])
    total = np.zeros(ranked.pairs.words, np.uint64)
    ranked.pairs.add_histories(start, ranks.astype(np.int64), total)
    words = SparseRows(np.arange(len(total), dtype=np.int32), total[:, None])
    return method, server, Total(Update({"pairs": words}), len(start) - 1)


def solve_of(items: int, people: int, each: int) -> Solved:
    """Make the sums, solve, and check some columns: (G + reg I)(e_j - B_j) is zero but at j."""
    start, item = made_up(items, people, each)
    method, server, received = summed(start, item, items)
    begun = time.process_time()
    made, _ = method.server_step("pairs", server, received)
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    checked = np.linspace(0, items - 1, COLUMNS).astype(int)
    rest: Floats = -made.model["ease"][:, checked].astype(np.float64)
    rest[checked, np.arange(COLUMNS)] = 1.0
    user = np.repeat(np.arange(people), np.diff(start))
    by_user = np.zeros((people, COLUMNS))
    np.add.at(by_user, user, rest[item])
    found = REG * rest
    np.add.at(found, item, by_user[user])
    largest = np.abs(found).max(axis=0)
    found[checked, np.arange(COLUMNS)] = 0.0
    return Solved(seconds, peak, float((np.abs(found).max(axis=0) / largest).max()), items)


def solve() -> Work:
    def work() -> Solved:
        solve_of(300, 300, 20)  # compiled before it is timed
        return solve_of(ITEMS, PEOPLE, EACH)

    return cache(work)  # once is enough: it states its own time


def judge_solve(mine: Solved, _: None) -> tuple[str, str]:
    assert mine.error < 1e-5, f"the weights must solve the equations, but are off by {mine.error:.1e}"
    assert mine.peak_gb <= GIGABYTES, (
        f"{mine.items:,} items must fit {GIGABYTES:g} GB, but took {mine.peak_gb:.1f}"
    )
    return (
        f"{mine.items:,} items, peak {mine.peak_gb:.2f} GB of {GIGABYTES:g}; equations to {mine.error:.0e}",
        "",
    )


@dataclass(frozen=True)
class Ranked:
    """A fit and everybody's list: what both took, and how good the lists are."""

    seconds: float  # CPU
    lists: tuple[int, int]  # people, items each
    rows: int  # that were fitted on
    precision: float


@cache
def days() -> Split:
    dataset = world.load()
    return whole_split(dataset, protocol("fpl:order=day", dataset))


def fitted(name: str) -> Side:
    """With kept settings, as `murmura compare` has them."""

    def side() -> Work:
        if not os.environ.get("MURMURA_DATA"):
            raise Skipped("needs ml-1m with its times: set MURMURA_DATA")
        settings = defaults("fpl:order=day", "ml-1m", name)
        train, test = days().train, days().test
        users = np.unique(test.user).astype(np.int32)
        held = np.unique(test.user.astype(np.int64) * train.n_items + test.item)

        def work() -> Ranked:
            begun = time.process_time()
            lists = method(name, settings).fit(train, 0).recommend(users, TOP).item
            seconds = time.process_time() - begun
            hits = np.isin(users[:, None].astype(np.int64) * train.n_items + lists, held)
            return Ranked(seconds, lists.shape, len(train), float(hits.mean()))

        return work

    return side


def judge_fit(mine: Ranked, other: Ranked) -> tuple[str, str]:
    assert (mine.lists, mine.rows) == (other.lists, other.rows), "both fit the same rows and rank for everyone"
    return tuple(f"P@10 {one.precision:.4f}, {one.lists[0]:,} lists" for one in (mine, other))  # type: ignore[return-value]


def _seconds(answer: Any) -> float:
    return float(answer.seconds)


BENCHMARKS = {
    "device": Benchmark("sums: a device's counts and pairs, to packed shares", device, STEP, judge_device),
    "solve": Benchmark(
        "sums: the server's solve for 10,000 items", solve, SOLVE, judge_solve, timed=_seconds, rounds=1
    ),
    "fit": Benchmark(
        "sums: fit and ranking of ml-1m, order inside days hidden",
        fitted("fed-item-knn"),
        FIT,
        judge_fit,
        fitted("ease"),
        "EASE, ours",
        timed=_seconds,
        rounds=2,
        absolute=True,
    ),
}
