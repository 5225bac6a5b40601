"""A device: it looks at the coordinator, takes part in the rounds it is called for, and keeps the rest.

The order of things in a round is the promise. The sending time is drawn before training starts. What is sent
has one length for everyone. The journal has the upload before the first byte leaves, and consent is asked
before every one. After a crash the same bytes are sent again or none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from murmura.channel.chain import Chain
from murmura.channel.consent import StickyRecord, client_consent
from murmura.channel.journal import JournalEntry
from murmura.channel.shares import SEED_BYTES, Entropy, split
from murmura.core.codec import encode
from murmura.core.consent import Permission
from murmura.core.contract import FederationInfo, History, Phase, RoundContext, Samples
from murmura.core.errors import DataError, FederationError, MurmuraError
from murmura.core.rng import Rng
from murmura.core.update import Arrays
from murmura.engine.visit import Visit, visit
from murmura.runtimes.http.device.download_cache import DownloadCache
from murmura.runtimes.http.device.storage import (
    DeviceMemory,
    DeviceStorage,
    Identity,
    PendingUpload,
)
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.keys import check_signature
from murmura.runtimes.http.protocol.manifest import Manifest, open_manifest
from murmura.runtimes.http.protocol.refusals import RefusedError, UnreachableError
from murmura.runtimes.http.protocol.transport import DOWNLOAD_BYTES, HttpReply, Transport, ask, bearer
from murmura.runtimes.http.protocol.wire import ID_BYTES, IndividualReport, ShareMessage

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
RETRY = 0.5  # seconds between attempts while a machine does not answer
Kind = Literal["idle", "finished", "not-called", "declined", "sent", "refused"]
REMEMBERED = 64  # exchanges a device remembers, to answer none twice


class NoReceiptError(RefusedError):
    """Nobody said whether a message was taken."""


@dataclass(frozen=True)
class VisitOutcome:
    """What came of looking at the coordinator once."""

    kind: Kind
    round: int = -1
    phase: str = ""
    why: str = ""
    bytes: int = 0
    disclosed: float = 0.0


@dataclass(frozen=True, eq=False)
class _Work:
    """A round a device takes part in."""

    manifest: Manifest
    info: FederationInfo
    phase: Phase
    ticket: bytes
    report: bytes
    send_at: float
    permission: Permission  # what this upload is made under; a change cancels it


@dataclass(frozen=True, eq=False)
class _Result:
    """What training gave: what stays, what leaves, and what that discloses."""

    state: Arrays
    messages: tuple[tuple[str, bytes], ...]  # (address, body) in the order of sending
    rows: int
    joined: tuple[int, ...]
    sent: tuple[int, ...]
    disclosed: float

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"".join(body for _, body in self.messages)).hexdigest()

    @property
    def bytes(self) -> int:
        return sum(len(body) for _, body in self.messages)


class Device:
    """The state machine of one device."""

    def __init__(
        self,
        identity: Identity,
        storage: DeviceStorage,
        rows: History,
        cache: DownloadCache,
        send: Transport,
        clock: Clock,
        sleep: Sleep,
        entropy: Entropy,
    ) -> None:
        self.identity, self.storage, self.rows, self.cache = identity, storage, rows, cache
        self.send, self._clock, self._sleep, self._entropy = send, clock, sleep, entropy
        self._etag = ""
        self.manifest: Manifest | None = None  # the last one seen

    async def visit(self) -> VisitOutcome:
        """Look at the coordinator once, and take part if there is something to take part in."""
        try:
            known = {"if-none-match": self._etag} if self._etag else {}
            reply = await ask(self.send, "GET", f"{self.identity.url}/round", headers=known)
        except RefusedError as error:
            if error.code in ("paused", "finished"):
                return VisitOutcome("idle" if error.code == "paused" else "finished", why=str(error))
            raise
        return VisitOutcome("idle") if reply.status == 304 else await self.take_part(reply)

    async def take_part(self, reply: HttpReply) -> VisitOutcome:
        """Deal with a manifest that was fetched."""
        manifest = open_manifest(reply.body, self.identity.key)
        self.manifest = manifest
        if self._is_new(manifest):
            why = self._objection(manifest)
            if why is not None:
                return self._done(manifest, "declined", why)
            outcome = await self._answer(manifest)
        else:
            outcome = VisitOutcome("idle")
        self._etag = reply.headers.get("etag", "")
        return outcome

    def _is_new(self, manifest: Manifest) -> bool:
        """Whether there is still something to do; refuses a coordinator that says two different things."""
        memory, name = self.storage.memory, manifest.hash.hex()
        if manifest.federation != self.identity.federation:
            raise RefusedError(
                "forged", "the manifest must be of the federation this device joined, but is not."
            )
        if manifest.serial < memory.serial:
            raise RefusedError(
                "replay", f"manifest {manifest.serial} comes after {memory.serial}; take no part."
            )
        if manifest.serial == memory.serial and name != memory.manifest:
            raise RefusedError(
                "forged", "the coordinator shows two different manifests for one round; take no part."
            )
        if manifest.serial == memory.serial:
            return False
        if manifest.serial == memory.serial + 1 and manifest.previous != memory.manifest:
            raise RefusedError(
                "forged", "the manifest must follow the one this device has seen before it; take no part."
            )
        again = memory.pending is not None and memory.pending.manifest == name
        if (manifest.round, manifest.phase) in memory.exchanges and not again:
            raise RefusedError(
                "replay", "this exchange was answered before under another manifest; take no part."
            )
        return True

    def _objection(self, manifest: Manifest) -> str | None:
        """Why the owner of this device would not want to take part."""
        own = self.identity
        if min(manifest.minimum, manifest.called) < own.minimum:
            return (
                f"the round may release a sum of {min(manifest.minimum, manifest.called)} devices, "
                f"but this one wants at least {own.minimum}"
            )
        if manifest.mode == "readable" and not own.readable:
            return "the server can read each update, and this device does not allow that"
        return None

    def _done(self, manifest: Manifest, kind: Kind, why: str) -> VisitOutcome:
        self.storage.keep(self.storage.memory.dealt_with(manifest.serial, manifest.hash.hex()))
        return VisitOutcome(kind, manifest.round, manifest.phase, why)

    async def _answer(self, manifest: Manifest) -> VisitOutcome:
        described = await self.cache.description(manifest.description)
        phase, m = manifest.exchange(described.info), manifest
        allowed, before = self.storage.permission(), self.storage.memory
        if not allowed.permits(phase.asks):
            return self._done(m, "declined", f"no consent to {phase.asks}")
        again = before.pending if before.pending and before.pending.manifest == m.hash.hex() else None
        report = self._report(m)
        try:
            ticket = (await self._patiently("POST", f"{self.identity.url}/tickets", m.hash + report, m)).body
            # before training, so that it tells nothing about how long that takes
            draw = int.from_bytes(self._entropy(4), "little") / 2**32
            send_at = self._clock() + m.hold + m.spread * draw
            work = _Work(m, described.info, phase, ticket, report, send_at, allowed)
            result = await self._train(work, bytes.fromhex(again.seed) if again else self._entropy(SEED_BYTES))
            if again is not None and again.digest != result.digest:
                raise RefusedError("duplicate", "what would be sent is not what was prepared before the crash.")
            return await self._upload(work, result)
        except NoReceiptError as error:  # perhaps it was counted: what it would show counts as shown
            return self._done(m, "refused", str(error))
        except RefusedError as error:
            if error.code != "left-out":  # that one was read
                self.storage.keep(replace(self.storage.memory, sent=before.sent))
            return self._done(m, "not-called" if error.code == "not-called" else "refused", str(error))
        except UnreachableError:
            raise
        except MurmuraError as error:
            # consent was taken back, this history cannot be trained on, or nothing can be written down
            return self._done(m, "declined", str(error))

    def _report(self, manifest: Manifest) -> bytes:
        """The id of this device's one report in a round: the same after a crash, random to the aggregators."""
        named = b"murmura report\0" + self.identity.token.encode() + manifest.hash
        return hashlib.sha256(named).digest()[:ID_BYTES]

    async def _train(self, work: _Work, seed: bytes) -> _Result:
        """The algorithm's step and the device half of the channel; nothing leaves."""
        m, memory, secret = work.manifest, self.storage.memory, self.identity.secret
        model = await self.cache.model(m)
        answer = await self.own_answer() if m.answers else None
        algorithm, rng = m.algorithm(), Rng(secret, m.round)
        history, joined = self.history(work.info, work.permission, m.round)
        state = memory.state or algorithm.client_init(
            work.info, self.history(work.info, work.permission, 0)[0], Rng(secret)
        )
        context = RoundContext(work.info, m.phase, m.round, model, answer)
        chain = m.chain(work.info) if m.combine == "sum" else None
        made = visit(algorithm, work.phase, context, state, history, rng, chain)
        sent = tuple(sorted({*memory.sent, *history.item[made.shown].tolist()}))
        messages, rows = self._messages(work, made, chain, seed)
        disclosed = float(np.isin(history.item, sent).mean()) if len(history) else 0.0
        return _Result(made.state, messages, rows, joined, sent, disclosed)

    def history(self, info: FederationInfo, allowed: Permission, round: int) -> tuple[History, tuple[int, ...]]:
        """The rows on offer with the consent that counts in this round, and the sticky record after it."""
        rows = self._held(info)
        record = StickyRecord(self.storage.memory.joined, allowed.never)
        mode, secret = self.identity.disclosure, self.identity.secret
        consent, record = client_consent(mode, record, rows.item, allowed.pi, secret, round)
        return replace(rows, consent=consent), record.joined

    def _held(self, info: FederationInfo) -> History:
        """The rows of items on offer, or all samples where the federation classifies; refuses other rows."""
        if info.task is None:
            return self.rows.rows(np.isin(self.rows.item, info.listed))
        shape = self.rows.inputs.shape[1:] if isinstance(self.rows, Samples) else None
        if shape != info.task.shape:
            holds = "interactions" if shape is None else f"samples of shape {shape}"
            raise DataError(
                f"this federation classifies samples of shape {info.task.shape}, but this device holds "
                f"{holds}; take no part."
            )
        return self.rows

    def _messages(
        self, work: _Work, made: Visit, chain: Chain | None, seed: bytes
    ) -> tuple[tuple[tuple[str, bytes], ...], int]:
        """What leaves, for whom; of one length for everyone unless the server needs each update."""
        m, vector = work.manifest, made.vector
        if chain is None or vector is None:
            body, rows = encode(made.update, work.phase.sends), sum(map(len, made.update.tables.values()))
            upload = IndividualReport(m.hash, work.report, work.ticket, body)
            return ((f"{self.identity.url}/letters", upload.encode()),), rows
        rows = chain.rows
        if m.seed_aggregator is None or m.vector_aggregator is None:
            upload = IndividualReport(m.hash, work.report, work.ticket, chain.ring.pack(vector))
            return ((f"{self.identity.url}/letters", upload.encode()),), rows
        seed, other = split(vector, chain.ring, lambda _: seed)
        first = ShareMessage(wire.SEED, m.hash, work.report, work.ticket, wire.NO_RECEIPT, seed)
        second = replace(first, kind=wire.VECTOR, payload=chain.ring.pack(other))
        return (
            (f"{m.seed_aggregator.url}/reports", first.encode()),
            (f"{m.vector_aggregator.url}/reports", second.encode()),
        ), rows

    async def _upload(self, work: _Work, result: _Result) -> VisitOutcome:
        """Wait for the time drawn, write it down, send; keep what was learned only when it was taken."""
        m, memory = work.manifest, self.storage.memory
        name = m.hash.hex()
        seed = result.messages[0][1][wire.SHARE_HEADER :].hex() if m.mode == "secure-sum" else ""
        exchanges = (*memory.exchanges, (m.round, m.phase))[-REMEMBERED:]
        pending = PendingUpload(name, seed, result.digest)
        prepared = replace(memory, pending=pending, exchanges=exchanges)
        self.storage.keep(replace(prepared, joined=result.joined, sent=result.sent))
        send_at = work.send_at
        while m.hold > 0 and send_at < self._clock():
            send_at += m.hold  # training took longer than it should: tell no more than that
        while (wait := send_at - self._clock()) > 0:
            await self._sleep(min(wait, 1.0))
            self._require_consent(work)
        self._require_consent(work)
        now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        self.storage.note(
            JournalEntry(now, m.round, m.phase, name, result.bytes, result.rows, result.disclosed)
        )
        receipt = wire.NO_RECEIPT
        for place, (address, body) in enumerate(result.messages):
            body = wire.with_receipt(body, receipt) if place else body
            receipt = (await self._patiently("POST", address, body, m, work)).body
            self._check_receipt(work, place, receipt)
        learned = DeviceMemory(result.state, m.serial, name, exchanges, result.joined, result.sent)
        self.storage.keep(learned)
        return VisitOutcome("sent", m.round, m.phase, "", result.bytes, result.disclosed)

    def _check_receipt(self, work: _Work, place: int, receipt: bytes) -> None:
        m = work.manifest
        signer = (m.seed_aggregator, m.vector_aggregator)[place]
        key = self.identity.key if signer is None else bytes.fromhex(signer.key)
        check_signature(key, "receipt", m.hash + work.report, receipt)

    def _require_consent(self, work: _Work) -> None:
        if self.storage.permission() != work.permission:
            raise FederationError("what its owner allows was changed or taken back, so nothing more leaves.")

    async def last_manifest(self) -> Manifest | None:
        """The last one seen, or that of the last completed round for someone who came later."""
        if self.manifest is not None:
            return self.manifest
        found = await self._look_up("/round/last")
        if found is None:
            return None
        manifest = open_manifest(found, self.identity.key)
        if manifest.federation != self.identity.federation:
            raise RefusedError(
                "forged",
                "the last manifest must be of the federation this device joined, but is not; do not use it.",
            )
        return manifest

    async def own_answer(self) -> Arrays | None:
        """What the last exchange told this device alone."""
        token = self.identity.token
        found = await self._look_up("/answer", bearer(token)) if token else None
        return None if found is None else wire.unpack_arrays(found)

    async def _look_up(self, path: str, headers: Mapping[str, str] | None = None) -> bytes | None:
        """What the coordinator has at a path; None where it has nothing yet."""
        try:
            at = self.identity.url + path
            return (await ask(self.send, "GET", at, headers=headers, largest=DOWNLOAD_BYTES)).body
        except RefusedError as error:
            if error.code == "unknown":
                return None
            raise

    async def _patiently(
        self, method: str, url: str, body: bytes, manifest: Manifest, work: _Work | None = None
    ) -> HttpReply:
        """Ask again while nobody answers, until the round is over by this device's own clock.

        Where a part of an upload leaves, consent is asked before every attempt.
        """
        until = self._clock() + (manifest.deadline - manifest.opened)
        headers = bearer(self.identity.token) if url.startswith(self.identity.url + "/") else {}
        unanswered = False
        while True:
            if work is not None:
                self._require_consent(work)
            try:
                return await ask(self.send, method, url, body, headers)
            except UnreachableError:
                unanswered = work is not None
            except RefusedError as error:
                if error.code not in ("rate", "full"):
                    if unanswered and error.code != "left-out":  # who refuses now may have counted it before
                        raise NoReceiptError(error.code, f"{error} An earlier attempt got no answer.") from None
                    raise
            if self._clock() > until:
                raise NoReceiptError("late", f"{url} did not answer before the round was over.") from None
            await self._sleep(RETRY)
