"""Two releases of the same sums, one after the other: what they differ by is said, as anybody can work it out.

A second release, in a window of its own, is made of new sums alone; of the first only the sums are kept, to
tell what changed. Exact sums are not protected against this: if the people of two releases are the same but
for one, the difference of the sums is what she has, item by item and pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints, Longs
from murmura.core.contract import ServerState
from murmura.core.rng import Words
from murmura.core.update import Arrays
from murmura.kernels.packing import PackedPairs

EARLIER, COMPLETE = "earlier ", "complete"  # of what the server keeps to itself


@dataclass(frozen=True, eq=False)
class Release:
    """What one release has told."""

    people: int  # or devices, where several share one
    counts: Longs  # (items,)
    pairs: Words | None  # packed sums; None: the method asks for none

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

    def together(self, items: Ints, least: int) -> Ints:
        """(n, n) how often two of these items, which all take part, occur together."""
        layout = PackedPairs.of(self.counts, least)
        at = np.full(len(layout), -1, np.int32)
        at[layout.ranks[items]] = np.arange(len(items))
        G: Ints = np.zeros((len(items), len(items)), np.int32)
        return G if self.pairs is None else layout.unpack_into(G, self.pairs, at)


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
        told = [
            f"this release counts {self.after.people} devices, the one before it {self.before.people}",
            f"{len(self.came_in)} items came in and {len(self.went_out)} went out of those that occur at least "
            f"{self.least} times",
            f"the counts of {int((self.counts != 0).sum())} items changed",
        ]
        if self.before.pairs is not None and self.after.pairs is not None:
            grown = self.pairs()[1]
            told.append(f"so did those of {int((grown != 0).sum()) // 2} pairs of items that are in both")
        return (
            "; ".join(told) + "; whoever has both has the difference of their sums: if exactly one person "
            "differs between them, it is her items and her pairs."
        )

    @staticmethod
    def _items(which: NDArray[np.bool_]) -> Ints:
        return np.flatnonzero(which).astype(np.int32)
