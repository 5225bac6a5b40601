"""Shares and signatures: vetted primitives, exact round trips, nothing malformed."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel import key_pairs
from murmura.channel.ring import Ring
from murmura.channel.shares import expand, split
from murmura.core.errors import FederationError


@given(st.sampled_from([24, 32]), st.integers(1, 50), st.integers(0, 2**32))
def test_shares_add_up_and_packing_is_exact(bits: int, words: int, seed: int) -> None:
    ring = Ring(bits, words)
    vector = np.random.default_rng(seed).integers(0, 2**bits, words).astype(np.uint32)
    one, other = split(vector, ring)
    assert (ring.add_up([expand(one, ring), other]) == vector).all()
    assert (ring.unpack(ring.pack(vector)) == vector).all()
    assert len(ring.pack(other)) == words * bits // 8


def test_the_expansion_is_the_key_stream_of_aes_256() -> None:
    """FIPS 197, appendix C.3: AES-256 of the block 0011..ff; in counter mode from 0, of the zero block."""
    known = bytes.fromhex("dc95c078a2408989ad48a21492842087")  # the zero key's block of zeros (NIST GFSbox)
    words = expand(bytes(32), Ring(32, 4))
    assert words.astype("<u4").tobytes() == known
    assert Ring(24, 5).pack(expand(bytes(32), Ring(24, 5))) == known[:15]


def test_a_seed_is_never_used_twice() -> None:
    ring = Ring(32, 8)
    seeds = {split(np.zeros(8, np.uint32), ring)[0] for _ in range(100)}
    assert len(seeds) == 100


def test_little_endian() -> None:
    assert Ring(24, 1).pack(np.array([0x030201], np.uint32)) == b"\x01\x02\x03"
    assert Ring(32, 1).pack(np.array([0x04030201], np.uint32)) == b"\x01\x02\x03\x04"


def test_wrong_lengths_and_words_are_refused() -> None:
    ring = Ring(24, 4)
    for message in (b"", bytes(11), bytes(13)):
        with pytest.raises(FederationError, match="12 bytes"):
            ring.unpack(message)
    with pytest.raises(FederationError):
        split(np.full(4, 2**24, np.uint32), ring)
    with pytest.raises(FederationError, match="32 bytes"):
        expand(b"short", ring)


def test_signatures_bind_every_bit() -> None:
    private = key_pairs.new_key("signing")
    public, message = (
        key_pairs.public_key("signing", private),
        b"round 7, model " + hashlib.sha256(b"").digest(),
    )
    signature = key_pairs.sign(private, message)
    key_pairs.verify(public, message, signature)
    for place in (0, len(message) - 1):
        forged = bytearray(message)
        forged[place] ^= 1
        with pytest.raises(FederationError, match="signed"):
            key_pairs.verify(public, bytes(forged), signature)
    for wrong in (signature[:-1], bytes(64), b""):
        with pytest.raises(FederationError):
            key_pairs.verify(public, message, wrong)
    with pytest.raises(FederationError):
        key_pairs.verify(key_pairs.public_key("signing", key_pairs.new_key("signing")), message, signature)
    with pytest.raises(FederationError, match="32 bytes"):
        key_pairs.sign(b"no key", message)


def test_a_known_signature() -> None:
    """RFC 8032, 7.1, test 1."""
    private = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert key_pairs.public_key("signing", private) == public
    assert (
        key_pairs.sign(private, b"")
        .hex()
        .startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")
    )


def test_a_ring_of_64_holds_what_32_bits_do_not() -> None:
    ring = Ring(64, 3)
    packed = bytes([1, *[0] * 7, *[255] * 8, 2, 1, *[0] * 6])
    assert ring.pack(np.array([1, 2**64 - 1, 258], np.uint64)) == packed
    sums = np.array([10_000_000, -(2**40), 2**62], np.int64)
    assert ring.server(ring.unpack(ring.pack(ring.wrap(sums)))).tolist() == sums.tolist()
    assert ring.server(ring.add_up([ring.wrap(sums), ring.wrap(-sums)])).tolist() == [0, 0, 0]
    with pytest.raises(FederationError, match="3 words of 64 bits"):
        ring.check(np.zeros(3, np.uint32))
