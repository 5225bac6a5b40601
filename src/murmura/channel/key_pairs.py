"""Key pairs: signatures (Ed25519, RFC 8032), and messages that only one machine can read (HPKE, RFC 9180).

Sealing is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM in base mode, one context per message. What a
message is for goes into the context as `info`: opened for anything else, it does not open.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final, Literal

from murmura.core.errors import FederationError, MissingExtraError

Purpose = Literal["signing", "sealing"]
CURVES: Final = {"signing": ("ed25519", "Ed25519"), "sealing": ("x25519", "X25519")}
KEY_BYTES = 32
CACHED_KEYS = 8  # of this process: to make a key from its bytes takes as long as to use it
OVERHEAD = 32 + 16  # of a sealed message: the encapsulated key before, the tag after


def new_key(purpose: Purpose) -> bytes:
    """A new private key from the system's randomness."""
    return bytes(_keys(purpose, "Private").generate().private_bytes_raw())


def public_key(purpose: Purpose, private: bytes) -> bytes:
    """The key to verify with, or to seal to."""
    return bytes(_private(purpose, private).public_key().public_bytes_raw())


def sign(private: bytes, message: bytes) -> bytes:
    """The signature of a message."""
    return bytes(_private("signing", private).sign(message))


def verify(public: bytes, message: bytes, signature: bytes) -> None:
    """Refuse a message that the owner of the key has not signed."""
    try:
        _public("signing", public).verify(signature, message)
    except (_exception("InvalidSignature"), ValueError):
        raise FederationError(
            "a manifest must be signed by the coordinator this device knows, but its signature does not fit; "
            "take no part."
        ) from None


def seal(content: bytes, public: bytes, info: bytes) -> bytes:
    """Encapsulated key (32), ciphertext, tag (16); fresh randomness of the system each time."""
    try:
        return bytes(_suite().encrypt(content, _public("sealing", public), info=info))
    except ValueError:
        raise FederationError("a key to seal to must be a point of X25519, but is not; take no part.") from None


def unseal(sealed: bytes | memoryview, private: bytes, info: bytes) -> bytes:
    """What was sealed for this purpose to this key; refuses anything else."""
    try:
        if len(sealed) < OVERHEAD:
            raise ValueError
        return bytes(_suite().decrypt(sealed, _private("sealing", private), info=info))
    except (_exception("InvalidTag"), ValueError):
        raise FederationError(
            "a sealed message must be sealed to this machine's key for this round, but is not."
        ) from None


def exchange(private: bytes, public: bytes) -> bytes:
    """The X25519 secret (RFC 7748) of one's own key and another machine's; refuses a point of small order."""
    try:
        return bytes(_private("sealing", private).exchange(_public("sealing", public)))
    except ValueError:
        raise FederationError("a key to agree with must be a point of X25519, but is not.") from None


class ContentComparison:
    """Tells contents apart under a key that is drawn here: AES-GCM, some ten times as fast as SHA-256.

    One nonce serves all of them, as neither the key nor a digest leaves the memory of this process; contents of
    somebody who knows neither are taken for one another with a probability of about 2**-100.
    """

    def __init__(self) -> None:
        self._key, self._nonce = primitives("ciphers.aead").AESGCM(os.urandom(16)), bytes(12)

    def digest(self, content: bytes, mark: bytes = b"") -> bytes:
        """What the same content under the same mark has too, and no other."""
        found: bytes = self._key.encrypt(self._nonce, mark, content)
        return found


@cache
def primitives(name: str, what: str = "a federation over HTTP") -> Any:
    """A module of `cryptography`; refuses in one sentence where it is not installed."""
    try:
        return import_module(f"cryptography.hazmat.primitives.{name}")
    except ModuleNotFoundError:
        raise MissingExtraError(what, "serve") from None


def _keys(purpose: Purpose, half: str) -> Any:
    module, curve = CURVES[purpose]
    return getattr(primitives(f"asymmetric.{module}"), f"{curve}{half}Key")


@lru_cache(2 * CACHED_KEYS)
def _private(purpose: Purpose, key: bytes) -> Any:
    if len(key) != KEY_BYTES:
        raise FederationError(f"a private key must have {KEY_BYTES} bytes, but has {len(key)}.")
    return _keys(purpose, "Private").from_private_bytes(key)


@lru_cache(CACHED_KEYS)
def _public(purpose: Purpose, key: bytes) -> Any:
    return _keys(purpose, "Public").from_public_bytes(key)


@cache
def _suite() -> Any:
    hpke = primitives("hpke")
    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


@cache
def _exception(name: str) -> type[Exception]:
    found: type[Exception] = getattr(import_module("cryptography.exceptions"), name)
    return found
