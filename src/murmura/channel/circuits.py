"""The circuit that a claim is proved by: `core.claims` says what holds, `kernels.proofs` how it is proved."""

from __future__ import annotations

from murmura.core.claims import CountsClaim, PairsClaim
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.counted_items import CountedItems
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.paired_items import PairedItems


def circuit_of(claim: CountsClaim | PairsClaim) -> ProvenVector:
    """The circuit of a claim; everybody makes the same one of what is public."""
    if isinstance(claim, CountsClaim):
        return _counted(claim)
    return PairedItems(_counted(claim.counted), claim.ranked, PairWords(claim.bounds), claim.rows)


def _counted(claim: CountsClaim) -> CountedItems:
    return CountedItems(len(claim.items), claim.people, claim.cap)
