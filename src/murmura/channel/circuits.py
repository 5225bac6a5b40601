"""The circuit that a claim is proved by: `core.claims` says what holds, `kernels.proofs` how it is proved."""

from __future__ import annotations

from murmura.channel.noise import FARTHEST, LARGEST
from murmura.core.claims import (
    CountsClaim,
    ExactClaim,
    PairsClaim,
    RowsClaim,
    WeightedClaim,
    WeightedCountsClaim,
)
from murmura.core.errors import SettingError
from murmura.kernels.point_functions.sizes import is_sparse_shorter
from murmura.kernels.proofs.circuit import Circuit
from murmura.kernels.proofs.declared_rows import DenseRows, KeyRows
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.weighted_items import WeightedCounts, WeightedPairs

BASES = (2_642_245, 2**32 - 1)  # the largest of which three, and two, counters fit into a word
COARSEST = 128  # the largest weight is no smaller if it can be: heavier ones are rounded down by less


def circuit_of(claim: ExactClaim, follows: bool = False) -> Circuit:
    """The circuit of an exact claim; everybody makes the same one of what is public."""
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


def weighted_circuit(
    claim: WeightedClaim, bits: int, cohort: int, multiplier: float
) -> WeightedCounts | WeightedPairs:
    """The circuit of a noisy claim, where each aggregator's noise is so many times the longest contribution.

    The longest is a whole number of steps: as many as noise can be drawn for, and of pairs no more than the
    room of a counter allows, with the heaviest weight for whoever has `claim.few` items.
    """
    most: int = 2 ** (bits - 1)
    longest = min(most, int((LARGEST - 1) / multiplier)) if multiplier else most
    if isinstance(claim, WeightedCountsClaim):
        return WeightedCounts(len(claim.items), claim.people, longest)
    largest = heaviest = 0
    for base in BASES:
        each = cohort * claim.people + FARTHEST * multiplier * claim.few
        heaviest = int(((base - 1) // 2 - FARTHEST) / each)
        largest = min(longest, heaviest * claim.few)
        if heaviest >= COARSEST:
            break
    if heaviest < 1:
        raise SettingError(
            f"a sum of pairs must fit its words, but that of {cohort} clients with this noise would not; take "
            "fewer clients, or raise epsilon."
        )
    words = PairWords.of_one_base(len(claim.items), base)
    return WeightedPairs(claim.people, largest, min(heaviest, largest), words)
