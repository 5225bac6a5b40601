"""The shares of one round while they are collected: in memory, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from murmura.channel.chain import Chain
from murmura.channel.ring import Ring
from murmura.channel.shares import Entropy, expanded_sum
from murmura.core.contract import Phase
from murmura.core.rng import Words
from murmura.server.acceptance import AcceptedReports
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.wire import SEED, ShareHead


@dataclass
class CollectedRound:
    """The round that is being collected, in memory."""

    kind: int  # of the shares: seeds or vectors
    manifest: Manifest
    phase: Phase
    chain: Chain
    accepted: AcceptedReports
    seeds: dict[bytes, bytes] = field(default_factory=dict)  # report -> seed (seed aggregator)
    admitted: dict[bytes, bytes] = field(default_factory=dict)  # admission -> its one report
    total: Words = field(init=False)  # the running sum (vector aggregator)

    @property
    def ring(self) -> Ring:
        """Where shares are added up."""
        return self.chain.ring

    def __post_init__(self) -> None:
        self.total = np.zeros(self.ring.words, np.uint32)

    def add(self, head: ShareHead, payload: bytes, admission: bytes) -> None:
        """One share: a seed is kept, a vector added to the sum."""
        if head.kind == SEED:
            self.seeds[head.report] = payload
        else:
            self.total += self.ring.unpack(payload)  # modulo 2**32, of which 2**24 is a divisor
        if admission:
            self.admitted[admission] = head.report

    def sum(self, ids: list[bytes], least: int) -> Words:
        """The sum over exactly these reports; refuses fewer than `least`, and others than were taken here."""
        if len(ids) < least:
            raise RefusedError(
                "too-few", f"a sum must be of at least {least} reports, but the list has {len(ids)}."
            )
        if self.kind == SEED:
            self.accepted.closed = True
            missing = [report for report in ids if report not in self.seeds]
            if missing:
                raise RefusedError("no-twin", f"{len(missing)} reports of the list have no share here.")
            return expanded_sum((self.seeds[report] for report in ids), self.ring)
        if set(ids) != self.accepted.reports or not self.accepted.closed:
            raise RefusedError("no-twin", "the agreed list must be what was added up here, but is not.")
        return self.ring.wrap(self.total.astype(np.int64))

    def with_noise(self, half: Words, entropy: Entropy) -> bytes:
        """This machine's half of a sum as it is released, with the whole noise, whatever the other one adds."""
        if not self.chain.noisy:
            return self.ring.pack(half)
        return self.ring.pack(self.ring.wrap(half.astype(np.int64) + self.chain.noise(entropy)))
