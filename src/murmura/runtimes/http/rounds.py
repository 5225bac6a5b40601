"""A round from its manifest to the next model: opened, collected, committed in one transaction or given up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from murmura.channel.chain import Chain
from murmura.core.arrays import Ints
from murmura.core.channel import READABLE
from murmura.core.codec import encode_model
from murmura.core.errors import FederationError, MurmuraError
from murmura.core.federation import Answers, Letters, ServerState, Total
from murmura.core.rng import Rng, server_secret
from murmura.core.settings import as_dict
from murmura.runtimes.http import wire
from murmura.runtimes.http.course import Progress, slots
from murmura.runtimes.http.keys import Key
from murmura.runtimes.http.letters import Mailbox
from murmura.runtimes.http.manifest import Helper, Manifest
from murmura.runtimes.http.pair import Pair, fetch_key
from murmura.runtimes.http.refusals import RefusedError, UnreachableError
from murmura.runtimes.http.setup import Setup
from murmura.runtimes.http.store import Statement, Store, put_fact
from murmura.runtimes.http.transport import Transport
from murmura.runtimes.http.wire import LETTER_HEADER, PROTOCOL

Clock = Callable[[], float]
Entropy = Callable[[int], bytes]
PATIENCE = 1.0  # after its deadline a round may take this many times its length to be added up


@dataclass
class Live:
    """The round at work."""

    manifest: Manifest
    hash: bytes
    envelope: bytes
    called: frozenset[int]
    published: bool = False
    reports: int = 0
    mailbox: Mailbox | None = None  # in readable mode only


@dataclass
class Counters:
    """For the operator's metrics."""

    committed: int = 0
    abandoned: int = 0
    bytes_published: int = 0
    reasons: dict[str, int] = field(default_factory=dict)


class Rounds:
    """The state of a federation, and how it moves on."""

    def __init__(self, setup: Setup, store: Store, key: Key, clock: Clock, entropy: Entropy) -> None:
        self.setup, self.course = setup, setup.course()
        self._store, self._key, self._clock, self._entropy = store, key, clock, entropy
        self._secret = server_secret(setup.seed)
        self._pair: Pair | None = None
        self._description = setup.description.encode()
        self.description_hash = hashlib.sha256(self._description).hexdigest()
        self.counters = Counters()
        self.live: Live | None = None
        if store.fact("progress") is None:
            self._begin_federation()
        self._load()

    def _begin_federation(self) -> None:
        server = self.course.algorithm.server_init(self.course.public, Rng(self._secret))
        named = bytes.fromhex(self.description_hash)
        self._store.write(
            [
                put_fact("federation", self._entropy(16)),
                put_fact("state", b"paused"),
                ("INSERT INTO blobs VALUES (?, ?)", (named, self._description)),
                *self._publication(Progress(), server, {}),
            ],
            durable=True,
        )

    def _load(self) -> None:
        """What the store says; an exchange that was open goes on."""
        self.federation = self._fact("federation").hex()
        self.state = self._fact("state").decode()
        self.progress = Progress.decode(self._fact("progress"))
        self.model_hash = self._fact("model").hex()
        self.server = ServerState(
            wire.unpack_arrays(self._fact("server")), wire.unpack_arrays(self._fact("private"))
        )
        self._answers = wire.unpack_arrays(self._fact("answers"))
        found = self._store.row("SELECT hash, envelope, called FROM rounds WHERE state = 'open'")
        if found is not None:
            envelope = bytes(found[1])
            manifest = Manifest.decode(envelope[wire.SIGNATURE_BYTES :])
            self.live = Live(manifest, bytes(found[0]), envelope, frozenset(slots(found[2]).tolist()))
            if manifest.mode == "readable":
                self._abandon("the coordinator was restarted, and updates are kept in memory only")

    def _fact(self, name: str) -> bytes:
        found = self._store.fact(name)
        assert found is not None, name
        return found

    @property
    def published(self) -> Live | None:
        """The round devices may take part in."""
        return self.live if self.live is not None and self.live.published else None

    def registered(self) -> Ints:
        """The slots of all devices, ascending."""
        found = self._store.rows("SELECT slot FROM devices ORDER BY slot")
        return np.array([slot for (slot,) in found], np.int32)

    def become(self, state: str) -> None:
        """Running, paused or stopped; stopping gives the open round up."""
        self._store.write([put_fact("state", state.encode())], durable=True)
        self.state = state
        if state == "stopped" and self.live is not None:
            self._abandon("the operator stopped the federation")

    async def turn(self, send: Transport) -> None:
        """Move on as far as possible now; called again and again."""
        try:
            if self.live is None:
                await self._begin_round(send)
            elif not self.live.published:
                await self._publish(self.live, send)
            else:
                await self._collect(self.live, send)
        except UnreachableError as error:
            self._give_up_after(PATIENCE, str(error))
        except RefusedError as error:
            if error.code in ("paused", "rate", "full"):
                self._give_up_after(PATIENCE, str(error))
            else:
                self._abandon(str(error), error.code)
        except MurmuraError as error:
            self._abandon(str(error))

    def _give_up_after(self, patience: float, why: str) -> None:
        """A round pends while a machine is away and is then given up; it never goes on with fewer machines."""
        if self.live is not None:
            m = self.live.manifest
            limit = m.deadline + (patience * (m.deadline - m.opened) if self.live.published else 0.0)
            if self._clock() > limit:
                self._abandon(why, "unreachable")

    async def _begin_round(self, send: Transport) -> None:
        if self.state != "running" or self.course.finished(self.progress):
            return
        registered = self.registered()
        awaited = self.setup.wait_for if self.progress.serial == 0 else 0
        needed = max(self.setup.channel.minimum_cohort, awaited)
        if len(registered) < needed:
            return
        if self.setup.channel.channel == "secure-sum" and self._pair is None:
            urls = self.setup.aggregators
            keys = [(await fetch_key(send, url)).hex() for url in urls]
            self._pair = Pair(Helper(urls[0], keys[0]), Helper(urls[1], keys[1]), self._key)
        called = self._cohort(registered)
        manifest = self._manifest(len(called))
        content = manifest.encode()
        envelope = self._key.sign("manifest", content) + content
        row = (manifest.serial, manifest.hash, envelope, called.astype("<i4").tobytes())
        self._store.write(
            [("INSERT INTO rounds VALUES (?, ?, ?, ?, 'open', NULL, NULL, NULL)", row)], durable=True
        )
        self.live = Live(manifest, manifest.hash, envelope, frozenset(called.tolist()))
        await self._publish(self.live, send)

    def _cohort(self, registered: Ints) -> Ints:
        """The phases of one training round have the same devices."""
        if self.progress.step > 0:
            found = self._store.row(
                "SELECT called FROM rounds WHERE serial < ? ORDER BY serial DESC", (self.progress.serial,)
            )
            assert found is not None
            return np.intersect1d(slots(found[0]), registered).astype(np.int32)
        return self.course.cohort(self.progress, registered, self._secret)

    def _manifest(self, called: int) -> Manifest:
        at, setup, now = self.progress, self.setup, round(self._clock(), 3)
        phase = self.course.phase(at)
        readable = setup.channel.channel == "readable"
        last = self._store.row("SELECT hash FROM rounds ORDER BY serial DESC")
        return Manifest(
            protocol=PROTOCOL,
            federation=self.federation,
            serial=at.serial,
            round=at.round,
            nonce=self._entropy(16).hex(),
            previous="" if last is None else bytes(last[0]).hex(),
            preset=setup.preset.name,
            settings=as_dict(self.course.algorithm),
            phase=phase.name,
            combine=phase.combine,
            mode="readable" if readable else "secure-sum",
            description=self.description_hash,
            model=self.model_hash,
            shapes={name: list(array.shape) for name, array in self.server.model.items()},
            answers=bool(self._answers),
            called=called,
            largest=self.course.largest(at),
            minimum=setup.channel.minimum_cohort,
            opened=now,
            deadline=now + setup.timing.round,
            hold=setup.timing.hold,
            spread=setup.timing.spread,
            channel=as_dict(setup.channel),
            seed_aggregator=self._pair.seed if self._pair else None,
            vector_aggregator=self._pair.vector if self._pair else None,
        )

    async def _publish(self, live: Live, send: Transport) -> None:
        """Devices hear of a round when both aggregators are ready for it."""
        if live.manifest.mode == "readable":
            live.mailbox = Mailbox(live.manifest, self.course.public)
        else:
            await self._helpers(live.manifest).open_round(send, live.envelope, self._description)
        live.published = True

    def _helpers(self, manifest: Manifest) -> Pair:
        assert manifest.seed_aggregator is not None
        assert manifest.vector_aggregator is not None
        return Pair(manifest.seed_aggregator, manifest.vector_aggregator, self._key)

    async def _collect(self, live: Live, send: Transport) -> None:
        """Wait for everyone called or for the deadline, then finish."""
        m = live.manifest
        if live.mailbox is not None:
            live.reports = live.mailbox.count
            if live.reports >= m.called or self._clock() > m.deadline:
                self._commit(live, live.mailbox.inbox(), live.reports)
            return
        pair = self._helpers(m)
        try:
            live.reports = await pair.count(send, m)
        except RefusedError as error:
            if error.code != "released":  # it was released before this coordinator was restarted
                raise
            live.reports = m.called
        if live.reports >= m.called or self._clock() > m.deadline:
            chain = m.chain(self.course.public)
            total, count = await pair.total(send, m, chain.ring)
            self._commit(live, self._decoded(chain, total, m.round, count), count)

    def _decoded(self, chain: Chain, total: Any, round: int, count: int) -> Total:
        inbox = chain.server(total, round)
        if inbox.count != count:
            raise FederationError(
                f"a sum of {count} reports must count as many devices, but counts {inbox.count}."
            )
        return inbox

    def _commit(self, live: Live, inbox: Total | Letters, count: int) -> None:
        """The server's step; the next model, the new progress and the round in one transaction."""
        if count < live.manifest.minimum:
            raise RefusedError(
                "too-few", f"a round needs {live.manifest.minimum} updates, but only {count} arrived."
            )
        server, answers = self._step(live.manifest, inbox)
        progress = self.course.after_success(self.progress)
        ended = ("committed", count, self._clock(), live.manifest.serial)
        self._store.write(
            [
                *self._publication(progress, server, answers),
                ("UPDATE rounds SET state = ?, reports = ?, ended = ? WHERE serial = ?", ended),
                ("DELETE FROM tickets WHERE serial = ?", (live.manifest.serial,)),
            ],
            durable=True,
        )
        self.counters.committed += 1
        self.live = None
        self._load()

    def _step(self, manifest: Manifest, inbox: Total | Letters) -> tuple[ServerState, Answers]:
        try:
            return self.course.algorithm.server_step(manifest.phase, self.server, inbox)
        except Exception as error:
            self.become("paused")
            raise FederationError(
                f"the server failed in round {manifest.round} of phase '{manifest.phase}': "
                f"{type(error).__name__}: {error}"
            ) from error

    def _publication(self, progress: Progress, server: ServerState, answers: Answers) -> list[Statement]:
        """The changes that make a server state the current one; the model before it stays for slow readers."""
        public = self.course.public
        downloads = self.setup.channel.downloads(self.course.algorithm.publishes(public))
        content = encode_model(server.model, downloads, public.listed)
        name = hashlib.sha256(content).digest()
        described = bytes.fromhex(self.description_hash)
        kept = self._store.fact("model") or name
        told = {f"{slot}.{key}": array for slot, own in answers.items() for key, array in own.items()}
        self.counters.bytes_published += len(content)
        return [
            ("DELETE FROM blobs WHERE hash NOT IN (?, ?, ?)", (described, kept, name)),
            ("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (name, content)),
            put_fact("model", name),
            put_fact("server", wire.pack_arrays(server.model)),
            put_fact("private", wire.pack_arrays(server.private)),
            put_fact("answers", wire.pack_arrays(told)),
            put_fact("progress", progress.encode()),
        ]

    def _abandon(self, why: str, code: str = "failed") -> None:
        """Give the round up: the model stays as it was, and the round's number is never used again."""
        live = self.live
        if live is None:
            return
        progress = self.course.after_failure(self.progress)
        ended = ("abandoned", live.reports, self._clock(), why[:500], live.manifest.serial)
        self._store.write(
            [
                put_fact("progress", progress.encode()),
                ("UPDATE rounds SET state = ?, reports = ?, ended = ?, reason = ? WHERE serial = ?", ended),
                ("DELETE FROM tickets WHERE serial = ?", (live.manifest.serial,)),
            ],
            durable=True,
        )
        self.progress, self.live = progress, None
        self.counters.abandoned += 1
        self.counters.reasons[code] = self.counters.reasons.get(code, 0) + 1

    @property
    def letter_bytes(self) -> int:
        """The longest letter that can be taken now."""
        live = self.published
        return LETTER_HEADER if live is None or live.mailbox is None else live.mailbox.largest

    def take_letter(self, message: bytes) -> bytes:
        """An update that the server can read."""
        live = self.published
        if live is None:
            raise RefusedError("paused", "no round is open here.")
        if live.mailbox is None:
            raise RefusedError("malformed", "this round adds up shares; the coordinator takes no update.")
        letter = wire.Letter.decode(message)
        found = self._store.row(
            "SELECT slot FROM tickets WHERE serial = ? AND report = ?", (live.manifest.serial, letter.report)
        )
        live.mailbox.take(letter, None if found is None else int(found[0]), self._key, self._clock())
        return self._key.sign("receipt", letter.manifest + letter.report)

    def answer(self, slot: int) -> bytes:
        """What the last exchange told this device alone."""
        start = f"{slot}."
        own = {name.removeprefix(start): a for name, a in self._answers.items() if name.startswith(start)}
        if not own:
            raise RefusedError("unknown", "the last exchange told this device nothing.")
        return wire.pack_arrays(own)

    def status(self) -> dict[str, Any]:
        """Where the federation stands."""
        live = self.live
        finished = self.course.finished(self.progress)
        return {
            "state": "finished" if finished else self.state,
            "method": self.setup.preset.name,
            "mode": self.setup.channel.channel,
            "label": READABLE if self.setup.channel.channel == "readable" else "",
            "minimum": self.setup.channel.minimum_cohort,
            "rounds_done": self.progress.done,
            "rounds_in_all": self.course.rounds,
            "model": self.model_hash,
            "open": None
            if live is None
            else {
                "round": live.manifest.round,
                "phase": live.manifest.phase,
                "published": live.published,
                "called": live.manifest.called,
                "reports": live.reports,
                "deadline": live.manifest.deadline,
            },
        }

    def history(self, last: int) -> list[dict[str, Any]]:
        """The last rounds, newest first."""
        found = self._store.rows(
            "SELECT envelope, state, reports, ended, reason FROM rounds ORDER BY serial DESC LIMIT ?", (last,)
        )
        rows = []
        for envelope, state, reports, ended, reason in found:
            m = Manifest.decode(bytes(envelope)[wire.SIGNATURE_BYTES :])
            rows.append(
                {
                    "serial": m.serial,
                    "round": m.round,
                    "phase": m.phase,
                    "mode": m.mode,
                    "state": state,
                    "called": m.called,
                    "reports": reports,
                    "seconds": None if ended is None else round(ended - m.opened, 3),
                    "reason": reason,
                }
            )
        return rows
