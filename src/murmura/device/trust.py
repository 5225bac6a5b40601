"""What a device believes: the terms it pinned when it joined, and a log that only ever grows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from murmura.wire.addresses import check_elsewhere
from murmura.wire.keys import check_signature
from murmura.wire.log import LoggedModel, LogHead, LogProof, is_model, unpack_hashes
from murmura.wire.manifest import LARGEST_ENVELOPE, SignedManifest
from murmura.wire.merkle import extends
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import LARGEST, FederationTerms
from murmura.wire.transport import Transport, ask
from murmura.wire.wire import HASH_BYTES, SIGNATURE_BYTES, unpack_pair

Sleep = Callable[[float], Awaitable[None]]
ATTEMPTS = 60  # seconds to wait for machines that have not agreed yet
OFFER = 3 * SIGNATURE_BYTES + LARGEST  # bytes of signed terms


class TermsChangedError(RefusedError):
    """The federation goes on under other terms than those this device joined with."""

    def __init__(self, offered: FederationTerms, changes: list[str]) -> None:
        super().__init__(
            "forged",
            f"the federation's terms must stay as they were joined, but changed ({'; '.join(changes)}); "
            f"nothing is sent: `murmura consent --accept --terms {offered.hash.hex()[:16]}` agrees to them, "
            "`murmura leave` leaves.",
        )
        self.offered = offered


class GoneBackError(RefusedError):
    """The servers show a shorter log than this device has seen, or another past: they were restored, or lie.

    That may pass: an old answer of a cache, or a newer copy that is put in place of the older one.
    """

    def __init__(self, code: str, seen: int, shown: str) -> None:
        super().__init__(
            code,
            f"the servers have gone back to an older copy, or lie: this device has seen {seen} entries of the "
            f"log, but {shown}; it sends nothing, keeps everything and looks again later.",
        )


async def agreed_terms(
    send: Transport, url: str, fingerprint: bytes | None = None, sleep: Sleep = asyncio.sleep
) -> FederationTerms:
    """`fetch_terms`, waiting a while for machines that have only just started to agree on them."""
    for _ in range(ATTEMPTS):
        try:
            return await fetch_terms(send, url, fingerprint)
        except RefusedError as error:
            if error.code != "paused":
                raise
        await sleep(1.0)
    return await fetch_terms(send, url, fingerprint)


async def fetch_terms(send: Transport, url: str, fingerprint: bytes | None = None) -> FederationTerms:
    """What a federation is; refuses another fingerprint, or terms that one of its machines has not signed."""
    message = (await ask(send, "GET", f"{url}/terms", largest=OFFER)).body
    content = message[3 * SIGNATURE_BYTES :]
    terms = FederationTerms.decode(content)
    if fingerprint is not None and terms.hash != fingerprint:
        raise RefusedError(
            "forged",
            f"the federation at {url} must be the one of the invitation, but has other terms "
            f"({terms.hash.hex()[:16]}…, not {fingerprint.hex()[:16]}…); do not join it.",
        )
    check_elsewhere(url, *(one.url for one in terms.aggregators))
    signers = [terms.coordinator, *(one.key for one in terms.aggregators)]
    for place, key in enumerate(signers):
        signature = message[place * SIGNATURE_BYTES : (place + 1) * SIGNATURE_BYTES]
        check_signature(bytes.fromhex(key), "terms", content, signature)
    return terms


async def verified(
    message: bytes, terms: FederationTerms, before: LogHead | None, send: Transport, url: str
) -> SignedManifest:
    """A manifest everybody is shown: under the pinned terms, signed by all, in a log that extends `before`."""
    signed = SignedManifest.decode(message)
    if signed.manifest.terms != terms.hash.hex():
        offered = await fetch_terms(send, url, bytes.fromhex(signed.manifest.terms))
        raise TermsChangedError(offered, terms.differences(offered))
    signed.check(terms)
    if signed.manifest.federation != terms.federation:
        raise RefusedError("forged", "the manifest must be of the federation this device joined, but is not.")
    if before is not None:
        brought = signed.proof.consistency if before.size == signed.proof.before else ()
        await _check_grown(signed.proof.head, before, brought, send, url)
    return signed


async def _check_grown(
    head: LogHead, before: LogHead, proof: tuple[bytes, ...], send: Transport, url: str
) -> None:
    """Refuse a head that does not extend the one seen before; a proof that is not here is asked for."""
    if head.size < before.size:
        raise GoneBackError("replay", before.size, f"only {head.size} are shown")
    if before.size == head.size:
        proof = ()
    elif not proof:
        at = f"{url}/log/consistency/{before.size}/{head.size}"
        proof = unpack_hashes((await ask(send, "GET", at)).body)
    if not extends(before.size, before.root, head.size, head.root, proof):
        raise GoneBackError("forged", before.size, "another past is shown")


async def last_verified(
    send: Transport, url: str, terms: FederationTerms, before: LogHead | None
) -> SignedManifest | None:
    """The last round that was completed, for someone who came later; None before the first."""
    try:
        message = (await ask(send, "GET", f"{url}/round/last", largest=LARGEST_ENVELOPE)).body
    except RefusedError as error:
        if error.code == "unknown":
            return None
        raise
    signed = SignedManifest.decode(message)
    if before is not None and signed.proof.head.size < before.size:
        signed.check(terms)  # of an earlier stage of the log that this device knows
        await _check_grown(before, signed.proof.head, (), send, url)
        return signed
    return await verified(message, terms, before, send, url)


async def newest_model(
    send: Transport, url: str, terms: FederationTerms, before: LogHead | None
) -> LoggedModel | None:
    """The newest model in the public log, which is no model of one's own; None before the first."""
    try:
        entry, proof = unpack_pair((await ask(send, "GET", f"{url}/model")).body)
    except RefusedError as error:
        if error.code == "unknown":
            return None
        raise
    logged = LogProof.decode(proof)
    logged.check(terms, entry)
    kind, _, content = entry.partition(b"\0")
    if not is_model(kind, content):
        raise RefusedError("malformed", "the newest model must be an entry of the log, but is not.")
    if before is not None:
        await _check_grown(logged.head, before, (), send, url)
    at = 8 + HASH_BYTES
    return LoggedModel(content[8:at].hex(), content[at:].hex())
