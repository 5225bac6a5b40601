"""How much one address may take of a server, so that the others still get through: requests, bodies, places."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import lru_cache

from murmura.runtimes.http.dispatch import check_size
from murmura.runtimes.http.endpoints import SMALL
from murmura.runtimes.http.protocol.refusals import RefusedError

ADDRESSES = 10_000  # remembered at a time; the longest silent is forgotten first
First = tuple[int, Callable[[bytes], None]]  # so many bytes of a body, and the check they must pass


@dataclass(frozen=True)
class BodyLimits:
    """What bodies that are being read may take: bytes beyond `SMALL`, and time."""

    most: int = 256 << 20  # bytes of all of them
    share: int = 64 << 20  # bytes of those of one address
    seconds: float = 300.0  # for a whole body
    window: float = 10.0  # seconds in which the next `window * speed` bytes must come, or the rest
    speed: float = 4096.0  # bytes a second


@dataclass(frozen=True)
class RequestLimits:
    """What one address may ask for, and all of them together."""

    rate: float = 200.0  # requests a second
    burst: float = 2000.0
    registrations: float = 1.0  # new devices a second
    registration_burst: float = 20.0
    bodies: BodyLimits = field(default_factory=BodyLimits)
    streams: int = 2048  # of events, in all: half of the connections there may be
    streams_each: int = 64  # from one address


@lru_cache(ADDRESSES)
def origin(host: str) -> str:
    """Whom an address counts for: an IPv6 network of 64 bits, as whoever has one of its addresses has all."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host[:64]
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


class RateLimiter:
    """`rate` requests a second for each address, saved up to `burst`; `what` they are is said in refusals."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float], what: str = "requests") -> None:
        self._rate, self._burst, self._clock, self._what = rate, burst, clock, what
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
                "rate", f"at most {self._rate:g} {self._what} a second are answered; try again later."
            )


class Places:
    """Room for so many at a time: in all, and for one address that is not `exempt`."""

    def __init__(self, most: int, each: int, exempt: Callable[[str], bool] = lambda address: False) -> None:
        self._most, self._each, self._exempt = most, each, exempt
        self._taken: Counter[str] = Counter()
        self._all = 0

    def enter(self, address: str) -> bool:
        """Whether there was a place, which is now taken."""
        if self._all >= self._most or (self._taken[address] >= self._each and not self._exempt(address)):
            return False
        self._taken[address] += 1
        self._all += 1
        return True

    def leave(self, address: str) -> None:
        """Give a place back."""
        self._all -= 1
        self._taken[address] -= 1
        if not self._taken[address]:
            del self._taken[address]


class BodyBudget:
    """The memory all bodies that are being read may take together, and for how long."""

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self._held, self._all = Counter[str](), 0

    async def read(
        self,
        stream: AsyncIterator[bytes],
        address: str,
        declared: str | None,
        largest: int,
        first: First | None = None,
    ) -> bytes:
        """The body, as long as it keeps its limits; a longer one is refused before it is held in memory.

        The `first` bytes are checked as soon as they are there: until then nothing counts for the budget.
        """
        if declared is not None:
            check_size(int(declared) if declared.isascii() and declared.isdigit() else largest + 1, largest)
        parts: list[bytes] = []
        length = held = 0
        try:
            async for part in self._in_time(stream):
                length += len(part)
                check_size(length, largest)
                parts.append(part)
                if first is not None and length >= first[0]:
                    parts = [b"".join(parts)]
                    first[1](parts[0][: first[0]])
                    first = None
                more = max(0, length - SMALL) - held
                held += more
                self._hold(address, more)
                if more and (self._held[address] > self._limits.share or self._all > self._limits.most):
                    raise RefusedError("rate", "too much is being sent here at once; try again later.")
        finally:
            self._hold(address, -held)
        return b"".join(parts)

    def _hold(self, address: str, more: int) -> None:
        self._all += more
        self._held[address] += more
        if not self._held[address]:
            del self._held[address]

    async def _in_time(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The parts of a body that comes fast enough."""
        limits, clock = self._limits, asyncio.get_running_loop().time
        end, until, awaited = clock() + limits.seconds, clock() + limits.window, limits.window * limits.speed
        while True:
            try:
                async with asyncio.timeout_at(min(end, until)):
                    part = await anext(stream, None)
            except TimeoutError:
                raise RefusedError(
                    "rate",
                    f"a body must come with {limits.speed:g} bytes a second and within {limits.seconds:g} s, "
                    "but did not; send it again.",
                ) from None
            if part is None:
                return
            awaited -= len(part)
            if awaited <= 0:
                until, awaited = clock() + limits.window, limits.window * limits.speed
            yield part
