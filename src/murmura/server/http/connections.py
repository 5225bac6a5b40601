"""Connections that cost others nothing: so many from one address, and each of them in time.

A connection is counted when it is accepted, before anything of it is read. How long each part of it may take is
watched by `http.http_protocol`.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from murmura.server.http.limits import Places, origin

BACKLOG = 2048  # connections that wait to be accepted


@dataclass(frozen=True)
class ConnectionLimits:
    """How many there may be, and the seconds each part of one may take."""

    most: int = 4096
    each: int = 256  # from one address
    handshake: float = 10.0  # of TLS
    header: float = 10.0  # from the connection, or the first byte of a request, to the end of its header
    idle: float = 30.0  # between two requests
    stalled: float = 30.0  # while the other side reads nothing of a reply


class CountedListener(socket.socket):
    """Accepts connections as long as there are places for them; the others are closed at once."""

    places: Places

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection with a place."""
        accepted, address = super().accept()
        whose = origin(str(address[0]))
        if not self.places.enter(whose):
            accepted.close()
            raise ConnectionAbortedError  # asyncio looks again
        # the body of an answer must not wait, 40 ms each, until its headers are acknowledged
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        family, kind, protocol = accepted.family, accepted.type, accepted.proto
        counted = _CountedConnection(family, kind, protocol, accepted.detach())
        counted.place = self.places, whose
        return counted, address


class _CountedConnection(socket.socket):
    """Gives its place back when it is closed."""

    place: tuple[Places, str] | None = None

    def close(self) -> None:
        if self.place is not None:
            places, whose = self.place
            self.place = None
            places.leave(whose)
        super().close()


def listen(host: str, port: int, places: Places) -> CountedListener:
    """A socket that is listened on."""
    made = CountedListener(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    made.places = places
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.listen(BACKLOG)
    return made
