"""The circuit that a claim is proved by: `core.claims` says what holds, `kernels.proofs` how it is proved."""

from __future__ import annotations

from murmura.core.claims import Claim, CountsClaim, PairsClaim, RowsClaim
from murmura.kernels.point_functions.sizes import is_sparse_shorter
from murmura.kernels.proofs.circuit import Circuit
from murmura.kernels.proofs.counted_items import CountedItems
from murmura.kernels.proofs.declared_rows import DenseRows, KeyRows
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.paired_items import PairedItems


def circuit_of(claim: Claim, follows: bool = False) -> Circuit:
    """The circuit of a claim; everybody makes the same one of what is public."""
    if isinstance(claim, CountsClaim):
        return _counted(claim)
    if isinstance(claim, PairsClaim):
        return PairedItems(_counted(claim.counted), claim.ranked, PairWords(claim.bounds), claim.rows)
    return _rows(claim, follows)


def _rows(claim: RowsClaim, follows: bool) -> DenseRows | KeyRows:
    """Few rows: by keys where they are shorter, or where that is asked for."""
    items = len(claim.items)
    shorter = is_sparse_shorter(items, claim.cap, 1 + claim.width)
    kind = KeyRows if claim.encoding == "keys" or (claim.encoding == "shorter" and shorter) else DenseRows
    return kind(items, claim.cap, claim.width, claim.digits, follows, claim.shown)


def _counted(claim: CountsClaim) -> CountedItems:
    return CountedItems(len(claim.items), claim.people, claim.cap)
