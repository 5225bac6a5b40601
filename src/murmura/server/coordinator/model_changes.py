"""What a coordinator remembers of earlier models: their names, and when each row changed last."""

from __future__ import annotations

import struct
from dataclasses import replace

from murmura.core.codec import REMEMBERED, RowVersions
from murmura.core.update import Arrays
from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.wire import wire

_NAMED = struct.Struct(f"<{wire.HASH_BYTES}sQ")  # hash of a model, its number
_MARK = struct.Struct("<IQ")  # of the declaration, number of the newest model
KEPT_BYTES = 1 << 26  # of messages for the newest model: those who were in one round before ask for one


class ModelChanges:
    """The way from any remembered model to the newest, made when somebody asks for it."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        self._name, self._made = b"", dict[bytes, bytes | None]()  # to the model of this name, by base

    def moved(self, begun: RowVersions, before: Arrays, after: Arrays) -> RowVersions:
        """The versions with the model `after`; `begun` says how models travel now."""
        known = self._versions(begun)
        return begun if known is None else known.moved(before, after)

    def noted(self, versions: RowVersions, name: bytes) -> list[Statement]:
        """The changes that write them down, the newest model under its name."""
        names = self._names() if versions.number else {}
        names.pop(name, None)  # what comes again is the newest
        newest = [*names.items(), (name, versions.number)][-REMEMBERED:]
        return [
            put_fact("model names", b"".join(_NAMED.pack(*one) for one in newest)),
            put_fact("row versions", wire.pack_arrays(dict(versions.last))),
            put_fact("row versions of", _MARK.pack(versions.downloads.mark, versions.number)),
        ]

    def since(self, begun: RowVersions, base: bytes, name: bytes, model: Arrays) -> bytes | None:
        """What leads from one model to the newest, `name`; None where only the whole does, or is as short."""
        if self._name != name:
            self._name, self._made = name, {}
        if base in self._made:
            return self._made[base]
        number, versions = self._names().get(base), self._versions(begun)
        if number is None or versions is None:
            return None
        message = versions.message(number, base, model)
        if sum(len(one or b"") for one in self._made.values()) < KEPT_BYTES:
            self._made[base] = message
        return message

    def _versions(self, begun: RowVersions) -> RowVersions | None:
        """What is noted; None where models travelled otherwise, so that no row is what it was."""
        kept = self._store.fact("row versions of")
        if kept is None:
            return None
        mark, number = _MARK.unpack(kept)
        if mark != begun.downloads.mark:
            return None
        return replace(begun, number=number, last=wire.unpack_arrays(self._store.fact("row versions") or b""))

    def _names(self) -> dict[bytes, int]:
        return dict(_NAMED.iter_unpack(self._store.fact("model names") or b""))
