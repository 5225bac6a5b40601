"""Connections that cost others nothing: so many from one address, and each of them in time.

A connection is counted when it is accepted, before anything of it is read. Where all slots are taken, a new one
gets that of whoever has most of them. `http.http_protocol` watches how long each part takes.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol

from murmura.server.http.limits import origin

LOOKED_AT = 512  # holders among whom the longest waiting is looked for


class Holder(Protocol):
    """What has a place."""

    def waits(self) -> tuple[bool, float]:
        """Whether it is at work, and since when it is as it is: of two the smaller has waited longer."""

    def abort(self) -> None:
        """End it: its place is given to another."""


class Places:
    """Room for so many at a time: in all, and for one address that is not `exempt`.

    Where all are taken, the longest waiting holder of the address that has most is ended: a few addresses keep
    no other one out. Exempt are addresses that many people share: theirs are ended only where no others are.
    """

    def __init__(self, most: int, each: int, exempt: Callable[[str], bool] = lambda address: False) -> None:
        self.most, self._each, self._exempt = most, each, exempt
        self._holders: dict[str, dict[Holder, None]] = {}
        self._counted, self._proxies = Counter[str](), Counter[str]()
        self._all = 0

    def enter(self, address: str, holder: Holder) -> bool:
        """Whether there was a place, which is now taken."""
        proxy = self._exempt(address)
        if not proxy and self._counted[address] >= self._each:
            return False
        if self._all >= self.most and not self._shed():
            return False
        (self._proxies if proxy else self._counted)[address] += 1
        self._holders.setdefault(address, {})[holder] = None
        self._all += 1
        return True

    def leave(self, address: str, holder: Holder) -> None:
        """Give a place back, if it is still this holder's."""
        held = self._holders.get(address, {})
        if holder not in held:
            return
        del held[holder]
        counted = self._counted if address in self._counted else self._proxies
        counted[address] -= 1
        self._all -= 1
        if not held:
            del self._holders[address], counted[address]

    def _shed(self) -> bool:
        counted = self._counted or self._proxies
        top = max(counted.values(), default=0)
        most = [address for address, count in counted.items() if count == top]
        theirs = islice(chain.from_iterable(self._holders[one] for one in most), LOOKED_AT)
        found = min(theirs, key=lambda one: one.waits(), default=None)
        if found is None:
            return False
        self.leave(next(one for one in most if found in self._holders[one]), found)
        found.abort()
        return True


BACKLOG = 2048  # connections that wait to be accepted
ENDING = 64  # that lost their places and are not closed yet
UNSENT = getattr(socket, "TCP_NOTSENT_LOWAT", None)  # where the system has it
UNSENT_BYTES = 128 << 10  # of a reply that the system holds for who does not read it


@dataclass(frozen=True)
class ConnectionLimits:
    """How many there may be, and the seconds each part of one may take."""

    most: int = 4096
    each: int = 256  # from one address
    handshake: float = 10.0  # of TLS
    header: float = 10.0  # from the connection, or the first byte of a request, to the end of its header
    idle: float = 30.0  # between two requests
    stalled: float = 30.0  # while the other side reads nothing of a reply
    unread: int = 256 << 20  # bytes of long replies that wait to be read, equal ones counted once


class CountedListener(socket.socket):
    """Accepts connections, each with a place; who has no right to another is closed at once."""

    places: Places
    accepted: dict[int, CountedConnection]  # by their file numbers, until they are closed

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection with a place."""
        if len(self.accepted) >= self.places.most + ENDING:
            raise BlockingIOError  # those that were ended are closed first
        accepted, address = super().accept()
        # the body of an answer must not wait, 40 ms each, until its headers are acknowledged
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if UNSENT is not None:
            accepted.setsockopt(socket.IPPROTO_TCP, UNSENT, UNSENT_BYTES)
        family, kind, protocol = accepted.family, accepted.type, accepted.proto
        counted = CountedConnection(family, kind, protocol, accepted.detach())
        if not counted.enter(self, origin(str(address[0]))):
            counted.close()
            raise ConnectionAbortedError  # asyncio looks again
        return counted, address


class CountedConnection(socket.socket):
    """Gives its place back when it is closed, and knows what is spoken on it once something is."""

    speaker: Holder | None = None

    def enter(self, listener: CountedListener, whose: str) -> bool:
        """Whether there is a place for it."""
        self._listener, self._whose, self._number = listener, whose, self.fileno()
        self._since = time.monotonic()
        listener.accepted[self._number] = self
        return listener.places.enter(whose, self)

    def waits(self) -> tuple[bool, float]:
        """As what is spoken; before anything is, since it came."""
        return (False, self._since) if self.speaker is None else self.speaker.waits()

    def abort(self) -> None:
        """End it, in a TLS handshake as well."""
        if self.speaker is not None:
            self.speaker.abort()
            return
        with contextlib.suppress(OSError):  # the other side has gone
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it."""
        if self._listener.accepted.get(self._number) is self:
            del self._listener.accepted[self._number]
            self._listener.places.leave(self._whose, self)
        super().close()


def listen(host: str, port: int, places: Places) -> CountedListener:
    """A socket that is listened on."""
    made = CountedListener(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    made.places, made.accepted = places, {}
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.listen(BACKLOG)
    return made
