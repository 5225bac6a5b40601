"""Sums through keys are those through all rows; one key alone tells nothing; a length tells the cap alone."""

from __future__ import annotations

import os

import numpy as np
import pytest

from murmura.channel.halves import Halves, KeyHalves, halves_of
from murmura.channel.phase_chains import chain
from murmura.channel.proof_keys import ProofKey, ProvenReport
from murmura.channel.proven_chain import ProvenChain
from murmura.channel.proven_shares import ProvenUpload, answer, decide, first_bytes, parted, payload_bytes
from murmura.core.arrays import Longs
from murmura.core.channel import ChannelSettings
from murmura.core.claims import Encoding, RowsClaim
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import FederationError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng, client_secrets
from murmura.core.update import SparseRows, Update
from murmura.kernels.point_functions.sizes import Bins
from murmura.kernels.proofs.declared_rows import DenseRows, KeyRows, KeyShare
from murmura.kernels.proofs.field import Elements, added
from tests.channel.test_independence import LARGEST, advantages

KEY = ProofKey(bytes(32))


def report(number: int) -> ProvenReport:
    return ProvenReport(bytes(16), bytes(32), "rows", 0, number.to_bytes(16, "little"), bytes(32))


def drawn_rows(rng: np.random.Generator, items: int, count: int, width: int) -> tuple[Longs, Elements]:
    index = np.sort(rng.choice(items, count, replace=False)).astype(np.int64)
    numbers = rng.integers(0, 2**32, (count, 1 + width), dtype=np.uint64)
    numbers[:, 0] = 1
    return index, numbers


def summed(halves: Halves, uploads: list[tuple[bytes, bytes]]) -> Elements:
    """What both aggregators release together, of (seed, half) of each upload."""
    sums = [halves.start(), halves.start()]
    for seed, half in uploads:
        halves.add(sums[0], halves.summed(halves.of_seed(seed, halves.public(half))))
        halves.add(sums[1], halves.summed(halves.of_half(half)))
    return added(halves.released(sums[0]), halves.released(sums[1]))


@pytest.mark.slow
def test_sums_through_keys_are_the_dense_ones_in_a_thousand_shapes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(1_000):
        items, cap, width = (int(rng.integers(1, most)) for most in (200, 12, 5))
        shown = None
        if rng.random() < 0.3:
            shown = np.flatnonzero(rng.random(items) < 0.5).astype(np.int64)
        by_keys, dense = (kind(items, cap, width - 1, (), False, shown) for kind in (KeyRows, DenseRows))
        found: list[Elements] = []
        devices = [
            drawn_rows(rng, items, int(rng.integers(0, min(cap, items) + 1)), width - 1)
            for _ in range(int(rng.integers(1, 4)))
        ]
        for one in (by_keys, dense):
            halves, uploads = halves_of(one), []
            for index, numbers in devices:
                upload = ProvenUpload(one, one.of_rows(index, numbers), rng.bytes(32))
                uploads.append((upload.seed, upload.half()))
            found.append(summed(halves, uploads))
        assert (found[0] == found[1]).all()
        whole = np.zeros((items, width), np.uint64)
        for index, numbers in devices:
            whole[index] += numbers
        if shown is not None:
            whole[np.setdiff1d(np.arange(items), shown)] = 0
        assert (found[0].reshape(items, width) == whole).all()


def told(c: KeyRows | DenseRows, index: Longs, numbers: Elements, number: int = 0) -> tuple[bytes, bytes]:
    upload = ProvenUpload(c, c.of_rows(index, numbers), bytes([number]) * 32)
    half = upload.half()
    first = upload.first(half)
    found = answer(KEY, report(number), c, first, None)
    return first, upload.second(half, found.challenge, found.check)


def test_a_length_tells_the_cap_alone() -> None:
    rng = np.random.default_rng(2)
    for digits in ((), ((1, 8),)):
        c = KeyRows(400, 20, 2, digits)
        lengths = set()
        for count in (0, 1, 7, 20):
            index, numbers = drawn_rows(rng, 400, count, 2)
            numbers[:, 1:] = 3
            first, second = told(c, index, numbers)
            lengths.add((len(first), len(second)))
        assert lengths == {(first_bytes(c), payload_bytes(c, False))}


def test_the_announced_bytes_are_those_of_a_key() -> None:
    for items, cap, width in ((10**5, 100, 32), (5_000, 50, 1)):
        bins = Bins(items, cap)
        halves = KeyHalves(KeyRows(items, cap, width, (), True))
        assert halves.half_bytes == 32 + halves.public_bytes == bins.key_bytes(1 + width)
        assert halves.start().nbytes == 8 * bins.places * (1 + width)


def test_more_than_the_cap_and_other_rows_are_refused_before_anything_leaves() -> None:
    rng = np.random.default_rng(3)
    for kind in (KeyRows, DenseRows):
        c = kind(50, 3, 1, ((1, 8),))
        with pytest.raises(FederationError, match="at most 3 rows"):
            c.of_rows(*drawn_rows(rng, 50, 4, 1))
        index, numbers = drawn_rows(rng, 50, 2, 1)
        numbers[0, 0] = 2
        with pytest.raises(FederationError, match="rows of 1"):
            c.of_rows(index, numbers)
        numbers[0, 0], numbers[:, 1] = 1, [3, 4]
        with pytest.raises(FederationError, match="own check"):  # another payload in each row
            told(c, index, numbers)


def test_later_exchanges_are_held_against_the_first_in_either_encoding() -> None:
    """Another item is found out, whichever encodings were taken."""
    rng = np.random.default_rng(4)
    index, numbers = drawn_rows(rng, 60, 4, 2)
    other = index.copy()
    other[0] = next(i for i in range(60) if i not in index)
    for kind in (KeyRows, DenseRows):
        first = kind(60, 5, 2)
        upload = ProvenUpload(first, first.of_rows(index, numbers), bytes(32))
        half = upload.half()
        payload = upload.first(half)
        found = answer(KEY, report(1), first, payload, None)
        second = upload.second(half, found.challenge, found.check)
        kept = decide(KEY, report(1), first, parted(payload)[1], second, None)
        assert kept.valid
        for later_kind in (KeyRows, DenseRows):
            later = later_kind(60, 5, 2, (), True)
            for own, valid in ((index, True), (np.sort(other), False), (index[1:], False)):
                again = ProvenUpload(later, later.of_rows(own, numbers[: len(own)]), bytes(32))
                half = again.half()
                payload = again.first(half)
                link = answer(KEY, report(2), later, payload, found.link)
                second = again.second(half, link.challenge, link.check)
                committed = parted(payload)[1]
                assert decide(KEY, report(2), later, committed, second, kept.link).valid is valid


def test_other_corrections_for_one_aggregator_are_refused() -> None:
    rng = np.random.default_rng(6)
    c = KeyRows(60, 5, 2)
    upload = ProvenUpload(c, c.of_rows(*drawn_rows(rng, 60, 4, 2)), bytes(32))
    half = upload.half()
    payload = bytearray(upload.first(half))
    payload[-1] ^= 1  # the highest byte of a number may make it no number at all, the one below does not
    payload[-1] ^= 1
    payload[-3] ^= 1
    found = answer(KEY, report(1), c, bytes(payload), None)
    second = upload.second(half, found.challenge, found.check)
    assert not decide(KEY, report(1), c, parted(bytes(payload))[1], second, None).valid


def test_one_raw_key_destroys_the_sum_of_a_victim_that_checks_none() -> None:
    rng = np.random.default_rng(7)
    c = KeyRows(300, 10, 1)
    honest = ProvenUpload(c, c.of_rows(*drawn_rows(rng, 300, 5, 1)), bytes(32))
    half, halves = honest.half(), KeyHalves(c)
    before = summed(halves, [(honest.seed, half)])
    raw = bytearray(half)  # as long as any key, but its corrections are somebody's dice
    start, seeds = 32 + 16 + -(-2 * c.bins.count * c.bins.depth // 8), 16 * c.bins.count * c.bins.depth
    raw[start : start + seeds] = rng.bytes(seeds)
    destroyed = summed(halves, [(honest.seed, half), (bytes(32), bytes(raw))])
    assert (destroyed.reshape(300, 2) != before.reshape(300, 2)).mean() > 0.9
    # the same key with a proof is refused
    first = bytes(32) + honest.first(bytes(raw))[32:]
    found = answer(KEY, report(1), c, first, None)
    second = honest.second(half, found.challenge, found.check)
    start = len(second) - 8 * c.gadget.proof_length - len(half)
    sent = second[:start] + bytes(raw) + second[start + len(half) :]
    assert not decide(KEY, report(1), c, parted(first)[1], sent, None).valid


@pytest.mark.slow
def test_a_key_alone_is_independent_of_its_rows() -> None:
    """As in test_independence: 1 row and `cap` rows, 1,100 keys of each; one without dice is found."""
    rng = np.random.default_rng(8)
    c = KeyRows(60, 20, 1)
    halves = KeyHalves(c)
    few, many = (drawn_rows(rng, 60, count, 1) for count in (1, 20))
    pattern = np.zeros((60, 2))
    pattern[many[0]] += many[1]
    pattern[few[0]] -= few[1]

    def measures(own: tuple[Longs, Elements], secret: bytes | None, party: int) -> list[float]:
        upload = ProvenUpload(c, c.of_rows(*own), os.urandom(32) if secret is None else secret)
        half = upload.half()
        public = halves.public(half)
        share: KeyShare = halves.of_half(half) if party else halves.of_seed(upload.seed, public)
        sums = halves.start()
        halves.add(sums, share)
        values = halves.released(sums).astype(np.int64).astype(np.float64).reshape(60, 2)
        raw = np.frombuffer(public[16:], np.uint8)
        bits = np.unpackbits(raw)
        matched = float((np.sign(values) * np.sign(pattern)).sum())
        return [
            matched,
            float((values * pattern).sum()),
            float(raw.sum()),
            float((raw == 0).sum()),
            float(bits.sum()),
            float((bits[1:] ^ bits[:-1]).sum()),
            float(np.abs(values).sum()),
        ]

    def advantage(secret: bytes | None, party: int) -> float:
        found = [np.array([measures(own, secret, party) for _ in range(1_100)]) for own in (few, many)]
        return float(advantages(*found).max())

    for party in range(2):
        assert advantage(None, party) < LARGEST
    assert advantage(bytes(32), 0) > 2 * LARGEST


def rows_chain(encoding: Encoding, items: int, cap: int, channel: str = "secure-sum") -> ProvenChain:
    listed = np.arange(3, 3 + items, dtype=np.int32)
    info = FederationInfo(items + 3, listed, 500, 5000)
    sends = MessageSpec((TableSpec("rows", "item", items + 3, 3, "uint64"),))
    claim = RowsClaim(listed, cap, 2, encoding=encoding)
    phase = Phase("rows", sends, repeat=1, claim=claim)
    made = chain(ChannelSettings(channel=channel), phase, info, 500)  # type: ignore[arg-type]
    assert isinstance(made, ProvenChain)
    return made


def test_the_chain_takes_the_shorter_encoding_and_can_be_told() -> None:
    assert [rows_chain("shorter", items, 50).encoding for items in (500, 20_000)] == ["dense", "keys"]
    lengths = {name: rows_chain(name, 20_000, 50).upload_bytes for name in ("shorter", "dense", "keys")}
    assert lengths["shorter"] == lengths["keys"] < lengths["dense"] / 5
    assert rows_chain("keys", 500, 50).encoding == "keys"
    assert rows_chain("dense", 20_000, 50).encoding == "dense"


def test_simulation_and_proved_halves_give_one_sum() -> None:
    rng = np.random.default_rng(9)
    secret = client_secrets(1, 1)[0]
    for encoding in ("dense", "keys"):
        made = rows_chain(encoding, 400, 20)
        halves, total = halves_of(made.proven), np.zeros(made.words, np.int64)
        uploads = []
        for number in range(5):
            index, numbers = drawn_rows(rng, 400, int(rng.integers(1, 21)), 2)
            update = Update({"rows": SparseRows((index + 3).astype(np.int32), numbers)})
            total += made.device(update, Rng(secret, number), 0).astype(np.int64)
            upload = ProvenUpload(made.proven, made.vector(update), bytes([number]) * 32)
            uploads.append((upload.seed, upload.half()))
        assert (total[1:].astype(np.uint64) == summed(halves, uploads)).all()
        received, breach = made.possible(summed(halves, uploads), 0, 5)
        assert not breach
        simulated = made.sum_up(total, 0).update.tables["rows"]
        assert (simulated.index == received.update.tables["rows"].index).all()
        assert (simulated.values == received.update.tables["rows"].values).all()
