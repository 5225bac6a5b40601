"""What an aggregator checks of the counts of items that a round is made by, before it signs its manifest.

Only items with enough owners take part in some exchanges. A coordinator that could name other counts than those
its devices have summed up would choose who is enough: the row of an item with one owner is that owner's list.
"""

from __future__ import annotations

import numpy as np

from murmura.core.contract import FederationInfo, Phase
from murmura.server.database import ServerDatabase
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.released_sum import ReleasedSum
from murmura.wire.terms import FederationTerms

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
        raise RefusedError(
            "forged",
            f"the counts of items must be those that the sum of phase '{phase.follows}' told, but are others.",
        )


def _check_round(store: ServerDatabase, phase: Phase, window: int, shown: ReleasedSum) -> None:
    """Refuse another round than the newest of its phase that was released here in this window."""
    found = store.row(
        "SELECT hash FROM rounds WHERE phase = ? AND opened_in = ? AND state = 'released' ORDER BY serial DESC",
        (phase.follows, window),
    )
    if found is None or bytes(found[0]) != shown.manifest:
        raise RefusedError(
            "forged",
            f"the counts of items must come from the sum of phase '{phase.follows}' that was released in "
            f"window {window}, but come from another.",
        )
