"""Golden vectors of proved sums, for every implementation: streams, circuits with their proofs, whole uploads.

`python -m tests.channel.proof_vectors vectors/proofs.json` writes it anew. Numbers of the field are
hexadecimal: their 8 little-endian bytes, one number after the other.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.channel.field_shares import expand_numbers, pack_numbers
from murmura.channel.key_pairs import public_key
from murmura.channel.proof_keys import ProofKey, ProvenReport, derived
from murmura.channel.proven_shares import ProvenUpload, answer, check_bytes, decide, proof_seed
from murmura.core.arrays import Longs
from murmura.core.errors import FederationError
from murmura.kernels.proofs.circuit import ProvenVector, prove, query
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.field import MODULUS, Elements, subtracted
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.weighted_items import WeightedCounts, WeightedPairs

SKIPS = (
    "643820a23c17848983a0e29bf1e2b2efd52696dcf4c29f658d39ec56a6536ac8"  # number 2657 of its stream is skipped
)
STREAMS = (("00" * 32, 5), ("ab" * 32, 17), (SKIPS, 2657), (SKIPS, 2658), (SKIPS, 2700))
BOUNDS = [1, 2, 2, 3, 9, 9, 300, 70_000, 70_001, 2**33]
RANKED = [10, 2, 5, 0, 1, 11, 7, 4, 9, 6]
OWN: tuple[list[int], ...] = ([0, 3, 4, 9, 11], [2, 4, 5], [])
KEYS = bytes(range(32)), bytes(range(32, 64))  # private, of the two aggregators
REPORT = ProvenReport(
    bytes(range(16)), bytes(range(100, 132)), "counts", 7, bytes(range(200, 216)), b"\x05" * 32
)


@dataclass(frozen=True, eq=False)
class Example:
    """A circuit, what it is made of, and a valid vector."""

    circuit: ProvenVector
    said: dict[str, Any]
    vector: Elements


def examples() -> list[Example]:
    """One of each kind, for one person and for three."""
    found = []
    for people in (1, 3):
        own = [np.array(one, np.int64) for one in OWN[:people]]
        counted = CountedItems(12, people, 6)
        paired = PairedItems(counted, np.array(RANKED), PairWords(np.array(BOUNDS)))
        said: dict[str, Any] = {"items": 12, "people": people, "cap": 6}
        found.append(_example("counts", counted, said, counted.vector(own), own))
        words = {"ranked": RANKED, "bounds": BOUNDS}
        found.append(_example("pairs", paired, said | words, paired.vector(own), own))
        counts = WeightedCounts(12, people, 256)
        said = {"items": 12, "people": people, "largest": 256}
        found.append(_example("weighted counts", counts, said, counts.vector(own), own))
        signed = [400_000] * 12
        pairs = WeightedPairs(people, 256, 100, PairWords(np.array(signed), diagonal=True))
        said = {"people": people, "largest": 256, "heaviest": 100, "bounds": signed}
        found.append(_example("weighted pairs", pairs, said, pairs.vector(own), own))
    return found


def _example(
    kind: str, circuit: ProvenVector, said: dict[str, Any], vector: Elements, own: Sequence[Longs]
) -> Example:
    held = [places.tolist() for places in own]
    return Example(circuit, {"kind": kind, **said, "own": held}, vector)


def proof_vectors() -> dict[str, Any]:
    """The whole file."""
    return {
        "modulus": str(MODULUS),
        "streams": [_stream(bytes.fromhex(seed), count) for seed, count in STREAMS],
        "circuits": [_proved(one) for one in examples()],
        "uploads": _uploads(),
    }


def _stream(seed: bytes, count: int) -> dict[str, Any]:
    numbers = expand_numbers(seed, count)
    whole = hashlib.sha256(pack_numbers(numbers)).hexdigest()
    return {"seed": seed.hex(), "count": count, "last": pack_numbers(numbers[-3:]).hex(), "sha256": whole}


def _seed(name: str) -> bytes:
    return hashlib.sha256(b"murmura golden proof " + name.encode()).digest()


def _proved(one: Example) -> dict[str, Any]:
    circuit, gadget = one.circuit, one.circuit.gadget
    challenge, blinds = _seed("challenge"), _seed("blinds")
    half, proof_half = _seed("half"), _seed("half of the proof")
    r, point = expand_numbers(challenge, circuit.challenges), 1234567890123456789
    proof = prove(circuit, one.vector, r, expand_numbers(blinds, gadget.blinds))
    x, own = expand_numbers(half, circuit.length), expand_numbers(proof_half, gadget.proof_length)
    first = query(circuit, x, own, r, point)
    second = query(circuit, subtracted(one.vector, x), subtracted(proof, own), r, point)
    sizes = {"length": circuit.length, "challenges": circuit.challenges, "linked": circuit.linked}
    shape = {"products": gadget.products, "chunk": gadget.chunk, "calls": gadget.calls}
    lengths = {"wire_length": gadget.wire_length, "proof_length": gadget.proof_length}
    return {
        **one.said,
        "parameters": circuit.parameters.decode(),
        **sizes,
        "gadget": {**shape, **lengths, "verifier_length": gadget.verifier_length},
        "vector": pack_numbers(one.vector).hex(),
        "released": pack_numbers(circuit.released(one.vector)).hex(),
        "challenge": challenge.hex(),
        "blinds": blinds.hex(),
        "proof": pack_numbers(proof).hex(),
        "half": half.hex(),
        "half_of_proof": proof_half.hex(),
        "point": str(point),
        "checks": [pack_numbers(share).hex() for share in (first, second)],
    }


def _uploads() -> dict[str, Any]:
    """Counts, and the pairs that follow them: all bytes that a device gives and gets."""
    key = ProofKey.agreed(KEYS[0], public_key("sealing", KEYS[1]))
    counted, paired = examples()[4:6]
    pairs = replace(REPORT, phase="pairs", manifest=bytes(range(60, 92)), report=bytes(16))
    first, links = _upload(key, counted, REPORT, (None, None))
    second, _ = _upload(key, paired, pairs, links)
    return {
        "private_keys": [one.hex() for one in KEYS],
        "public_keys": [public_key("sealing", one).hex() for one in KEYS],
        "secret": key.secret.hex(),
        "exchanges": [first, second],
    }


def _upload(
    key: ProofKey, one: Example, report: ProvenReport, links: tuple[int | None, int | None]
) -> tuple[dict[str, Any], tuple[int, int]]:
    circuit, upload = one.circuit, ProvenUpload(one.circuit, one.vector, _seed(report.phase))
    half = upload.half()
    first = upload.first(half)
    bound = report.bound(circuit, first[32:])
    found = answer(key, report, circuit, first, links[0])
    second = upload.second(half, found.challenge, found.check)
    decision = decide(key, report, circuit, first[32:], second, links[1])
    assert decision.valid
    said = {
        "circuit": one.said | {"parameters": circuit.parameters.decode()},
        "federation": report.federation.hex(),
        "manifest": report.manifest.hex(),
        "phase": report.phase,
        "window": report.window,
        "report": report.report.hex(),
        "admission": report.admission.hex(),
        "secret": upload.secret.hex(),
        "seed": upload.seed.hex(),
        "salt": upload.salt.hex(),
        "blinds": derived(upload.secret, "blinds", found.challenge).hex(),
        "half_of_proof": proof_seed(upload.seed, found.challenge).hex(),
        "bound": bound.hex(),
        "challenge": found.challenge.hex(),
        "point": str(key.point(bound, found.challenge, circuit)),
        "first": first.hex(),
        "answer": found.encode().hex(),
        "second": second.hex(),
        "links": [str(found.link), str(decision.link)],
        "refused": _refused(key, one, report, first[32:], second, links[1]),
    }
    return said, (found.link, decision.link)


def _refused(
    key: ProofKey, one: Example, report: ProvenReport, committed: bytes, second: bytes, link: int | None
) -> list[dict[str, Any]]:
    """The payload for the vector aggregator with one byte changed: what is said of it."""
    half, told = 64 + check_bytes(one.circuit, link is not None), []
    places = {"salt": 0, "challenge": 32, "check": 64, "half": half, "proof": len(second) - 8}
    for name, at in places.items():
        changed = bytearray(second)
        changed[at] ^= 1
        try:
            decision = decide(key, report, one.circuit, committed, bytes(changed), link)
            why = "" if decision.valid else "invalid"
        except FederationError as error:
            why = str(error)
        told.append({"changed": name, "at": at, "why": why})
    return told


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(proof_vectors(), indent=1) + "\n")
