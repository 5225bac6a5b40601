"""Devices with folders of their own, in a federation without sockets; what they sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from murmura.core.consent import Permission
from murmura.core.rng import client_secrets
from murmura.device.device import Device
from murmura.device.download_cache import DownloadCache
from murmura.device.enrolment import JoinRequest, join
from murmura.device.folder import DeviceFolder
from murmura.server.aggregator.aggregator import Role
from murmura.server.loopback import COORDINATOR, SEED, VECTOR
from tests.http.forgery import opened_share
from tests.http.network import SEEDED, World, entropy

TRAINING: dict[str, object] = {"rounds": 2, "clients": "all", "prior": False}


async def settle(world: World, folder: Path, client: int = 0, **wishes: object) -> DeviceFolder:
    """A device of a real folder in slot `client`, by an invitation of its own."""
    await world.servers.agree()
    rows, terms = world.rows(client), world.coordinator.rounds.terms
    request = JoinRequest(
        COORDINATOR,
        world.data.items.labels[rows.item],
        rows.value,
        client_secrets(SEEDED, world.info.clients)[client],
        Permission(),
        minimum=1,
        exact=True,
        slot=client,
        fingerprint=terms.hash,
        admission=world.servers.admission(client),
    )
    made = DeviceFolder(folder)
    await join(replace(request, **wishes), made, world.network)  # type: ignore[arg-type]
    return made


def awake(world: World, folder: DeviceFolder, seed: int = 77) -> Device:
    """The device as a new process finds it."""
    send, clock, own = world.network, world.clock, folder.identity()
    cache = DownloadCache(COORDINATOR, send, own.terms)
    return Device(own, folder, folder.rows(), cache, send, clock, clock.sleep, entropy(seed))


ADDRESSES: dict[Role, str] = {"seed": SEED, "vector": VECTOR}


def reports(world: World, role: Role) -> list[bytes]:
    return [body for _, url, body in world.network.log if url == f"{ADDRESSES[role]}/reports"]


def opened(world: World, role: Role, body: bytes) -> tuple[bytes, bytes]:
    """(payload, mark) of a share, as its aggregator reads it."""
    _, shown, payload = opened_share(world, role, body)
    return payload, shown.mark
