"""The coordinator's side of the two aggregators: open, count, agree, release."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from murmura.channel.ring import Ring
from murmura.core.rng import Words
from murmura.runtimes.http.aggregator.aggregator import pack_pair
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.keys import ServerKey, check_signature
from murmura.runtimes.http.protocol.manifest import AggregatorAddress, Manifest
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import DOWNLOAD_BYTES, Transport, ask
from murmura.runtimes.http.protocol.wire import SIGNATURE_BYTES


@dataclass(frozen=True)
class AggregatorPair:
    """Two aggregators, run by two operators; the coordinator is neither."""

    seed: AggregatorAddress
    vector: AggregatorAddress
    key: ServerKey  # the coordinator's

    async def open_round(self, send: Transport, envelope: bytes, description: bytes) -> None:
        """Both must have opened the round before a device hears of it."""
        for address in (self.seed, self.vector):
            await ask(send, "POST", f"{address.url}/rounds", pack_pair(envelope, description))

    async def count(self, send: Transport, manifest: Manifest) -> int:
        """How many reports have arrived complete."""
        reply = (await ask(send, "GET", f"{self.vector.url}/rounds/{manifest.hash.hex()}")).json()
        return int(reply.get("reports", 0))

    async def total(self, send: Transport, manifest: Manifest, ring: Ring) -> tuple[Words, int]:
        """The sum over the reports both agree on, and how many they are."""
        name = manifest.hash
        at = f"{self.vector.url}/rounds/{name.hex()}"
        closing = self.key.sign("close", name)
        listed = (await ask(send, "POST", f"{at}/close", closing, largest=DOWNLOAD_BYTES)).body
        ids = listed[SIGNATURE_BYTES:]
        check_signature(bytes.fromhex(self.vector.key), "reports", name + ids, listed[:SIGNATURE_BYTES])
        count = len(wire.unpack_ids(ids))
        if count < manifest.minimum:
            raise RefusedError(
                "too-few", f"a sum must be of at least {manifest.minimum} reports, but only {count} arrived."
            )
        signed, first = await self._release(send, self.seed, name, listed[:SIGNATURE_BYTES], ids)
        _, second = await self._release(send, self.vector, name, signed, ids)
        return ring.add_up([ring.unpack(first), ring.unpack(second)]), count

    async def _release(
        self, send: Transport, address: AggregatorAddress, name: bytes, agreed: bytes, ids: bytes
    ) -> tuple[bytes, bytes]:
        """(its signature of the list, its sum)."""
        message = self.key.sign("release", name) + agreed + ids
        at = f"{address.url}/rounds/{name.hex()}/release"
        body = (await ask(send, "POST", at, message, largest=DOWNLOAD_BYTES)).body
        signed, proof, total = body[:64], body[64:128], body[128:]
        key = bytes.fromhex(address.key)
        check_signature(key, "reports", name + ids, signed)
        check_signature(key, "sum", name + hashlib.sha256(ids).digest() + total, proof)
        return signed, total


async def fetch_key(send: Transport, url: str) -> bytes:
    """The public key a server shows."""
    reply = (await ask(send, "GET", f"{url}/key")).json()
    try:
        key = bytes.fromhex(str(reply["key"]))
    except (KeyError, ValueError):
        key = b""
    if len(key) != 32:
        raise RefusedError("malformed", f"{url}/key must show a public key of 32 bytes, but does not.")
    return key
