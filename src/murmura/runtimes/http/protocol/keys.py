"""Who said it: Ed25519 keys of servers, and signatures that say what they are for.

A signature is over a purpose and a content, so that one made for a receipt can never pass for a ticket.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from murmura.channel import signing
from murmura.core.errors import FederationError
from murmura.runtimes.http.database import ServerDatabase, put_fact
from murmura.runtimes.http.protocol.refusals import RefusedError


@dataclass(frozen=True)
class ServerKey:
    """The private key of one server."""

    private: bytes

    @cached_property
    def public(self) -> bytes:
        """What others verify with."""
        return signing.public_key(self.private)

    def sign(self, purpose: str, content: bytes) -> bytes:
        """64 bytes."""
        return signing.sign(self.private, _message(purpose, content))

    @staticmethod
    def load_or_create(store: ServerDatabase) -> ServerKey:
        """The server's key, made at its first start."""
        private = store.fact("key")
        if private is None:
            private = signing.new_key()
            store.write([put_fact("key", private)], durable=True)
        return ServerKey(private)


def check_signature(public: bytes, purpose: str, content: bytes, signature: bytes) -> None:
    """Refuse what the owner of the key did not sign for this purpose."""
    try:
        signing.verify(public, _message(purpose, content), signature)
    except FederationError:
        raise RefusedError(
            "forged", f"the {purpose}'s signature must be of the right machine, but is not."
        ) from None


def _message(purpose: str, content: bytes) -> bytes:
    return b"murmura " + purpose.encode() + b"\0" + content
