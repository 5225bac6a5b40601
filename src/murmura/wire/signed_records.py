"""What is signed, and who said it: records of exactly one form, JSON with sorted keys and without spaces.

A signature (Ed25519) is over a purpose and a content: one made for a receipt can never pass for a ticket.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, TypeAdapter

from murmura.channel import key_pairs
from murmura.core.errors import FederationError
from murmura.wire.refusals import forged, json_object, malformed
from murmura.wire.wire import check_version

DEEPEST = 8  # objects and lists in each other: no method has settings of more, and who reads on would never end
LARGEST = 1 << 16  # bytes of a record that another machine sends
Hexadecimal = Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
PublicKey = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(strict=True, ge=0, lt=2**32)]
Seconds = Annotated[int | float, Field(ge=0, lt=2**40)]


@dataclass(frozen=True, eq=False)
class SignedRecord:
    """A record whose fields declare their types and limits; `decode` refuses whatever they do not allow."""

    said: ClassVar[str]  # what refusals call it
    unspelled: ClassVar[frozenset[str]] = frozenset()  # fields that a record without them does not spell

    def plain(self) -> dict[str, Any]:
        """The JSON object that it is."""
        return {
            name: one for name, one in asdict(self).items() if one is not None or name not in self.unspelled
        }

    def encode(self) -> bytes:
        """The canonical bytes."""
        return canonical(self.plain())

    @cached_property
    def hash(self) -> bytes:
        """Its name: the SHA-256 of the canonical bytes."""
        return hashlib.sha256(self.encode()).digest()

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """From canonical bytes; refuses another version, other fields, other types and other spellings."""
        if len(content) > LARGEST:
            raise malformed(f"{cls.said} must have at most {LARGEST} bytes, but has {len(content)}.")
        values = json_object(content, f"{cls.said} must be a JSON object, but is something else.")
        check_version(values.get("protocol"))
        if _depth(values) > DEEPEST:
            raise malformed(f"{cls.said} must be nested {DEEPEST} deep at most, but is deeper.")
        if set(values) | cls.unspelled != {field.name for field in fields(cls)}:
            raise malformed(f"{cls.said} must have exactly the fields of docs/wire.md, but has others.")
        try:
            read: Self = cls._reader().validate_python(values)
            spelled = read.encode()  # numbers that JSON has no spelling for are of no type
        except ValueError:
            raise malformed(f"a field of {cls.said} has the wrong type.") from None
        if spelled != content:
            raise malformed(f"{cls.said} must be in canonical form, but is not.")
        read.check()
        return read

    @classmethod
    @cache
    def _reader(cls) -> TypeAdapter[Any]:
        return TypeAdapter(cls)

    def check(self) -> None:
        """Refuse what no single field can rule out."""


def canonical(value: Any) -> bytes:
    """One spelling for everyone."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def _depth(value: object) -> int:
    """How many objects and lists are in each other; not counted further than what is refused."""
    layer, depth = [value], 0
    while depth <= DEEPEST and (layer := [one for one in layer if isinstance(one, dict | list)]):
        layer = [inner for one in layer for inner in (one.values() if isinstance(one, dict) else one)]
        depth += 1
    return depth


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


@dataclass(frozen=True)
class SealingKey:
    """A private key of an aggregator: that shares are sealed to, or that proofs are checked under."""

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
