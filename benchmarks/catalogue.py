"""What a catalogue costs by keys of point functions: CPU time of one upload, of rows of 64 words of 32 bits.

device    100 rows in their bins, keys, proof and its own check, where the items are proved too
seed      a key of the first exchange answered: all places expanded and folded, the items' bits checked
check     a key of a later exchange answered
add       a key added to the running sum

Each at 10⁵ and at 10⁶ items.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.sides import Benchmark, Work
from murmura.channel.halves import halves_of
from murmura.channel.proof_keys import ProofKey, ProvenReport
from murmura.channel.proven_shares import ProvenUpload, answer, check_bytes, parted
from murmura.kernels.proofs.declared_rows import BinnedRows, KeyRows

CAP, NUMBERS = 100, 32  # of 64 bits
SIZES = {"": 10**5, "-million": 10**6}
GOALS = {"device": (0.1, 1.0), "seed": (0.08, 0.8), "check": (0.04, 0.4), "add": (0.04, 0.4)}  # seconds
KEY = ProofKey(bytes(32))
REPORT = ProvenReport(bytes(16), bytes(32), "benchmark", 0, bytes(16), bytes(32))


@cache
def rows(items: int, follows: bool) -> tuple[KeyRows, BinnedRows]:
    rng = np.random.default_rng(1)
    circuit = KeyRows(items, CAP, NUMBERS, (), follows)
    numbers = rng.integers(0, 2**63, (CAP, 1 + NUMBERS), dtype=np.uint64)
    numbers[:, 0] = 1
    return circuit, circuit.of_rows(np.sort(rng.choice(items, CAP, replace=False)).astype(np.int64), numbers)


@cache
def sent(items: int, follows: bool) -> bytes:
    upload = ProvenUpload(*rows(items, follows), os.urandom(32))
    return upload.first(upload.half())


def device(items: int) -> Work:
    circuit, own = rows(items, False)
    there = own.index >= 0
    order = np.argsort(own.index[there])
    index, numbers = own.index[there][order], own.numbers[there][order]
    check = bytes(check_bytes(circuit, False))

    def work() -> int:
        upload = ProvenUpload(circuit, circuit.of_rows(index, numbers), os.urandom(32))
        half = upload.half()
        return len(upload.first(half)) + len(upload.second(half, bytes(32), check))

    return work


def answered(follows: bool, items: int) -> Work:
    circuit, _ = rows(items, follows)
    link = 0 if follows else None
    return lambda: len(answer(KEY, REPORT, circuit, sent(items, follows), link).check)


def add(items: int) -> Work:
    halves = halves_of(rows(items, True)[0])
    seed, _, public = parted(sent(items, True))
    sums = halves.start()

    def work() -> int:
        halves.add(sums, halves.summed(halves.of_seed(seed, public)))
        return int(np.count_nonzero(sums[:1000]))

    return work


def judge(items: int, mine: int, _: None) -> tuple[str, str]:
    assert mine > 0
    halves = halves_of(rows(items, True)[0])
    return f"{items:,} items, cap {CAP}: a key of {halves.half_bytes:,} bytes", ""


SIDES: dict[str, Callable[[int], Work]] = {
    "device": device,
    "seed": partial(answered, False),
    "check": partial(answered, True),
    "add": add,
}


def _benchmark(part: str, ending: str, place: int) -> Benchmark:
    items = SIZES[ending]
    side: Any = partial(SIDES[part], items)
    title = f"rows by keys, {part}, {items:,} items"
    return Benchmark(title, side, GOALS[part][place], partial(judge, items))


BENCHMARKS = {
    part + ending: _benchmark(part, ending, place) for part in SIDES for place, ending in enumerate(SIZES)
}
