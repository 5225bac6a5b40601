"""Who said it: Ed25519 keys of servers, and signatures that say what they are for.

A signature is over a purpose and a content, so that one made for a receipt can never pass for a ticket.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from murmura.channel import key_pairs
from murmura.core.errors import FederationError
from murmura.wire.refusals import forged


class KeyStore(Protocol):
    """Where a machine keeps its keys."""

    def fact_or(self, name: str, make: Callable[[], bytes]) -> bytes:
        """A named value, made and written down the first time."""


@dataclass(frozen=True)
class ServerKey:
    """The private key of one server."""

    private: bytes

    @cached_property
    def public(self) -> bytes:
        """What others verify with."""
        return key_pairs.public_key("signing", self.private)

    def sign(self, purpose: str, content: bytes) -> bytes:
        """64 bytes."""
        return key_pairs.sign(self.private, _message(purpose, content))

    @staticmethod
    def load_or_create(store: KeyStore) -> ServerKey:
        """The server's key, made at its first start."""
        return ServerKey(store.fact_or("key", lambda: key_pairs.new_key("signing")))


@dataclass(frozen=True)
class SealingKey:
    """The private key that shares for one aggregator are sealed to."""

    private: bytes

    @cached_property
    def public(self) -> bytes:
        """What devices seal to."""
        return key_pairs.public_key("sealing", self.private)

    def unseal(self, sealed: bytes | memoryview, info: bytes) -> bytes:
        """What was sealed to this key for this purpose; refuses anything else."""
        try:
            return key_pairs.unseal(sealed, self.private, info)
        except FederationError as error:
            raise forged(str(error)) from None

    @staticmethod
    def load_or_create(store: KeyStore) -> SealingKey:
        """The aggregator's key, made at its first start."""
        return SealingKey(store.fact_or("sealing key", lambda: key_pairs.new_key("sealing")))


def check_signature(public: bytes | str, purpose: str, content: bytes, signature: bytes) -> None:
    """Refuse what the owner of the key, bytes or hexadecimal, did not sign for this purpose."""
    try:
        key_pairs.verify(
            bytes.fromhex(public) if isinstance(public, str) else public, _message(purpose, content), signature
        )
    except FederationError:
        raise forged(f"the {purpose}'s signature must be of the right machine, but is not.") from None


def _message(purpose: str, content: bytes) -> bytes:
    return b"murmura " + purpose.encode() + b"\0" + content
