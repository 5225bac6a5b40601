"""The shares of one round while they are collected, in memory and nowhere else; and the counts it is made by.

Only items with enough owners take part in some exchanges. A coordinator that could name other counts than those
its devices have summed up would choose who is enough: the row of an item with one owner is that owner's list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.chain import Chain
from murmura.channel.halves import halves_of
from murmura.channel.proof_keys import OPEN, ProofKey, ProvenReport
from murmura.channel.proven_shares import answer, committed_to, decide, parted
from murmura.channel.shares import SEED_BYTES, Entropy, expanded_sum
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import FederationError
from murmura.server.admissions import AcceptedReports
from murmura.server.database import ServerDatabase
from murmura.wire.manifest import Manifest, ReleasedSum
from murmura.wire.proved_round import ProvedRound
from murmura.wire.refusals import RefusedError, forged, malformed
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import SEED, VECTOR, SharePass


@dataclass
class CollectedRound:
    """The round that is being collected, in memory."""

    kind: int  # of the shares: seeds or vectors
    manifest: Manifest
    phase: Phase
    chain: Chain
    accepted: AcceptedReports
    seeds: dict[bytes, bytes] = field(default_factory=dict)  # report -> seed, corrections (seed aggregator)
    admitted: dict[bytes, bytes] = field(default_factory=dict)  # admission -> its one report
    links: dict[bytes, int] = field(default_factory=dict)  # admission -> its share of what later ones must be
    total: NDArray[Any] = field(init=False)  # the running sum (vector aggregator)

    def __post_init__(self) -> None:
        circuit = self.chain.circuit
        self.total = self.chain.add_up(()) if circuit is None else halves_of(circuit).start()

    @cached_property
    def proved(self) -> ProvedRound | None:
        """What its proofs are made for; None: nothing is proved."""
        circuit = self.chain.circuit
        return None if circuit is None else ProvedRound(self.phase, circuit)

    @property
    def payload_bytes(self) -> int:
        """What is sealed in a share."""
        if self.proved is not None:
            return self.proved.payload_bytes(self.kind)
        return SEED_BYTES if self.kind == SEED else self.chain.released_bytes

    def take(
        self, key: ProofKey, shown: SharePass, one: ProvenReport, payload: bytes, link: int | None
    ) -> tuple[bytes, RefusedError | None]:
        """One share: what its sender is answered, and why it is not added if its proof does not hold."""
        self._check_form(shown, one, link)
        proved, refused, answered = self.proved, None, b""
        if proved is None and self.kind == SEED:
            self.seeds[one.report] = payload
        elif proved is None:
            self.total = self.chain.add_up((self.total, self.chain.unpack_total(payload)))
        elif self.kind == SEED:
            answered = self._answer(proved, key, one, payload, link)
        else:
            refused = self._decide(proved, key, one, shown.payload, payload, link)
        if one.admission != OPEN:
            self.admitted[one.admission] = one.report
        return answered, refused

    def _check_form(self, shown: SharePass, one: ProvenReport, link: int | None) -> None:
        """Refuse a share without the challenge it is proved for, and one whose counts are known to nobody."""
        if bool(shown.proved) != (self.proved is not None and self.kind == VECTOR):
            raise malformed("a half must name its challenge where its phase is proved, and nowhere else.")
        if self.proved is not None and self.proved.follows and link is None:
            raise RefusedError(
                "not-called", f"what phase '{self.phase.follows}' counted must be known here, but is not."
            )

    def _answer(
        self, proved: ProvedRound, key: ProofKey, one: ProvenReport, payload: bytes, link: int | None
    ) -> bytes:
        try:
            found = answer(key, one, proved.circuit, payload, link if proved.follows else None)
        except FederationError as error:
            raise malformed(str(error)) from None
        seed, _, public = parted(payload)
        self.seeds[one.report] = seed + public
        self.links[one.admission] = found.link
        return found.encode()

    def _decide(
        self,
        proved: ProvedRound,
        key: ProofKey,
        one: ProvenReport,
        committed: bytes,
        payload: bytes,
        link: int | None,
    ) -> RefusedError | None:
        """Add a half whose proof holds; it is decided once, whatever comes later under this report."""
        try:
            found = decide(key, one, proved.circuit, committed, payload, link if proved.follows else None)
        except FederationError as error:
            if committed_to(payload, proved.circuit, proved.follows) != committed:
                raise forged(str(error)) from None  # whoever sealed it does not know what was committed to
            return RefusedError("invalid", str(error))
        if not found.valid:
            return RefusedError(
                "invalid", "what is sent must be a contribution as the phase declares it, but is not."
            )
        halves_of(proved.circuit).add(self.total, found.vector)
        self.links[one.admission] = found.link
        return None

    def sum(self, ids: list[bytes], least: int) -> NDArray[Any]:
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
            return self._expanded(self.seeds[report] for report in ids)
        if set(ids) != set(self.accepted.used) or not self.accepted.closed:
            raise RefusedError("no-twin", "the agreed list must be what was added up here, but is not.")
        circuit = self.chain.circuit
        return self.total if circuit is None else halves_of(circuit).released(self.total)

    def _expanded(self, seeds: Iterable[bytes]) -> NDArray[Any]:
        """The sum of what is released of what seeds stand for."""
        circuit = self.chain.circuit
        if circuit is None:
            return expanded_sum(seeds, self.chain.ring)
        halves = halves_of(circuit)
        total = halves.start()
        for seed in seeds:
            halves.add(total, halves.summed(halves.of_seed(seed[:SEED_BYTES], seed[SEED_BYTES:])))
        return halves.released(total)

    def with_noise(self, half: NDArray[Any], entropy: Entropy) -> bytes:
        """This machine's half of a sum as it is released, with the whole noise, whatever the other one adds."""
        return self.chain.pack_total(self.chain.with_noise(half, entropy) if self.chain.noisy else half)


REPORTS = "reports of "  # facts: how many a released sum is of, by the name of its phase


def evidence_bytes(terms: FederationTerms, info: FederationInfo) -> int:
    """The longest proof of where counts are from; 0 for a method that releases none."""
    if not terms.algorithm().releases_counts:
        return 0
    followed = {phase.follows for phase in terms.algorithm().phases(info)} - {""}
    halves = [terms.chain(name, info, info.clients).released_bytes for name in followed]
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
    if reports is None:  # and who was counted is forgotten with it
        raise RefusedError(
            "released",
            f"this aggregator must know who was counted in phase '{phase.follows}', but was restored from an "
            "older copy; wait for the next window.",
        )
    summed, _ = chain.possible(shown.total(chain), manifest.round, int.from_bytes(reports, "little"))
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
