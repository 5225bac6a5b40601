"""A vector that is proved to two aggregators: what the device computes, and what each aggregator does.

    device → seed     seed (32), commitment (32): SHA-256 of a salt and of what the other one will get;
                      of a key the corrections too
    seed → device     challenge (32), and the sealed share of its check
    device → vector   salt (32), challenge, sealed share, the other half of the vector and of the proof

The vector is fixed before the challenge, and the proof before anybody but the aggregators knows the point of
the test. The seed stands for one half of the vector, and with the challenge for one half of the proof: another
challenge makes another proof, with random values of its own. The vector aggregator decides, alone and once.
`channel.halves` says what halves a vector has.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.channel.field_shares import expand_numbers, pack_numbers, unpack_numbers
from murmura.channel.halves import first_seed, halves_of
from murmura.channel.proof_keys import SEAL_BYTES, ProofKey, ProvenReport, derived
from murmura.channel.shares import SEED_BYTES
from murmura.core.errors import FederationError
from murmura.kernels.proofs.circuit import Circuit, accepts, prove, query
from murmura.kernels.proofs.field import ELEMENT_BYTES, HALF, MODULUS, Elements, inner, subtracted

CHALLENGE_BYTES = COMMITMENT_BYTES = SALT_BYTES = 32


def commitment(salt: bytes, half: bytes) -> bytes:
    """What the seed aggregator gets instead of the other half; without the salt it tells nothing of it."""
    return hashlib.sha256(b"murmura commitment\0" + salt + half).digest()


def check_bytes(circuit: Circuit, follows: bool) -> int:
    """The sealed share of a check as it travels; it has one number more where it `follows` another exchange."""
    return SEAL_BYTES + ELEMENT_BYTES * (circuit.gadget.verifier_length + follows)


def first_bytes(circuit: Circuit) -> int:
    """What the seed aggregator gets, before it is sealed."""
    return SEED_BYTES + COMMITMENT_BYTES + halves_of(circuit).public_bytes


def payload_bytes(circuit: Circuit, follows: bool) -> int:
    """What the vector aggregator gets, before it is sealed."""
    numbers = halves_of(circuit).half_bytes + ELEMENT_BYTES * circuit.gadget.proof_length
    return SALT_BYTES + CHALLENGE_BYTES + check_bytes(circuit, follows) + numbers


def proof_seed(seed: bytes, challenge: bytes) -> bytes:
    """What the seed aggregator's half of the proof is expanded from."""
    return derived(seed, "half", challenge)


@dataclass(frozen=True, eq=False)
class ProvenUpload:
    """What a device shares; everything follows from the vector and 32 random bytes that it keeps."""

    circuit: Circuit
    vector: Any  # numbers, or `BinnedRows`
    secret: bytes  # (32,) of the device alone, for this upload

    @property
    def seed(self) -> bytes:
        """One half, as the seed aggregator gets it."""
        return first_seed(self.secret)

    @property
    def salt(self) -> bytes:
        """What the commitment is salted with."""
        return derived(self.secret, "salt")

    def half(self) -> bytes:
        """The other half of the vector."""
        return halves_of(self.circuit).half(self.vector, self.secret)

    def first(self, half: bytes) -> bytes:
        """The payload for the seed aggregator."""
        return self.seed + commitment(self.salt, half) + halves_of(self.circuit).public(half)

    def second(self, half: bytes, challenge: bytes, check: bytes) -> bytes:
        """The payload for the vector aggregator, once the challenge is known; nothing invalid is ever sent."""
        gadget = self.circuit.gadget
        r = expand_numbers(challenge, self.circuit.challenges)
        blinds = expand_numbers(derived(self.secret, "blinds", challenge), gadget.blinds)
        proof = prove(self.circuit, self.vector, r, blinds)
        self._check(proof, r)
        own = expand_numbers(proof_seed(self.seed, challenge), gadget.proof_length)
        return self.salt + challenge + check + half + pack_numbers(subtracted(proof, own))

    def _check(self, proof: Elements, r: Elements) -> None:
        """Refuse to send what would fail: the message of a false proof tells something of the vector."""
        seed, tried = derived(self.secret, "own check"), 1
        while self.circuit.gadget.forbids(point := int(expand_numbers(seed, tried)[-1])):
            tried += 1
        if not accepts(self.circuit, query(self.circuit, self.vector, proof, r, point, one=1)):
            raise FederationError("what is sent must pass its own check, but does not; nothing more is sent.")


@dataclass(frozen=True, eq=False)
class SeedAnswer:
    """What the seed aggregator has found of a report."""

    challenge: bytes  # (32,)
    check: bytes  # its share of the check, sealed to the vector aggregator
    link: int  # its share of what later exchanges of the window are held against; 0 where nothing is linked

    def encode(self) -> bytes:
        """As the device gets it, after the signature of the receipt."""
        return self.challenge + self.check


def parted(payload: bytes) -> tuple[bytes, bytes, bytes]:
    """Seed, commitment and corrections of what the seed aggregator gets."""
    start = SEED_BYTES + COMMITMENT_BYTES
    return payload[:SEED_BYTES], payload[SEED_BYTES:start], payload[start:]


def answer(
    key: ProofKey, report: ProvenReport, circuit: Circuit, payload: bytes, link: int | None
) -> SeedAnswer:
    """The seed aggregator's part; `link` is what an earlier exchange has left here, None: this follows none."""
    if len(payload) != first_bytes(circuit):
        raise FederationError(
            f"a seed and a commitment must have {first_bytes(circuit)} bytes, but have {len(payload)}."
        )
    seed, committed, public = parted(payload)
    bound = report.bound(circuit, committed)
    challenge = key.challenge(bound, seed + public)
    x = halves_of(circuit).of_seed(seed, public)
    proof = expand_numbers(proof_seed(seed, challenge), circuit.gadget.proof_length)
    share, own = _checked(key, report, circuit, bound, challenge, x, proof, link)
    return SeedAnswer(challenge, key.seal(bound, challenge, pack_numbers(share)), own)


@dataclass(frozen=True, eq=False)
class VectorDecision:
    """What the vector aggregator has found of a report."""

    valid: bool
    vector: Any  # the half to add up, as `channel.halves` takes it
    link: int  # as in `SeedAnswer`


def committed_to(payload: bytes, circuit: Circuit, follows: bool) -> bytes:
    """What a payload for the vector aggregator was committed to by."""
    start = SALT_BYTES + CHALLENGE_BYTES + check_bytes(circuit, follows)
    return commitment(payload[:SALT_BYTES], payload[start : start + halves_of(circuit).half_bytes])


def decide(
    key: ProofKey,
    report: ProvenReport,
    circuit: Circuit,
    committed: bytes,
    payload: bytes,
    link: int | None,
) -> VectorDecision:
    """The vector aggregator's part: whether both halves are those of a valid vector."""
    follows = link is not None
    if len(payload) != payload_bytes(circuit, follows):
        needed = payload_bytes(circuit, follows)
        raise FederationError(f"a half with its proof must have {needed} bytes, but has {len(payload)}.")
    if committed_to(payload, circuit, follows) != committed:
        raise FederationError("a half must be the one that was committed to, but is not; leave it out.")
    rest = memoryview(payload)[SALT_BYTES:]
    challenge, rest = bytes(rest[:CHALLENGE_BYTES]), rest[CHALLENGE_BYTES:]
    sealed, rest = bytes(rest[: check_bytes(circuit, follows)]), rest[check_bytes(circuit, follows) :]
    half = halves_of(circuit).half_bytes
    x = halves_of(circuit).of_half(rest[:half])
    proof = unpack_numbers(rest[half:], circuit.gadget.proof_length)
    bound = report.bound(circuit, committed)
    length = circuit.gadget.verifier_length + follows
    theirs = unpack_numbers(key.unseal(bound, challenge, sealed), length)
    mine, own = _checked(key, report, circuit, bound, challenge, x, proof, link)
    shown, linked = circuit.gadget.verifier_length, True
    if follows:
        linked = (int(theirs[-1]) + int(mine[-1])) % MODULUS == 0
    valid = accepts(circuit, theirs[:shown], mine[:shown]) and linked
    return VectorDecision(valid, halves_of(circuit).summed(x), own)


def _checked(
    key: ProofKey,
    report: ProvenReport,
    circuit: Circuit,
    bound: bytes,
    challenge: bytes,
    x: Any,
    proof: Elements,
    link: int | None,
) -> tuple[Elements, int]:
    """One aggregator's share of the check, and of the link."""
    r, point = expand_numbers(challenge, circuit.challenges), key.point(bound, challenge, circuit)
    found, own = circuit.inputs(x, r, HALF), 0
    share = circuit.gadget.query(found.a, found.b, found.linear, proof, point)
    if circuit.linked:
        linked = x[: circuit.linked] if found.linked is None else found.linked
        own = int(inner(key.link(report, circuit.linked), linked))
    if link is not None:
        share = np.append(share, np.uint64((own - link) % MODULUS))
    return share, own
