"""Releases of the same sums: what two of them differ by, and one without some of the people in it.

A second release, in a window of its own, is made of new sums alone; of the first only the sums are kept, to
tell what changed. Exact sums are not protected against this: if the people of two releases are the same but
for one, the difference of the sums is what she has, item by item and pair by pair.

Counts and pairs are whole numbers, so people are subtracted to the unit: what is left is the release of a
federation they were never in. Where the counts fall the counters are packed anew, and an item that falls below
`least` leaves the pairs. What was published stays published: who has both releases has their difference. So
`lab.unlearning` takes no fewer people out at once than the minimum of a sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints, Longs
from murmura.core.contract import ServerState, Total
from murmura.core.errors import FederationError, SettingError
from murmura.core.update import Arrays
from murmura.kernels.proofs.field import Elements
from murmura.kernels.proofs.pair_words import RankedItems

EARLIER, COMPLETE = "earlier ", "complete"  # of what the server keeps to itself


@dataclass(frozen=True, eq=False)
class Release:
    """What one release has told."""

    people: int  # or devices, where several share one
    counts: Longs  # (items,)
    pairs: Elements | None  # packed sums; None: the method asks for none

    @staticmethod
    def of(server: ServerState) -> Release:
        """The newest one."""
        counts = server.model["counts"][:, 0].astype(np.int64)
        return Release(int(server.private["people"][0]), counts, server.private.get("pairs"))

    @staticmethod
    def before(server: ServerState) -> Release | None:
        """The one that the newest replaces; None for the first."""
        kept = server.private
        if EARLIER + "people" not in kept:
            return None
        return Release(int(kept[EARLIER + "people"][0]), kept[EARLIER + "counts"], kept.get(EARLIER + "pairs"))

    def growth(self, private: Arrays) -> float:
        """How many times as many people there are in what a server keeps now."""
        return float(private["people"][0]) / self.people

    def together(self, items: Ints, least: int) -> Ints:
        """(n, n) how often two of these items, which all take part, occur together."""
        ranked = RankedItems.of(self.counts, least)
        at = np.full(len(ranked), -1, np.int32)
        at[ranked.ranks[items]] = np.arange(len(items))
        G: Ints = np.zeros((len(items), len(items)), np.int32)
        return G if self.pairs is None else ranked.pairs.unpack_into(G, self.pairs, at)


def carried_over(server: ServerState) -> dict[str, NDArray[Any]]:
    """What a server keeps when the counts of a new release begin: the sums of the last that was completed."""
    if COMPLETE not in server.private:
        return {name: values for name, values in server.private.items() if name.startswith(EARLIER)}
    last = Release.of(server)
    kept: Arrays = {EARLIER + "people": np.array([last.people], np.int64), EARLIER + "counts": last.counts}
    return dict(kept) if last.pairs is None else {**kept, EARLIER + "pairs": last.pairs}


@dataclass(frozen=True, eq=False)
class ReleaseDifference:
    """What two releases differ by."""

    before: Release
    after: Release
    least: int

    @property
    def came_in(self) -> Ints:
        """Items that take part now and did not before."""
        return self._items((self.after.counts >= self.least) & (self.before.counts < self.least))

    @property
    def went_out(self) -> Ints:
        """Items that took part before and do not now."""
        return self._items((self.before.counts >= self.least) & (self.after.counts < self.least))

    @property
    def counts(self) -> Longs:
        """(items,) by how much each count has grown."""
        grown: Longs = self.after.counts - self.before.counts
        return grown

    def pairs(self) -> tuple[Ints, Ints]:
        """The items of both releases, and (n, n) by how much the count of each of their pairs has grown.

        Of an item that takes part in one of them alone no difference is known.
        """
        items = self._items((self.before.counts >= self.least) & (self.after.counts >= self.least))
        grown = self.after.together(items, self.least)
        grown -= self.before.together(items, self.least)
        return items, grown

    def sentence(self) -> str:
        """For people."""
        changes = [
            f"this release counts {self.after.people} devices, the one before it {self.before.people}",
            f"{len(self.came_in)} items came in and {len(self.went_out)} went out of those that occur at least "
            f"{self.least} times",
            f"the counts of {int((self.counts != 0).sum())} items changed",
        ]
        if self.before.pairs is not None and self.after.pairs is not None:
            grown = self.pairs()[1]
            changes.append(f"so did those of {int((grown != 0).sum()) // 2} pairs of items that are in both")
        return (
            "; ".join(changes) + "; whoever has both has the difference of their sums: if exactly one person "
            "differs between them, it is her items and her pairs."
        )

    @staticmethod
    def _items(which: NDArray[np.bool_]) -> Ints:
        return np.flatnonzero(which).astype(np.int32)


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


def _repacked(before: Longs, after: Longs, least: int, sums: NDArray[np.generic], gone: Total) -> Elements:
    old, new = RankedItems.of(before, least), RankedItems.of(after, least)
    hers: Elements = np.zeros(old.pairs.words, np.uint64)
    if "pairs" in gone.update.tables:
        table = gone.update.tables["pairs"]
        hers[table.index] = table.values[:, 0]
    at = np.full(len(old), -1, np.int32)  # where an item of the old release stands in the new one
    at[old.ranks[new.items]] = np.arange(len(new))
    G: Ints = np.zeros((len(new), len(new)), np.int32)
    rest: Ints = old.pairs.unpack_into(G, np.asarray(sums, np.uint64), at).copy()
    rest -= old.pairs.unpack_into(np.zeros_like(G), hers, at)
    if rest.min(initial=0) < 0:
        raise _never_in()
    return new.pairs.pack_sums(rest)


def _never_in() -> FederationError:
    return FederationError("only people who are in a release can be taken out of it, but these were not.")
