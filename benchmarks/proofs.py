"""What a proof costs at the size of ml-1m: CPU time of one upload, on the device and on each aggregator.

device    the vector of somebody with the longest history, its halves, its proof, its own check, both sealed
seed      its payload opened, its half expanded and checked, its share of the check sealed
vector    its payload opened and held against what was committed to, checked, decided, added to the sum

Pairs are of all items with at least five owners, linked to the counts that came before. Beside them stand
the same exchanges without a proof, as they were: packed counters of 32 bits, whose halves are opened and added.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
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
from murmura.channel.shares import SEED_BYTES, expand, split
from murmura.core.arrays import Longs
from murmura.core.rng import Words
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.counted_items import CountedItems
from murmura.kernels.proofs.field import Elements, add_into
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.paired_items import PairedItems
from murmura.kernels.ranked_items import RankedItems

LEAST = 5
WORDS_BEFORE = 1_254_104  # of 32 bits, in the form that nothing was proved of
DEVICE, PAIRS, COUNTS = 0.5, 0.012, 0.002  # the goals, in seconds
KEY = ProofKey(bytes(32))
INFO = b"a benchmark"


@dataclass(frozen=True)
class Setting:
    """Both circuits, and who has most."""

    counted: CountedItems
    paired: PairedItems
    own: list[Longs]
    before: int  # bytes of both exchanges without proofs


@cache
def setting() -> Setting:
    data = world.load().interactions
    counts = np.asarray(data.item_counts, np.int64)
    ranked, longest = RankedItems.of(counts, LEAST), int(np.argmax(data.user_counts))
    rows = data.by_user
    own = np.unique(rows.index[rows.start[longest] : rows.start[longest + 1]]).astype(np.int64)
    counted = CountedItems(len(counts), 1, len(own))
    paired = PairedItems(counted, ranked.items.astype(np.int64), ranked.pairs)
    before = 4 * (1 + len(counts)) + 4 * (1 + WORDS_BEFORE) + 2 * SEED_BYTES
    return Setting(counted, paired, [own], before)


def bytes_up() -> int:
    """What leaves a device in both exchanges, but for heads, passes and seals that there were before."""
    told = setting()
    return payload_bytes(told.counted, False) + payload_bytes(told.paired, True) + 4 * SEED_BYTES


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


def exchange(circuit: ProvenVector, links: tuple[int | None, int | None]) -> Sent:
    told, private = setting(), new_key("sealing")
    named = ProvenReport(bytes(16), bytes(32), "benchmark", 0, bytes(16), bytes(32))
    upload = ProvenUpload(circuit, vector_of(circuit, told.own), os.urandom(32))
    half = upload.half()
    first = upload.first(half)
    found = answer(KEY, named, circuit, first, links[0])
    second = upload.second(half, found.challenge, found.check)
    key = public_key("sealing", private)
    sealed = seal(first, key, INFO), seal(second, key, INFO)
    return Sent(named, circuit, private, *sealed, first[SEED_BYTES:], links)


def vector_of(circuit: ProvenVector, own: list[Longs]) -> Elements:
    assert isinstance(circuit, CountedItems | PairedItems)
    return circuit.vector(own)


@cache
def sent(phase: str) -> Sent:
    counts = exchange(setting().counted, (None, None))
    if phase == "counts":
        return counts
    return exchange(setting().paired, (take_seed(counts).link, take_vector(counts).link))


def take_seed(one: Sent) -> SeedAnswer:
    return answer(KEY, one.report, one.circuit, unseal(one.first, one.private, INFO), one.links[0])


def take_vector(one: Sent) -> VectorDecision:
    payload = unseal(one.second, one.private, INFO)
    return decide(KEY, one.report, one.circuit, one.committed, payload, one.links[1])


def device() -> Work:
    told = setting()
    key = public_key("sealing", new_key("sealing"))
    challenge, check = bytes(32), bytes(check_bytes(told.paired, True))

    def work() -> int:
        layout = PairWords(told.paired.words.bounds)  # a device works it out once
        circuit = PairedItems(told.counted, told.paired.ranked, layout)
        upload = ProvenUpload(circuit, circuit.vector(told.own), os.urandom(32))
        half = upload.half()
        messages = upload.first(half), upload.second(half, challenge, check)
        return sum(len(seal(one, key, INFO)) for one in messages)

    return work


def seed(phase: str) -> Work:
    return lambda: len(take_seed(sent(phase)).check)


def vector(phase: str) -> Work:
    one = sent(phase)
    total = np.zeros(len(take_vector(one).vector), np.uint64)

    def work() -> bool:
        decision = take_vector(one)
        add_into(total, decision.vector)
        return decision.valid

    return work


def ring(phase: str) -> Ring:
    """Of the form that nothing was proved of; word 0 counts the device."""
    return Ring(32, 1 + (WORDS_BEFORE if phase == "pairs" else setting().counted.items))


def device_before() -> Work:
    key, words = public_key("sealing", new_key("sealing")), ring("pairs")
    vector: Words = np.arange(words.words, dtype=np.uint32)

    def work() -> int:
        first, second = split(vector, words)
        return sum(len(seal(one, key, INFO)) for one in (first, words.pack(second)))

    return work


def aggregator_before(role: str, phase: str) -> Work:
    words, private = ring(phase), new_key("sealing")
    first, second = split(np.arange(words.words, dtype=np.uint32), words)
    payload = first if role == "seed" else words.pack(second)
    sealed = seal(payload, public_key("sealing", private), INFO)
    total: Words = np.zeros(words.words, np.uint32)

    def work() -> int:
        opened = unseal(sealed, private, INFO)
        half = expand(opened, words) if role == "seed" else words.unpack(opened)
        np.add(total, half, out=total)
        return len(half)

    return work


def judge_device(mine: int, other: int) -> tuple[str, str]:
    assert mine == payload_bytes(setting().paired, True) + 2 * SEED_BYTES + 2 * OVERHEAD
    up, before = bytes_up(), setting().before
    assert up <= before, f"{up:,} bytes must be no more than {before:,}"
    items, proof = len(setting().own[0]), setting().paired.gadget.proof_length
    return (
        f"{items:,} items of {setting().counted.items:,}, a proof of {proof} numbers; both exchanges {up:,} "
        f"bytes, {up / before:.3f} times those without proofs"
    ), f"{other:,} bytes"


def judge_seed(phase: str, mine: int, other: int) -> tuple[str, str]:
    assert mine == check_bytes(sent(phase).circuit, phase == "pairs")
    return f"{sent(phase).circuit.length:,} numbers, expanded and checked", f"{other:,} words"


def judge_vector(phase: str, mine: bool, other: int) -> tuple[str, str]:
    assert mine, "an honest upload must be accepted"
    return f"{sent(phase).circuit.length:,} numbers, opened, checked and added", f"{other:,} words"


def _row(
    title: str, ours: Side, theirs: Side, goal: float, judge: Callable[[Any, Any], tuple[str, str]]
) -> Benchmark:
    name = f"proofs: {title}"
    return Benchmark(name, ours, goal, judge, theirs, "the same without a proof", absolute=True)


BENCHMARKS = {
    "device": _row("one upload of pairs, on the device", device, device_before, DEVICE, judge_device),
    **{
        f"{name}{role}": _row(
            f"one upload of {phase}, on the {role} aggregator",
            partial(work, phase),
            partial(aggregator_before, role, phase),
            goal,
            partial(judge, phase),
        )
        for name, phase, goal in (("", "pairs", PAIRS), ("counts-", "counts", COUNTS))
        for role, work, judge in (("seed", seed, judge_seed), ("vector", vector, judge_vector))
    },
}
