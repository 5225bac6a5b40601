"""Many simulated devices in one process against a real coordinator: for tests of equal bits, and for load."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np

from murmura.channel.shares import Entropy
from murmura.core.arrays import Ints
from murmura.core.consent import DisclosureMode, Permission
from murmura.core.contract import History, Samples
from murmura.core.interactions import Interactions
from murmura.core.population import group_means, member_places
from murmura.core.rng import client_secrets
from murmura.device.device import Clock, Device, Sleep, VisitOutcome
from murmura.device.download_cache import DownloadCache
from murmura.device.enrolment import register
from murmura.device.storage import Identity, InMemoryStorage
from murmura.device.trust import agreed_terms, patiently
from murmura.device.visits import ManifestEvents
from murmura.wire.admission import OwnAdmission
from murmura.wire.manifest import LARGEST_ENVELOPE
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.transport import Transport, ask

AT_ONCE = 64  # requests to join at a time


@dataclass(frozen=True)
class SimulatedDevices:
    """Which devices, and how they behave."""

    url: str
    data: Interactions
    seed: int
    clients: range  # slots, which are also the users of the data, or their groups
    permission: Callable[[int], Permission]  # what the owner of each allows
    disclosure: DisclosureMode = "sticky"
    readable: bool = False
    exact: bool = False
    groups: Ints | None = None  # the device of every user, -1 where somebody has none
    admission: Callable[[int], OwnAdmission] | None = None  # of each device, where they are invited
    fingerprint: bytes | None = None  # hash of the terms; None: whoever answers is believed


@dataclass(frozen=True)
class RoundReport:
    """What simulated devices did in one round."""

    round: int
    phase: str
    outcomes: dict[str, int]
    bytes_up: int
    bytes_down: int
    seconds: float
    why: str = ""  # the first reason somebody stayed out, other than not being called


async def register_devices(
    simulated: SimulatedDevices,
    send: Transport,
    entropy: Entropy = os.urandom,
    clock: Clock = time.time,
    sleep: Sleep = asyncio.sleep,
) -> list[Device]:
    """Register the devices, each in its slot."""
    terms = await agreed_terms(send, simulated.url, simulated.fingerprint, sleep)
    cache = DownloadCache(simulated.url, send, terms)
    devices = simulated.data.n_users if simulated.groups is None else int(simulated.groups.max()) + 1
    secrets = client_secrets(simulated.seed, devices)
    described = await cache.description()
    items = np.arange(simulated.data.n_items, dtype=np.int32)  # of samples: their owners' own numbers
    if described.info.task is None:
        items = described.items.index(simulated.data.items.labels.tolist(), "item")
    liked = rows_of_devices(simulated.data, simulated.groups, items)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(client: int) -> Device:
        admission = None if simulated.admission is None else simulated.admission(client)
        token = entropy(32).hex()
        async with gate:
            # asked for again while too many come from one address at once
            place = await patiently(
                lambda: register(send, simulated.url, terms, admission, token, client), sleep, "rate"
            )
        identity = Identity(
            simulated.url,
            terms,
            token,
            secrets[client],
            place,
            admission,
            minimum=1,
            readable=simulated.readable,
            exact=simulated.exact,
            disclosure=simulated.disclosure,
        )
        storage = InMemoryStorage(simulated.permission(client))
        return Device(identity, storage, liked(client), cache, send, clock, sleep, entropy)

    return list(await asyncio.gather(*(one(client) for client in simulated.clients)))


def rows_of_devices(data: Interactions, groups: Ints | None, items: Ints) -> Callable[[int], History]:
    """What each device holds; `items` are the federation's numbers of the items of `data`."""
    device = data.user if groups is None else groups[data.user]
    person = None if groups is None else member_places(groups)[data.user]
    order = np.argsort(device, kind="stable")
    start = np.searchsorted(device[order], np.arange(int(device.max(initial=-1)) + 2))

    said = data.attributes
    if groups is not None:
        said = {name: group_means(groups, column, len(start) - 1) for name, column in said.items()}

    def of(client: int) -> History:
        own = order[start[client] : start[client + 1]]
        whose, when = (None if column is None else column[own] for column in (person, data.time))
        rows = History.private(items[data.item[own]], data.value[own], whose, when)
        rows = replace(rows, attributes={name: float(column[client]) for name, column in said.items()})
        if data.samples is None:
            return rows
        shown, quality = data.samples.inputs(rows.item), data.samples.qualities(rows.item)
        return Samples(**vars(rows), inputs=shown, quality=quality)

    return of


async def run_devices(
    devices: list[Device], events: ManifestEvents, send: Transport, tell: Callable[[RoundReport], None]
) -> None:
    """Take part in every round until the federation is finished; the manifest is fetched once for all."""
    url, etag, cache = devices[0].identity.url, "", devices[0].cache
    while True:
        try:
            known = {"if-none-match": etag} if etag else {}
            reply = await ask(send, "GET", f"{url}/round", headers=known, largest=LARGEST_ENVELOPE)
            if reply.status != 304:
                etag, started = reply.headers.get("etag", ""), time.monotonic()
                before = sum(_sent(device) for device in devices), cache.bytes_down
                outcomes = await asyncio.gather(*(_took_part(device.take_part(reply)) for device in devices))
                up = sum(_sent(device) for device in devices) - before[0]
                tell(_report(outcomes, up, cache.bytes_down - before[1], time.monotonic() - started))
                continue
        except UnreachableError:
            pass
        except RefusedError as error:
            if error.code == "finished":
                return
        await events.wait()


async def _took_part(visit: Awaitable[VisitOutcome]) -> VisitOutcome:
    try:
        return await visit
    except (RefusedError, UnreachableError) as error:
        return VisitOutcome("refused", why=str(error))


def _sent(device: Device) -> int:
    return device.storage.bytes_up if isinstance(device.storage, InMemoryStorage) else 0


def _report(outcomes: list[VisitOutcome], up: int, down: int, seconds: float) -> RoundReport:
    kinds: Counter[str] = Counter(outcome.kind for outcome in outcomes)
    first = next((o for o in outcomes if o.round >= 0), outcomes[0])
    why = next((o.why for o in outcomes if o.kind in ("refused", "declined")), "")
    return RoundReport(first.round, first.phase, dict(kinds), up, down, seconds, why)
