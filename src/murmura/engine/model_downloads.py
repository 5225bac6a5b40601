"""Which public model every client of a simulation has, and so what a visit has to download."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Ints, Longs
from murmura.core.codec import RowVersions
from murmura.core.message import MessageSpec
from murmura.core.update import Arrays

NONE = -1  # the number of no model


@dataclass(eq=False)
class ModelDownloads:
    """What devices of a real federation do: they keep the model they have and fetch the rows that changed."""

    versions: RowVersions
    fetched: Longs  # (clients,) the number of the model each client has

    @staticmethod
    def begin(downloads: MessageSpec, listed: Ints, clients: int) -> ModelDownloads:
        """Nobody has a model."""
        return ModelDownloads(RowVersions.first(downloads, listed), np.full(clients, NONE, np.int64))

    def fetch(self, clients: Ints) -> tuple[int, int]:
        """Rows and bytes of bringing these clients to the newest model, which they have from then on."""
        moved = self.missing(clients)
        self.fetched[clients] = self.versions.number
        return moved

    def missing(self, clients: Ints) -> tuple[int, int]:
        """The same, of clients who do not fetch it yet."""
        bases, counts = np.unique(self.fetched[clients], return_counts=True)
        each = np.array([self.versions.missing(base) for base in bases.tolist()], np.int64).reshape(-1, 2)
        rows, length = counts @ each
        return int(rows), int(length)

    def moved(self, before: Arrays, after: Arrays, downloads: MessageSpec) -> None:
        """The next model is there; one of another declaration has no row of the one before."""
        if downloads.mark != self.versions.downloads.mark:
            self.versions = RowVersions.first(downloads, self.versions.listed, self.versions.number + 1)
        else:
            self.versions = self.versions.moved(before, after)
