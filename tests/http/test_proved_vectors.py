"""The proved federation of vectors/wire.json, taken by both aggregators as real devices' messages are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.channel.weighted_chain import WeightedChain
from murmura.server.aggregator.aggregator import Aggregator, Role
from murmura.server.database import ServerDatabase, put_fact
from murmura.wire import wire
from murmura.wire.log import pack_entries
from murmura.wire.manifest import Manifest, ReleasedSum
from murmura.wire.proved_round import ProvedRound
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import check_signature
from murmura.wire.terms import FederationTerms
from tests.http import proved_world as world
from tests.http.test_vectors import NOW, ROLES, VECTORS, key_of, proof_key, report, sealing_key
from tests.http.wire_world import mark_of

PROVED: dict[str, Any] = VECTORS["good"]["proved"]
COUNTS, PAIRS = PROVED["exchanges"]


NOISY: dict[str, Any] = PROVED["noisy"]


def aggregator(role: Role, folder: Path) -> Aggregator:
    """One that has agreed to the terms, and opened the round of counts."""
    store, coordinator = ServerDatabase(folder / f"{role}.db", "aggregator"), key_of("coordinator")
    keys = {"sealing key": sealing_key(role).private, "proof key": proof_key(role).private}
    store.write([put_fact(name, key) for name, key in {**keys, "key": key_of(role).private}.items()])
    made = Aggregator(role, store, lambda: NOW, 1, coordinator.public)
    content, described = bytes.fromhex(PROVED["terms"]["content"]), bytes.fromhex(PROVED["description"])
    made.agreement.agree(coordinator.sign("terms", content) + content)
    made.agreement.take_description(hashlib.sha256(described).digest(), described)
    opened(made, COUNTS, b"")
    return made


def opened(made: Aggregator, exchange: dict[str, Any], more: bytes) -> None:
    known = 0 if exchange is COUNTS else 2  # entries of the log: the terms, and a manifest for each round
    grown = known.to_bytes(8, "little") + pack_entries(world.entries()[known : 2 if exchange is COUNTS else 3])
    made.append_log(key_of("coordinator").sign("log", grown) + grown)
    content = exchange["manifest"].encode()
    made.open_round(key_of("coordinator").sign("manifest", content) + wire.pack_pair(content, more))


def message(exchange: dict[str, Any], kind: int) -> bytes:
    return bytes.fromhex(exchange["shares"][kind]["message"])


def released(seed: Aggregator, vector: Aggregator, exchange: dict[str, Any]) -> ReleasedSum:
    """The sum of a round, as the coordinator gets it from both."""
    name, key = bytes.fromhex(exchange["hash"]), key_of("coordinator")
    listed = vector.close_round(name, key.sign("close", name))
    first = seed.release(name, key.sign("release", name) + listed)
    second = vector.release(name, key.sign("release", name) + first[:64] + listed[64:])
    return ReleasedSum.of(name, listed[64:], (first[64:128], first[128:]), (second[64:128], second[128:]))


def both(folder: Path) -> tuple[Aggregator, Aggregator]:
    seed, vector = (aggregator(role, folder) for role in ROLES)
    return seed, vector


def paired(folder: Path) -> tuple[Aggregator, Aggregator]:
    """Both, after the counts."""
    seed, vector = both(folder)
    for kind, made in enumerate((seed, vector)):
        assert report(made, message(COUNTS, kind)).hex() == COUNTS["answers"][kind]
    evidence = released(seed, vector, COUNTS).encode()
    for made in (seed, vector):
        opened(made, PAIRS, wire.pack_pair(bytes.fromhex(PROVED["counts"]), evidence))
    return seed, vector


def test_both_exchanges_are_answered_as_the_file_says_and_summed(tmp_path: Path) -> None:
    seed, vector = paired(tmp_path)
    for kind, made in enumerate((seed, vector)):
        for _ in range(2):  # the same again has the same answer
            assert report(made, message(PAIRS, kind)).hex() == PAIRS["answers"][kind]
    total = released(seed, vector, PAIRS).total(world.chain_of("pairs"))
    assert world.chain_of("pairs").pack_total(total).hex() == PAIRS["released"]


def test_halves_of_noisy_sums_are_answered_decided_and_added_up_as_the_file_says() -> None:
    for exchange, phase in zip(NOISY["exchanges"], world.NOISY):
        golden = world.upload(phase)  # both aggregators have answered it
        assert exchange["answers"] == [golden.answered.hex(), golden.receipt.hex()]
        assert [share["message"] for share in exchange["shares"]] == [
            golden.share(kind).hex() for kind in (wire.SEED, wire.VECTOR)
        ]
        through, numbers = world.chain_of(phase), np.frombuffer(bytes.fromhex(exchange["released"]), "<u8")
        assert isinstance(through, WeightedChain)
        found, breach = through.possible(numbers, 0, 1)
        assert breach == ""
        (rows,) = found.update.tables.values()
        assert 0.5 < np.sqrt((rows.values.astype(np.float64) ** 2).sum()) <= 1


def test_terms_and_manifests_are_read_and_the_counts_are_what_was_released(tmp_path: Path) -> None:
    terms = FederationTerms.decode(bytes.fromhex(PROVED["terms"]["content"]))
    assert terms.hash.hex() == PROVED["terms"]["hash"]
    for exchange in (COUNTS, PAIRS):
        assert Manifest.decode(exchange["manifest"].encode()).hash.hex() == exchange["hash"]
    told = wire.unpack_arrays(bytes.fromhex(PROVED["counts"]))["counts"]
    numbers = np.frombuffer(bytes.fromhex(COUNTS["released"]), "<u8")
    assert told[world.description().info.listed].tolist() == numbers.tolist()


def test_an_aggregator_that_was_restarted_still_links_pairs_to_counts(tmp_path: Path) -> None:
    seed, vector = both(tmp_path)
    for kind, made in enumerate((seed, vector)):
        report(made, message(COUNTS, kind))
    evidence = released(seed, vector, COUNTS).encode()
    for kind, role in enumerate(ROLES):
        store = ServerDatabase(tmp_path / f"{role}.db", "aggregator")
        again = Aggregator(role, store, lambda: NOW, 1, key_of("coordinator").public)
        opened(again, PAIRS, wire.pack_pair(bytes.fromhex(PROVED["counts"]), evidence))
        assert report(again, message(PAIRS, kind)).hex() == PAIRS["answers"][kind]


def without_link(role: Role, made: Aggregator) -> None:
    made._store.write([("UPDATE counted SET link = NULL", ())])


def other_link(role: Role, made: Aggregator) -> None:
    made._store.write([("UPDATE counted SET link = ?", (bytes(8),))])


def test_pairs_without_a_link_are_refused_and_other_pairs_than_were_counted_are_invalid(tmp_path: Path) -> None:
    seed, vector = paired(tmp_path)
    report(seed, message(PAIRS, wire.SEED))
    other_link("vector", vector)
    for _ in range(2):
        assert refused(vector, message(PAIRS, wire.VECTOR)) == "invalid"
    (tmp_path / "b").mkdir()
    _, vector = paired(tmp_path / "b")
    without_link("vector", vector)
    assert refused(vector, message(PAIRS, wire.VECTOR)) == "not-called"


def refused(made: Aggregator, content: bytes) -> str:
    with pytest.raises(RefusedError) as caught:
        report(made, content)
    return caught.value.code


def changed(payload: bytes, at: int) -> bytes:
    return payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1 :]


def tampered() -> dict[str, tuple[Callable[[world.GoldenUpload], bytes], str]]:
    """What is done to the share for the vector aggregator, and what it says."""
    proof = 64 + 28 + 8 * world.upload("counts").half.round.circuit.gadget.verifier_length
    ends = len(world.upload("counts").payloads[1])

    def payload(at: int) -> Callable[[world.GoldenUpload], bytes]:
        return lambda made: made.share(wire.VECTOR, changed(made.payloads[1], at))

    def passed(**fields: bytes) -> Callable[[world.GoldenUpload], bytes]:
        return lambda made: made.share(wire.VECTOR, **fields)

    return {
        "salt": (payload(0), "forged"),
        "half of the vector": (payload(proof), "forged"),
        "half of the proof": (payload(ends - 8), "invalid"),
        "challenge": (payload(32), "invalid"),
        "check of the seed aggregator": (payload(64), "invalid"),
        "without the check of the seed aggregator": (
            lambda made: made.share(wire.VECTOR, made.payloads[1][:64] + made.payloads[1][proof:]),
            "malformed",
        ),
        "a byte too long": (lambda made: made.share(wire.VECTOR, made.payloads[1] + b"\0"), "oversize"),
        "another commitment in the pass": (passed(payload=bytes(32)), "forged"),
        "another challenge in the pass": (passed(challenge=bytes([1]) * 32), "forged"),
        "no challenge in the pass": (passed(challenge=wire.NO_CHALLENGE), "forged"),
        "no receipt": (passed(receipt=wire.NO_RECEIPT), "no-twin"),
    }


@pytest.mark.parametrize("what", tampered())
def test_a_tampered_half_is_refused(tmp_path: Path, what: str) -> None:
    change, code = tampered()[what]
    _, vector = both(tmp_path)
    golden = world.upload("counts")
    assert refused(vector, change(golden)) == code
    if code == "invalid":  # it is decided once, whatever comes later
        assert refused(vector, golden.share(wire.VECTOR)) == "duplicate"
        assert vector.accepted == 0
    else:
        assert report(vector, golden.share(wire.VECTOR)).hex() == COUNTS["answers"][1]


def test_a_seed_needs_its_commitment(tmp_path: Path) -> None:
    seed, _ = both(tmp_path)
    golden = world.upload("counts")
    assert refused(seed, golden.share(wire.SEED, golden.payloads[0][:32])) == "malformed"
    assert refused(seed, golden.share(wire.SEED, challenge=bytes([1]) * 32)) == "malformed"
    assert report(seed, golden.share(wire.SEED)).hex() == COUNTS["answers"][0]
    assert refused(seed, golden.share(wire.SEED, changed(golden.payloads[0], 40))) == "duplicate"


@pytest.mark.parametrize("exchange", [COUNTS, PAIRS], ids=lambda one: str(one["parameters"].split()[0]))
def test_answers_that_do_not_fit_are_refused(exchange: dict[str, Any]) -> None:
    phase = json.loads(exchange["manifest"])["phase"]
    half = world.upload(phase).half
    content = bytes.fromhex(exchange["hash"] + exchange["report"]) + mark_of()

    def read(answer: bytes) -> None:
        signature, covered = half.receipt(answer)
        check_signature(key_of("seed").public, "receipt", content + covered, signature)

    read(bytes.fromhex(exchange["answers"][0]))
    for case in exchange["answers_refused"]:
        with pytest.raises(RefusedError) as caught:
            read(bytes.fromhex(case["bytes"]))
        assert caught.value.code == case["error"], case["what"]


def test_lengths_follow_from_the_circuit_alone() -> None:
    for exchange in (COUNTS, PAIRS):
        phase = json.loads(exchange["manifest"])["phase"]
        made: ProvedRound = world.upload(phase).half.round
        for share in exchange["shares"]:
            assert made.payload_bytes(share["kind"]) == len(share["payload"]) // 2
            assert len(share["message"]) // 2 == wire.SHARE_HEADER + len(share["payload"]) // 2
        assert made.answer_bytes == len(exchange["answers"][0]) // 2
