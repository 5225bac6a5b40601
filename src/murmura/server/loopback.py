"""A whole federation in one process, carried by the wire's own messages: what is simulated is only the network.

A coordinator, two aggregators and a device for every client exchange the signed manifests, tickets, shares and
receipts of docs/wire.md, encoded and checked as between real machines, without a socket. Time passes when
nobody has anything to do.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from murmura.algorithms import ALGORITHMS
from murmura.algorithms.preset import Preset
from murmura.channel import key_pairs
from murmura.channel.noise import NoiseSource, simulated_noise, system_noise
from murmura.channel.shares import Entropy
from murmura.core.codec import decode
from murmura.core.consent import Permission
from murmura.core.contract import Phase
from murmura.core.errors import FederationError, SettingError
from murmura.core.settings import as_dict
from murmura.device.device import Device, VisitOutcome
from murmura.device.simulated import SimulatedDevices, register_devices
from murmura.device.storage import InMemoryStorage
from murmura.engine.federation import Federation, Runtime
from murmura.engine.plan import Plan
from murmura.server import endpoints
from murmura.server.aggregator.aggregator import Aggregator, Role
from murmura.server.coordinator.coordinator import Coordinator
from murmura.server.coordinator.setup import FederationSetup, RoundTiming
from murmura.server.database import ServerDatabase
from murmura.server.dispatch import respond
from murmura.wire import wire
from murmura.wire.admission import OwnAdmission
from murmura.wire.description import FederationDescription
from murmura.wire.signed_records import ServerKey
from murmura.wire.transport import REPLY_BYTES, HttpReply, check_length

COORDINATOR, SEED, VECTOR = "http://coordinator", "http://seed", "http://vector"
AT_ONCE = RoundTiming(round=60, hold=0, spread=0)  # a device sends as soon as it has trained
HEADERS = {"secure-sum": 2 * wire.SHARE_HEADER, "readable": wire.REPORT_HEADER}  # of an upload
Machine = Callable[[str, str, bytes, Mapping[str, str]], HttpReply]


@dataclass
class VirtualClock:
    """Seconds that pass when somebody sleeps."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        """The time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass, and others do something."""
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class Network:
    """Takes requests to the machines of one process."""

    machines: dict[str, Machine] = field(default_factory=dict)  # by address
    letters: list[bytes] = field(default_factory=list)  # updates that were not split into shares

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        """The reply of the machine at an address."""
        await asyncio.sleep(0)
        found = re.fullmatch(r"(http://\w+)(/.*)", url)
        if found is None or found[1] not in self.machines:
            raise FederationError(f"the in-memory network knows {', '.join(self.machines)}, but not {url}.")
        if found[2] == "/letters":
            self.letters.append(body)
        reply = self.machines[found[1]](method, found[2], body, headers)
        check_length(url, len(reply.body), largest)
        return reply


@dataclass(eq=False)
class Servers:
    """The coordinator of a federation and, for secure sums, its two aggregators, on one network."""

    folder: Path
    setup: FederationSetup
    network: Network
    clock: VirtualClock
    entropy: Entropy = os.urandom
    noise: NoiseSource = system_noise  # of the aggregators
    aggregators: dict[Role, Aggregator] = field(default_factory=dict)
    admitter: ServerKey = field(default_factory=lambda: ServerKey(key_pairs.new_key("signing")))  # who invites
    coordinator: Coordinator = field(init=False)
    _stores: list[ServerDatabase] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.setup = replace(self.setup, admitter=self.admitter.public.hex())
        self.start_coordinator()
        if self.setup.channel.channel == "secure-sum":
            self.start_aggregator("seed")
            self.start_aggregator("vector")

    def start_coordinator(self) -> None:
        """Start it from its file: the first time, or again."""
        store = self._store("coordinator", "coordinator")
        self.coordinator = Coordinator(self.setup, store, self.clock, self.entropy)
        self.network.machines[COORDINATOR] = partial(respond, self.coordinator, endpoints.COORDINATOR)

    def start_aggregator(self, role: Role, minimum: int = 1) -> Aggregator:
        """Start one from its file: the first time, or again."""
        store = self._store(role, "aggregator")
        key = self.coordinator.key.public
        made = Aggregator(role, store, self.clock, minimum, key, noise=self.noise)
        self.aggregators[role] = made
        self.network.machines[f"http://{role}"] = partial(respond, made, endpoints.AGGREGATOR)
        return made

    async def agree(self) -> None:
        """Let the machines agree on the terms: nobody can join before that."""
        if not self.coordinator.rounds.keeper.confirmed:
            await self.turn()

    def admission(self, client: int) -> OwnAdmission:
        """A new invitation's admission, for any client."""
        return OwnAdmission.create(self.admitter, self.coordinator.rounds.store.federation)

    def close(self) -> None:
        """Let go of the files."""
        for store in self._stores:
            store.close()

    def _store(self, name: str, role: str) -> ServerDatabase:
        made = ServerDatabase(self.folder / f"{name}.db", role)
        self._stores.append(made)
        return made

    async def turn(self) -> None:
        """Let the coordinator move on as far as it can."""
        await self.coordinator.rounds.advance(self.network)


class Loopback(Runtime):
    """A runtime: every client is a device of its own, and every update crosses the wire.

    `arrival` seeds a shuffled order in which the devices look at the coordinator; no result depends on it.
    """

    def __init__(self, arrival: int | None = None) -> None:
        self.arrival = arrival
        self._running: _RunningFederation | None = None

    def run(self, federation: Federation, rounds: range) -> None:
        """Run these rounds; refuses a federation whose first rounds were run elsewhere."""
        if self._running is None or self._running.federation is not federation:
            if rounds.start:
                raise SettingError(
                    f"loopback must run a training from its first round, but {rounds.start} rounds are done; "
                    "go on with the runtime that ran them."
                )
            self._running = _RunningFederation(federation, self.arrival)
        self._running.run(rounds)


class _RunningFederation:
    """Servers and devices of one training."""

    def __init__(self, f: Federation, arrival: int | None) -> None:
        self.federation, self._arrival = f, arrival
        plan, algorithm = f.full_plan, f.plan.algorithm
        if f.record is not None or f.record_sums is not None:
            raise SettingError("updates on the wire are shares, so loopback can show none; record in process.")
        name = f"{algorithm.name} by loopback"
        self._preset = Preset(name, type(algorithm), "", parts=(), fixed=plan.schedule)
        setup = FederationSetup(
            self._preset(**as_dict(algorithm)),
            FederationDescription.of(plan.data.items, plan.info),
            plan.channel,
            AT_ONCE,
            plan.seed,
            (SEED, VECTOR) if plan.channel.channel == "secure-sum" else (),
            plan.info.clients,
            exact=True,
        )
        folder, clock, self._network = Path(mkdtemp(prefix="murmura-")), VirtualClock(), Network()
        weakref.finalize(self, shutil.rmtree, folder)
        noise = simulated_noise(plan.seed)  # of a simulation, as in process: nobody is protected by it
        self.servers = Servers(folder, setup, self._network, clock, noise=noise)
        weakref.finalize(self, self.servers.close)
        with ALGORITHMS.also(name, self._preset):
            self._devices: list[Device] = asyncio.run(self._join(_devices(plan)))
        self.servers.coordinator.order("start")

    async def _join(self, simulated: SimulatedDevices) -> list[Device]:
        """Every client becomes a device, by an invitation of its own."""
        await self.servers.agree()
        invited = replace(simulated, admission=self.servers.admission)
        clock = self.servers.clock
        return await register_devices(invited, self._network, os.urandom, clock, clock.sleep)

    def run(self, rounds: range) -> None:
        """Exchanges until these rounds are done."""
        with ALGORITHMS.also(self._preset.name, self._preset):
            while self.servers.coordinator.rounds.now.position.done < rounds.stop:
                asyncio.run(self._exchange())
        self.federation.rounds = rounds.stop

    async def _exchange(self) -> None:
        """One phase of one round: it is opened, every device looks at it, and it ends."""
        f, coordinator, clock = self.federation, self.servers.coordinator, self.servers.clock
        at = coordinator.rounds.now.position
        phase = f.plan.itinerary.phase(at)
        self._network.letters.clear()
        await self.servers.turn()
        order = np.arange(len(self._devices))
        if self._arrival is not None:
            order = np.random.default_rng((self._arrival, at.serial)).permutation(order)
        outcomes = {client: await self._devices[client].visit() for client in order.tolist()}
        live = coordinator.rounds.live
        refused = (
            {} if live is None or live.individual_reports is None else dict(live.individual_reports.left_out)
        )
        await self.servers.turn()
        if coordinator.rounds.now.position == at and live is not None:
            clock.now = live.manifest.deadline + 1  # somebody takes no part, so the round waits for its end
            await self.servers.turn()
        if coordinator.rounds.now.position != f.plan.itinerary.after_success(at):
            why = coordinator.history(1)[0]["reason"]
            raise FederationError(f"phase '{phase.name}' of round {at.round} was given up: {why}")
        self._take_over(phase, at.round, outcomes, refused)

    def _take_over(
        self, phase: Phase, round: int, outcomes: dict[int, VisitOutcome], refused: dict[int, str]
    ) -> None:
        """What the servers and the devices have learned, and what left the devices."""
        f, now = self.federation, self.servers.coordinator.rounds.now
        for client, outcome in sorted(outcomes.items()):
            if outcome.kind == "sent" or client in refused:
                self._count(phase, round, client)
            elif outcome.kind == "declined" and phase.combine == "each":
                refused[client] = outcome.why
        self._count_items(phase)
        f.refused |= refused
        sent = (client for client, outcome in outcomes.items() if outcome.kind == "sent")
        f.remember_counted(phase, (client for client in sent if client not in refused))
        f.step(now.server, now.answers)
        f.count_outcome(phase, np.array([c for c, outcome in outcomes.items() if outcome.kind == "sent"]))

    def _count(self, phase: Phase, round: int, client: int) -> None:
        """What one device has learned and sent, by its own journal; headers of messages are not counted."""
        f, storage = self.federation, self._devices[client].storage
        assert isinstance(storage, InMemoryStorage)
        assert storage.last is not None
        f.keep(client, storage.memory.state)
        f.tally.visits += 1
        f.tally.rows_up += storage.last.rows
        f.tally.bytes_up += storage.last.bytes - HEADERS[f.plan.channel.channel]
        f.count_download(phase, 1, np.array([client]))
        rows = slice(f.plan.people.start[client], f.plan.people.start[client + 1])
        f.tally.sent[rows] = np.isin(f.plan.people.item[rows], storage.memory.sent)
        f.tally.disclosed[client] = f.tally.sent[rows].sum()
        chain = f.plan.chains.get(phase.name)
        if chain is not None:
            f.tally.item_rows[chain.block(round)] += sum(table.space == "item" for table in phase.sends.tables)

    def _count_items(self, phase: Phase) -> None:
        """Which items the updates that the server reads had rows of."""
        for message in self._network.letters if phase.combine == "each" else ():
            update = decode(wire.IndividualReport.decode(message).update, phase.sends)
            for table in phase.sends.tables:
                if table.space == "item":
                    self.federation.tally.item_rows[update.tables[table.name].index] += 1


def _devices(plan: Plan) -> SimulatedDevices:
    """A device for every client, each with its owner's own consent."""
    clients, mode = range(plan.info.clients), plan.choices.mode
    allowed = [_permission(plan, client) for client in clients]
    return SimulatedDevices(
        COORDINATOR, plan.data, plan.seed, clients, allowed.__getitem__, mode, True, True, plan.groups
    )


def _permission(plan: Plan, client: int) -> Permission:
    """What the owner of a device allows; refuses a group whose members allow different things."""
    choices, rows = plan.choices, plan.data.by_user
    users = [client] if plan.groups is None else np.flatnonzero(plan.groups == client).tolist()
    allowed = {(float(choices.pi[user]), bool(choices.statistics[user])) for user in users}
    if len(allowed) > 1:
        raise SettingError(
            "the people of a group must allow the same where they share a device, but do not; "
            "give them one pi, or run the training in process."
        )
    ((pi, statistics),) = allowed
    own = np.concatenate([np.arange(rows.start[user], rows.start[user + 1]) for user in users])
    never = np.unique(rows.index[own[choices.excluded[own]]])
    return Permission(pi=pi, statistics=statistics, never=tuple(never.tolist()))
