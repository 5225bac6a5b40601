"""Joining a federation and staying in it: first contact, the loop of visits, leaving."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.consent_draws import needed_times
from murmura.core.arrays import Longs
from murmura.core.consent import DisclosureMode, Permission
from murmura.core.errors import DataError, MurmuraError
from murmura.core.rng import Words
from murmura.core.settings import changed
from murmura.device.device import Device, VisitOutcome
from murmura.device.download_cache import DownloadCache
from murmura.device.folder import DeviceFolder, LikedItem
from murmura.device.places import Place, register
from murmura.device.storage import Identity
from murmura.device.trust import GoneBackError, TermsChangedError, agreed_terms
from murmura.wire.admission import OwnAdmission
from murmura.wire.description import FederationDescription
from murmura.wire.http_transport import HttpTransport
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.transport import Transport, ask, bearer
from murmura.wire.wire import check_version

OVER = ("finished", "stopped")  # someone who comes now needs no place: nothing will be asked of her
POLL = 2.0  # seconds between looks while nothing is announced, on average
LATER = 600.0  # and while the servers show an older log than before, whatever they announce


@dataclass(frozen=True, eq=False)
class JoinRequest:
    """How a device wants to join."""

    url: str
    labels: NDArray[Any]  # (rows,) the owner's names for what she likes
    values: NDArray[Any]  # (rows,)
    secret: Words
    permission: Permission
    minimum: int = 100
    readable: bool = False
    exact: bool = False
    disclosure: DisclosureMode = "sticky"
    keep_back: float = 0.0  # share of the rows, the last ones, not trained on
    never: tuple[Any, ...] = ()  # labels
    person: NDArray[Any] | None = None  # (rows,) whose row, by the place in `people`
    people: tuple[str, ...] = ()  # the names of a household; empty: one owner
    slot: int | None = None
    fingerprint: bytes | None = None  # hash of the terms, from an invitation; None: whoever answers is believed
    admission: OwnAdmission | None = None
    shortest_window: float = 3600.0  # joins no federation that releases the same sum more often than this
    time: Longs | None = None  # (rows,) seconds since 1970, where they are known; they never leave


async def about(send: Transport, url: str) -> dict[str, Any]:
    """What a federation says of itself; refuses another version of the protocol."""
    federation = (await ask(send, "GET", f"{url}/federation")).json()
    check_version(federation.get("protocol"))
    return federation


async def join(request: JoinRequest, folder: DeviceFolder, send: Transport) -> int:
    """Register and make the device's folder; how many rows are of items the federation does not have."""
    if request.disclosure == "block":
        needed_times(request.time)
    terms = await agreed_terms(send, request.url, request.fingerprint)
    seconds = float(terms.windows.seconds)
    if 0 < seconds < request.shortest_window:
        raise RefusedError(
            "forged",
            f"a release window must last at least {request.shortest_window:g} seconds, but lasts {seconds:g}: "
            "sums of two of them would show who came between; do not join, or say --shortest-window.",
        )
    described = await DownloadCache(request.url, send, terms).description()
    likes, foreign = known_likes(described, request)
    never = tuple(n for n in described.items.find(request.never).tolist() if n >= 0)
    over = (await about(send, request.url)).get("state") in OVER
    token = folder.wanted_token()
    place = Place("", -1)
    if not over:
        place = await register(send, request.url, terms, request.admission, token, request.slot)
    identity = Identity(
        request.url,
        terms,
        place.token,
        request.secret,
        place.slot,
        request.admission,
        request.minimum,
        request.readable,
        request.exact,
        request.disclosure,
        request.people,
    )
    folder.create(identity, likes, changed(request.permission, never=never))
    return foreign


def known_likes(described: FederationDescription, request: JoinRequest) -> tuple[list[LikedItem], int]:
    """The rows of items on offer, each once, everybody's last ones kept back; how many rows are of others."""
    if len(request.people) > described.info.people:
        raise DataError(
            f"a device of this federation must be shared by at most {described.info.people} people, but the "
            f"data has {len(request.people)}; name one with --user, or ask the operator for larger groups."
        )
    codes = described.items.find(request.labels)
    used = np.isin(codes, described.info.listed)
    if not used.any():
        raise DataError(
            f"the data must have at least one of the federation's {len(described.items)} items, but none of "
            f"its {len(codes)} rows has; check that both use the same ids."
        )
    whose = np.zeros(len(codes), np.int32) if request.person is None else request.person
    # the last row of an item counts
    rows = {(int(whose[n]), int(codes[n])): n for n in np.flatnonzero(used).tolist()}
    held, placed = Counter(person for person, _ in rows), Counter[int]()
    likes = []
    for (person, code), n in rows.items():
        placed[person] += 1
        kept_back = placed[person] > held[person] - int(request.keep_back * held[person])
        when = None if request.time is None else int(request.time[n])
        likes.append(
            LikedItem(request.labels[n].item(), code, float(request.values[n]), kept_back, person, when)
        )
    return likes, int((~used).sum())


class ManifestEvents:
    """Announcements of the coordinator; polling alone loses nothing but a little time."""

    def __init__(self, announcer: HttpTransport | None, url: str) -> None:
        self._event = asyncio.Event()
        self._task = None if announcer is None else asyncio.create_task(self._listen(announcer, url))

    async def _listen(self, announcer: HttpTransport, url: str) -> None:
        while True:
            with contextlib.suppress(UnreachableError):
                async for line in announcer.lines(f"{url}/events"):
                    if line.startswith("data:"):
                        self._event.set()
            await asyncio.sleep(POLL)

    async def wait(self) -> None:
        """Until something is announced, or for about as long as a poll takes."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), POLL * _jitter())
        self._event.clear()

    async def rest(self) -> None:
        """For much longer: what is announced meanwhile is of no use."""
        await asyncio.sleep(LATER * _jitter())
        self._event.clear()

    async def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task


def _jitter() -> float:
    return random.uniform(0.5, 1.5)  # spreads load, protects nothing


async def stay(
    device: Device,
    events: ManifestEvents,
    tell: Callable[[VisitOutcome], None],
    after: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Visit again and again until the federation is finished; a coordinator that is away is waited for.

    So are servers that have gone back. `after` is called whenever the device may have a newer model.
    """
    passing: type[MurmuraError] | None = None  # what is in the way and may pass: said once
    while True:
        try:
            outcome = await device.visit()
            passing = None
        except (UnreachableError, GoneBackError) as error:
            outcome = VisitOutcome("idle" if type(error) is passing else "refused", why=str(error))
            passing = type(error)
        except RefusedError as error:
            outcome = VisitOutcome("refused", why=str(error))
            if isinstance(error, TermsChangedError) and isinstance(device.storage, DeviceFolder):
                device.storage.offer(error.offered)
            if error.code in ("unauthorised", "version", "forged"):
                raise
        if outcome.kind != "idle":
            tell(outcome)
        if after is not None and outcome.kind in ("sent", "not-called", "finished"):
            with contextlib.suppress(UnreachableError, RefusedError):
                await after()
        if outcome.kind == "finished":
            return
        await (events.rest() if passing is GoneBackError else events.wait())


async def leave(folder: DeviceFolder, send: Transport) -> str | None:
    """Tell the coordinator and delete everything here; what went wrong with the first, if anything."""
    identity, why = folder.identity(), None
    try:
        if identity.token:
            await ask(send, "DELETE", f"{identity.url}/devices/me", headers=bearer(identity.token))
    except (UnreachableError, RefusedError) as error:
        why = str(error)
    folder.delete()
    return why
