"""What makes a proof one that nobody can try offline: random numbers from a key of the two aggregators alone.

The key is the static X25519 secret of two keys that the terms pin, used for nothing else. From it come, each
under a name of its own: the challenge of a report, the point of its test, the seal of a verifier's share, and
what links two exchanges of a window. All are functions of the report and of what was sent: the same report has
the same answer at any time, and another one has another.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

from murmura.channel.field_shares import expand_numbers
from murmura.channel.key_pairs import exchange, public_key
from murmura.core.errors import FederationError, MissingExtraError
from murmura.kernels.proofs.circuit import Circuit
from murmura.kernels.proofs.field import Elements

FEDERATION_BYTES, HASH_BYTES, REPORT_BYTES, ADMISSION_BYTES = 16, 32, 16, 32
NONCE_BYTES, TAG_BYTES = 12, 16
SEAL_BYTES = NONCE_BYTES + TAG_BYTES  # what a sealed share of a check is longer than its numbers
OPEN = bytes(ADMISSION_BYTES)  # the admission where everybody may take part


@dataclass(frozen=True)
class ProvenReport:
    """Which report a proof is for: a proof of one fits no other."""

    federation: bytes  # (16,)
    manifest: bytes  # (32,) hash
    phase: str
    window: int
    report: bytes  # (16,) id
    admission: bytes  # (32,) public key; zeros in an open federation

    def __post_init__(self) -> None:
        lengths = [len(one) for one in (self.federation, self.manifest, self.report, self.admission)]
        if lengths != [FEDERATION_BYTES, HASH_BYTES, REPORT_BYTES, ADMISSION_BYTES]:
            raise FederationError("a proof must name federation, manifest, report and admission, but does not.")

    def bound(self, circuit: Circuit, commitment: bytes) -> bytes:
        """(160,) what challenge, point and seal are made for: report, circuit, and what was committed to."""
        asked = hashlib.sha256(self.phase.encode() + b"\0" + circuit.parameters).digest()
        return self.federation + self.manifest + self.report + self.admission + asked + commitment


@dataclass(frozen=True)
class ProofKey:
    """The secret of two aggregators."""

    secret: bytes  # (32,)

    @staticmethod
    def agreed(private: bytes, other: bytes) -> ProofKey:
        """From one's own private key and the other one's public key: both find the same."""
        keys = b"".join(sorted([public_key("sealing", private), other]))
        return ProofKey(derived(exchange(private, other), "aggregators", keys))

    def challenge(self, bound: bytes, seed: bytes) -> bytes:
        """(32,) what the random numbers of a circuit are expanded from, once both shares are fixed."""
        return derived(self.secret, "challenge", bound + seed)

    def point(self, bound: bytes, challenge: bytes, circuit: Circuit) -> int:
        """Where the test looks: the first number of its stream that is no root of unity."""
        seed, tried = derived(self.secret, "point", bound + challenge), 1
        while circuit.gadget.forbids(found := int(expand_numbers(seed, tried)[-1])):
            tried += 1
        return found

    def link(self, report: ProvenReport, count: int) -> Elements:
        """What the numbers are multiplied with that say whose vector it is: for one admission in one window."""
        named = report.federation + report.window.to_bytes(8, "little") + report.admission
        return expand_numbers(derived(self.secret, "link", named), count)

    def seal(self, bound: bytes, challenge: bytes, content: bytes) -> bytes:
        """A share of a check, for the other aggregator: nonce (12), ciphertext, tag (16).

        The nonce is a function of all that is sealed, so that one nonce never serves two contents.
        """
        nonce = derived(self.secret, "nonce", bound + challenge + content)[:NONCE_BYTES]
        return nonce + bytes(self._cipher(bound, challenge).encrypt(nonce, content, None))

    def unseal(self, bound: bytes, challenge: bytes, sealed: bytes) -> bytes:
        """The share of a check; refuses that of another report, or one that another machine made."""
        try:
            cipher = self._cipher(bound, challenge)
            return bytes(cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None))
        except _refusals():
            raise FederationError(
                "the other aggregator's share of a check must be made for this report, but is not; leave it "
                "out."
            ) from None

    def _cipher(self, bound: bytes, challenge: bytes) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(derived(self.secret, "seal", bound + challenge))


def derived(secret: bytes, purpose: str, content: bytes = b"") -> bytes:
    """(32,) HMAC-SHA256 of a purpose and a content."""
    return bytes(hmac.digest(secret, b"murmura proof " + purpose.encode() + b"\0" + content, "sha256"))


def _refusals() -> tuple[type[Exception], ...]:
    try:
        from cryptography.exceptions import InvalidTag
    except ModuleNotFoundError:
        raise MissingExtraError("a proved sum", "serve") from None
    return InvalidTag, ValueError
