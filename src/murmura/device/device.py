"""A device: it looks at the coordinator, takes part in the rounds it is called for, and keeps the rest.

The order of things in a round is the promise. The sending time is drawn before training starts. What is sent
has one length for everyone. The journal has the upload before the first byte leaves, and consent is asked
before every one. After a crash the same update is sent again or none. Nothing is believed that is not under the
pinned terms, signed by all machines they name, and in the public log.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from murmura.channel.consent_draws import StickyRecord, client_consent
from murmura.channel.shares import SEED_BYTES, Entropy
from murmura.core.consent import Permission
from murmura.core.contract import FederationInfo, History, Phase, RoundContext, Samples
from murmura.core.errors import DataError, FederationError, MurmuraError
from murmura.core.rng import Rng
from murmura.core.update import Arrays
from murmura.device.download_cache import DownloadCache
from murmura.device.enrolment import register
from murmura.device.folder import DeviceFolder
from murmura.device.journal import JournalEntry
from murmura.device.storage import Identity, InMemoryStorage, PendingUpload, Receipt, mark
from murmura.device.trust import last_verified, objection, verified
from murmura.device.upload import TrainedUpload, link_of, upload_messages
from murmura.engine.itinerary import public_part
from murmura.engine.visit import visit
from murmura.wire import wire
from murmura.wire.manifest import LARGEST_ENVELOPE, Manifest
from murmura.wire.refusals import RefusedError, UnreachableError, forged, malformed
from murmura.wire.signed_records import check_signature
from murmura.wire.transport import DOWNLOAD_BYTES, HttpReply, Transport, ask, ask_known, bearer

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
RETRY = 0.5  # seconds between attempts while a machine does not answer
Kind = Literal["idle", "finished", "not-called", "declined", "sent", "refused"]
SALT_BYTES = 32
TRAINING = -1  # in place of a window, where all answers to a phase of training are counted


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
    epsilon: float | None = None  # what noise bounds all uploads so far to; None: nothing does


@dataclass(frozen=True, eq=False)
class _CalledRound:
    """A round a device takes part in."""

    manifest: Manifest
    info: FederationInfo
    phase: Phase
    ticket: bytes
    report: bytes
    send_at: float
    permission: Permission  # what this upload is made under; a change cancels it


class Device:
    """The state machine of one device."""

    def __init__(
        self,
        identity: Identity,
        storage: InMemoryStorage | DeviceFolder,
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
            reply = await ask(
                self.send, "GET", f"{self.identity.url}/round", headers=known, largest=LARGEST_ENVELOPE
            )
        except RefusedError as error:
            if error.code in ("paused", "finished"):
                return VisitOutcome("idle" if error.code == "paused" else "finished", why=str(error))
            raise
        return VisitOutcome("idle") if reply.status == 304 else await self.take_part(reply)

    async def take_part(self, reply: HttpReply) -> VisitOutcome:
        """Deal with a manifest that was fetched."""
        own, memory = self.identity, self.storage.memory
        signed = await verified(reply.body, own.terms, memory.head, self.send, own.url)
        self.manifest = manifest = signed.manifest
        if self._is_new(manifest):
            head = signed.proof.head
            self.storage.keep(replace(memory, log=(head.size, head.root.hex())))
            why = objection(own, self.storage.memory, self.storage.permission(), manifest)
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
        if manifest.serial < memory.serial:
            raise RefusedError(
                "replay", f"manifest {manifest.serial} comes after {memory.serial}; take no part."
            )
        if manifest.serial == memory.serial and name != memory.manifest:
            raise forged("the coordinator shows two different manifests for one round; take no part.")
        if manifest.serial == memory.serial:
            return False
        if manifest.serial == memory.serial + 1 and manifest.previous != memory.manifest:
            raise forged("the manifest must follow the one this device has seen before it; take no part.")
        again = memory.pending is not None and memory.pending.manifest == name
        if (manifest.round, manifest.phase) in memory.exchanges and not again:
            raise RefusedError(
                "replay", "this exchange was answered before under another manifest; take no part."
            )
        self._check_onward(manifest)
        if not self.identity.terms.windows.is_at(manifest.window, self._clock()):
            raise forged(f"window {manifest.window} must be that of the time, but is not; take no part.")
        return True

    def _check_onward(self, manifest: Manifest) -> None:
        """Refuse a window or a round before one that was answered: only of the last ones much is remembered.

        Where two windows meet, both are those of the time, as clocks differ; and the draws of a round are made
        with its number, so that one number twice would be one randomness for two updates.
        """
        last = max((window for _, window, _ in self.storage.memory.answered), default=0)
        at = max((round for round, _ in self.storage.memory.exchanges), default=0)
        if manifest.window < last:
            raise RefusedError("replay", f"window {manifest.window} must not come after {last}; take no part.")
        if manifest.round < at:
            raise RefusedError("replay", f"round {manifest.round} must not come after {at}; take no part.")

    def _unasked(self, manifest: Manifest, phase: Phase) -> tuple[Kind, str] | None:
        """Why this exchange is not for this device now: it has answered, or another part is asked."""
        memory, window = self.storage.memory, manifest.window
        again = memory.pending is not None and memory.pending.manifest == manifest.hash.hex()
        if phase.repeat is not None and memory.answers(phase.name, window) >= phase.repeat + again:
            return "declined", (
                f"phase '{phase.name}' was answered in window {window}; a second answer would show what this "
                "device adds to a sum"
            )
        most = self.identity.terms.noise.answers.get(phase.name)
        if phase.repeat is None and most is not None and memory.answers(phase.name, TRAINING) >= most + again:
            return "declined", (
                f"phase '{phase.name}' was answered {most} times, as often as the noise of the terms allows for"
            )
        if phase.follows and not memory.answers(phase.follows, window):
            return "declined", f"this device was not counted in phase '{phase.follows}'"
        if (manifest.part, manifest.part_seed != "") != (phase.part, phase.part < 1):
            raise malformed("a manifest must ask the part of the devices its phase declares.")
        place = self.identity.place
        if phase.part < 1 and not public_part(bytes.fromhex(manifest.part_seed), place + 1, phase.part)[place]:
            return "not-called", "another part of the devices is asked"
        return None

    def _done(self, manifest: Manifest, kind: Kind, why: str) -> VisitOutcome:
        self.storage.keep(self.storage.memory.dealt_with(manifest.serial, manifest.hash.hex()))
        return VisitOutcome(kind, manifest.round, manifest.phase, why)

    async def _answer(self, manifest: Manifest) -> VisitOutcome:
        m, before = manifest, self.storage.memory
        allowed = self.storage.permission()  # before anything is waited for: a later change cancels the upload
        described = (await self.cache.description()).info
        phase = self.identity.terms.phase(m.phase, described)  # whom it asks does not depend on counts
        if not allowed.permits(phase.asks):
            return self._done(m, "declined", f"no consent to {phase.asks}")
        if (unasked := self._unasked(m, phase)) is not None:
            return self._done(m, *unasked)
        info = await self.cache.info(m)
        phase = self.identity.terms.phase(m.phase, info)
        again = before.pending if before.pending and before.pending.manifest == m.hash.hex() else None
        report = self._report(m)
        try:
            ticket = await self._ticket(m, report, allowed)
            # before training, so that it tells nothing about how long that takes
            draw = int.from_bytes(self._entropy(4), "little") / 2**32
            send_at = self._clock() + m.hold + m.spread * draw
            work = _CalledRound(m, info, phase, ticket, report, send_at, allowed)
            seed = bytes.fromhex(again.seed) if again else self._entropy(SEED_BYTES)
            salt = bytes.fromhex(again.salt) if again else self._entropy(SALT_BYTES)
            result = await self._train(work, seed)
            if again is not None and again.digest != result.digest:
                raise RefusedError("duplicate", "what would be sent is not what was prepared before the crash.")
            return await self._upload(
                work, result, PendingUpload(m.hash.hex(), seed.hex(), salt.hex(), result.digest)
            )
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

    async def _ticket(self, manifest: Manifest, report: bytes, allowed: Permission) -> bytes:
        """The right to report in this round; a place that was lost by staying away is taken anew."""
        url, body = f"{self.identity.url}/tickets", manifest.hash + report
        try:
            return (await self._patiently("POST", url, body, manifest, allowed)).body
        except RefusedError as error:
            if error.code != "unauthorised":
                raise
        own = self.identity
        self._require_consent(allowed)
        place = await register(self.send, own.url, own.terms, own.admission, token=own.token)
        self.identity = replace(own, place=place)
        self.storage.keep_place(place)
        return (await self._patiently("POST", url, body, manifest, allowed)).body

    def _report(self, manifest: Manifest) -> bytes:
        """The id of this device's one report in a round: the same after a crash, random to the aggregators."""
        named = b"murmura report\0" + self.identity.token.encode() + manifest.hash
        return hashlib.sha256(named).digest()[: wire.ID_BYTES]

    async def _train(self, work: _CalledRound, seed: bytes) -> TrainedUpload:
        """The algorithm's step and the device half of the channel; nothing leaves."""
        m, memory, secret = work.manifest, self.storage.memory, self.identity.secret
        model = await self.cache.model(m, work.info) if work.phase.fetches_model else {}
        answer = await self.own_answer() if m.answers else None
        terms = self.identity.terms
        algorithm, rng = terms.algorithm(), Rng(secret, m.round)
        history, joined = self.history(work.info, work.permission, m.round)
        state = memory.state or algorithm.client_init(
            work.info, self.history(work.info, work.permission, 0)[0], Rng(secret)
        )
        context = RoundContext(work.info, m.phase, m.round, model, answer)
        summed = work.phase.combine == "sum"
        chain = terms.chain(m.phase, work.info, m.largest) if summed else None
        made = visit(algorithm, work.phase, context, state, history, rng, chain)
        sent = tuple(sorted({*memory.sent, *history.item[made.shown].tolist()}))
        messages, rows, proved = upload_messages(self.identity, work.phase, made, chain, seed)
        disclosed = float(np.isin(history.item, sent).mean()) if len(history) else 0.0
        linked = link_of(memory.linked, m, proved)
        return TrainedUpload(made.state, messages, rows, joined, sent, disclosed, proved, linked)

    def history(self, info: FederationInfo, allowed: Permission, round: int) -> tuple[History, tuple[int, ...]]:
        """The rows on offer with the consent that counts in this round, and the sticky record after it."""
        rows = self._held(info)
        record = StickyRecord(self.storage.memory.joined, allowed.never)
        mode, secret = self.identity.disclosure, self.identity.secret
        consent, record = client_consent(mode, record, rows.item, allowed.pi, secret, round, rows.time)
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

    async def _upload(self, work: _CalledRound, result: TrainedUpload, pending: PendingUpload) -> VisitOutcome:
        """Wait for the time drawn, write it down, send; keep what was learned only when it was taken."""
        m, memory = work.manifest, self.storage.memory
        noise = self.identity.terms.noise
        if memory.pending != pending:
            memory = replace(
                memory, pending=pending, joined=result.joined, sent=result.sent, linked=result.linked
            )
            memory = memory.spending(noise.of_phase(m.phase))
            counts, window = work.phase.repeat is not None or bool(noise), m.window
            window = TRAINING if work.phase.repeat is None else window
            self.storage.keep(memory.answering(m.phase, window) if counts else memory)
        send_at = work.send_at
        late = self._clock() - send_at
        if m.hold > 0 and late > 0:  # training took longer than it should: tell no more than in whole holds
            send_at += late + -late % m.hold
        while (wait := send_at - self._clock()) > 0:
            await self._sleep(min(wait, 1.0))
            self._require_consent(work.permission)
        self._require_consent(work.permission)
        now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        noted = JournalEntry(
            now, m.round, m.phase, pending.manifest, result.length, result.rows, result.disclosed
        )
        if noise:
            spent = self.storage.memory.epsilon(noise.delta)
            noted = replace(noted, epsilon=None if math.isinf(spent) else spent, delta=noise.delta)
        head, salt = self.storage.note(noted), bytes.fromhex(pending.salt)
        # after the journal, which must have a line for every exchange that is remembered; before the first byte
        self.storage.keep(self.storage.memory.exchanging(m.round, m.phase))
        signed, covered = await self._send(work, result, mark(salt, head))
        self.storage.keep_receipt(
            Receipt(m.terms, pending.manifest, work.report.hex(), head, pending.salt, signed, covered)
        )
        learned = replace(self.storage.memory, state=result.state)
        self.storage.keep(learned.dealt_with(m.serial, pending.manifest))
        return VisitOutcome("sent", m.round, m.phase, "", result.length, result.disclosed, noted.epsilon)

    async def _send(
        self, work: _CalledRound, result: TrainedUpload, marked: bytes
    ) -> tuple[tuple[str, ...], str]:
        """Every message in its order, each with the receipt of the one before.

        Their receipts, and what the first one covers besides the mark, all in hexadecimal.
        """
        m, receipts, first, covered = work.manifest, [wire.NO_RECEIPT], b"", b""
        for kind, message in enumerate(result.messages):
            head, proved = wire.ShareHead(kind, m.hash, work.report), b""
            if result.proved is not None and kind == wire.VECTOR:
                message = result.proved.message(message, first)
            body = message.sealed(head, work.ticket, receipts[-1], marked, self.identity.admission)
            answer = (await self._patiently("POST", message.url, body, m, work.permission, upload=True)).body
            if result.proved is not None and kind == wire.SEED:
                first, (answer, proved) = answer, result.proved.receipt(answer)
                covered = proved
            key = self.identity.terms.coordinator if message.aggregator is None else message.aggregator.key
            check_signature(key, "receipt", m.hash + work.report + marked + proved, answer)
            receipts.append(answer)
        return tuple(receipt.hex() for receipt in receipts[1:]), covered.hex()

    def _require_consent(self, allowed: Permission) -> None:
        if self.storage.permission() != allowed:
            raise FederationError("what its owner allows was changed or taken back, so nothing more leaves.")

    async def last_manifest(self) -> Manifest | None:
        """The last one seen, or that of the last completed round for someone who came later."""
        if self.manifest is not None:
            return self.manifest
        own = self.identity
        found = await last_verified(self.send, own.url, own.terms, self.storage.memory.head)
        return None if found is None else found.manifest

    async def own_answer(self) -> Arrays | None:
        """What the last exchange told this device alone."""
        own = self.identity
        if not own.token:
            return None
        found = await ask_known(self.send, f"{own.url}/answer", bearer(own.token), largest=DOWNLOAD_BYTES)
        return None if found is None else wire.unpack_arrays(found)

    async def _patiently(
        self, method: str, url: str, body: bytes, manifest: Manifest, allowed: Permission, upload: bool = False
    ) -> HttpReply:
        """Ask again while nobody answers, until the round is over by this device's own clock.

        Consent is asked before every attempt. What is part of an upload may be counted without an answer.
        """
        until = self._clock() + (manifest.deadline - manifest.opened)
        headers = bearer(self.identity.token) if url.startswith(self.identity.url + "/") else {}
        unanswered = False
        while True:
            self._require_consent(allowed)
            try:
                return await ask(self.send, method, url, body, headers)
            except UnreachableError:
                unanswered = upload
            except RefusedError as error:
                if error.code not in ("rate", "full"):
                    if unanswered and error.code != "left-out":  # who refuses now may have counted it before
                        raise NoReceiptError(error.code, f"{error} An earlier attempt got no answer.") from None
                    raise
            if self._clock() > until:
                raise NoReceiptError("late", f"{url} did not answer before the round was over.") from None
            await self._sleep(RETRY)
