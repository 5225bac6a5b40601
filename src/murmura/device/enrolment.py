"""A device's place in a federation: joining with what its owner likes, and leaving."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.consent_draws import needed_times
from murmura.core.arrays import Longs
from murmura.core.consent import DisclosureMode, Permission
from murmura.core.errors import DataError
from murmura.core.rng import Words
from murmura.core.settings import changed
from murmura.device.download_cache import DownloadCache
from murmura.device.folder import DeviceFolder, LikedItem
from murmura.device.storage import Identity
from murmura.device.trust import agreed_terms
from murmura.wire.admission import OwnAdmission, join_proof
from murmura.wire.description import FederationDescription
from murmura.wire.refusals import RefusedError, UnreachableError, forged, malformed
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import Transport, ask, bearer
from murmura.wire.wire import check_version

MOST_PLACES = 1 << 24


async def register(
    send: Transport,
    url: str,
    terms: FederationTerms,
    admission: OwnAdmission | None,
    token: str,
    slot: int | None = None,
) -> int:
    """Take a place under this token, the one that is wanted; its number, asked again the same one."""
    wanted: dict[str, object] = {"token": token} if slot is None else {"token": token, "slot": slot}
    if terms.admission == "invited":
        if admission is None:
            raise RefusedError(
                "unauthorised", "this federation is for invited devices; join with an invitation (murmura://…)."
            )
        proof = join_proof(admission, terms.federation, token)
        wanted |= {"admission": admission.shown.encode().hex(), "proof": proof.hex()}
    reply = (await ask(send, "POST", f"{url}/devices", json.dumps(wanted).encode())).json()
    given = reply.get("slot")
    # under another token than its own it would be told apart, or from nobody; and its number is counted up to
    if reply.get("token") != token or type(given) is not int or not 0 <= given < MOST_PLACES:
        raise malformed("a place must have this device's token and a number, but has not.")
    return given


OVER = ("finished", "stopped")  # someone who comes now needs no place: nothing will be asked of her


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
        raise forged(
            f"a release window must last at least {request.shortest_window:g} seconds, but lasts {seconds:g}: "
            "sums of two of them would show who came between; do not join, or say --shortest-window."
        )
    described = await DownloadCache(request.url, send, terms).description()
    likes, foreign = known_positives(described, request)
    never = tuple(n for n in described.items.find(request.never).tolist() if n >= 0)
    token, place = "", -1
    if (await about(send, request.url)).get("state") not in OVER:
        token = folder.wanted_token()
        place = await register(send, request.url, terms, request.admission, token, request.slot)
    shared = {one.name: getattr(request, one.name) for one in fields(Identity) if hasattr(request, one.name)}
    identity = Identity(**shared, terms=terms, token=token, place=place)
    folder.create(identity, likes, changed(request.permission, never=never))
    return foreign


def known_positives(described: FederationDescription, request: JoinRequest) -> tuple[list[LikedItem], int]:
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
