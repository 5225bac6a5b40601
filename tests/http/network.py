"""A federation without sockets: the test is the network, the clock and the randomness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from murmura.algorithms import algorithm
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Permission
from murmura.core.contract import FederationInfo, History
from murmura.core.interactions import Interactions
from murmura.core.rng import client_secrets
from murmura.device.device import Device
from murmura.device.download_cache import DownloadCache
from murmura.device.enrolment import register
from murmura.device.simulated import rows_of_devices
from murmura.device.storage import Identity, InMemoryStorage
from murmura.server.aggregator.aggregator import Aggregator, Role
from murmura.server.coordinator.coordinator import Coordinator
from murmura.server.coordinator.setup import FederationSetup, RoundTiming
from murmura.server.loopback import COORDINATOR, SEED, VECTOR, Network, Servers, VirtualClock
from murmura.wire.description import FederationDescription
from murmura.wire.refusals import UnreachableError
from murmura.wire.signed_records import ServerKey
from murmura.wire.transport import REPLY_BYTES, HttpReply

SEEDED = 11


def entropy(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def people(users: int = 12, items: int = 30) -> Interactions:
    """Two tastes: even users like even items."""
    rng = np.random.default_rng(5)
    pairs = [
        (user, item)
        for user in range(users)
        for item in rng.choice(np.arange(user % 2, items, 2), 6 + user % 3, replace=False).tolist()
    ]
    user, item = np.array(pairs).T
    return Interactions.of(user, item)


@dataclass
class Faults(Network):
    """The network as a test wants it: a machine may be `down`, and bodies may change on the way."""

    down: set[str] = field(default_factory=set)
    log: list[tuple[str, str, bytes]] = field(default_factory=list)
    tamper: Callable[[str, str, bytes], bytes] = lambda method, url, body: body

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        host = next((host for host in self.down if url.startswith(host)), None)
        if host is not None:
            raise UnreachableError(f"{host} is down.")
        body = self.tamper(method, url, body)
        self.log.append((method, url, body))
        return await super().__call__(method, url, body, headers, largest=largest)


@dataclass
class World:
    """One coordinator, two aggregators, devices."""

    folder: Path
    data: Interactions
    method: str = "cfpl"
    settings: dict[str, object] = field(default_factory=dict)
    channel: ChannelSettings = field(
        default_factory=lambda: ChannelSettings(channel="secure-sum", minimum_cohort=10)
    )
    timing: RoundTiming = field(default_factory=lambda: RoundTiming(round=60, hold=0, spread=0))
    clock: VirtualClock = field(default_factory=VirtualClock)
    groups: Ints | None = None  # the device of every user

    def __post_init__(self) -> None:
        self.network = Faults()
        preset = algorithm(self.method)(**self.settings)
        info = FederationInfo.of(self.data, groups=self.groups)
        self.info = replace(info, counts=None) if preset.algorithm().releases_counts else info
        self.setup = FederationSetup(
            preset,
            FederationDescription.of(self.data.items, self.info),
            self.channel,
            self.timing,
            SEEDED,
            (SEED, VECTOR) if self.channel.channel == "secure-sum" else (),
            self.info.clients,
            exact=True,
        )
        admitter = ServerKey(entropy(2)(32))
        self.setup = replace(self.setup, admitter=admitter.public.hex())
        self.servers = Servers(self.folder, self.setup, self.network, self.clock, entropy(1), admitter=admitter)
        self.start_coordinator, self.start_aggregator = (
            self.servers.start_coordinator,
            self.servers.start_aggregator,
        )

    @property
    def coordinator(self) -> Coordinator:
        return self.servers.coordinator

    @property
    def aggregators(self) -> dict[Role, Aggregator]:
        return self.servers.aggregators

    async def join(self, client: int, allowed: Permission | None = None) -> Device:
        await self.servers.agree()
        terms, admission = self.coordinator.rounds.terms, self.servers.admission(client)
        token = entropy(200 + client)(32).hex()
        place = await register(self.network, COORDINATOR, terms, admission, token, client)
        identity = Identity(
            COORDINATOR,
            terms,
            token,
            client_secrets(SEEDED, self.info.clients)[client],
            place,
            admission,
            minimum=1,
            readable=True,
            exact=True,
        )
        storage = InMemoryStorage(allowed or Permission())
        cache = DownloadCache(COORDINATOR, self.network, terms)
        return Device(
            identity,
            storage,
            self.rows(client),
            cache,
            self.network,
            self.clock,
            self.clock.sleep,
            entropy(100 + client),
        )

    def rows(self, client: int) -> History:
        return rows_of_devices(self.data, self.groups, np.arange(self.data.n_items, dtype=np.int32))(client)

    async def everyone(self) -> list[Device]:
        devices = [await self.join(client) for client in range(self.info.clients)]
        self.coordinator.order("start")
        return devices

    def holder(self, report: bytes) -> int | None:
        """The place whose report of the open round this is."""
        live = self.coordinator.rounds.live
        return None if live is None else live.holder(report)

    async def turn(self) -> None:
        await self.servers.turn()

    async def one_round(self, devices: list[Device]) -> None:
        """A round is opened, everyone visits in this order, and it ends."""
        await self.turn()
        for device in devices:
            await device.visit()
        await self.turn()

    async def play(self, devices: list[Device], most: int = 100) -> None:
        """Rounds until the federation is finished."""
        for _ in range(most):
            await self.one_round(devices)
            if self.coordinator.about()["state"] == "finished":
                return
        raise AssertionError("it did not finish")
