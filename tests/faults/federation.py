"""A small federation of real processes, the devices that take part in it, and the plain loop it is held to.

`Crowd.replay` does again, without network, shares or processes, exactly the rounds the coordinator has written
down, with the devices that got their receipts. If any update were lost, doubled or half applied, the models
would differ in their bits.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import sqlite3
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from murmura.algorithms import algorithm
from murmura.channel.chain import Chain
from murmura.channel.phase_chains import chain
from murmura.core.channel import ChannelSettings
from murmura.core.codec import encode_model
from murmura.core.consent import Permission
from murmura.core.contract import ClientState, FederationInfo, History, Phase, RoundContext, ServerState
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.rng import Rng, Words, client_secrets, server_secret
from murmura.device.device import Device, VisitOutcome
from murmura.device.download_cache import DownloadCache
from murmura.device.enrolment import register
from murmura.device.http_transport import HttpTransport
from murmura.device.storage import Identity, InMemoryStorage
from murmura.device.trust import fetch_terms
from murmura.engine.visit import visit
from murmura.server.coordinator.setup import FederationSetup, RoundTiming
from murmura.wire.admission import OwnAdmission
from murmura.wire.description import FederationDescription
from murmura.wire.manifest import LARGEST_ENVELOPE, Manifest
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.signed_records import ServerKey
from murmura.wire.transport import HttpReply, Transport, ask
from tests.faults.canary import nothing_of_one_person
from tests.faults.machines import MINIMUM, SECONDS, Machines

SEED, PEOPLE, ITEMS, ROWS = 11, 10, 24, 100
ROUNDS = 2  # the prior, then one of training
SETTINGS: dict[str, object] = {"rounds": ROUNDS - 1, "clients": "all", "factors": 4}
EVERY = 0.03  # seconds between looks at the coordinator
LONG = 600.0  # seconds of a round: only tests that move the clock see its end
T = TypeVar("T")


def options(folder: Path, round_seconds: float = LONG, places: int = PEOPLE) -> list[str]:
    """What `murmura serve` is told."""
    items = folder / "items.txt"
    items.write_text("\n".join(map(str, range(ITEMS))), encoding="utf-8")
    words = ["--items", str(items), "--clients", str(places), "--interactions", str(ROWS), "--seed", str(SEED)]
    chosen = [word for name, value in SETTINGS.items() for word in ("-S", f"{name}={value}")]
    timing = ["--round-seconds", str(round_seconds), "--hold", "0", "--spread", "0"]
    return [*words, *chosen, *timing, "--start", "--wait-for", str(PEOPLE)]


def likes(client: int) -> History:
    rng = np.random.default_rng(client)
    item = np.sort(rng.choice(ITEMS, 6 + client % 3, replace=False)).astype(np.int32)
    return History.private(item, 1.0)


def people() -> Interactions:
    """All of them as one table."""
    pairs = [(client, item) for client in range(PEOPLE) for item in likes(client).item.tolist()]
    user, item = np.array(pairs).T
    return Interactions.of(user, item)


def secret(client: int) -> Words:
    drawn: Words = client_secrets(SEED, PEOPLE)[client]
    return drawn


async def persist(asked: Callable[[], Awaitable[T]]) -> T:
    """Ask until somebody answers, and until the machines have come to terms."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            return await asked()
        except (UnreachableError, RefusedError) as error:
            if time.monotonic() > until or getattr(error, "code", "paused") != "paused":
                raise
            await asyncio.sleep(EVERY)


@dataclass
class Crowd:
    """Devices in this process; what became of each in each round."""

    url: str
    send: Transport
    clock: Callable[[], float]
    admitter: ServerKey  # who invites
    advance: Callable[[float], object]  # lets time pass for all machines
    devices: dict[int, Device] = field(default_factory=dict)
    outcomes: dict[int, dict[int, VisitOutcome]] = field(
        default_factory=lambda: defaultdict(dict)
    )  # serial, slot
    incomplete: Callable[[], object] = lambda: None  # called when not everybody could send

    async def join(self, clients: Iterable[int] = range(PEOPLE)) -> None:
        """Each by an invitation and under a token of its own, so that asking twice takes one place."""
        terms = await persist(lambda: fetch_terms(self.send, self.url))
        for client in clients:
            own, token = OwnAdmission.create(self.admitter, terms.federation), secrets.token_hex(32)

            async def enter(slot: int = client, own: OwnAdmission = own, token: str = token) -> int:
                return await register(self.send, self.url, terms, own, token, slot)

            place = await persist(enter)
            identity = Identity(self.url, terms, token, secret(client), place, own, minimum=MINIMUM, exact=True)
            self.devices[client] = self.device(identity, likes(client))

    def device(self, identity: Identity, rows: History) -> Device:
        cache, storage = DownloadCache(self.url, self.send, identity.terms), InMemoryStorage(Permission())
        return Device(identity, storage, rows, cache, self.send, self.clock, asyncio.sleep, secrets.token_bytes)

    async def stay(self, done: Callable[[], bool] = lambda: False) -> None:
        """Take part in every round until the federation is finished, or `done`."""
        etag = ""
        while not done():
            try:
                known = {"if-none-match": etag} if etag else {}
                reply = await ask(
                    self.send, "GET", f"{self.url}/round", headers=known, largest=LARGEST_ENVELOPE
                )
                if reply.status != 304:
                    etag = reply.headers["etag"]
                    await asyncio.gather(*(self.visit(slot, reply) for slot in self.devices))
                    latest = max(self.outcomes, default=0)
                    if len(self.sent().get(latest, ())) < len(self.devices):
                        self.incomplete()
                    continue
            except UnreachableError:
                pass
            except RefusedError as error:
                if error.code == "finished":
                    return
                await self.next_window()
            await asyncio.sleep(EVERY)

    async def next_window(self) -> None:
        """Let the time pass for which a failed exchange of the opening waits, if it does."""
        try:
            told = (await ask(self.send, "GET", f"{self.url}/federation")).json()
        except (UnreachableError, RefusedError):
            return
        wait = float(told["waits_until"]) - self.clock()
        if wait > 0:
            self.advance(wait + 1)

    async def visit(self, slot: int, reply: HttpReply) -> None:
        """One device deals with one manifest."""
        device = self.devices[slot]
        try:
            outcome = await device.take_part(reply)
        except (UnreachableError, RefusedError) as error:
            outcome = VisitOutcome("refused", why=str(error))
        if outcome.kind != "idle":
            assert device.manifest is not None
            self.outcomes[device.manifest.serial][slot] = outcome

    def sent(self) -> dict[int, set[int]]:
        """Who got all receipts, by the serial number of the round."""
        return {
            serial: {slot for slot, outcome in seen.items() if outcome.kind == "sent"}
            for serial, seen in self.outcomes.items()
        }


@dataclass(frozen=True)
class Written:
    """One line of the coordinator's book."""

    manifest: Manifest
    state: str
    reports: int | None
    reason: str | None


def book(folder: Path) -> list[Written]:
    """Every round the coordinator at this folder has opened."""
    with sqlite3.connect(folder / "coordinator.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = db.execute("SELECT manifest, state, reports, reason FROM rounds ORDER BY serial").fetchall()
    db.close()
    return [Written(Manifest.decode(bytes(row[0])), *row[1:]) for row in rows]


def current_model(folder: Path) -> bytes:
    """The hash of the model the coordinator stands by."""
    db = sqlite3.connect(folder / "coordinator.db")
    (found,) = db.execute("SELECT value FROM facts WHERE name = 'model'").fetchone()
    db.close()
    return bytes(found)


class Plain:
    """The same federation as one loop over its clients."""

    def __init__(self) -> None:
        description = FederationDescription(
            Vocabulary(np.arange(ITEMS)), FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), PEOPLE, ROWS)
        )
        settings = ChannelSettings(channel="secure-sum", minimum_cohort=MINIMUM)
        setup = FederationSetup(
            algorithm("cfpl")(**SETTINGS), description, settings, RoundTiming(), SEED, ("a", "b"), PEOPLE
        )
        self.itinerary, self.settings, self.info = setup.itinerary(), settings, description.info
        self.server: ServerState = self.itinerary.algorithm.server_init(self.info, Rng(server_secret(SEED)))
        self.clients: dict[int, ClientState] = {}

    def model_hash(self) -> bytes:
        publishes = self.settings.downloads(self.itinerary.algorithm.publishes(self.info))
        return hashlib.sha256(encode_model(self.server.model, publishes, self.info.listed)).digest()

    def vector(self, m: Manifest, client: int, learn: bool = True) -> Words:
        """What one device adds to the sum of a round."""
        rows, rng, method = likes(client), Rng(secret(client), m.round), self.itinerary.algorithm
        history = History(rows.item, rows.value, np.ones(len(rows.item)))
        state = self.clients.get(client)
        if state is None:
            state = method.client_init(self.info, history, Rng(secret(client)))
        context = RoundContext(self.info, m.phase, m.round, self.server.model)
        made = visit(method, self.phase(m), context, state, history, rng, self.chain(m))
        if learn:
            self.clients[client] = made.state
        assert made.vector is not None
        return made.vector

    def phase(self, m: Manifest) -> Phase:
        return next(one for one in self.itinerary.algorithm.phases(self.info) if one.name == m.phase)

    def chain(self, m: Manifest) -> Chain:
        return chain(self.settings, self.phase(m), self.info, m.largest)

    def commit(self, m: Manifest, vectors: list[Words]) -> None:
        stages = self.chain(m)
        total = stages.server(stages.ring.add_up(vectors), m.round)
        self.server, _ = self.itinerary.algorithm.server_step(m.phase, self.server, total)


def replay(
    written: list[Written], sent: dict[int, set[int]], counted: dict[int, set[int]] | None = None
) -> tuple[Plain, list[Words]]:
    """The plain loop over the rounds written down; every model on the way is checked. Also all vectors.

    `counted` are the devices of each sum where they are not those who got their receipts.
    """
    plain = Plain()
    vectors: list[Words] = []
    for one in written:
        m = one.manifest
        assert m.model.hash == plain.model_hash().hex(), f"manifest {m.serial} builds on another model"
        learned, added = sent.get(m.serial, set()), (counted or sent).get(m.serial, set())
        made = {client: plain.vector(m, client, client in learned) for client in sorted(learned | added)}
        vectors.extend(made.values())
        if one.state == "committed":
            assert one.reports == len(added), (m.serial, one.reports, added)
            plain.commit(m, [made[client] for client in sorted(added)])
    return plain, vectors


@dataclass
class Scene:
    """Machines that run, and devices that have joined; every test is one."""

    machines: Machines
    send: HttpTransport
    crowd: Crowd

    @property
    def folder(self) -> Path:
        return self.machines.folder

    def url(self, name: str) -> str:
        return self.machines.by_name[name].url

    def rows(self, name: str, question: str) -> list[tuple[Any, ...]]:
        """What a machine has written down."""
        db = sqlite3.connect(next((self.folder / name).glob("*.db")))
        try:
            return db.execute(question).fetchall()
        finally:
            db.close()

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything all machines have written down."""
        found = {}
        for name in self.machines.by_name:
            for (table,) in self.rows(name, "SELECT name FROM sqlite_master WHERE type = 'table'"):
                found[f"{name}.{table}"] = self.rows(name, f"SELECT * FROM {table}")
        return found

    async def manifest(self) -> HttpReply:
        """The open round, as soon as there is one."""
        while True:
            try:
                return await ask(self.send, "GET", f"{self.crowd.url}/round", largest=LARGEST_ENVELOPE)
            except RefusedError as error:
                if error.code != "paused":
                    raise
                await self.crowd.next_window()
                await asyncio.sleep(EVERY)

    async def ended(self, serial: int) -> Written:
        """What became of a round, when something has."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            found = [one for one in book(self.folder / "coordinator") if one.manifest.serial == serial]
            if found and found[0].state != "open":
                return found[0]
            await asyncio.sleep(EVERY)
        raise AssertionError(f"round {serial} does not end")

    def check(self, counted: dict[int, set[int]] | None = None) -> list[Written]:
        """Bit for bit the plain sums; nothing of one person anywhere."""
        written = book(self.folder / "coordinator")
        plain, vectors = replay(written, self.crowd.sent(), counted)
        assert current_model(self.folder / "coordinator") == plain.model_hash()
        nothing_of_one_person(self.folder, vectors)
        return written


@asynccontextmanager
async def scene(
    folder: Path, round_seconds: float = LONG, joining: int = PEOPLE, rounds: int = ROUNDS - 1, **named: Any
) -> AsyncIterator[Scene]:
    """Servers that run, and the first `joining` devices in this process."""
    machines = Machines(folder, [*options(folder, round_seconds), "-S", f"rounds={rounds}"], **named)
    async with HttpTransport(connections=128) as send:
        try:
            await machines.start(send)
            crowd = Crowd(machines.url, send, machines.clock, machines.admitter, machines.advance)
            await crowd.join(range(joining))
            yield Scene(machines, send, crowd)
        finally:
            machines.kill()
