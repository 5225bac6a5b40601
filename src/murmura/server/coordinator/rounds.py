"""A round from its manifest to the next model: opened, collected, committed in one transaction or given up."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from murmura.channel.shares import Entropy
from murmura.core.contract import Answers, IndividualUpdates, ServerState, Total
from murmura.core.errors import FederationError, MurmuraError, RunError, SettingError
from murmura.core.rng import Rng
from murmura.engine.federation import server_step
from murmura.engine.itinerary import Position, forecast_of
from murmura.server.admissions import AcceptedReports, AdmissionDesk
from murmura.server.coordinator.agreement import AggregatorPair, TermsKeeper
from murmura.server.coordinator.anomalies import DriftWatch, MalformedClientSearch
from murmura.server.coordinator.open_round import IndividualReports, OpenRound
from murmura.server.coordinator.setup import FederationSetup
from murmura.server.coordinator.store import BREACH, CoordinatorStore, RoundEnd
from murmura.server.database import ServerDatabase
from murmura.wire import wire
from murmura.wire.log import LogHead
from murmura.wire.manifest import Download, Manifest, RoundPrivacy, SignedManifest
from murmura.wire.refusals import RefusedError, UnreachableError, known, malformed
from murmura.wire.signed_records import ServerKey, check_signature
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import Transport

Clock = Callable[[], float]
PATIENCE = 1.0  # after its deadline a round may take this many times its length to be added up
PASSING = ("paused", "rate", "full")  # refusals that another attempt may not meet


class RoundRunner:
    """How a federation moves on."""

    def __init__(
        self, setup: FederationSetup, store: ServerDatabase, key: ServerKey, clock: Clock, entropy: Entropy
    ) -> None:
        self.setup, self.itinerary = setup, setup.itinerary()
        self.store = CoordinatorStore(setup, self.itinerary, store, entropy)
        self._key, self.clock, self._entropy = key, clock, entropy
        self.keeper = TermsKeeper(setup, store, self.store.log, key, clock)
        self.desk, self.search, self.drift = AdmissionDesk(store), MalformedClientSearch(), DriftWatch(store)
        self._known_pair: AggregatorPair | None = None
        # since this process began: rounds committed, abandoned and void, and sums that were cut
        self.counters = Counter[str]()
        self.state = self.store.state
        self._look_again()
        self.live: OpenRound | None = None
        self.trouble = ""  # why the last attempt to move on failed, where another one may fail the same way
        self.waits_until = 0.0  # for the next release window, while an exchange of the opening must wait for it
        self._counted: AcceptedReports | None = None  # in the round before this one, in readable mode
        self._go_on()

    def _look_again(self) -> None:
        """Where the federation stands, and what its model has made public."""
        self.now = self.store.federation_state()
        self.itinerary = self.itinerary.after(self.now.server.model)

    def _go_on(self) -> None:
        """A round that was open when the coordinator stopped goes on; in readable mode its updates are lost."""
        if (found := self.store.opened()) is not None:
            self.live = OpenRound(found[0], frozenset(found[1].tolist()))
            if self.terms.readable:
                self._abandon("the coordinator was restarted, and updates are kept in memory only")

    @property
    def terms(self) -> FederationTerms:
        """What was agreed; refuses to do anything before that."""
        if self.keeper.terms is None:
            raise RefusedError("paused", "the terms of this federation are not agreed yet; try again later.")
        return self.keeper.terms

    @property
    def published(self) -> OpenRound | None:
        """The round devices may take part in."""
        return self.live if self.live is not None and self.live.published else None

    @property
    def finished(self) -> bool:
        """Whether there will be no further round, and everybody has signed how it ended."""
        head = self.store.log.head
        signed = head is not None and head.size == len(self.store.log)
        return signed and self.live is None and self.itinerary.finished(self.now.position)

    @property
    def stage(self) -> str:
        """Running, paused, stopped or finished."""
        return "finished" if self.finished else self.state

    @property
    def _pair(self) -> AggregatorPair:
        """The aggregators that the terms name."""
        if self._known_pair is None or self._known_pair.terms is not self.terms:
            self._known_pair = AggregatorPair(self.terms, self._key)
        return self._known_pair

    def set_state(self, state: str) -> None:
        """Running, paused or stopped; stopping gives the open round up."""
        self.store.set_state(state)
        self.state = state
        if state == "stopped":
            self._abandon("the operator stopped the federation")

    async def advance(self, send: Transport) -> None:
        """Move on as far as possible now; called again and again."""
        self.trouble = ""
        try:
            if not self.keeper.confirmed:
                await self.catch_up(send)
                await self.keeper.agree(send, self.store.federation, self.store.description)
                self.store.resume()
            if self._pair.restored:
                await self._pair.exchange_revocations(send, self.desk)
                self.store.free_revoked()
            if self.live is None:
                await self._begin_round(send)
            elif not self.live.published:
                await self._publish(self.live, send)
            else:
                await self._collect(self.live, send)
        except (SettingError, RunError):
            raise
        except MurmuraError as error:
            code = error.code if isinstance(error, RefusedError) else ""
            self.store.note_refusal(code)
            self.trouble = "" if code in PASSING else str(error)
            waits = code in PASSING or isinstance(error, UnreachableError)
            (self._pend if waits else self._abandon)(str(error))

    async def catch_up(self, send: Transport) -> None:
        """Take over what both aggregators have logged and this machine, restored from a copy, has not."""
        fresh = await self.keeper.lacking(send, self.store.federation)
        if self.store.takeover.goes_on(fresh, self.clock()):
            self.live = None
            self._look_again()

    def _pend(self, why: str) -> None:
        """A round waits while a machine is away and is then given up; it never goes on with fewer machines."""
        if self.live is not None:
            m = self.live.manifest
            limit = m.deadline + (PATIENCE * (m.deadline - m.opened) if self.live.published else 0.0)
            if self.clock() > limit:
                self._abandon(why)

    async def _begin_round(self, send: Transport) -> None:
        at = self.now.position
        await self._sign_head(send)  # also while nothing begins: what is logged is to be seen
        if self.state != "running" or self.itinerary.finished(at):
            return
        at = self._in_this_window()
        registered = self.store.registered()
        awaited = self.setup.wait_for if at.serial == 0 else 0
        if len(registered) < max(self.setup.channel.minimum_cohort, awaited) or self._waits():
            return
        previous, before = self.store.last_round()
        called = self.itinerary.cohort(at, registered, self.setup.server_secret, before)
        if self.search.applies(self.itinerary.phase(at), at.step):
            secret, least = self.setup.server_secret, self.setup.channel.minimum_cohort
            called = self.search.calls(called, registered, least, Rng(secret, at.round))
        manifest = self._manifest(len(called), previous)
        self.store.open_round(manifest, called)
        self.live = OpenRound(manifest, frozenset(called.tolist()))
        await self._publish(self.live, send)

    def _in_this_window(self) -> Position:
        """An exchange that follows another asks whom that one counted in this window; else that one is next."""
        at, phases = self.now.position, [phase.name for phase in self.itinerary.setup]
        follows = self.itinerary.phase(at).follows
        window = self.terms.windows.at(self.clock())
        if follows in phases and self.store.released(follows, window) is None:
            self.store.go_back(replace(at, done=phases.index(follows), step=0))
            self._look_again()
        return self.now.position

    def _waits(self) -> bool:
        """An exchange of the opening that devices have heard of waits for the next window to be done again."""
        phase, windows = self.itinerary.phase(self.now.position), self.terms.windows
        window = windows.at(self.clock())
        asked = 0 if phase.repeat is None else self.store.attempts(phase.name, window)
        self.waits_until = windows.ends(window) if phase.repeat is not None and asked >= phase.repeat else 0.0
        return self.waits_until > 0

    def _manifest(self, called: int, previous: str) -> Manifest:
        at, setup, now = self.now.position, self.setup, round(self.clock(), 3)
        phase = self.itinerary.phase(at)
        return Manifest(
            protocol=wire.PROTOCOL,
            terms=self.terms.hash.hex(),
            federation=self.store.federation,
            serial=at.serial,
            round=at.round,
            window=self.terms.windows.at(now),
            nonce=self._entropy(16).hex(),
            previous=previous,
            phase=phase.name,
            part=phase.part,
            part_seed=self.itinerary.part_seed(at, setup.server_secret).hex() if phase.part < 1 else "",
            model=Download(self.now.model, self.now.model_bytes),
            changes=list(self.now.changes),
            shapes={name: list(array.shape) for name, array in self.now.server.model.items()},
            counts=self.now.counts if self.itinerary.algorithm.knows_counts(phase) else None,
            answers=bool(self.now.answers),
            called=called,
            largest=self.itinerary.called(at),
            opened=now,
            deadline=now + setup.timing.round,
            hold=setup.timing.hold,
            spread=setup.timing.spread,
            privacy=RoundPrivacy.of(self.terms.noise, phase.name),
        )

    async def _publish(self, live: OpenRound, send: Transport) -> None:
        """Devices hear of a round when it is in the log and both aggregators are ready for it."""
        m, content = live.manifest, live.manifest.encode()
        head = await self._sign_head(send)
        seed, vector = await self._pair.open_round(send, content, *self._named_counts(m))
        if self.terms.readable:
            live.individual_reports = IndividualReports(self.terms, m, self.itinerary.known_in(m.phase))
        proof = self.store.log.proof(head, len(self.store.log) - 1, self.store.published_size(m.serial))
        signed = SignedManifest(content, self._key.sign("manifest", content), seed, vector, proof)
        live.envelope = signed.encode()
        self.store.publish(m, live.envelope, self.itinerary.phase(self.now.position).repeat is not None)
        live.published = True

    def _named_counts(self, m: Manifest) -> tuple[bytes, bytes]:
        """The counts of items that a manifest names, and the sum they are from."""
        if m.counts is None:
            return b"", b""
        counts = self.store.blob(bytes.fromhex(m.counts.hash))
        follows = self.itinerary.phase(self.now.position).follows
        return counts or b"", self.store.released(follows, m.window) or b""

    async def _sign_head(self, send: Transport) -> LogHead:
        """The newest head with everybody's signature."""
        log, known = self.store.log, self.store.log.head
        if known is not None and known.size == len(log):
            return known
        head = log.unsigned_head()
        own = head.sign(self.store.federation, self._key)
        seed, vector = await self._pair.sign_head(send, log, head)
        log.keep_head(made := replace(head, coordinator=own, seed=seed, vector=vector))
        return made

    async def _collect(self, live: OpenRound, send: Transport) -> None:
        """Wait for everyone called or for the deadline, then finish."""
        m = live.manifest
        if live.individual_reports is not None:
            live.reports = live.individual_reports.count
            if live.reports >= m.called or self.clock() > m.deadline:
                used, least = live.individual_reports.used, self.terms.minimum
                if used < least:
                    raise RefusedError("too-few", f"a round needs {least} updates, but only {used} arrived.")
                without = {**live.individual_reports.unreadable, **live.individual_reports.left_out}
                self._commit(live, live.individual_reports.received(), live.individual_reports.used, without)
            return
        pair = self._pair
        try:
            live.reports = await pair.count(send, m.hash)
        except RefusedError as error:
            if error.code != "released":  # it was released before this coordinator was restarted
                raise
            live.reports = m.called
        if live.reports >= m.called or self.clock() > m.deadline:
            chain = self.terms.chain(m.phase, self.itinerary.known_in(m.phase), m.largest)
            released, reports = await pair.total(send, m.hash, chain, m.called)
            live.summed = live.holders(reports)
            received, breach = chain.possible(released.total(chain), m.round, len(reports))
            if breach and self.itinerary.phase(self.now.position).repeat is None:
                self.counters["void"] += 1
                self.trouble = f"{breach}; discard the round{self.search.void(live.summed, self.desk)}."
                self._abandon(self.trouble)
            else:  # halves of the people would be releases that differ by the other half: it is cut
                self._commit(live, received, len(reports), {}, released.encode(), breach)
            with contextlib.suppress(MurmuraError):  # at the latest it forgets when the next one opens
                await pair.forget(send, m.hash)

    def _commit(
        self,
        live: OpenRound,
        received: Total | IndividualUpdates,
        count: int,
        left_out: Mapping[int, str] = {},
        released: bytes = b"",
        breach: str = "",
    ) -> None:
        """The server's step, written down with the round, whose update it did not use and what was cut."""
        if self.live is not live:  # given up while its sum was on the way
            return
        server, answers = self._step(live.manifest, received)
        breach_of = self.itinerary.algorithm.breach
        breach = breach_of(server) if breach_of(server) != breach_of(self.now.server) else breach
        position = self.itinerary.after_success(self.now.position)
        said = "; ".join(f"place {slot} was left out: {why}" for slot, why in sorted(left_out.items()))
        m, ended = live.manifest, self.clock()
        kept = (m.phase, m.window, released) if self._followed(m) else None
        if self.itinerary.phase(self.now.position).repeat is None:
            said += self.search.good(live.summed, self.desk)
        elif breach:
            said = f"{BREACH}: {breach}; it was cut to what is possible. {said}".strip()
            self.counters["cut"] += 1
        before = self.now.server.model
        end = RoundEnd(m.serial, position, count, ended, said, live.presence)
        self.store.commit(end, server, answers, kept)
        self.counters["committed"] += 1
        self._counted = live.individual_reports.accepted if live.individual_reports else None
        self.live = None
        self._look_again()
        self.drift.note(before, self.now.server.model)
        self._check_forecast()

    def _check_forecast(self) -> None:
        """Pause where noisy counts show that noise will drown the rest: it need not be asked for, nor spent."""
        forecast = forecast_of(self.itinerary, self.terms.noise, noisy=True)
        done = self.itinerary.finished(self.now.position)
        if forecast is None or not forecast.hopeless or self.setup.channel.hopeless or done:
            return
        self.set_state("paused")
        forecast.check(self.terms.noise.epsilon)

    def _followed(self, manifest: Manifest) -> bool:
        """Whether only those counted in this exchange are asked another one."""
        return any(phase.follows == manifest.phase for phase in self.itinerary.setup)

    def _step(self, manifest: Manifest, received: Total | IndividualUpdates) -> tuple[ServerState, Answers]:
        algorithm, round = self.itinerary.algorithm, manifest.round
        try:
            return server_step(algorithm, manifest.phase, round, self.now.server, received)
        except FederationError:
            self.set_state("paused")  # another round would end the same way
            raise

    def _abandon(self, why: str) -> None:
        """Give the round up: the model stays as it was, and the round's number is never used again."""
        live = self.live
        if live is None:
            return
        position, serial = self.itinerary.after_failure(self.now.position), live.manifest.serial
        self.store.abandon(RoundEnd(serial, position, live.reports, self.clock(), why, live.presence))
        self.live = None
        self._look_again()
        self.counters["abandoned"] += 1

    def rollback(self, done: int) -> None:
        """Go back to the model after so many rounds; the federation must be paused and no round open."""
        if self.state == "running" or self.live is not None:
            raise RefusedError(
                "released", "a rollback needs a paused federation without an open round; pause it."
            )
        self.store.rollback(done, self.now.position)
        self.drift.forget()
        self._look_again()

    def renew(self) -> None:
        """Ask for another release, in the next window; the one there is stays until the other is complete."""
        least = 0 if self.terms.noise.epsilon else self.terms.minimum
        self.store.go_back(self.store.releases.renewed(self.now.position, self.terms.windows, least))
        self._look_again()

    @property
    def individual_report_bytes(self) -> int:
        """The longest update that is read now: of the open round, or once more of the one before."""
        reports = None if self.published is None else self.published.individual_reports
        rounds = (None if reports is None else reports.accepted, self._counted)
        return max([wire.REPORT_HEADER, *(one.largest for one in rounds if one is not None)])

    def check_individual_report(self, head: bytes) -> None:
        """Refuse an update by its first bytes: before it is read whole, its ticket must be of this machine."""
        upload, live, before = wire.IndividualReport.decode(head), self.published, self._counted
        names = {one.hash for one in (live,) if one} | {one.manifest for one in (before,) if one}
        if upload.manifest not in names:
            raise RefusedError("replay", "an update must be of the open round's manifest, but is of another.")
        check_signature(self._key.public, "ticket", upload.manifest + upload.report, upload.ticket)

    def take_individual_report(self, message: bytes | bytearray) -> bytes:
        """An update, in readable mode only: the server can read each update.

        The answer is a receipt, the same one when it comes again.
        """
        live, before = self.published, self._counted
        if live is not None and live.individual_reports is None:
            raise malformed("this round adds up shares; the coordinator takes no update.")
        upload = wire.IndividualReport.decode(message)
        if before is not None and upload.manifest == before.manifest:
            if not before.repeats(upload.report, upload.update, upload.mark):
                raise RefusedError("late", "the round of this update is over; it was not counted.")
        elif live is None or live.individual_reports is None:
            raise RefusedError("paused", "no round is open here.")
        else:
            slot = live.holder(upload.report)
            live.individual_reports.take(upload, slot, self._key, self.clock())
        return self._key.sign("receipt", upload.manifest + upload.report + upload.mark)

    def answer(self, slot: int) -> bytes:
        """What the last exchange told this device alone."""
        own = self.now.answers.get(slot) or None
        return wire.pack_arrays(known(own, "the last exchange told this device nothing."))
