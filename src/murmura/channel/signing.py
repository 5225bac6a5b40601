"""Ed25519 signatures (RFC 8032) of manifests: what a device trusts a round by."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from murmura.core.errors import FederationError, MissingExtraError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ed25519

KEY_BYTES = 32
CACHED_KEYS = 8  # of this process: to make a key from its bytes takes as long as to sign with it


def new_key() -> bytes:
    """A new private key from the system's randomness."""
    return bytes(_primitives().Ed25519PrivateKey.generate().private_bytes_raw())


def public_key(private: bytes) -> bytes:
    """The key to verify with."""
    return _private(private).public_key().public_bytes_raw()


def sign(private: bytes, message: bytes) -> bytes:
    """The signature of a message."""
    return _private(private).sign(message)


def verify(public: bytes, message: bytes, signature: bytes) -> None:
    """Refuse a message that the owner of the key has not signed."""
    try:
        _public(public).verify(signature, message)
    except (_invalid(), ValueError):
        raise FederationError(
            "a manifest must be signed by the coordinator this device knows, but its signature does not fit; "
            "take no part."
        ) from None


@lru_cache(CACHED_KEYS)
def _private(key: bytes) -> ed25519.Ed25519PrivateKey:
    if len(key) != KEY_BYTES:
        raise FederationError(f"a private key must have {KEY_BYTES} bytes, but has {len(key)}.")
    made: ed25519.Ed25519PrivateKey = _primitives().Ed25519PrivateKey.from_private_bytes(key)
    return made


@lru_cache(CACHED_KEYS)
def _public(key: bytes) -> ed25519.Ed25519PublicKey:
    made: ed25519.Ed25519PublicKey = _primitives().Ed25519PublicKey.from_public_bytes(key)
    return made


@cache
def _primitives() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise MissingExtraError("a signed manifest", "serve") from None
    return ed25519


@cache
def _invalid() -> type[Exception]:
    from cryptography.exceptions import InvalidSignature

    return InvalidSignature
