"""Hybrid public key encryption (RFC 9180): what is sealed to a key, only the owner of that key can read.

DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM in base mode, one context per message. What a message is
for goes into the context as `info`: opened for anything else, it does not open.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from typing import Any

from murmura.core.errors import FederationError, MissingExtraError

KEY_BYTES = 32
CACHED_KEYS = 8  # of this process: to make a key from its bytes takes as long as to open a short message
OVERHEAD = 32 + 16  # the encapsulated key before, the tag after


def new_key() -> bytes:
    """A new private key from the system's randomness."""
    return bytes(_x25519().X25519PrivateKey.generate().private_bytes_raw())


def public_key(private: bytes) -> bytes:
    """The key to seal to."""
    return bytes(_private(private).public_key().public_bytes_raw())


def exchange(private: bytes, public: bytes) -> bytes:
    """The X25519 secret (RFC 7748) of one's own key and another machine's; refuses a point of small order."""
    try:
        other = _x25519().X25519PublicKey.from_public_bytes(public)
        return bytes(_private(private).exchange(other))
    except ValueError:
        raise FederationError("a key to agree with must be a point of X25519, but is not.") from None


def seal(content: bytes, public: bytes, info: bytes) -> bytes:
    """Encapsulated key (32), ciphertext, tag (16); fresh randomness of the system each time."""
    try:
        key = _x25519().X25519PublicKey.from_public_bytes(public)
        return bytes(_suite().encrypt(content, key, info=info))
    except ValueError:
        raise FederationError("a key to seal to must be a point of X25519, but is not; take no part.") from None


def unseal(sealed: bytes | memoryview, private: bytes, info: bytes) -> bytes:
    """What was sealed for this purpose to this key; refuses anything else."""
    try:
        if len(sealed) < OVERHEAD:
            raise ValueError
        return bytes(_suite().decrypt(sealed, _private(private), info=info))
    except (_invalid(), ValueError):
        raise FederationError(
            "a sealed message must be sealed to this machine's key for this round, but is not."
        ) from None


class ContentComparison:
    """Tells contents apart under a key that is drawn here: AES-GCM, some ten times as fast as SHA-256.

    One nonce serves all of them, as neither the key nor a digest leaves the memory of this process; contents of
    somebody who knows neither are taken for one another with a probability of about 2**-100.
    """

    def __init__(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ModuleNotFoundError:
            raise MissingExtraError("a federation over HTTP", "serve") from None
        self._key, self._nonce = AESGCM(os.urandom(16)), bytes(12)

    def digest(self, content: bytes, mark: bytes = b"") -> bytes:
        """What the same content under the same mark has too, and no other."""
        return self._key.encrypt(self._nonce, mark, content)


@lru_cache(CACHED_KEYS)
def _private(key: bytes) -> Any:
    return _x25519().X25519PrivateKey.from_private_bytes(key)


@cache
def _suite() -> Any:
    from cryptography.hazmat.primitives import hpke

    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


@cache
def _invalid() -> type[Exception]:
    from cryptography.exceptions import InvalidTag

    return InvalidTag


@cache
def _x25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import x25519
    except ModuleNotFoundError:
        raise MissingExtraError("encrypted shares", "serve") from None
    return x25519
