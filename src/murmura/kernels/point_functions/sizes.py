"""What sparse sums and private reads cost in bytes: from the items, the cap and the width of a row alone.

At most `cap` rows stand in bins, one third of them in each of three groups: an item has one place in each
group, so in three bins. Every bin has as many places and one key, whether it holds a row or not: a length tells
the cap and the catalogue, nothing of a person. A sum adds numbers of the field, of 8 bytes; a row has one more
than its payload, which says that it is there. A read takes rows of whole bytes, each with its path in the tree
of the published table.
"""

from __future__ import annotations

from dataclasses import dataclass

BLOCK_BYTES = NODE_BYTES = 16  # a seed of the tree; a node of the tree that rows are checked by
NUMBER_BYTES = 8
GROUPS = 3
SPARE = 2  # bins of each group besides those for half of the cap: few rows find a place too
CUT = 7  # levels of a tree that a read leaves away: one block has the bits of so many leaves
TOP = 8  # levels of the tree over a table that everybody downloads
SEED_BYTES = 32


@dataclass(frozen=True)
class Bins:
    """How many bins there are for so many rows of a catalogue, and how wide they are."""

    items: int
    cap: int

    @property
    def group(self) -> int:
        """Bins of one group."""
        return min(-(-self.cap // 2) + SPARE, self.items)

    @property
    def count(self) -> int:
        """All bins."""
        return GROUPS * self.group

    @property
    def width(self) -> int:
        """Places of a bin."""
        return -(-self.items // self.group)

    @property
    def places(self) -> int:
        """Places of all bins; some stand for no item."""
        return self.count * self.width

    @property
    def depth(self) -> int:
        """Levels of the tree over a bin."""
        return max(1, (self.width - 1).bit_length())

    def key_bytes(self, numbers: int) -> int:
        """One key for every bin, with so many numbers in a row: what each of two aggregators gets."""
        tree = self.count * (BLOCK_BYTES * self.depth + NUMBER_BYTES * numbers)
        return SEED_BYTES + BLOCK_BYTES + tree + -(-2 * self.count * self.depth // 8)

    @property
    def read_depth(self) -> int:
        """Levels of the tree of a read."""
        return max(self.depth - CUT, 0)

    @property
    def query_bytes(self) -> int:
        """What each of two aggregators gets in a read: seed, nonce, and of every bin tree and last block."""
        tree = self.count * BLOCK_BYTES * (self.read_depth + 1)
        return SEED_BYTES + BLOCK_BYTES + tree + -(-2 * self.count * self.read_depth // 8)

    @property
    def path_bytes(self) -> int:
        """What shows that a row is that of the published table, in every row of an answer."""
        return NODE_BYTES * max((self.items - 1).bit_length() - TOP, 0)

    @property
    def top_bytes(self) -> int:
        """The nodes that everybody downloads once for a table."""
        return NODE_BYTES * min(1 << TOP, 1 << (self.items - 1).bit_length())

    def answer_bytes(self, row_bytes: int) -> int:
        """What each of two aggregators answers: one row of every bin."""
        return self.count * (row_bytes + self.path_bytes)


def is_sparse_shorter(items: int, cap: int, numbers: int) -> bool:
    """Whether two keys are shorter than a vector of all rows; of equal lengths the vector is taken."""
    return 2 * Bins(items, cap).key_bytes(numbers) < NUMBER_BYTES * items * numbers


def is_read_shorter(items: int, cap: int, row_bytes: int) -> bool:
    """Whether one private read moves fewer bytes than the whole table."""
    bins = Bins(items, cap)
    return 2 * (bins.query_bytes + bins.answer_bytes(row_bytes)) + bins.top_bytes < items * row_bytes
