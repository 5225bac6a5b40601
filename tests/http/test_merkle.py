"""The append-only tree: known answers, brute-force twins, and proofs that must fail."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from murmura.wire.log import EMPTY, MerkleTree, extends, includes, leaf_hash, node_hash
from tests.hypothesis_profiles import examples


def plain_root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 9162, 2.1.1, as it is printed."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return hashlib.sha256(b"\1" + plain_root(leaves[:half]) + plain_root(leaves[half:])).digest()


def tree(contents: list[bytes]) -> MerkleTree:
    return MerkleTree([leaf_hash(content) for content in contents])


def test_the_known_roots_of_certificate_transparency() -> None:
    """The eight leaves that implementations of RFC 6962 and RFC 9162 test with."""
    leaves = [bytes.fromhex(x) for x in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")]
    leaves.append(bytes.fromhex("606162636465666768696a6b6c6d6e6f"))
    assert MerkleTree().root() == EMPTY
    assert tree(leaves[:1]).root().hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert tree(leaves[:2]).root().hex() == "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    assert tree(leaves).root().hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


@examples(1.0)
@given(st.lists(st.binary(max_size=4), min_size=1, max_size=40), st.data())
def test_every_proof_shows_what_it_is_for_and_nothing_else(contents: list[bytes], data: st.DataObject) -> None:
    made = tree(contents)
    size = data.draw(st.integers(1, len(contents)), "size")
    index, first = data.draw(st.integers(0, size - 1), "index"), data.draw(st.integers(0, size), "first")
    root, leaf = made.root(size), leaf_hash(contents[index])
    assert root == plain_root(contents[:size])
    inside, after = made.inclusion(index, size), made.consistency(first, size)
    assert includes(leaf, index, size, root, inside)
    assert extends(first, made.root(first), size, root, after)
    wrong = bytes(32)
    assert not includes(wrong, index, size, root, inside)
    assert not includes(leaf, index, size, wrong, inside)
    assert not includes(leaf, index, size, root, [*inside, wrong])
    assert not includes(leaf, size, size, root, inside)
    assert not extends(first, made.root(first), size, wrong, after) or first == 0
    assert not extends(first, made.root(first), size, root, [*after, wrong])
    if first:
        assert not extends(first, wrong, size, root, after)


def test_another_past_of_the_same_length_is_no_past() -> None:
    honest, invented = [b"a", b"b", b"c", b"d", b"e"], [b"a", b"x", b"c", b"d", b"e"]
    proof = tree(invented).consistency(3, 5)
    assert not extends(3, tree(honest).root(3), 5, tree(invented).root(5), proof)
    assert node_hash(b"", b"") != leaf_hash(b"")
