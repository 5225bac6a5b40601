"""The stream of events: one look at what is new for all who listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.responses import StreamingResponse

from murmura.runtimes.http.dispatch import event
from murmura.runtimes.http.endpoints import EVENTS

HEARTBEAT = 15.0  # seconds between signs of life on a stream of events


class EventStream:
    """What is announced: `news` is asked once for all who listen."""

    def __init__(self, news: Callable[[], str]) -> None:
        self._news, self._last = news, ""
        self._changed = asyncio.Event()

    def look(self) -> None:
        """Wake everyone when there is something new."""
        now = self._news()
        if now != self._last:
            self._last = now
            self._changed.set()
            self._changed = asyncio.Event()

    def response(self) -> StreamingResponse:
        """The stream for one who listens."""
        return StreamingResponse(self.stream(), media_type=EVENTS)

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
