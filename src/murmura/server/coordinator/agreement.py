"""How the coordinator and both aggregators agree on terms, log, open, count, release and forget."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from murmura.channel.chain import Chain
from murmura.core.errors import SettingError
from murmura.server.admissions import AdmissionDesk
from murmura.server.coordinator.public_log import PublicLog
from murmura.server.coordinator.setup import FederationSetup
from murmura.server.coordinator.takeover import LogTakeover
from murmura.server.coordinator.witnesses import (
    WitnessedLog,
    fetch_identity,
    hexadecimal,
    lacking,
    logged,
    number,
)
from murmura.server.database import ServerDatabase, put_fact
from murmura.wire import wire
from murmura.wire.log import LogHead, terms_entry, unpack_entries
from murmura.wire.manifest import ReleasedSum, sum_content
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import ServerKey, check_signature
from murmura.wire.terms import AggregatorAddress, FederationTerms
from murmura.wire.transport import DOWNLOAD_BYTES, Transport, ask

# lists of reports are read up to so many times the devices called: a place may change hands in a round
LONGEST_LIST = 2
SIGNATURES = "terms signatures"  # the fact that keeps whose signatures the terms have
Clock = Callable[[], float]
Signer = Callable[[AggregatorAddress], Awaitable[bytes]]


@dataclass
class AggregatorPair:
    """Two aggregators, run by two operators; the coordinator is neither. In readable mode there are none."""

    terms: FederationTerms
    key: ServerKey  # the coordinator's
    _logged: dict[str, int] = field(default_factory=dict)  # how much of the log each has, by address
    restored: bool = True  # whether one may have been: after a start, and where it lost entries it has signed

    async def _signatures(self, purpose: str, content: bytes, asked: Signer) -> tuple[bytes, bytes]:
        """What both sign of this when they are asked; zeros where there are none."""
        found = []
        for address in self.terms.aggregators:
            found.append(await asked(address))
            check_signature(address.key, purpose, content, found[-1])
        seed, vector = found or (wire.NO_SIGNATURE, wire.NO_SIGNATURE)
        return seed, vector

    async def agree(self, send: Transport, description: bytes) -> tuple[bytes, bytes]:
        """Both signatures of the terms; each gets the description once."""
        content = self.terms.encode()
        signed = self.key.sign("terms", content) + content

        async def asked(address: AggregatorAddress) -> bytes:
            said = (await ask(send, "POST", f"{address.url}/terms", signed)).json()
            if "needs" in said:
                await ask(send, "POST", f"{address.url}/m/{said['needs']}", description)
                said = (await ask(send, "POST", f"{address.url}/terms", signed)).json()
            return hexadecimal(said.get("signature"))

        return await self._signatures("terms", content, asked)

    async def sign_head(self, send: Transport, log: PublicLog, head: LogHead) -> tuple[bytes, bytes]:
        """Both signatures of a head, after each has taken over the entries it lacks."""

        async def asked(address: AggregatorAddress) -> bytes:
            if address.url not in self._logged:
                known, whole = await logged(send, address.url)
                self._logged[address.url] = min(known, whole, head.size)
                self.restored |= known < (0 if log.head is None else log.head.size)
            signature = b""
            while not signature or self._logged[address.url] < head.size:
                start = self._logged.pop(address.url)
                page = log.page(start, head.size)
                message = start.to_bytes(8, "little") + page
                signed = self.key.sign("log", message) + message
                signature = (await ask(send, "POST", f"{address.url}/log", signed)).body
                self._logged[address.url] = start + len(unpack_entries(page))
            return signature

        return await self._signatures("head", head.content(self.terms.federation), asked)

    async def exchange_revocations(self, send: Transport, desk: AdmissionDesk) -> None:
        """What the admitter has taken back holds on every machine, also on one restored from a copy."""
        asked = self.key.sign("revocations", bytes.fromhex(self.terms.federation))
        urls = [one.url for one in self.terms.aggregators]
        for url in urls:
            with suppress(RefusedError):  # of a version that has kept none
                said = await ask(send, "POST", f"{url}/revocations/known", asked, largest=DOWNLOAD_BYTES)
                for message in unpack_entries(said.body):
                    desk.revoke(self.terms, message)
        for url in urls:
            for message in desk.revocations(self.terms):
                await ask(send, "POST", f"{url}/revocations", message)
        self.restored = False

    async def open_round(
        self, send: Transport, content: bytes, counts: bytes = b"", released: bytes = b""
    ) -> tuple[bytes, bytes]:
        """Both signatures of a manifest: both must have opened the round before a device hears of it.

        `counts` of items that it names come with the sum they are from.
        """
        more = wire.pack_pair(counts, released) if counts else b""
        signed = self.key.sign("manifest", content) + wire.pack_pair(content, more)

        async def asked(address: AggregatorAddress) -> bytes:
            return (await ask(send, "POST", f"{address.url}/rounds", signed)).body

        return await self._signatures("manifest", content, asked)

    async def count(self, send: Transport, name: bytes) -> int:
        """How many reports have arrived complete."""
        _, vector = self.terms.aggregators
        reply = (await ask(send, "GET", f"{vector.url}/rounds/{name.hex()}")).json()
        return number(reply.get("reports"))

    async def total(
        self, send: Transport, name: bytes, chain: Chain, called: int
    ) -> tuple[ReleasedSum, list[bytes]]:
        """The sum over the reports both agree on, in two halves, and which they are."""
        seed, vector = self.terms.aggregators
        at = f"{vector.url}/rounds/{name.hex()}"
        command = self.key.sign("close", name)
        longest = wire.SIGNATURE_BYTES + LONGEST_LIST * called * wire.ID_BYTES
        listed = (await ask(send, "POST", f"{at}/close", command, largest=longest)).body
        ids = listed[wire.SIGNATURE_BYTES :]
        check_signature(vector.key, "reports", name + ids, listed[: wire.SIGNATURE_BYTES])
        reports = wire.unpack_ids(ids)
        count = len(reports)
        if count < self.terms.minimum:
            raise RefusedError(
                "too-few",
                f"a sum must be of at least {self.terms.minimum} reports, but only {count} arrived.",
            )
        most = 2 * wire.SIGNATURE_BYTES + chain.released_bytes
        signed, *first = await self._release(send, seed, name, listed[: wire.SIGNATURE_BYTES], ids, most)
        _, *second = await self._release(send, vector, name, signed, ids, most)
        return ReleasedSum.of(name, ids, (first[0], first[1]), (second[0], second[1])), reports

    async def _release(
        self, send: Transport, address: AggregatorAddress, name: bytes, agreed: bytes, ids: bytes, most: int
    ) -> tuple[bytes, bytes, bytes]:
        """(its signature of the list, that of its half of the sum, the half)."""
        message = self.key.sign("release", name) + agreed + ids
        at = f"{address.url}/rounds/{name.hex()}/release"
        body = (await ask(send, "POST", at, message, largest=most)).body
        signed, proof, total = body[:64], body[64:128], body[128:]
        key = bytes.fromhex(address.key)
        check_signature(key, "reports", name + ids, signed)
        check_signature(key, "sum", sum_content(name, hashlib.sha256(ids).digest(), total), proof)
        return signed, proof, total

    async def forget(self, send: Transport, name: bytes) -> None:
        """The sum is committed: nobody needs to keep which reports it is of."""
        command = self.key.sign("forget", name)
        for address in self.terms.aggregators:
            await ask(send, "POST", f"{address.url}/rounds/{name.hex()}/forget", command)


class TermsKeeper:
    """The terms of one federation, once they are agreed."""

    def __init__(
        self, setup: FederationSetup, store: ServerDatabase, log: PublicLog, key: ServerKey, clock: Clock
    ) -> None:
        self._setup, self._store, self._log, self._key, self._clock = setup, store, log, key, clock
        kept = store.fact("terms")
        self.terms = None if kept is None else FederationTerms.decode(kept)
        self.confirmed = self.terms is not None and self.terms.readable  # by the aggregators, in this process
        self._shown = dict[str, WitnessedLog]()  # by address, until both have been compared
        self._compared = False

    async def lacking(self, send: Transport, federation: str) -> list[bytes]:
        """What both aggregators have logged beyond this machine's log: once, before anything else is done."""
        if self._compared or not self._setup.aggregators:
            return []
        for url in self._setup.aggregators:
            if url not in self._shown:
                self._shown[url] = await WitnessedLog.of(send, url, self._key)
        shown, now = list(self._shown.values()), self._clock()
        fresh = await lacking(send, shown, self._log, federation, self._key, now)
        self._compared = True
        return fresh

    async def agree(self, send: Transport, federation: str, description: bytes) -> None:
        """Make the terms and have them signed; anew where an aggregator has another key or address."""
        pair, admitter = await self._aggregators(send)
        before = self.terms
        # written down first: an aggregator that has agreed would take a later start for other terms
        start = float(self._store.fact_or("windows begin", lambda: str(int(self._clock())).encode()))
        offered = self._setup.terms(federation, self._key.public, pair, admitter, start)
        offered = replace(offered, lost=LogTakeover(self._store, self._log).lost)
        offered.check()
        signatures = await AggregatorPair(offered, self._key).agree(send, description)
        if before is None or before.hash != offered.hash or self._store.fact(SIGNATURES) is None:
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
        pair = tuple(
            AggregatorAddress(url, one.key.hex(), one.sealing_key.hex(), one.proof_key.hex())
            for url, one in found
        )
        return pair, admitter

    def _keep(self, terms: FederationTerms, signatures: tuple[bytes, bytes]) -> None:
        content = terms.encode()
        signed = self._key.sign("terms", content) + b"".join(signatures)
        facts = [put_fact("terms", content), put_fact(SIGNATURES, signed)]
        there = self._log.newest(b"terms") == content  # a machine that was restored has taken it over
        self._log.append([] if there else [terms_entry(content)], facts)

    def signed(self) -> bytes:
        """What the federation is, signed by its three machines.

        Their signatures (64 each, zeros where there is none), then the terms.
        """
        signatures = self._store.fact(SIGNATURES)
        if self.terms is None or signatures is None:
            raise RefusedError("paused", "the terms of this federation are not agreed yet; try again later.")
        return signatures + self.terms.encode()
