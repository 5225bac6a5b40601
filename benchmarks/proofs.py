"""What a proof costs at the size of ml-1m: CPU time of one upload, on the device and on each aggregator.

device    the vector of somebody with the longest history, its halves, its proof, its own check, both sealed
seed      its payload opened, its half expanded and checked, its share of the check sealed
vector    its payload opened and held against what was committed to, checked, decided, added to the sum

Exact pairs are of all items with at least five owners, linked to the counts that came before; noisy ones of
the 1,000 items of the largest counts, at epsilon 4. Beside them stand the same exchanges without a proof: words
of a ring, whose halves are opened and added.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks import world
from benchmarks.sides import Benchmark, Side, Work
from murmura.channel.key_pairs import OVERHEAD, new_key, public_key, seal, unseal
from murmura.channel.proof_keys import ProofKey, ProvenReport
from murmura.channel.proven_shares import (
    ProvenUpload,
    SeedAnswer,
    VectorDecision,
    answer,
    check_bytes,
    decide,
    payload_bytes,
)
from murmura.channel.ring import Ring
from murmura.channel.rounded_chain import rounded_chain
from murmura.channel.shares import SEED_BYTES, expand, split
from murmura.channel.weighted_chain import WeightedChain
from murmura.core.arrays import Longs
from murmura.core.interactions import Interactions
from murmura.core.rng import Words
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.field import add_into
from murmura.kernels.proofs.pair_words import PairWords, RankedItems
from murmura.kernels.proofs.weighted_items import WeightedPairs
from murmura.runtimes.simulation import simulated

LEAST, EPSILON = 5, 4.0
WORDS_BEFORE = 1_254_104  # of 32 bits, in the form that nothing was proved of
DEVICE, PAIRS, COUNTS = 0.5, 0.012, 0.002  # the goals, in seconds
KEY = ProofKey(bytes(32))
INFO = b"a benchmark"


@dataclass(frozen=True)
class Setting:
    """Both circuits, and who has most."""

    circuits: dict[str, ProvenVector]
    own: dict[str, list[Longs]]
    follows: bool  # whether pairs are held against counts
    rings: dict[str, Ring]  # of both exchanges without proofs

    @property
    def before(self) -> int:
        """The same without proofs."""
        return sum(one.message_bytes + SEED_BYTES for one in self.rings.values())

    @property
    def bytes_up(self) -> int:
        """What leaves a device in both exchanges, but for heads, passes and seals that there were before."""
        counts, pairs = self.circuits["counts"], self.circuits["pairs"]
        return payload_bytes(counts, False) + payload_bytes(pairs, self.follows) + 4 * SEED_BYTES

    def anew(self) -> ProvenVector:
        """The circuit of pairs as a device makes it, which has worked out where words stand once."""
        pairs = self.circuits["pairs"]
        assert isinstance(pairs, PairedItems | WeightedPairs)
        return replace(pairs, words=PairWords(pairs.words.bounds, pairs.words.diagonal))


@cache
def data() -> Interactions:
    return world.load().interactions


def longest() -> Longs:
    rows, most = data().by_user, int(np.argmax(data().user_counts))
    return np.unique(rows.index[rows.start[most] : rows.start[most + 1]]).astype(np.int64)


@cache
def setting(kind: str) -> Setting:
    return exact() if kind == "exact" else noisy()


def exact() -> Setting:
    counts, own = np.asarray(data().item_counts, np.int64), longest()
    ranked = RankedItems.of(counts, LEAST)
    counted = CountedItems(len(counts), 1, len(own))
    paired = PairedItems(counted, ranked.items.astype(np.int64), ranked.pairs)
    rings = {"counts": Ring(32, 1 + len(counts)), "pairs": Ring(32, 1 + WORDS_BEFORE)}
    return Setting({"counts": counted, "pairs": paired}, {"counts": [own], "pairs": [own]}, True, rings)


def noisy() -> Setting:
    plan = simulated("fed-ease", {"epsilon": EPSILON, "minimum_cohort": 1, "hopeless": True}).plan(
        data(), 0, None
    )
    circuits, own, rings = dict[str, ProvenVector](), dict[str, list[Longs]](), dict[str, Ring]()
    for phase in plan.algorithm.phases(plan.info):
        chain, claim = plan.chains[phase.name], phase.claim
        assert isinstance(chain, WeightedChain)
        assert claim is not None
        circuits[phase.name], mine = chain.product, np.intersect1d(longest(), claim.items)
        own[phase.name] = [np.searchsorted(claim.items, mine).astype(np.int64)]
        rings[phase.name] = rounded_chain(plan.channel, phase, plan.info, plan.info.clients).ring
    return Setting(circuits, own, False, rings)


@dataclass(frozen=True)
class Sent:
    """One upload, sealed, and what both aggregators kept of the exchange before."""

    report: ProvenReport
    circuit: ProvenVector
    private: bytes
    first: bytes
    second: bytes
    committed: bytes
    links: tuple[int | None, int | None]


def exchange(told: Setting, phase: str, links: tuple[int | None, int | None]) -> Sent:
    private, circuit = new_key("sealing"), told.circuits[phase]
    named = ProvenReport(bytes(16), bytes(32), "benchmark", 0, bytes(16), bytes(32))
    upload = ProvenUpload(circuit, circuit.vector(told.own[phase]), os.urandom(32))
    half = upload.half()
    first = upload.first(half)
    found = answer(KEY, named, circuit, first, links[0])
    second = upload.second(half, found.challenge, found.check)
    key = public_key("sealing", private)
    sealed = seal(first, key, INFO), seal(second, key, INFO)
    return Sent(named, circuit, private, *sealed, first[SEED_BYTES:], links)


@cache
def sent(kind: str, phase: str) -> Sent:
    told = setting(kind)
    counts = exchange(told, "counts", (None, None))
    if phase == "counts":
        return counts
    links = (take_seed(counts).link, take_vector(counts).link) if told.follows else (None, None)
    return exchange(told, "pairs", links)


def take_seed(one: Sent) -> SeedAnswer:
    return answer(KEY, one.report, one.circuit, unseal(one.first, one.private, INFO), one.links[0])


def take_vector(one: Sent) -> VectorDecision:
    payload = unseal(one.second, one.private, INFO)
    return decide(KEY, one.report, one.circuit, one.committed, payload, one.links[1])


def device(kind: str) -> Work:
    told = setting(kind)
    key = public_key("sealing", new_key("sealing"))
    challenge, check = bytes(32), bytes(check_bytes(told.circuits["pairs"], told.follows))

    def work() -> int:
        circuit = told.anew()
        upload = ProvenUpload(circuit, circuit.vector(told.own["pairs"]), os.urandom(32))
        half = upload.half()
        messages = upload.first(half), upload.second(half, challenge, check)
        return sum(len(seal(one, key, INFO)) for one in messages)

    return work


def seed(kind: str, phase: str) -> Work:
    return lambda: len(take_seed(sent(kind, phase)).check)


def vector(kind: str, phase: str) -> Work:
    one = sent(kind, phase)
    total = np.zeros(len(take_vector(one).vector), np.uint64)

    def work() -> bool:
        decision = take_vector(one)
        add_into(total, decision.vector)
        return decision.valid

    return work


def device_before(kind: str) -> Work:
    key, ring = public_key("sealing", new_key("sealing")), setting(kind).rings["pairs"]
    vector: Words = np.zeros(ring.words, ring.word)

    def work() -> int:
        first, second = split(vector, ring)
        return sum(len(seal(one, key, INFO)) for one in (first, ring.pack(second)))

    return work


def aggregator_before(role: str, kind: str, phase: str) -> Work:
    ring, private = setting(kind).rings[phase], new_key("sealing")
    first, second = split(np.zeros(ring.words, ring.word), ring)
    payload = first if role == "seed" else ring.pack(second)
    sealed = seal(payload, public_key("sealing", private), INFO)
    total: Words = np.zeros(ring.words, ring.word)

    def work() -> int:
        opened = unseal(sealed, private, INFO)
        half = expand(opened, ring) if role == "seed" else ring.unpack(opened)
        np.add(total, half, out=total)
        return len(half)

    return work


def judge_device(kind: str, mine: int, other: int) -> tuple[str, str]:
    told = setting(kind)
    pairs = told.circuits["pairs"]
    assert mine == payload_bytes(pairs, told.follows) + 2 * SEED_BYTES + 2 * OVERHEAD
    up, before = told.bytes_up, told.before
    assert up <= before, f"{up:,} bytes must be no more than {before:,}"
    return (
        f"{len(told.own['pairs'][0]):,} items, a proof of {pairs.gadget.proof_length} numbers; both exchanges "
        f"{up:,} bytes, {up / before:.3f} times those without proofs"
    ), f"{other:,} bytes"


def judge_seed(kind: str, phase: str, mine: int, other: int) -> tuple[str, str]:
    one = sent(kind, phase)
    assert mine == check_bytes(one.circuit, one.links[0] is not None)
    return f"{one.circuit.length:,} numbers, expanded and checked", f"{other:,} words"


def judge_vector(kind: str, phase: str, mine: bool, other: int) -> tuple[str, str]:
    assert mine, "an honest upload must be accepted"
    return f"{sent(kind, phase).circuit.length:,} numbers, opened, checked and added", f"{other:,} words"


def _row(
    title: str, ours: Side, theirs: Side, goal: float, judge: Callable[[Any, Any], tuple[str, str]]
) -> Benchmark:
    name = f"proofs: {title}"
    return Benchmark(name, ours, goal, judge, theirs, "the same without a proof", absolute=True)


def _rows(kind: str, prefix: str) -> dict[str, Benchmark]:
    """The device, and each aggregator in both exchanges."""
    said = {"pairs": ("", PAIRS), "counts": ("counts-", COUNTS)}
    rows = {
        f"{prefix}{name}{role}": _row(
            f"one upload of {kind} {phase}, on the {role} aggregator",
            partial(work, kind, phase),
            partial(aggregator_before, role, kind, phase),
            goal,
            partial(judge, kind, phase),
        )
        for phase, (name, goal) in said.items()
        for role, work, judge in (("seed", seed, judge_seed), ("vector", vector, judge_vector))
    }
    title = f"one upload of {kind} pairs, on the device"
    sides = partial(device, kind), partial(device_before, kind)
    return {f"{prefix}device": _row(title, *sides, DEVICE, partial(judge_device, kind)), **rows}


BENCHMARKS = {**_rows("exact", ""), **_rows("noisy", "noisy-")}
