"""Trees of point functions: the draft's vectors, the compiled path, and places of items in bins."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from murmura.channel.halves import packed_corrections, unpacked_corrections
from murmura.core.errors import FederationError
from murmura.kernels.compiled import compiled
from murmura.kernels.point_functions.aes import encrypt, encrypt_plainly, has_instructions, round_keys
from murmura.kernels.point_functions.bins import assigned, gathered, place_of, place_table
from murmura.kernels.point_functions.sizes import GROUPS, Bins
from murmura.kernels.point_functions.tree import Corrections, add_expanded, fold, generate, stretch
from murmura.kernels.proofs.field import MODULUS, Elements, added
from tests.channel.plain_point_functions import Correction, Tree, hashed, xor
from tests.channel.prio3 import TurboShake128
from tests.channel.row_worlds import Leaves

FOLDER = Path(os.environ.get("MURMURA_VECTORS", Path(__file__).parents[3] / "shared" / "vectors")) / "vdaf"
needs_vectors = pytest.mark.skipif(not FOLDER.exists(), reason="needs the draft's vectors (MURMURA_VECTORS)")
SKIPS = (
    246_910_565  # under a key of zeros this seed has a word in its first block that is no number of the field
)


def vector(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / f"{name}.json").read_text()))


def fixed_key(tag: bytes, binder: bytes) -> bytes:
    return TurboShake128(len(tag).to_bytes(2, "little") + tag + binder, 2).next(16)


def tree_key(use: int, told: dict[str, Any]) -> bytes:
    tag = bytes([18, 1, 0, 0, 0, 0]) + use.to_bytes(2, "big") + bytes.fromhex(told["ctx"])
    return fixed_key(tag, bytes.fromhex(told["nonce"]))


def words(told: bytes) -> Elements:
    return np.frombuffer(told, "<u8").astype(np.uint64)


def keys(told: bytes) -> Elements:
    return round_keys(np.frombuffer(told, np.uint8).copy())


@needs_vectors
def test_the_drafts_hash() -> None:
    told = vector("XofFixedKeyAes128")
    key = fixed_key(bytes.fromhex(told["dst"]), bytes.fromhex(told["binder"]))
    seed, expected = bytes.fromhex(told["seed"]), bytes.fromhex(told["expanded_vec_field128"])
    blocks = [hashed(key, xor(seed, i.to_bytes(16, "little"))) for i in range(told["length"])]
    assert blocks[0].hex() == told["derived_seed"]
    assert b"".join(blocks) == expected
    found = np.empty(2 * told["length"] - 2, np.uint64)  # compiled: from block 1 on, here without large words
    lo, hi = words(seed)
    stretch(keys(key), lo, hi, found, len(found))
    assert found.tobytes() == expected[16:]


@needs_vectors
def test_the_drafts_tree_in_its_inner_levels() -> None:
    told = vector("IdpfBBCGGI21_0")
    inner, public = told["bits"] - 1, bytes.fromhex(told["public_share"])
    extend, convert = tree_key(0, told), tree_key(1, told)
    roots = bytes.fromhex(told["keys"][0]), bytes.fromhex(told["keys"][1])
    numbers = [[int(one) for one in level] for level in told["beta_inner"]]
    path = [int(turn) for turn in told["alpha"][:inner]]
    corrections = Tree(extend, convert, every_level=True).generate(path, numbers, roots)
    first = -(-2 * told["bits"] // 8)
    bits = np.unpackbits(np.frombuffer(public[:first], np.uint8), bitorder="little")
    seeds, shared = public[first:], words(public[first + 16 * told["bits"] :][: 16 * inner])
    for level, (seed, control, corrected) in enumerate(corrections):
        assert seed == seeds[16 * level : 16 * level + 16]
        assert list(control) == bits[2 * level : 2 * level + 2].tolist()
        assert corrected == shared[2 * level : 2 * level + 2].tolist()
    # its first level alone is a whole tree of ours
    compiled_one = generate(
        keys(extend), keys(convert), np.stack([words(one)[None] for one in roots]),
        np.array(path[:1]), np.array(numbers[:1], np.uint64), 1,
    )  # fmt: skip
    assert compiled_one[0].tobytes() == seeds[:16]
    assert compiled_one[1].ravel().tolist() == bits[:2].tolist()
    assert compiled_one[2].ravel().tolist() == shared[:2].tolist()


@compiled
def _encrypted(key: Elements, lo: Any, hi: Any) -> Any:
    return encrypt(key, lo, hi)


def test_instructions_and_tables_give_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        key, block = rng.bytes(16), rng.bytes(16)
        expected = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)
        for one in (_encrypted, encrypt_plainly):
            assert np.array(one(keys(key), *words(block)), np.uint64).tobytes() == expected
    assert encrypt is not encrypt_plainly or not has_instructions()


def test_a_word_that_is_no_number_is_skipped() -> None:
    found = np.empty(6, np.uint64)
    stretch(keys(bytes(16)), np.uint64(SKIPS), np.uint64(0), found, 5)
    seed = SKIPS.to_bytes(8, "little") + bytes(8)
    stream = b"".join(hashed(bytes(16), xor(seed, i.to_bytes(16, "little"))) for i in range(1, 5))
    told = [int.from_bytes(stream[i : i + 8], "little") for i in range(0, 64, 8)]
    assert max(told[:2]) >= MODULUS
    assert found[:5].tolist() == [one for one in told if one < MODULUS][:5]
    assert found[:5].tolist() == Tree(bytes(16), bytes(16)).convert(seed, 5)[1]


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("numbers", [1, 2, 5])
def test_compiled_trees_are_the_plain_ones(depth: int, numbers: int) -> None:
    rng = np.random.default_rng([depth, numbers])
    extend, convert, bins, width = rng.bytes(16), rng.bytes(16), 3, 2**depth - (depth > 1)
    roots = [[rng.bytes(16) for _ in range(bins)] for _ in range(2)]
    at, rows = rng.integers(0, width, bins), rng.integers(0, MODULUS, (bins, numbers), dtype=np.uint64)
    arrays = np.array([[words(one) for one in party] for party in roots])
    key = Corrections(
        keys(extend), keys(convert), *generate(keys(extend), keys(convert), arrays, at, rows, depth)
    )
    plain, shares = Tree(extend, convert), np.zeros((2, bins * width, numbers), np.uint64)
    for party in range(2):
        add_expanded(key, arrays[party], party, width, shares[party])
    for bin in range(bins):
        turns = [[place >> (depth - 1 - level) & 1 for level in range(depth)] for place in range(width)]
        told = [[0] * 0] * (depth - 1) + [rows[bin].tolist()]
        found: list[Correction] = plain.generate(turns[int(at[bin])], told, (roots[0][bin], roots[1][bin]))
        for level, (seed, bits, _) in enumerate(found):
            assert key.seeds[bin, level].tobytes() == seed
            assert tuple(key.controls[bin, level].tolist()) == bits
        assert key.numbers[bin].tolist() == found[-1][2]
        for place in range(width):
            for party in range(2):
                expected = plain.evaluate(party, roots[party][bin], found, turns[place])
                assert shares[party, bin * width + place].tolist() == expected
    whole = added(shares[0].ravel(), shares[1].ravel()).reshape(bins, width, numbers)
    expected_sum = np.zeros_like(whole)
    expected_sum[np.arange(bins), at] = rows
    assert (whole == expected_sum).all()
    # what a proof needs of a key is what it needs of the places it stands for
    r, t = (rng.integers(0, MODULUS, n, dtype=np.uint64) for n in (width, numbers - 1))
    for party in range(2):
        told_of = Leaves(Bins(width, 1), shares[party], np.zeros(0, np.uint64), bins).folded(r, t)
        for one, other in zip(fold(key, arrays[party], party, width, r, t), told_of):
            assert (one == other).all()


def test_bits_that_mean_nothing_are_refused() -> None:
    rng = np.random.default_rng(2)
    controls = rng.integers(0, 2, (3, 3, 2)).astype(np.uint8)
    seeds = rng.integers(0, 2**63, (3, 3, 2)).astype(np.uint64)
    told = packed_corrections(controls, seeds)
    again = unpacked_corrections(told, 3, 3)
    assert (again[0] == controls).all()
    assert (again[1] == seeds).all()
    with pytest.raises(FederationError, match="must be 0"):
        unpacked_corrections(told[:2] + bytes([told[2] | 0x80]) + told[3:], 3, 3)


@pytest.mark.parametrize("items", [1, 2, 3, 17, 100, 1_023, 1_024, 1_025])
def test_each_group_is_a_permutation(items: int) -> None:
    for cap in (1, 7, 300):
        bins = Bins(items, cap)
        table = place_table(bins)
        for group in range(GROUPS):
            here = table[:, group] - group * bins.group * bins.width
            assert sorted(here.tolist()) == list(range(items))
            assert here[0] == place_of(0, group, items)
        assert table.max() < bins.places
        values = np.arange(bins.places, dtype=np.uint64)[:, None]
        assert gathered(values, table).ravel().tolist() == table.sum(axis=1).tolist()


@pytest.mark.parametrize("cap", [1, 2, 3, 4, 8, 20, 100])
def test_items_find_a_bin_each(cap: int) -> None:
    """At random, side by side and at one distance: none of 10,000 sets of items was left out, nor is here."""
    rng, items = np.random.default_rng(cap), 20_000
    bins = Bins(items, cap)
    for start in range(20):
        step = int(rng.integers(1, items // cap))
        sets = rng.choice(items, cap, replace=False), start + np.arange(cap), start + step * np.arange(cap)
        for own in sets:
            chosen = [int(one) % items for one in own]
            found = assigned(bins, chosen)
            assert sorted(one for one, _ in found.values()) == list(range(cap))
            for bin, (one, position) in found.items():
                group = bin // bins.group
                place = place_of(chosen[one], group, items)
                assert place == (bin - group * bins.group) * bins.width + position


def test_who_finds_no_bin_is_left_out() -> None:
    """More items than bins: as many stay as there are bins for."""
    bins = Bins(12, 2)
    assert bins.count == 9
    assert len(assigned(bins, range(12))) == 9
