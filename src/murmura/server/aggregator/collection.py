"""The shares of one round while they are collected, in memory and nowhere else; and the counts it is made by.

Only items with enough owners take part in some exchanges. A coordinator that could name other counts than those
its devices have summed up would choose who is enough: the row of an item with one owner is that owner's list.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from murmura.channel.chain import Chain
from murmura.channel.ring import Ring
from murmura.channel.shares import Entropy, expanded_sum
from murmura.core.contract import FederationInfo, Phase
from murmura.core.rng import Words
from murmura.server.admissions import AcceptedReports
from murmura.server.database import ServerDatabase
from murmura.wire.manifest import Manifest, ReleasedSum
from murmura.wire.refusals import RefusedError, forged
from murmura.wire.terms import FederationTerms
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


REPORTS = "reports of "  # facts: how many a released sum is of, by the name of its phase


def evidence_bytes(terms: FederationTerms, info: FederationInfo) -> int:
    """The longest proof of where counts are from; 0 for a method that releases none."""
    if not terms.algorithm().releases_counts:
        return 0
    followed = {phase.follows for phase in terms.algorithm().phases(info)} - {""}
    halves = [terms.chain(name, info, info.clients).ring.message_bytes for name in followed]
    return ReleasedSum.longest(max(halves, default=0))


def check_released(
    terms: FederationTerms,
    before: FederationInfo,
    now: FederationInfo,
    store: ServerDatabase,
    manifest: Manifest,
    evidence: bytes,
) -> None:
    """Refuse counts that are not those of the sum which both aggregators have released in this window.

    `before` is what was known without the counts, `now` what the manifest makes of it.
    """
    phase = terms.phase(manifest.phase, before)
    terms.check_counts(phase, manifest.counts is not None)
    if manifest.counts is None or now.counts is None:
        return
    shown = ReleasedSum.decode(evidence)
    _check_round(store, phase, manifest.window, shown)
    shown.check(terms)
    chain, reports = terms.chain(phase.follows, before, before.clients), store.fact(REPORTS + phase.follows)
    devices = None if reports is None else int.from_bytes(reports, "little")
    summed, _ = chain.possible(shown.total(chain.ring), manifest.round, devices)
    if not np.array_equal(terms.algorithm().summed_counts(summed, before.items), now.counts):
        raise forged(
            f"the counts of items must be those that the sum of phase '{phase.follows}' told, but are others."
        )


def _check_round(store: ServerDatabase, phase: Phase, window: int, shown: ReleasedSum) -> None:
    """Refuse another round than the newest of its phase that was released here in this window."""
    found = store.value(
        "SELECT hash FROM rounds WHERE phase = ? AND opened_in = ? AND state = 'released' ORDER BY serial DESC",
        (phase.follows, window),
    )
    if found != shown.manifest:
        raise forged(
            f"the counts of items must come from the sum of phase '{phase.follows}' that was released in "
            f"window {window}, but come from another."
        )
