"""Long replies while they are read: equal ones are in memory once, all of them within a limit."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from murmura.server.http.connection_places import Holder

GRACE = 1.0  # seconds: who has read something since then is ended after those who have not
TAIL = 64  # bytes by which equal replies are looked for


@dataclass
class _Body:
    content: bytes
    readers: dict[Holder, str] = field(default_factory=dict)  # with their addresses

    @property
    def key(self) -> tuple[int, bytes]:
        return len(self.content), bytes(self.content[-TAIL:])


class UnreadReplies:
    """What has been asked for and not been read, up to `most` bytes.

    Where there is more, readers of the address that holds most are ended, first who has not read for longest.
    """

    def __init__(self, most: int) -> None:
        self._most, self._all = most, 0
        self._bodies: dict[tuple[int, bytes], _Body] = {}
        self._read: dict[Holder, _Body] = {}

    def hold(self, address: str, reader: Holder, content: bytes) -> bytes:
        """The same content, as it is already being read where it is."""
        body = _Body(content)
        known = self._bodies.get(body.key)
        if known is not None and known.content == content:
            body = known
        else:
            self._shed(len(content))
            self._bodies[body.key] = body
            self._all += len(content)
        body.readers[reader] = address
        self._read[reader] = body
        return body.content

    def drop(self, reader: Holder) -> None:
        """It has been read, or nobody is there to read it."""
        body = self._read.pop(reader, None)
        if body is None:
            return
        del body.readers[reader]
        if not body.readers:
            self._all -= len(body.content)
            if self._bodies.get(body.key) is body:
                del self._bodies[body.key]

    def _shed(self, more: int) -> None:
        while self._read and self._all + more > self._most:
            before = time.monotonic() - GRACE
            late = [one for one in self._read if one.waits()[1] < before] or list(self._read)
            held = Counter[str]()
            for one in late:
                body = self._read[one]
                held[body.readers[one]] += len(body.content) // len(body.readers)
            ((most, _),) = held.most_common(1)
            theirs = [one for one in late if self._read[one].readers[one] == most]
            for one in sorted(theirs, key=lambda one: one.waits()):
                self.drop(one)
                one.abort()
                if self._all + more <= self._most:
                    break
