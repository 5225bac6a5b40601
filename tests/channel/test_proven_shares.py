"""What a device and two aggregators compute of a proved vector: one report, one circuit, one answer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.channel import key_pairs
from murmura.channel.field_shares import expand_numbers, pack_numbers, unpack_numbers
from murmura.channel.proof_keys import OPEN, ProofKey, ProvenReport
from murmura.channel.proven_shares import (
    ProvenUpload,
    SeedAnswer,
    VectorDecision,
    answer,
    check_bytes,
    commitment,
    decide,
    payload_bytes,
)
from murmura.channel.shares import key_stream
from murmura.core.arrays import Longs
from murmura.core.errors import FederationError
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.field import MODULUS, Elements, added, subtracted
from murmura.kernels.proofs.pair_words import PairWords
from tests.channel.false_vectors import false_vectors
from tests.channel.proof_vectors import proof_vectors
from tests.channel.proven_worlds import CAP, KINDS, drawn, world

VECTORS = Path(__file__).parents[2] / "vectors"
KEY = ProofKey(hashlib.sha256(b"two aggregators").digest())
REPORT = ProvenReport(b"f" * 16, b"m" * 32, "counts", 3, b"r" * 16, b"a" * 32)
SECRET = hashlib.sha256(b"a device").digest()


def told(
    circuit: ProvenVector,
    x: Elements,
    report: ProvenReport = REPORT,
    links: tuple[int | None, int | None] = (None, None),
    secret: bytes = SECRET,
) -> tuple[SeedAnswer, VectorDecision]:
    """A whole upload."""
    upload = ProvenUpload(circuit, x, secret)
    half = upload.half()
    first = upload.first(half)
    found = answer(KEY, report, circuit, first, links[0])
    second = upload.second(half, found.challenge, found.check)
    assert len(second) == payload_bytes(circuit, links[1] is not None)
    return found, decide(KEY, report, circuit, first[32:], second, links[1])


def dishonest(circuit: ProvenVector, x: Elements) -> ProvenUpload:
    """Of a device that does not check itself."""

    class Careless(ProvenUpload):
        def _check(self, proof: Elements, r: Elements) -> None:
            pass

    return Careless(circuit, x, SECRET)


def test_both_aggregators_find_one_key_and_nobody_else_does() -> None:
    mine, other, third = (key_pairs.new_key("sealing") for _ in range(3))
    publics = [key_pairs.public_key("sealing", one) for one in (mine, other, third)]
    assert ProofKey.agreed(mine, publics[1]) == ProofKey.agreed(other, publics[0])
    assert ProofKey.agreed(mine, publics[1]) != ProofKey.agreed(mine, publics[2])
    with pytest.raises(FederationError, match="a point of X25519"):
        ProofKey.agreed(mine, bytes(32))


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_valid_vector_is_taken_and_its_halves_are_what_is_summed(kind: str, people: int) -> None:
    rng = np.random.default_rng(people)
    there = world(kind, people, rng)
    x = there.valid(rng)
    found, decision = told(there.circuit, x)
    assert decision.valid
    own = expand_numbers(ProvenUpload(there.circuit, x, SECRET).seed, there.circuit.length)
    whole = added(there.circuit.released(own), decision.vector)
    assert (whole == there.circuit.released(x)).all()
    assert len(found.check) == check_bytes(there.circuit, False)


def test_what_leaves_is_as_long_for_nothing_as_for_everything() -> None:
    rng = np.random.default_rng(1)
    for kind in KINDS:
        there = world(kind, 2, rng)
        lengths = set()
        for size in (0, 1, CAP):
            upload = ProvenUpload(there.circuit, there.vector(there.histories(rng, [size, size])), SECRET)
            half = upload.half()
            found = answer(KEY, REPORT, there.circuit, upload.first(half), None)
            lengths.add((len(found.encode()), len(upload.second(half, found.challenge, found.check))))
        assert len(lengths) == 1


def test_the_same_report_has_the_same_answer_and_another_seed_another_one() -> None:
    rng = np.random.default_rng(2)
    there = world("counts", 1, rng)
    x = there.valid(rng)
    first = ProvenUpload(there.circuit, x, SECRET)
    message = first.first(first.half())
    same = [answer(KEY, REPORT, there.circuit, message, None) for _ in range(3)]
    assert len({one.encode() for one in same}) == 1
    other = ProvenUpload(there.circuit, x, bytes(32))
    assert answer(KEY, REPORT, there.circuit, other.first(other.half()), None).challenge != same[0].challenge


def test_an_honest_device_sends_nothing_that_fails() -> None:
    rng = np.random.default_rng(3)
    for kind in KINDS:
        there = world(kind, 1, rng)
        for lie in false_vectors(there, rng):
            upload = ProvenUpload(there.circuit, lie.vector, SECRET)
            with pytest.raises(FederationError, match="must pass its own check"):
                upload.second(upload.half(), bytes(32), b"")


def test_false_vectors_are_not_taken() -> None:
    rng = np.random.default_rng(4)
    for kind in KINDS:
        there = world(kind, 1, rng)
        for lie in false_vectors(there, rng):
            upload = dishonest(there.circuit, lie.vector)
            half = upload.half()
            first = upload.first(half)
            found = answer(KEY, REPORT, there.circuit, first, None)
            second = upload.second(half, found.challenge, found.check)
            assert not decide(KEY, REPORT, there.circuit, first[32:], second, None).valid


OTHERS = {
    "federation": replace(REPORT, federation=b"g" * 16),
    "manifest": replace(REPORT, manifest=b"n" * 32),
    "phase": replace(REPORT, phase="pairs"),
    "report": replace(REPORT, report=b"s" * 16),
    "admission": replace(REPORT, admission=OPEN),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_proof_of_another_report_is_not_taken(name: str) -> None:
    """Neither as it is, nor with the answer of this report."""
    rng = np.random.default_rng(5)
    there = world("counts", 1, rng)
    upload = ProvenUpload(there.circuit, there.valid(rng), SECRET)
    half = upload.half()
    first = upload.first(half)
    here = answer(KEY, REPORT, there.circuit, first, None)
    elsewhere = answer(KEY, OTHERS[name], there.circuit, first, None)
    assert here.challenge != elsewhere.challenge
    replayed = upload.second(half, elsewhere.challenge, elsewhere.check)
    with pytest.raises(FederationError, match="made for this report"):
        decide(KEY, REPORT, there.circuit, first[32:], replayed, None)
    mixed = upload.second(half, elsewhere.challenge, here.check)
    with pytest.raises(FederationError, match="made for this report"):
        decide(KEY, REPORT, there.circuit, first[32:], mixed, None)
    proof = len(pack_numbers(drawn(rng, there.circuit.gadget.proof_length)))
    good = upload.second(half, here.challenge, here.check)
    assert not decide(KEY, REPORT, there.circuit, first[32:], good[:-proof] + replayed[-proof:], None).valid


def test_a_proof_for_other_parameters_is_not_taken() -> None:
    """Another cap, as many numbers: the challenge is that of one circuit alone."""
    one, other = CountedItems(9, 1, 6), CountedItems(9, 1, 7)
    assert one.length == other.length
    x = one.vector([np.arange(3, dtype=np.int64)])
    upload = ProvenUpload(one, x, SECRET)
    half = upload.half()
    first = upload.first(half)
    found = answer(KEY, REPORT, one, first, None)
    second = upload.second(half, found.challenge, found.check)
    assert decide(KEY, REPORT, one, first[32:], second, None).valid
    with pytest.raises(FederationError, match="made for this report"):
        decide(KEY, REPORT, other, first[32:], second, None)
    other_items = PairedItems(one, np.array([0, 1]), PairWords(np.array([5, 9])))
    same_items = PairedItems(one, np.array([1, 0]), PairWords(np.array([5, 9])))
    assert other_items.parameters != same_items.parameters


def test_swapped_and_other_halves_are_not_taken() -> None:
    rng = np.random.default_rng(6)
    there = world("counts", 1, rng)
    c = there.circuit
    uploads = [ProvenUpload(c, there.valid(rng), hashlib.sha256(bytes([n])).digest()) for n in range(2)]
    halves = [upload.half() for upload in uploads]
    firsts = [upload.first(half) for upload, half in zip(uploads, halves)]
    found = [answer(KEY, REPORT, c, first, None) for first in firsts]
    seconds = [
        upload.second(half, one.challenge, one.check) for upload, half, one in zip(uploads, halves, found)
    ]
    assert all(decide(KEY, REPORT, c, first[32:], second, None).valid for first, second in zip(firsts, seconds))
    with pytest.raises(FederationError, match="must be the one that was committed to"):
        decide(KEY, REPORT, c, firsts[0][32:], seconds[1], None)
    # the seed's half in the place of the other one, committed to as it should be
    own = pack_numbers(expand_numbers(uploads[0].seed, c.length))
    first = uploads[0].first(own)
    told_swapped = answer(KEY, REPORT, c, first, None)
    second = uploads[0].second(own, told_swapped.challenge, told_swapped.check)
    assert not decide(KEY, REPORT, c, first[32:], second, None).valid


def test_without_the_other_aggregators_share_of_the_check_nothing_is_taken() -> None:
    rng = np.random.default_rng(7)
    there = world("counts", 1, rng)
    upload = ProvenUpload(there.circuit, there.valid(rng), SECRET)
    half = upload.half()
    first = upload.first(half)
    found = answer(KEY, REPORT, there.circuit, first, None)
    bound = REPORT.bound(there.circuit, first[32:])
    forged = ProofKey(bytes(32)).seal(bound, found.challenge, found.check[28:])
    for check in (bytes(len(found.check)), forged, found.check[:-1] + bytes([found.check[-1] ^ 1])):
        with pytest.raises(FederationError, match="made for this report"):
            decide(KEY, REPORT, there.circuit, first[32:], upload.second(half, found.challenge, check), None)
    with pytest.raises(FederationError, match="must have"):
        decide(KEY, REPORT, there.circuit, first[32:], upload.second(half, found.challenge, b""), None)


def test_words_that_are_no_numbers_are_refused() -> None:
    above = (MODULUS).to_bytes(8, "little")
    with pytest.raises(FederationError, match=f"must be below {MODULUS}"):
        unpack_numbers(above, 1)
    with pytest.raises(FederationError, match="must have 16 bytes, but have 8"):
        unpack_numbers(above, 2)
    assert unpack_numbers((MODULUS - 1).to_bytes(8, "little"), 1).tolist() == [MODULUS - 1]


SKIPS = bytes.fromhex("643820a23c17848983a0e29bf1e2b2efd52696dcf4c29f658d39ec56a6536ac8")


def test_words_of_the_modulus_or_more_are_skipped() -> None:
    raw = np.frombuffer(key_stream(SKIPS).update(bytes(8 * 2700)), "<u8")
    (at,) = np.flatnonzero(raw >= np.uint64(MODULUS)).tolist()
    assert at == 2657
    for count in (0, 1, at, at + 1, 2699):
        assert (expand_numbers(SKIPS, count) == np.delete(raw, at)[:count]).all()


def test_who_reduces_words_instead_finds_another_half() -> None:
    """A victim: its halves are not those of the vector, and some numbers come twice as often as others."""
    raw = np.frombuffer(key_stream(SKIPS).update(bytes(8 * 2700)), "<u8")
    reduced = raw % np.uint64(MODULUS)
    assert (reduced[:2657] == expand_numbers(SKIPS, 2657)).all()
    assert (reduced[2657:2699] != expand_numbers(SKIPS, 2699)[2657:]).all()
    small, modulus = (
        np.arange(32),
        17,
    )  # as with words of 5 bits: of all 32, each remainder below 15 comes twice
    assert np.bincount(small % modulus).tolist() == [2] * 15 + [1] * 2
    assert np.bincount(small[small < modulus]).tolist() == [1] * modulus


def candidates(circuit: CountedItems) -> list[Elements]:
    """Every history of one item: what somebody who knows little would try."""
    return [circuit.vector([np.array([place], np.int64)]) for place in range(circuit.items)]


def test_a_commitment_tells_the_seed_aggregator_nothing_to_search_for() -> None:
    circuit = CountedItems(12, 1, 6)
    x = candidates(circuit)[7]
    upload = ProvenUpload(circuit, x, SECRET)
    first = upload.first(upload.half())
    own = expand_numbers(first[:32], circuit.length)

    def found(committed: bytes) -> list[int]:
        tried = [pack_numbers(subtracted(one, own)) for one in candidates(circuit)]
        known = [{commitment(salt, one) for salt in (b"", first[:32])} for one in tried]
        return [place for place, names in enumerate(known) if committed in names]

    assert found(first[32:]) == []
    plain = commitment(b"", upload.half())  # a victim: without the salt
    assert found(plain) == [7]


def linked_worlds(people: int) -> tuple[CountedItems, PairedItems]:
    counted = CountedItems(20, people, 8)
    return counted, PairedItems(counted, np.arange(3, 18), PairWords(np.arange(5, 20)))


def histories(rng: np.random.Generator, people: int) -> list[Longs]:
    return [np.sort(rng.permutation(20)[:6]).astype(np.int64) for _ in range(people)]


@pytest.mark.parametrize("people", [1, 2])
def test_pairs_are_of_the_vector_that_was_counted(people: int) -> None:
    rng = np.random.default_rng(8)
    counted, paired = linked_worlds(people)
    own = histories(rng, people)
    seed, vector = told(counted, counted.vector(own))
    links = seed.link, vector.link
    later = replace(REPORT, phase="pairs", manifest=b"p" * 32, report=b"q" * 16)
    assert told(paired, paired.vector(own), later, links, bytes(32))[1].valid
    for _ in range(50):
        other = histories(rng, people)
        same = all((a == b).all() for a, b in zip(own, other))
        assert same or not told(paired, paired.vector(other), later, links, bytes(32))[1].valid
    fewer = [own[0][:-1], *own[1:]]  # a consent that shrank in between: her device sits the pairs out
    assert not told(paired, paired.vector(fewer), later, links, bytes(32))[1].valid
    if people > 1:
        assert not told(paired, paired.vector(own[::-1]), later, links, bytes(32))[1].valid


def test_without_a_link_another_vector_than_the_one_counted_is_taken() -> None:
    rng = np.random.default_rng(9)
    counted, paired = linked_worlds(1)
    told(counted, counted.vector(histories(rng, 1)))
    later = replace(REPORT, phase="pairs", manifest=b"p" * 32)
    assert told(paired, paired.vector(histories(rng, 1)), later)[1].valid


@pytest.mark.parametrize("name", ["admission", "window", "federation"])
def test_a_link_is_of_one_admission_in_one_window(name: str) -> None:
    rng = np.random.default_rng(10)
    counted, paired = linked_worlds(1)
    own = histories(rng, 1)
    seed, vector = told(counted, counted.vector(own))
    other = {"admission": b"b" * 32, "window": 4, "federation": b"g" * 16}[name]
    later = replace(REPORT, phase="pairs", **{name: other})  # type: ignore[arg-type]
    assert not told(paired, paired.vector(own), later, (seed.link, vector.link))[1].valid


def test_a_restarted_aggregator_that_lost_its_link_takes_nothing_false() -> None:
    """Of a link that one of them lost the check is of another length, and is refused."""
    rng = np.random.default_rng(11)
    counted, paired = linked_worlds(1)
    own = histories(rng, 1)
    seed, vector = told(counted, counted.vector(own))
    upload = ProvenUpload(paired, paired.vector(own), bytes(32))
    half = upload.half()
    first = upload.first(half)
    found = answer(KEY, REPORT, paired, first, None)
    second = upload.second(half, found.challenge, found.check)
    with pytest.raises(FederationError, match="must have"):
        decide(KEY, REPORT, paired, first[32:], second, vector.link)
    assert 0 < seed.link < MODULUS


def test_the_golden_vectors_are_what_this_version_computes() -> None:
    found = json.loads(json.dumps(proof_vectors()))
    assert json.loads((VECTORS / "proofs.json").read_text()) == found
    why = [[one["why"] for one in upload["refused"]] for upload in found["uploads"]["exchanges"]]
    assert all(all(each) for each in why)
