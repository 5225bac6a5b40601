"""Sums without some of the people in them: counts and pairs are subtracted, to the unit.

The sums of a release are whole numbers: what is left is the release of a federation these people were never in.
Where the counts fall the counters are packed anew, and an item that falls below `least` leaves the pairs.

What was published stays published: who has both releases has their difference, which is the sum of those who
left. That is why `engine.unlearning` takes no fewer of them at once than the minimum of a sum.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints, Longs
from murmura.core.contract import ServerState, Total
from murmura.core.errors import FederationError, SettingError
from murmura.core.rng import Words
from murmura.kernels.packing import PackedPairs


def without(
    least: int, server: ServerState, gone: Mapping[str, Total], other_sums: bool
) -> tuple[Longs, dict[str, NDArray[np.generic]]]:
    """The counts, and what the server keeps to itself, without those whose sums are `gone`."""
    if other_sums:
        raise SettingError(
            "people can be taken out of counts and pairs of one part, but this release has sums of several "
            "parts or of an order; make a new release without them."
        )
    if "pairs" not in server.private:
        raise SettingError("people can be taken out of a release that is complete, but this one is not.")
    before = server.model["counts"][:, 0].astype(np.int64)
    counts = before - _counts(gone["counts"], len(before))
    people, paired = int(server.private["people"][0]), int(_pair_senders(server))
    left, left_paired = people - gone["counts"].count, paired - gone["pairs"].count
    if counts.min() < 0 or left < 1 or left_paired < 1:
        raise _never_in()
    pairs = _repacked(before, counts, least, server.private["pairs"], gone["pairs"])
    private = {**server.private, "people": np.array([left], np.int64), "pairs": pairs}
    return counts, {**private, "scale": np.array([left / left_paired])}


def _counts(gone: Total, items: int) -> Longs:
    counts, table = np.zeros(items, np.int64), gone.update.tables["counts"]
    counts[table.index] = table.values[:, 0]
    return counts


def _pair_senders(server: ServerState) -> float:
    """How many sent pairs: what `scale` makes up for is that fewer did than were counted."""
    return float(np.rint(server.private["people"][0] / server.private["scale"][0]))


def _repacked(before: Longs, after: Longs, least: int, sums: NDArray[np.generic], gone: Total) -> Words:
    old, new = PackedPairs.of(before, least), PackedPairs.of(after, least)
    hers: Words = np.zeros(old.words, np.uint32)
    if "pairs" in gone.update.tables:
        table = gone.update.tables["pairs"]
        hers[table.index] = table.values[:, 0]
    at = np.full(len(old), -1, np.int32)  # where an item of the old release stands in the new one
    at[old.ranks[new.items]] = np.arange(len(new))
    G: Ints = np.zeros((len(new), len(new)), np.int32)
    rest: Ints = old.unpack_into(G, np.asarray(sums, np.uint32), at).copy()
    rest -= old.unpack_into(np.zeros_like(G), hers, at)
    if rest.min(initial=0) < 0:
        raise _never_in()
    return new.pack_sums(rest)


def _never_in() -> FederationError:
    return FederationError("only people who are in a release can be taken out of it, but these were not.")
