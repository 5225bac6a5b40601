"""What has been published: the public log, releases, one in a window, and the ways to the newest model.

Where all exchanges are of the opening, the last of them completes a release. The operator may ask for another:
its sums begin with nothing of the first, in the next window, and devices rank with the first until the second
is complete.

Who has left since the first is what the second lacks. Of exact sums the difference would be her list if nobody
else came or left, so another release waits until as many have as a sum must be of.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import replace

from murmura.core.codec import REMEMBERED, RowVersions
from murmura.core.update import Arrays
from murmura.engine.itinerary import Itinerary, Position
from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.server.log_table import DICTIONARY, LogTable, whole
from murmura.wire import wire
from murmura.wire.log import LogHead, LogProof, leaf_hash
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import ReleaseWindows


class PublicLog(LogTable):
    """All entries and the newest head that everybody has signed."""

    def __init__(self, store: ServerDatabase) -> None:
        entries = (one for (one,) in store.rows("SELECT entry FROM log ORDER BY place"))
        dictionary = store.fact(DICTIONARY) or b""
        super().__init__(store, [leaf_hash(entry) for entry in whole(dictionary, entries)])

    @property
    def head(self) -> LogHead | None:
        """The newest head that is signed, if there is one."""
        found = self._store.fact("head")
        return None if found is None else LogHead.decode(found)

    def keep_head(self, head: LogHead) -> None:
        """Everybody has signed it."""
        self._store.write([put_fact("head", head.encode())], durable=True)

    def append(self, entries: Sequence[bytes], changes: Sequence[Statement] = (), forget: bool = False) -> None:
        """Write entries down together with other changes; with `forget` nothing of what was there stays."""
        stored, dictionary = self.stored(entries)
        at = enumerate(stored, len(self.tree))
        rows = [("INSERT INTO log VALUES (?, ?)", one) for one in at]
        self._store.write([*changes, *rows, *dictionary], durable=True, forget=forget)
        for entry in entries:
            self.tree.append(leaf_hash(entry))

    def proof(self, head: LogHead, index: int, before: int) -> LogProof:
        """That an entry is in a head, and that the head extends an earlier one."""
        inclusion, consistency = self.tree.inclusion(index, head.size), self.consistency(before, head.size)
        return LogProof(head, index, before, tuple(inclusion), tuple(consistency))

    def consistency(self, first: int, size: int) -> list[bytes]:
        """That the log of one size begins with the log of another; refuses sizes that never were."""
        if not 0 <= first <= size <= len(self.tree):
            raise RefusedError("unknown", f"the log has {len(self.tree)} entries; ask for sizes up to that.")
        return self.tree.consistency(first, size)

    def newest_model(self, head: LogHead, entry: bytes = b"") -> tuple[bytes, LogProof] | None:
        """The last entry of a model in a head, or this one, and where it is; None where there is none."""
        wanted = entry or b"model\0"
        found = self._store.row(
            "SELECT place, entry FROM log WHERE place < ? AND substr(entry, 1, ?) = ? "
            "ORDER BY place DESC LIMIT 1",
            (head.size, len(wanted), wanted),
        )
        return None if found is None else (bytes(found[1]), self.proof(head, int(found[0]), head.size))


COMPLETE, DIFFERENCE = "complete release", "release difference"  # facts
CAME, LEFT = "came since the release", "left since the release"  # facts: how many, never who
_MODEL = len(b"model\0") + 8  # where an entry of the log names its model, and then counts


class Releases:
    """Which release is complete, and what it differs by from the one before."""

    def __init__(self, store: ServerDatabase, log: PublicLog, itinerary: Itinerary) -> None:
        self._store, self._log, self._itinerary = store, log, itinerary

    @property
    def _complete(self) -> bytes:
        """The entry in the log of the newest model that is complete; b"" where there is none."""
        return self._store.fact(COMPLETE) or b""

    @property
    def difference(self) -> str:
        """What the newest release differs by from the one before; "" of a first one."""
        return (self._store.fact(DIFFERENCE) or b"").decode()

    @property
    def published(self) -> list[bytes]:
        """Hashes of what devices rank with until there is a newer one: its model and its counts."""
        named = self._complete[_MODEL:]
        return [named[at : at + wire.HASH_BYTES] for at in range(0, len(named), wire.HASH_BYTES)]

    def ends_with(self, position: Position) -> bool:
        """Whether a release is complete here."""
        return not self._itinerary.training and self._itinerary.finished(position)

    def completed(self, entry: bytes, difference: str = "") -> list[Statement]:
        """The changes that make the model of this entry the one devices rank with; b"": whatever is newest."""
        none = [put_fact(CAME, b"0"), put_fact(LEFT, b"0")]
        return [put_fact(COMPLETE, entry), put_fact(DIFFERENCE, difference.encode()), *none]

    def moved(self, kind: str, people: int = 1) -> list[Statement]:
        """The change that counts people who came or left since the release; none before there is one."""
        return [put_fact(kind, str(self._since(kind) + people).encode())] if self._complete and people else []

    def _since(self, kind: str) -> int:
        return int(self._store.fact(kind) or b"0")

    def replaced(self, position: Position) -> bool:
        """Whether another release is asked for while one is complete."""
        return bool(self._complete) and not self.ends_with(position)

    def newest_model(self, head: LogHead) -> tuple[bytes, LogProof] | None:
        """What devices are to rank with, and where it is logged: the newest model, of sums a complete one."""
        return self._log.newest_model(head, self._complete)

    def renewed(self, at: Position, windows: ReleaseWindows, minimum: int) -> Position:
        """Where another release begins; refuses where there can be none.

        Once somebody has left two releases must differ by `minimum` people; 0 where noise covers that.
        """
        if self._itinerary.training:
            raise RefusedError("late", "only a federation without training rounds makes a second release.")
        if not self.ends_with(at):
            raise RefusedError("released", "a release is being made; another can follow when it is complete.")
        if math.isinf(windows.ends(0)):
            raise RefusedError(
                "released",
                "a second release needs another window, but this one never ends; begin another federation, "
                "with --window.",
            )
        came, left = self._since(CAME), self._since(LEFT)
        if left and came + left < minimum:
            raise RefusedError(
                "too-few",
                f"since the last release {left} left and {came} came, but {minimum} must: the difference of "
                "the two releases would tell of those who left; wait for more.",
            )
        return Position(0, 0, at.round, at.serial)


_NAMED = struct.Struct(f"<{wire.HASH_BYTES}sQ")  # hash of a model, its number
_MARK = struct.Struct("<IQ")  # of the declaration, number of the newest model
CACHED_BYTES = 1 << 26  # of messages for the newest model: those who were in one round before ask for one


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
        if sum(len(one or b"") for one in self._made.values()) < CACHED_BYTES:
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
