"""The channel of what is proved: two aggregators find the sums of a simulation, for the bytes it counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from murmura.channel.phase_chains import chain
from murmura.channel.proof_keys import ProofKey, ProvenReport
from murmura.channel.proven_chain import ProvenChain
from murmura.channel.proven_shares import ProvenUpload, answer, decide
from murmura.core.arrays import Longs
from murmura.core.channel import ChannelSettings
from murmura.core.claims import CountsClaim, PairsClaim
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import FederationError, SettingError
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.rng import Rng
from murmura.core.update import SparseRows, Update
from murmura.kernels.proofs.circuit import accepts, prove, query
from murmura.kernels.proofs.field import MODULUS, Elements, subtracted
from murmura.kernels.proofs.pair_words import RankedItems

LISTED = np.array([0, 2, 3, 5, 7, 8, 11], np.int32)
ITEMS, PEOPLE, DEVICES, CAP = 12, 2, 30, 5
KEY, RNG = ProofKey(bytes(32)), Rng(np.zeros(2, np.uint32))
SECURE = ChannelSettings(channel="secure-sum", minimum_cohort=1)
INFO = FederationInfo(ITEMS, LISTED, DEVICES, 200, people=PEOPLE)

Household = tuple[Longs, ...]


def households() -> list[Household]:
    random = np.random.default_rng(3)
    sizes = random.integers(0, PEOPLE + 1, DEVICES)
    return [
        tuple(np.sort(random.choice(LISTED, random.integers(0, CAP + 1), replace=False)) for _ in range(size))
        for size in sizes.tolist()
    ]


def counts_of(crowd: list[Household]) -> Longs:
    return np.bincount(np.concatenate([own for device in crowd for own in device]), minlength=ITEMS)


def counted(own: Household) -> Update:
    index, many = np.unique(np.concatenate([np.zeros(0, np.int32), *own]), return_counts=True)
    rows = SparseRows(index.astype(np.int32), many[:, None].astype(np.uint32))
    return Update({"counts": rows}, own=tuple(one.astype(np.int32) for one in own))


def count_chain(way: ChannelSettings = SECURE) -> ProvenChain:
    table = TableSpec("counts", "item", ITEMS, 1, "uint32", exact=RowBounds(PEOPLE))
    claim = CountsClaim(LISTED, PEOPLE, CAP)
    made = chain(way, Phase("counts", MessageSpec((table,)), repeat=1, claim=claim), INFO, DEVICES)
    assert isinstance(made, ProvenChain)
    return made


def pair_chain(ranked: RankedItems, part: int = 0, parts: int = 1) -> ProvenChain:
    words = ranked.words_of(part, parts)
    table = TableSpec("pairs", "dense", words.stop - words.start, 1, "uint64")
    places = np.searchsorted(LISTED, ranked.items).astype(np.int64)
    rows = ranked.rows_of(part, parts) if parts > 1 else None
    claim = PairsClaim(CountsClaim(LISTED, PEOPLE, CAP), places, ranked.counts, rows)
    phase = Phase("pairs", MessageSpec((table,)), repeat=1, claim=claim, follows="counts")
    made = chain(SECURE, phase, INFO, DEVICES)
    assert isinstance(made, ProvenChain)
    return made


def paired(ranked: RankedItems, own: Household, part: int = 0, parts: int = 1) -> Update:
    words = np.zeros(ranked.pairs.words, np.uint64)
    for one in own:
        words += ranked.pairs.pack(ranked.own_ranks(one.astype(np.int32)).astype(np.int64))
    sent = words[ranked.words_of(part, parts)][:, None]
    rows = SparseRows(np.arange(len(sent), dtype=np.int32), sent)
    return Update({"pairs": rows}, own=tuple(one.astype(np.int32) for one in own))


def uploaded(made: ProvenChain, device: int, update: Update, links: Any) -> tuple[Elements, Elements, int]:
    """Both halves of what is released of a device, and the bytes that left it; `links` are of the counts."""
    report = ProvenReport(bytes(16), bytes(32), made.phase, 0, device.to_bytes(16, "little"), bytes(32))
    upload = ProvenUpload(made.proven, made.vector(update), bytes([device]) * 32)
    half = upload.half()
    first = upload.first(half)
    mine, theirs = links.get(device, (None, None)) if made.follows else (None, None)
    told = answer(KEY, report, made.proven, first, mine)
    second = upload.second(half, told.challenge, told.check)
    found = decide(KEY, report, made.proven, first[32:], second, theirs)
    assert found.valid
    links[device] = told.link, found.link
    seed_half = subtracted(made.proven.released(made.vector(update)), found.vector)
    return seed_half, found.vector, len(first) + len(second)


@pytest.mark.parametrize("parts", [1, 3])
def test_two_aggregators_find_what_a_simulation_finds(parts: int) -> None:
    crowd, links = households(), dict[int, Any]()
    counts = counts_of(crowd)
    ranked = RankedItems.of(counts, 1)
    exchanges: list[tuple[ProvenChain, Callable[[Household], Update]]] = [(count_chain(), counted)]
    for part in range(parts):
        made = pair_chain(ranked, part, parts)
        exchanges.append((made, partial(paired, ranked, part=part, parts=parts)))
    for made, say in exchanges:
        sums, halves = np.zeros(made.words, np.int64), []
        for device, own in enumerate(crowd):
            update = say(own)
            sums += made.device(update, RNG, 0).astype(np.int64)
            *both, sent = uploaded(made, device, update, links)
            assert sent == made.upload_bytes
            halves += both
        whole = made.unpack_total(made.pack_total(made.add_up(halves)))
        found, breach = made.possible(whole, 0, DEVICES)
        simulated = made.sum_up(sums, 0)
        assert (breach, found.count, simulated.count) == ("", DEVICES, DEVICES)
        for name, rows in simulated.update.tables.items():
            assert (found.update.tables[name].index == rows.index).all()
            assert (found.update.tables[name].values == rows.values).all()


def test_the_words_of_a_part_are_proved_and_nothing_is_said_of_others() -> None:
    crowd = households()
    ranked = RankedItems.of(counts_of(crowd), 1)
    random = np.random.default_rng(5)
    for part in range(3):
        circuit = pair_chain(ranked, part, 3).proven
        x = circuit.vector([np.arange(CAP), np.array([1, 6])])
        point = 123_456_789
        for changed in [None, *range(len(x))]:
            lie = x.copy()
            if changed is not None:
                lie[changed] = (int(lie[changed]) + 1) % MODULUS
            r = random.integers(1, 2**63, circuit.challenges, np.uint64)
            blinds = random.integers(1, 2**63, circuit.gadget.blinds, np.uint64)
            proof = prove(circuit, lie, r, blinds)
            shown = query(circuit, lie, proof, r, point, one=1)
            assert accepts(circuit, shown) == (changed is None)


def test_a_sum_beyond_half_of_the_field_is_whole() -> None:
    """A word of a full house is as large as words are, and no path takes it for a negative number."""
    ranked = RankedItems(LISTED[:2], np.array([2**40, 2**62]))
    made = pair_chain(ranked)
    total = np.zeros(made.words, np.uint64)
    total[0], total[1:] = DEVICES, MODULUS - 1
    found = made.sum_up(total.astype(np.int64), 0)
    assert (found.update.tables["pairs"].values == MODULUS - 1).all()


def test_counts_above_what_so_many_devices_can_add_are_cut_and_told() -> None:
    """Only an aggregator can add them."""
    made = count_chain()
    total = np.zeros(made.released, np.uint64)
    total[1], total[2] = DEVICES * PEOPLE + 1, MODULUS - 1
    found, breach = made.possible(total, 0, DEVICES)
    assert found.update.tables["counts"].values.max() == DEVICES * PEOPLE
    assert "row 2 of 'counts' must be at most 60" in breach
    with pytest.raises(FederationError, match="discard the round"):
        made.server(np.insert(total, 0, DEVICES), 0)
    assert "must be of 1 to 30 devices" in made.possible(np.insert(total, 0, 31), 0)[1]
    assert "must count as many" in made.possible(np.insert(total, 0, 3), 0, 4)[1]


def test_where_the_server_reads_updates_nothing_is_proved() -> None:
    made = count_chain(replace(SECURE, channel="readable"))
    assert made.circuit is None
    assert made.upload_bytes == made.ring.message_bytes == 8 * (1 + len(LISTED))
    with pytest.raises(FederationError, match="must be a secure sum to be proved"):
        _ = made.proven


def test_more_people_than_a_device_may_have_are_refused() -> None:
    one = LISTED[:1].astype(np.int64)
    with pytest.raises(FederationError, match="must be of at most 2 people here, but 3 share something"):
        count_chain().vector(counted((one, one, one)))


def test_words_of_64_bits_are_too_long_for_ckks() -> None:
    with pytest.raises(SettingError, match="those of phase 'counts' have 64 bits"):
        count_chain(replace(SECURE, channel="ckks"))
