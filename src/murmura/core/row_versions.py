"""When each row of a public model last changed: enough to tell anyone who has an older model what is missing.

Models are counted as they come. No older model is kept for it, whatever the number of those who have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.codec import changed_rows, encode_rows
from murmura.core.message import MessageSpec
from murmura.core.update import Arrays

REMEMBERED = 1024  # models; whoever has an older one downloads the whole


@dataclass(frozen=True, eq=False)
class RowVersions:
    """The models there have been so far, and in which of them each row changed last."""

    downloads: MessageSpec  # how a model travels
    listed: Ints  # the items on offer
    number: int  # of the newest model, counted from 0
    last: Mapping[str, Longs]  # by table: (rows that travel,)
    oldest: int = 0  # the first model of this declaration; earlier ones have no row of it

    @staticmethod
    def first(downloads: MessageSpec, listed: Ints, number: int = 0) -> RowVersions:
        """The first model of a declaration."""
        sizes = {t.name: len(listed) if t.space == "item" else t.rows for t in downloads.tables}
        last = {name: np.full(n, number, np.int64) for name, n in sizes.items()}
        return RowVersions(downloads, listed, number, last, number)

    def moved(self, before: Arrays, after: Arrays) -> RowVersions:
        """After the next model."""
        changed, new = changed_rows(before, after, self.downloads, self.listed), self.number + 1
        last = {name: np.where(changed[name], new, known) for name, known in self.last.items()}
        return replace(self, number=new, last=last)

    def missing(self, base: int) -> tuple[int, int]:
        """Rows and bytes that take someone from a model to the newest: of the whole where that is shorter."""
        changed = self._since(base)
        counts = {name: int(rows.sum()) for name, rows in (changed or {}).items()}
        if changed is not None and not any(counts.values()):
            return 0, 0
        whole = self.downloads.model_bytes(len(self.listed))
        if changed is None or (length := self.downloads.changes_bytes(counts)) >= whole:
            return max(map(len, self.last.values()), default=0), whole
        return max(counts.values()), length

    def message(self, base: int, named: bytes, model: Arrays) -> bytes | None:
        """What changed since the model of the hash `named`; None: nothing, or the whole is as short."""
        changed, (_, length) = self._since(base), self.missing(base)
        if changed is None or length in (0, self.downloads.model_bytes(len(self.listed))):
            return None
        return encode_rows(named, changed, model, self.downloads, self.listed)

    def _since(self, base: int) -> dict[str, Bools] | None:
        """Which rows changed since a model, by table; None of one that is not remembered."""
        if not max(self.oldest, self.number - REMEMBERED) <= base <= self.number:
            return None
        return {name: known > base for name, known in self.last.items()}
