"""How a federation comes by its terms: the coordinator writes them, both aggregators sign, the log begins."""

from __future__ import annotations

from collections.abc import Callable

from murmura.core.errors import SettingError
from murmura.server.coordinator.aggregator_pair import AggregatorPair, check_against, fetch_identity
from murmura.server.coordinator.public_log import PublicLog
from murmura.server.coordinator.setup import FederationSetup
from murmura.server.database import ServerDatabase, put_fact
from murmura.wire.keys import ServerKey
from murmura.wire.log import terms_entry
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.terms import AggregatorAddress, FederationTerms
from murmura.wire.transport import Transport
from murmura.wire.wire import NO_SIGNATURE

Clock = Callable[[], float]


class TermsKeeper:
    """The terms of one federation, once they are agreed."""

    def __init__(
        self, setup: FederationSetup, store: ServerDatabase, log: PublicLog, key: ServerKey, clock: Clock
    ) -> None:
        self._setup, self._store, self._log, self._key, self._clock = setup, store, log, key, clock
        kept = store.fact("terms")
        self.terms = None if kept is None else FederationTerms.decode(kept)
        self.confirmed = self.terms is not None and self.terms.readable  # by the aggregators, in this process
        self._compared = set[str]()  # aggregators whose log is the beginning of this one

    async def compare(self, send: Transport, federation: str) -> None:
        """Refuse to go on with a folder that is older than an aggregator knows it, whoever else is away."""
        away: UnreachableError | None = None
        for url in self._setup.aggregators:
            if url in self._compared:
                continue
            try:
                await check_against(send, url, self._log, federation, self._key)
                self._compared.add(url)
            except UnreachableError as error:
                away = error
        if away is not None:
            raise away

    async def agree(self, send: Transport, federation: str, description: bytes) -> None:
        """Make the terms and have them signed; anew where an aggregator has another key or address."""
        await self.compare(send, federation)
        pair, admitter = await self._aggregators(send)
        before = self.terms
        # written down first: an aggregator that has agreed would take a later start for other terms
        start = float(self._store.fact_or("windows begin", lambda: str(int(self._clock())).encode()))
        offered = self._setup.terms(federation, self._key.public, pair, admitter, start)
        offered.check()
        both = AggregatorPair.of(offered, self._key)
        signatures = (NO_SIGNATURE, NO_SIGNATURE) if both is None else await both.agree(send, description)
        if before is None or before.hash != offered.hash:
            self._keep(offered, signatures)
        self.terms, self.confirmed = offered, True

    async def _aggregators(self, send: Transport) -> tuple[tuple[AggregatorAddress, ...], str]:
        """Both addresses with their keys, and whose key admits."""
        found = [(url, await fetch_identity(send, url)) for url in self._setup.aggregators]
        admitters = [self._setup.admitter, *(one.admitter.hex() for _, one in found)]
        admitter = next((one for one in admitters if one), "")
        if self._setup.admission == "invited" and not admitter:
            raise SettingError(
                "an invited federation needs somebody who admits, but neither aggregator shows a key for that; "
                "give --admitter KEY (`murmura invite key`), or --admission open."
            )
        pair = tuple(AggregatorAddress(url, one.key.hex(), one.sealing_key.hex()) for url, one in found)
        return pair, admitter

    def _keep(self, terms: FederationTerms, signatures: tuple[bytes, bytes]) -> None:
        content = terms.encode()
        signed = self._key.sign("terms", content) + b"".join(signatures)
        entries = [terms_entry(content)]
        facts = [put_fact("terms", content), put_fact("terms signatures", signed)]
        self._store.write([*facts, *self._log.appended(entries)], durable=True)
        self._log.grown(entries)

    def signed(self) -> bytes:
        """The signatures of all three machines (64 each, zeros where there is none), then the terms."""
        signatures = self._store.fact("terms signatures")
        if self.terms is None or signatures is None:
            raise RefusedError("paused", "the terms of this federation are not agreed yet; try again later.")
        return signatures + self.terms.encode()
