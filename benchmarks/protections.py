"""Protocols of a secure sum side by side: one round of 100 clients at the size of ml-1m, 77,826 numbers.

Every row must end in the same sum, to the bit. `python -m benchmarks.protections` writes the table of
docs/results/protections.csv, with the accuracy of one training through each protocol on the embedded data.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import channel
from benchmarks.rivals.paillier import Paillier
from benchmarks.sides import Benchmark, Skipped, Work
from murmura.channel.ring import Ring
from murmura.core.codec import encode
from murmura.core.errors import MissingExtraError
from murmura.core.rng import Words
from murmura.lab.protections.ckks import Ckks
from murmura.lab.protections.pairwise_masks import PairwiseMasks
from murmura.lab.protections.sum_protocol import NO_DROPOUTS, AdditiveShares, DropOuts

CLIENTS, TIMES = 100, 3
TABLE = Path(__file__).parent.parent / "docs" / "results" / "protections.csv"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    title: str
    protocol: Any  # a class of sums
    lost: DropOuts = NO_DROPOUTS
    trained: str = ""  # the channel it is in a simulation
    part: int = 1  # of the vector, where the whole would take hours: 1/part, times part
    given: tuple[int, ...] = ()  # what the protocol is begun with besides


LOST = DropOuts(frozenset(range(10)), frozenset(range(10, 20)))
ROWS = {
    "shares-2": Row("two aggregators (a real federation's)", AdditiveShares, trained="secure-sum", given=(2,)),
    "shares-3": Row("additive shares, three servers", AdditiveShares, trained="shares"),
    "masks": Row("pairwise masks, all pairs", PairwiseMasks, trained="masks"),
    "masks-20": Row("pairwise masks, 20 neighbours", PairwiseMasks, given=(20,)),
    "masks-lost": Row("pairwise masks, all pairs, 10 lost before and 10 after", PairwiseMasks, LOST, "masks"),
    "ckks": Row("CKKS, degree 8192, primes of 60 and 60 bits", Ckks, trained="ckks"),
    "paillier": Row("Paillier, 2048 bits, 52 numbers in a ciphertext", Paillier, part=100),
}


@dataclass(frozen=True)
class Round:
    """What one round took."""

    equal: bool
    bytes_up: float  # per client
    device: float  # CPU seconds per client
    server: float  # CPU seconds for all
    error: float  # before rounding, of one unit; 0 where nothing is approximate


def vectors(ring: Ring, clients: int) -> Iterator[tuple[int, Words]]:
    """What devices would send: whole numbers of 16 bits, one in fourteen rows not zero."""
    rng = np.random.default_rng(0)
    for client in range(clients):
        numbers = rng.integers(-(2**15), 2**15, ring.words) * (rng.random(ring.words) < 1 / 14)
        yield client, ring.wrap(numbers)


def one_round(row: Row, clients: int = CLIENTS, words: int | None = None) -> Round:
    """A round by a protocol, beside the plain sum."""
    ring = Ring(32, -(-(words or channel.through().words) // row.part))
    expected = np.zeros(ring.words, np.int64)
    session = row.protocol(range(clients), ring, row.lost, *row.given)
    for client, vector in vectors(ring, clients):
        if client not in row.lost.before:
            expected += vector
            session.add(client, vector)
    total, cost, error = session.finish(), session.cost, session.error if isinstance(session, Ckks) else 0.0
    each = row.part / clients
    return Round(
        bool((total == ring.wrap(expected)).all()),
        cost.bytes_up * each,
        cost.seconds["device"] * each,
        cost.seconds["server"] * row.part,
        error,
    )


def _side(name: str) -> Work:
    try:
        first = one_round(ROWS[name], 3, 200) if name != "masks-lost" else None
    except (MissingExtraError, ModuleNotFoundError) as why:
        raise Skipped(str(why)) from None
    assert first is None or first.equal
    return lambda: one_round(ROWS[name])


def judge(mine: Round, _: None) -> tuple[str, str]:
    assert mine.equal, "every protocol ends in the same sum"
    client = f"{mine.bytes_up:,.0f} bytes up and {1e3 * mine.device:.1f} ms a client"
    return f"{client}, server {1e3 * mine.server:.0f} ms", ""


def _benchmark(name: str, goal: float) -> Benchmark:
    title = f"protections: a round of {CLIENTS} clients, {ROWS[name].title}"
    return Benchmark(title=title, ours=lambda: _side(name), goal=goal, judge=judge, rounds=TIMES)


GOALS = {
    "shares-2": 1.0,
    "shares-3": 1.0,
    "masks": 10.0,
    "masks-20": 3.0,
    "masks-lost": 10.0,
    "ckks": 20.0,
    "paillier": 120.0,
}
BENCHMARKS = {name: _benchmark(name, goal) for name, goal in GOALS.items()}


def accuracy(row: Row) -> float:
    """P@10 of cFPL after 20 rounds of 100 clients of the embedded data, on its validation rows.

    Where devices are lost, as many are in every round.
    """
    import murmura
    from murmura.algorithms import algorithm
    from murmura.evaluation import evaluate
    from murmura.runtimes.inprocess import InProcess
    from murmura.runtimes.simulation import FederatedMethod

    data = murmura.load("embedded")
    split = murmura.prepare(data, murmura.protocol("default", data)).selection().split
    settings: dict[str, Any] = {"clients": 100, "rounds": 20, "factors": 10, "alpha": 0.2}
    method = algorithm("cfpl")(channel=row.trained, **settings)
    lost = len(row.lost.before | row.lost.after) / CLIENTS
    people = np.flatnonzero(split.test.user_counts).astype(np.int32)
    lists = FederatedMethod(method, InProcess(drop_out=lost)).fit(split.train).recommend(people, 10)
    return float(evaluate(lists, split, metrics=("P",)).values["P@10"])


def table() -> list[dict[str, str]]:
    """The lines of the kept table."""
    plain = len(encode(channel.an_update(), channel.phase().sends))
    lines = [_line("sparse updates, readable", Round(True, plain, 0, 0, 0), "server: each update", "", "")]
    for row in ROWS.values():
        found = [one_round(row) for _ in range(1 if row.part > 1 else TIMES)]
        assert all(one.equal for one in found)
        best = min(found, key=lambda one: one.device + one.server)
        seen = "; ".join(f"{who}: {what}" for who, what in row.protocol.sees.items())
        reached = f"{accuracy(row):.6f}" if row.trained else ""
        lines.append(_line(row.title, best, seen, row.protocol.dropouts, reached))
        print(lines[-1], flush=True)
    return lines


def _line(title: str, found: Round, seen: str, dropouts: str, reached: str) -> dict[str, str]:
    return {
        "protection": title,
        "kB up per client": f"{found.bytes_up / 1000:.3f}",
        "device ms": f"{1e3 * found.device:.3f}",
        "server ms": f"{1e3 * found.server:.3f}",
        "error before rounding": f"{found.error:.6f}",
        "equal to the bit": "yes" if found.equal else "no",
        "P@10": reached,
        "who sees what": seen,
        "devices that are lost": dropouts,
    }


def main() -> None:
    lines = table()
    with TABLE.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
