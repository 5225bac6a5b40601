"""Who may take part: admissions signed by an admitter whose key the coordinator does not hold.

An invitation is a link, `murmura://host#2.<hash of the terms>.<admission>`. The admission in it is a private
key of its own (Ed25519), how long it is valid, and the admitter's signature over its public half. A device
shows the public half to both aggregators and signs each report with the private one; they count it once.
Everything that knows this shape is here, so that unlinkable tokens (RFC 9578) can take its place.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from dataclasses import dataclass
from typing import ClassVar

from murmura.channel import key_pairs
from murmura.wire.refusals import RefusedError, forged, malformed
from murmura.wire.signed_records import ServerKey, check_signature
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import host_of, is_loopback
from murmura.wire.wire import HASH_BYTES, SIGNATURE_BYTES, PackedRecord

LINK = re.compile(r"murmura(?:\+(https?))?://([^#\s]+)#2\.([\w-]{43})(?:\.([\w-]+))?")
LONGEST_LINK = 2000


@dataclass(frozen=True)
class Admission(PackedRecord):
    """What the admitter signed: a public key that counts as one device."""

    said: ClassVar = "signed admission"
    layout: ClassVar = struct.Struct(f"<{key_pairs.KEY_BYTES}sQ{SIGNATURE_BYTES}s")

    public: bytes  # (32,)
    expires: int  # seconds since 1970; 0: never
    signature: bytes  # (64,) the admitter's

    def check(self, terms: FederationTerms, now: float) -> None:
        """Refuse what the admitter of this federation did not sign, and what is over."""
        signed = _signed(terms.federation, self.public, self.expires)
        check_signature(terms.admitter, "admission", signed, self.signature)
        if self.expires and now > self.expires:
            raise forged("this invitation must still be valid, but has expired; ask for another.")


@dataclass(frozen=True)
class OwnAdmission:
    """An admission with the private key that belongs to it: what a device holds."""

    key: ServerKey
    expires: int
    signature: bytes

    @property
    def shown(self) -> Admission:
        """The public half."""
        return Admission(self.key.public, self.expires, self.signature)

    def encode(self) -> bytes:
        """As an invitation carries it, and as a device keeps it."""
        return Admission(self.key.private, self.expires, self.signature).encode()

    @staticmethod
    def decode(content: bytes) -> OwnAdmission:
        """From its 104 bytes."""
        read = Admission.decode(content)
        return OwnAdmission(ServerKey(read.public), read.expires, read.signature)

    @staticmethod
    def create(admitter: ServerKey, federation: str, expires: int = 0) -> OwnAdmission:
        """A new one, signed by the admitter."""
        key = ServerKey(key_pairs.new_key("signing"))
        return OwnAdmission(key, expires, admitter.sign("admission", _signed(federation, key.public, expires)))


@dataclass(frozen=True)
class Invitation:
    """Where a federation is, which one it is, and perhaps the right to take part."""

    url: str  # of the coordinator
    terms: bytes  # (32,) hash: keys, method, catalogue, minimum and noise are pinned by it
    admission: OwnAdmission | None = None

    def link(self) -> str:
        """`murmura://host#2.terms.admission`: HTTPS, or HTTP on this machine; the other one is said."""
        scheme, _, place = self.url.partition("://")
        said = "" if scheme == _default_scheme(self.url) else f"+{scheme}"
        return f"murmura{said}://{place}#{self._fragment()}"

    def page(self) -> str:
        """The same for a browser: what follows the # is sent to nobody."""
        return f"{self.url}/#{self._fragment()}"

    def _fragment(self) -> str:
        own = [] if self.admission is None else [_base64(self.admission.encode())]
        return ".".join(["2", _base64(self.terms), *own])

    @staticmethod
    def read(link: str) -> Invitation:
        """From a link; refuses anything else."""
        found = LINK.fullmatch(link.strip()[:LONGEST_LINK])
        try:
            if found is None:
                raise ValueError
            said, place, terms, admission = found.groups()
            url = f"{said or _default_scheme(f'https://{place}')}://{place}".rstrip("/")
            own = None if admission is None else OwnAdmission.decode(_bytes(admission))
            name = _bytes(terms)
            if len(name) != HASH_BYTES:
                raise ValueError
        except (ValueError, RefusedError):
            raise malformed(
                "an invitation must be a link murmura://host#2.… as `murmura invite create` prints it, but is "
                "not; copy it whole."
            ) from None
        return Invitation(url, name, own)


def join_proof(admission: OwnAdmission, federation: str, token: str) -> bytes:
    """What a device signs to take a place under its token."""
    return admission.key.sign("join", bytes.fromhex(federation) + token.encode())


def check_join(admission: Admission, terms: FederationTerms, token: str, proof: bytes, now: float) -> None:
    """Refuse a place to whoever does not hold an admission of this federation."""
    admission.check(terms, now)
    check_signature(admission.public, "join", bytes.fromhex(terms.federation) + token.encode(), proof)


def _default_scheme(url: str) -> str:
    """The scheme a link need not say."""
    return "http" if is_loopback(host_of(url)) else "https"


def _signed(federation: str, public: bytes, expires: int) -> bytes:
    return bytes.fromhex(federation) + public + expires.to_bytes(8, "little")


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise ValueError from None
