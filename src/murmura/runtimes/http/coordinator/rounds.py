"""A round from its manifest to the next model: opened, collected, committed in one transaction or given up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from murmura.channel.chain import Chain
from murmura.channel.shares import Entropy
from murmura.core.channel import READABLE
from murmura.core.contract import Answers, IndividualUpdates, ServerState, Total
from murmura.core.errors import FederationError, MurmuraError
from murmura.core.rng import Words
from murmura.core.settings import as_dict
from murmura.engine.federation import server_step
from murmura.runtimes.http.acceptance import AcceptedReports
from murmura.runtimes.http.coordinator.aggregator_pair import AggregatorPair, fetch_key
from murmura.runtimes.http.coordinator.individual_reports import IndividualReports
from murmura.runtimes.http.coordinator.setup import FederationSetup
from murmura.runtimes.http.coordinator.store import CoordinatorStore
from murmura.runtimes.http.database import ServerDatabase
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.keys import ServerKey
from murmura.runtimes.http.protocol.manifest import AggregatorAddress, Manifest
from murmura.runtimes.http.protocol.refusals import RefusedError, UnreachableError
from murmura.runtimes.http.protocol.transport import Transport
from murmura.runtimes.http.protocol.wire import PROTOCOL, REPORT_HEADER

Clock = Callable[[], float]
PATIENCE = 1.0  # after its deadline a round may take this many times its length to be added up
PASSING = ("paused", "rate", "full")  # refusals that another attempt may not meet


@dataclass
class OpenRound:
    """The round at work."""

    manifest: Manifest
    hash: bytes
    envelope: bytes
    called: frozenset[int]
    published: bool = False
    reports: int = 0
    individual_reports: IndividualReports | None = None  # in readable mode only


@dataclass
class RoundCounters:
    """For the operator's metrics, since the start of this process."""

    committed: int = 0
    abandoned: int = 0


class RoundRunner:
    """How a federation moves on."""

    def __init__(
        self, setup: FederationSetup, store: ServerDatabase, key: ServerKey, clock: Clock, entropy: Entropy
    ) -> None:
        self.setup, self.itinerary = setup, setup.itinerary()
        self.store = CoordinatorStore(setup, self.itinerary, store, entropy)
        self._key, self._clock, self._entropy = key, clock, entropy
        self._pair: AggregatorPair | None = None
        self.counters = RoundCounters()
        self.state, self.now = self.store.state, self.store.federation_state()
        self.live: OpenRound | None = None
        self._counted: AcceptedReports | None = None  # in the round before this one, in readable mode
        self._go_on()

    def _go_on(self) -> None:
        """A round that was open when the coordinator stopped goes on; in readable mode its updates are lost."""
        found = self.store.opened()
        if found is not None:
            envelope, called = found
            manifest = Manifest.decode(envelope[wire.SIGNATURE_BYTES :])
            self.live = OpenRound(manifest, manifest.hash, envelope, frozenset(called.tolist()))
            if manifest.mode == "readable":
                self._abandon("the coordinator was restarted, and updates are kept in memory only")

    @property
    def published(self) -> OpenRound | None:
        """The round devices may take part in."""
        return self.live if self.live is not None and self.live.published else None

    def set_state(self, state: str) -> None:
        """Running, paused or stopped; stopping gives the open round up."""
        self.store.set_state(state)
        self.state = state
        if state == "stopped":
            self._abandon("the operator stopped the federation")

    async def advance(self, send: Transport) -> None:
        """Move on as far as possible now; called again and again."""
        try:
            if self.live is None:
                await self._begin_round(send)
            elif not self.live.published:
                await self._publish(self.live, send)
            else:
                await self._collect(self.live, send)
        except MurmuraError as error:
            refused = isinstance(error, RefusedError) and error.code in PASSING
            give_up = self._pend if refused or isinstance(error, UnreachableError) else self._abandon
            give_up(str(error))

    def _pend(self, why: str) -> None:
        """A round waits while a machine is away and is then given up; it never goes on with fewer machines."""
        if self.live is not None:
            m = self.live.manifest
            limit = m.deadline + (PATIENCE * (m.deadline - m.opened) if self.live.published else 0.0)
            if self._clock() > limit:
                self._abandon(why)

    async def _begin_round(self, send: Transport) -> None:
        if self.state != "running" or self.itinerary.finished(self.now.position):
            return
        registered = self.store.registered()
        awaited = self.setup.wait_for if self.now.position.serial == 0 else 0
        if len(registered) < max(self.setup.channel.minimum_cohort, awaited):
            return
        if self.setup.channel.channel == "secure-sum" and self._pair is None:
            urls = self.setup.aggregators
            keys = [(await fetch_key(send, url)).hex() for url in urls]
            self._pair = AggregatorPair(
                AggregatorAddress(urls[0], keys[0]), AggregatorAddress(urls[1], keys[1]), self._key
            )
        previous, before = self.store.last_round()
        called = self.itinerary.cohort(self.now.position, registered, self.setup.server_secret, before)
        manifest = self._manifest(len(called), previous)
        content = manifest.encode()
        envelope = self._key.sign("manifest", content) + content
        self.store.open_round(manifest, envelope, called)
        self.live = OpenRound(manifest, manifest.hash, envelope, frozenset(called.tolist()))
        await self._publish(self.live, send)

    def _manifest(self, called: int, previous: str) -> Manifest:
        at, setup, now = self.now.position, self.setup, round(self._clock(), 3)
        phase = self.itinerary.phase(at)
        return Manifest(
            protocol=PROTOCOL,
            federation=self.store.federation,
            serial=at.serial,
            round=at.round,
            nonce=self._entropy(16).hex(),
            previous=previous,
            preset=setup.preset.name,
            settings=as_dict(self.itinerary.algorithm),
            phase=phase.name,
            combine=phase.combine,
            mode="readable" if setup.channel.channel == "readable" else "secure-sum",
            description=self.store.description_hash,
            model=self.now.model,
            shapes={name: list(array.shape) for name, array in self.now.server.model.items()},
            answers=bool(self.now.answers),
            called=called,
            largest=self.itinerary.called(at),
            minimum=setup.channel.minimum_cohort,
            opened=now,
            deadline=now + setup.timing.round,
            hold=setup.timing.hold,
            spread=setup.timing.spread,
            channel=as_dict(setup.channel),
            seed_aggregator=self._pair.seed if self._pair else None,
            vector_aggregator=self._pair.vector if self._pair else None,
        )

    async def _publish(self, live: OpenRound, send: Transport) -> None:
        """Devices hear of a round when both aggregators are ready for it."""
        if live.manifest.mode == "readable":
            live.individual_reports = IndividualReports(live.manifest, self.itinerary.info)
        else:
            await self._helpers(live.manifest).open_round(send, live.envelope, self.store.description)
        live.published = True

    def _helpers(self, manifest: Manifest) -> AggregatorPair:
        assert manifest.seed_aggregator is not None
        assert manifest.vector_aggregator is not None
        return AggregatorPair(manifest.seed_aggregator, manifest.vector_aggregator, self._key)

    async def _collect(self, live: OpenRound, send: Transport) -> None:
        """Wait for everyone called or for the deadline, then finish."""
        m = live.manifest
        if live.individual_reports is not None:
            live.reports = live.individual_reports.count
            if live.reports >= m.called or self._clock() > m.deadline:
                if live.individual_reports.used < m.minimum:
                    raise RefusedError(
                        "too-few",
                        f"a round needs {m.minimum} updates, but only {live.individual_reports.used} arrived.",
                    )
                without = {**live.individual_reports.unreadable, **live.individual_reports.left_out}
                self._commit(live, live.individual_reports.received(), live.individual_reports.used, without)
            return
        pair = self._helpers(m)
        try:
            live.reports = await pair.count(send, m)
        except RefusedError as error:
            if error.code != "released":  # it was released before this coordinator was restarted
                raise
            live.reports = m.called
        if live.reports >= m.called or self._clock() > m.deadline:
            chain = m.chain(self.itinerary.info)
            total, count = await pair.total(send, m, chain.ring)
            self._commit(live, _decoded(chain, total, m.round, count), count)

    def _commit(
        self, live: OpenRound, received: Total | IndividualUpdates, count: int, left_out: Mapping[int, str] = {}
    ) -> None:
        """The server's step, written down with the round and whose update it did not use."""
        if self.live is not live:  # given up while its sum was on the way
            return
        server, answers = self._step(live.manifest, received)
        position = self.itinerary.after_success(self.now.position)
        said = "; ".join(f"place {slot} was left out: {why}" for slot, why in sorted(left_out.items()))
        self.store.commit(live.manifest.serial, position, server, answers, count, self._clock(), said)
        self.counters.committed += 1
        self._counted = live.individual_reports.accepted if live.individual_reports else None
        self.live, self.now = None, self.store.federation_state()

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
        position = self.itinerary.after_failure(self.now.position)
        self.store.abandon(live.manifest.serial, position, live.reports, self._clock(), why)
        self.live, self.now = None, self.store.federation_state()
        self.counters.abandoned += 1

    @property
    def individual_report_bytes(self) -> int:
        """The longest update that is read now: of the open round, or once more of the one before."""
        reports = None if self.published is None else self.published.individual_reports
        rounds = (None if reports is None else reports.accepted, self._counted)
        return max([REPORT_HEADER, *(one.largest for one in rounds if one is not None)])

    def take_individual_report(self, message: bytes) -> bytes:
        """An update that the server can read; answers with a receipt, the same one when it comes again."""
        live, before = self.published, self._counted
        if live is not None and live.individual_reports is None:
            raise RefusedError("malformed", "this round adds up shares; the coordinator takes no update.")
        upload = wire.IndividualReport.decode(message)
        if before is not None and upload.manifest == before.manifest:
            if not before.repeats(upload.report, upload.update):
                raise RefusedError("late", "the round of this update is over; it was not counted.")
        elif live is None or live.individual_reports is None:
            raise RefusedError("paused", "no round is open here.")
        else:
            slot = self.store.ticket_holder(live.manifest.serial, upload.report)
            live.individual_reports.take(upload, slot, self._key, self._clock())
        return self._key.sign("receipt", upload.manifest + upload.report)

    def answer(self, slot: int) -> bytes:
        """What the last exchange told this device alone."""
        own = self.now.answers.get(slot)
        if not own:
            raise RefusedError("unknown", "the last exchange told this device nothing.")
        return wire.pack_arrays(own)

    def status(self) -> dict[str, Any]:
        """Where the federation stands."""
        channel, live = self.setup.channel, self.live
        status: dict[str, Any] = {
            "state": "finished" if self.itinerary.finished(self.now.position) else self.state,
            "method": self.setup.preset.name,
            "mode": channel.channel,
            "label": READABLE if channel.channel == "readable" else "",
            "minimum": channel.minimum_cohort,
            "rounds_done": self.now.position.done,
            "rounds_in_all": self.itinerary.rounds,
            "model": self.now.model,
            "open": None,
        }
        if live is not None:
            status["open"] = {
                **{name: getattr(live.manifest, name) for name in ("round", "phase", "called", "deadline")},
                "published": live.published,
                "reports": live.reports,
            }
        return status


def _decoded(chain: Chain, total: Words, round: int, count: int) -> Total:
    """What the sum says; the devices it counts must be the reports it is of."""
    received = chain.server(total, round)
    if received.count != count:
        raise FederationError(
            f"a sum of {count} reports must count as many devices, but counts {received.count}."
        )
    return received
