"""How much one address may ask for: a token bucket each, and bodies that are never read beyond their limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable

from murmura.runtimes.http.dispatch import check_size
from murmura.runtimes.http.protocol.refusals import RefusedError

ADDRESSES = 10_000  # remembered at a time; the longest silent is forgotten first


class RateLimiter:
    """`rate` requests a second for each address, saved up to `burst`."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> None:
        """Count one request; refuses it when the address asks too often."""
        now = self._clock()
        left, before = self._buckets.pop(address, (self._burst, now))
        left = min(self._burst, left + (now - before) * self._rate)
        self._buckets[address] = (left - 1.0 if left >= 1.0 else left, now)
        if len(self._buckets) > ADDRESSES:
            self._buckets.popitem(last=False)
        if left < 1.0:
            raise RefusedError(
                "rate", f"at most {self._rate:g} requests a second are answered; try again later."
            )


class BodyBudget:
    """The memory all bodies that are being read may take together."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0

    async def read(self, stream: AsyncIterator[bytes], declared: str | None, largest: int) -> bytes:
        """The body, as long as it keeps its limit; a longer one is refused before it is held in memory."""
        if declared is not None:
            check_size(int(declared) if declared.isascii() and declared.isdigit() else largest + 1, largest)
        parts, length = [], 0
        try:
            async for part in stream:
                length += len(part)
                self._held += len(part)
                check_size(length, largest)
                if self._held > self._most:
                    raise RefusedError("rate", "too much is being sent here at once; try again later.")
                parts.append(part)
        finally:
            self._held -= length
        return b"".join(parts)
