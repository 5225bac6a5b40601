"""What the proofs of one round are made for, and how long their messages are.

device → seed     seed (32), commitment (32); of a key its corrections
seed → device     receipt (64), challenge (32), its share of the check, sealed to the other aggregator
device → vector   salt (32), challenge (32), that share, half of the vector, half of the proof
"""

from __future__ import annotations

from dataclasses import dataclass

from murmura.channel.proof_keys import OPEN, ProvenReport
from murmura.channel.proven_shares import CHALLENGE_BYTES, check_bytes, first_bytes, payload_bytes
from murmura.core.contract import Phase
from murmura.kernels.proofs.circuit import Circuit
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import malformed
from murmura.wire.wire import SEED, SIGNATURE_BYTES


def report_of(manifest: Manifest, report: bytes, admission: bytes) -> ProvenReport:
    """What one proof is bound to; `admission` is b"" where everyone may take part."""
    m, federation = manifest, bytes.fromhex(manifest.federation)
    return ProvenReport(federation, m.hash, m.phase, m.window, report, admission or OPEN)


@dataclass(frozen=True, eq=False)
class ProvedRound:
    """A round whose contributions are proved."""

    phase: Phase
    circuit: Circuit

    @property
    def follows(self) -> bool:
        """Whether each vector must be the one that its admission had counted in an earlier exchange."""
        return bool(self.phase.follows and self.circuit.linked)

    def payload_bytes(self, kind: int) -> int:
        """What is sealed in a share."""
        if kind == SEED:
            return first_bytes(self.circuit)
        return payload_bytes(self.circuit, self.follows)

    @property
    def answer_bytes(self) -> int:
        """What the seed aggregator answers."""
        return SIGNATURE_BYTES + CHALLENGE_BYTES + check_bytes(self.circuit, self.follows)

    def taken_apart(self, answer: bytes) -> tuple[bytes, bytes, bytes]:
        """(receipt, challenge, sealed share) of such an answer."""
        if len(answer) != self.answer_bytes:
            raise malformed(
                f"an answer to a seed must have {self.answer_bytes} bytes, but has {len(answer)}; take no part."
            )
        check = SIGNATURE_BYTES + CHALLENGE_BYTES
        return answer[:SIGNATURE_BYTES], answer[SIGNATURE_BYTES:check], answer[check:]
