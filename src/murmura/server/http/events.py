"""The stream of events: what is new is looked for once for all who listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from murmura.server.dispatch import event
from murmura.server.endpoints import EVENTS
from murmura.server.http.connection_places import Holder, Places
from murmura.wire.refusals import RefusedError
from murmura.wire.transport import HttpReply

HEARTBEAT = 15.0  # seconds between signs of life on a stream of events


class EventStream:
    """What is announced: `news` is asked once for all who listen, who are as many as there are places."""

    reply = HttpReply(200, b"", {"content-type": EVENTS})  # what a stream begins with

    def __init__(self, news: Callable[[], str], places: Places) -> None:
        self._news, self._places, self._last = news, places, ""
        self._changed = asyncio.Event()

    def look(self) -> None:
        """Wake everyone when there is something new."""
        now = self._news()
        if now != self._last:
            self._last = now
            self._changed.set()
            self._changed = asyncio.Event()

    def enter(self, address: str, listener: Holder) -> None:
        """Take a place to listen; refused to an address that has enough of them."""
        if not self._places.enter(address, listener):
            raise RefusedError("rate", "too many listen here already; ask for the round instead.")

    def leave(self, address: str, listener: Holder) -> None:
        """Give it back."""
        self._places.leave(address, listener)

    async def stream(self) -> AsyncIterator[bytes]:
        """An event for all that is new; now and then a sign of life."""
        last = ""
        yield b": murmura\n\n"
        while True:
            changed = self._changed
            if self._last != last:
                last = self._last
                yield event(last)
            else:
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"
