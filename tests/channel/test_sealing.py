"""What is sealed to a key opens with that key, for what it was sealed for, whole, and in no other way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel.key_pairs import KEY_BYTES, OVERHEAD, new_key, public_key, seal, unseal
from murmura.core.errors import FederationError
from tests.channel import plain_hpke
from tests.hypothesis_profiles import examples

MINE, OTHER = bytes([7]) * 32, bytes([8]) * 32
INFO = b"murmura payload\0" + bytes(49)

# RFC 9180, appendix A.1.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, sequence number 0
RFC = {
    name: bytes.fromhex(text)
    for name, text in {
        "info": "4f6465206f6e2061204772656369616e2055726e",
        "one_time": "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
        "enc": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
        "public": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
        "private": "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
        "shared": "fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc",
        "key": "4531685d41d65f03dc48f6b8302c05b0",
        "nonce": "56d890e5accaaf011cff4b7d",
        "content": "4265617574792069732074727574682c20747275746820626561757479",
        "aad": "436f756e742d30",
        "sealed": "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
    }.items()
}


def test_the_twin_has_the_answers_of_the_rfc() -> None:
    assert plain_hpke.public_of(RFC["one_time"]) == RFC["enc"]
    assert plain_hpke.public_of(RFC["private"]) == RFC["public"]
    made = plain_hpke.context(RFC["one_time"], RFC["public"], RFC["enc"], RFC["public"], RFC["info"])
    assert (made.shared, made.key, made.nonce) == (RFC["shared"], RFC["key"], RFC["nonce"])
    sealed = plain_hpke.seal(RFC["content"], RFC["public"], RFC["info"], RFC["one_time"], RFC["aad"])
    assert sealed == RFC["enc"] + RFC["sealed"]
    assert plain_hpke.unseal(sealed, RFC["private"], RFC["info"], RFC["aad"]) == RFC["content"]


def test_the_keys_of_the_rfc_open_what_they_seal_without_additional_data() -> None:
    """The RFC's messages carry "Count-0" beside them, ours carry nothing: sealed by the twin, opened here."""
    sealed = plain_hpke.seal(RFC["content"], RFC["public"], RFC["info"], RFC["one_time"])
    assert sealed[:32] == RFC["enc"]
    assert unseal(sealed, RFC["private"], RFC["info"]) == RFC["content"]
    with pytest.raises(FederationError):
        unseal(RFC["enc"] + RFC["sealed"], RFC["private"], RFC["info"])


@examples(0.2)
@given(content=st.binary(max_size=200), info=st.binary(max_size=80))
def test_what_is_sealed_opens_and_the_twin_agrees_both_ways(content: bytes, info: bytes) -> None:
    sealed = seal(content, public_key("sealing", MINE), info)
    assert len(sealed) == len(content) + OVERHEAD
    assert unseal(sealed, MINE, info) == plain_hpke.unseal(sealed, MINE, info) == content
    assert unseal(plain_hpke.seal(content, public_key("sealing", MINE), info, OTHER), MINE, info) == content


def test_every_seal_is_another_one() -> None:
    assert len({seal(b"the same", public_key("sealing", MINE), INFO) for _ in range(20)}) == 20
    assert len({seal(b"the same", public_key("sealing", MINE), INFO)[:32] for _ in range(20)}) == 20
    assert len(new_key("sealing")) == len(public_key("sealing", new_key("sealing"))) == KEY_BYTES
    assert new_key("sealing") != new_key("sealing")


def refused(sealed: bytes, private: bytes = MINE, info: bytes = INFO) -> None:
    with pytest.raises(
        FederationError, match="must be sealed to this machine's key for this round, but is not"
    ):
        unseal(sealed, private, info)


def test_another_key_another_purpose_or_another_bit_opens_nothing() -> None:
    sealed = seal(b"content", public_key("sealing", MINE), INFO)
    refused(sealed, private=OTHER)
    refused(sealed, info=INFO[:-1] + b"\1")
    refused(sealed, info=b"")
    for place in range(len(sealed)):
        refused(sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :])


def test_nothing_shorter_or_longer_opens() -> None:
    sealed = seal(b"content", public_key("sealing", MINE), INFO)
    for end in range(len(sealed)):
        refused(sealed[:end])
    refused(sealed + b"\0")


def test_a_key_that_agrees_on_nothing_is_refused() -> None:
    """Points of small order give everybody the same secret: none may be sealed to, nor open."""
    for point in (bytes(32), b"\1" + bytes(31)):
        with pytest.raises(FederationError, match="must be a point of X25519"):
            seal(b"content", point, INFO)
        refused(point + bytes(16 + 7))
    with pytest.raises(FederationError, match="must be a point of X25519"):
        seal(b"content", bytes(31), INFO)
