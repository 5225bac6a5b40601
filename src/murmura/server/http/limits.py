"""Whose request it is, and how much one address may take of a server, so that the others still get through.

X-Forwarded-For is believed where the operator said so. A browser asks before it sends to another origin (CORS,
the Fetch standard), and shows a page no answer that does not name its origin. Devices that are no browsers are
not bound by it, so nothing here decides who may take part.
"""

from __future__ import annotations

import ipaddress
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

from murmura.core.errors import SettingError
from murmura.server.dispatch import check_size
from murmura.server.endpoints import SMALL
from murmura.wire.refusals import RefusedError
from murmura.wire.transport import VERSION_HEADER, HttpReply

DIGITS = 19  # of a length that a parser can hold in 64 bits
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


class BodyBudget:
    """The memory all bodies that are being read may take together."""

    def __init__(self, limits: BodyLimits) -> None:
        self.limits = limits
        self._held, self._all = Counter[str](), 0

    def hold(self, address: str, more: int) -> None:
        """Count so many bytes more for an address; refuses them where that is too much."""
        self._all += more
        self._held[address] += more
        if more > 0 and (self._held[address] > self.limits.share or self._all > self.limits.most):
            self.free(address, more)
            raise RefusedError("rate", "too much is being sent here at once; try again later.")

    def free(self, address: str, held: int) -> None:
        """Give it back."""
        self._all -= held
        self._held[address] -= held
        if not self._held[address]:
            del self._held[address]


class BodyReader:
    """A body while it is read, as long as it keeps its limits; whoever reads closes it.

    The `first` bytes are checked as soon as they are there: until then nothing counts for the budget, and a
    longer body than may come is refused before it is held in memory. What has passed the check and has said
    its length is received where it stays (`unfilled`); anything else takes no more memory than has come of it.
    """

    def __init__(
        self,
        budget: BodyBudget,
        address: str,
        declared: str | None,
        largest: int,
        now: float,
        first: First | None = None,
    ) -> None:
        self._budget, self._address, self._largest, self._first = budget, address, largest, first
        self._declared: int | None = None
        if declared is not None:
            number = len(declared) <= DIGITS and declared.isascii() and declared.isdigit()
            self._declared = int(declared) if number else largest + 1
            check_size(self._declared, largest)
        self._content, self._held = bytearray(), 0
        self.length = 0  # bytes that have come
        self.in_place = False  # the rest goes into the room
        limits = budget.limits
        self._end, self._until = now + limits.seconds, now + limits.window
        self._awaited = limits.window * limits.speed

    @property
    def deadline(self) -> float:
        """When it is refused unless more has come."""
        return min(self._end, self._until)

    @property
    def since(self) -> float:
        """When so much of it came last that it was on time."""
        return self._until - self._budget.limits.window

    @property
    def slow(self) -> RefusedError:
        """Why it is refused then."""
        limits = self._budget.limits
        return RefusedError(
            "rate",
            f"a body must come with {limits.speed:g} bytes a second and within {limits.seconds:g} s, "
            "but did not; send it again.",
        )

    def add(self, part: bytes, now: float) -> None:
        """A part of it has come."""
        check_size(self.length + len(part), self._largest)
        self._content += part
        self._came(len(part), now)
        if self._first is not None and self.length >= self._first[0]:
            size, check = self._first
            self._first = None
            check(bytes(self._content[:size]))
            self._allocate()
        self._hold(len(self._content))

    def _allocate(self) -> None:
        if self._declared is None or self.length >= self._declared:
            return
        self._hold(self._declared)
        whole = bytearray(self._declared)
        whole[: self.length] = self._content
        self._content, self.in_place = whole, True

    def unfilled(self) -> memoryview:
        """Where the rest of it goes."""
        return memoryview(self._content)[self.length :]

    def fill(self, count: int, now: float) -> bool:
        """So many bytes have come into the room; whether that was the last of it."""
        self._came(count, now)
        return self.length == self._declared

    def _came(self, count: int, now: float) -> None:
        self.length += count
        self._awaited -= count
        if self._awaited <= 0:
            limits = self._budget.limits
            self._until, self._awaited = now + limits.window, limits.window * limits.speed

    def _hold(self, size: int) -> None:
        more = max(0, size - SMALL) - self._held
        if more > 0:
            self._budget.hold(self._address, more)
            self._held += more

    def content(self) -> bytes | bytearray:
        """The body; what was received where it stays is not copied."""
        return self._content if self.in_place else bytes(self._content)

    def close(self) -> None:
        """It is over, however it ended."""
        self._budget.free(self._address, self._held)
        self._held = 0


REMEMBERED = 4096  # addresses of which it is known whether they are a proxy's
LONGEST = 64  # characters of an address


class Proxies:
    """The networks whose word on where a request comes from is taken."""

    def __init__(self, networks: tuple[str, ...]) -> None:
        self._networks = [ipaddress.ip_network(one) for one in networks]
        self._known = lru_cache(REMEMBERED)(self._look)

    def has(self, address: str) -> bool:
        """Whether an address is a proxy's: all its clients share its connections."""
        return bool(self._networks) and len(address) <= LONGEST and self._known(address)

    def _look(self, address: str) -> bool:
        try:
            found = ipaddress.ip_network(address)
        except ValueError:
            return False
        return any(one.version == found.version and one.overlaps(found) for one in self._networks)

    def client(self, peer: str, forwarded: str | None) -> str:
        """The last address on the way that is no proxy's; `forwarded` is the header as it came."""
        if not forwarded or not self.has(peer):
            return peer
        named = [_host(one.strip()) for one in forwarded.split(",")]
        return next((one for one in reversed(named) if not self.has(one)), named[0]) or peer


def _host(named: str) -> str:
    """An address without its port."""
    if named.startswith("["):
        return named[1:].partition("]")[0]
    return named.partition(":")[0] if named.count(":") == 1 else named


MAX_AGE = 600  # seconds for which a browser need not ask again


@dataclass(frozen=True)
class PageOrigin:
    """The one origin whose page may send shares here."""

    origin: str

    @staticmethod
    def of(url: str) -> PageOrigin:
        """The origin of an address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
            raise SettingError(
                f"--page-origin must be an address such as https://films.example, but it is '{url}'."
            )
        return PageOrigin(f"{parts.scheme}://{parts.netloc}")

    @property
    def headers(self) -> dict[str, str]:
        """What every answer says, whoever asks."""
        return {"access-control-allow-origin": self.origin, "vary": "origin"}

    def preflight(self) -> HttpReply:
        """Which requests its page may make."""
        return HttpReply(
            204,
            b"",
            {
                "access-control-allow-methods": "POST",
                "access-control-allow-headers": f"content-type, {VERSION_HEADER}",
                "access-control-max-age": str(MAX_AGE),
            },
        )
