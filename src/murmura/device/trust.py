"""What a device believes and takes part in: the terms it pinned when it joined, and a log that only ever grows.

Anybody can check the whole log: every entry, every signature, every link.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from murmura.core.consent import Permission
from murmura.device.storage import DeviceMemory, Identity
from murmura.wire.log import (
    LoggedModel,
    LogHead,
    LogProof,
    MerkleTree,
    extends,
    is_model,
    leaf_hash,
    unpack_entries,
    unpack_hashes,
)
from murmura.wire.manifest import LARGEST_ENVELOPE, LogEnd, Manifest, SignedManifest
from murmura.wire.refusals import RefusedError, forged, malformed
from murmura.wire.signed_records import LARGEST
from murmura.wire.terms import SIGNED, FederationTerms, signatures
from murmura.wire.transport import Transport, ask, ask_known, check_elsewhere
from murmura.wire.wire import HASH_BYTES, unpack_pair

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
ATTEMPTS = 60  # seconds to wait for machines that have not agreed yet
OFFER = SIGNED + LARGEST  # bytes of signed terms


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


async def patiently(
    asked: Callable[[], Awaitable[T]], sleep: Sleep, code: str, attempts: float = math.inf
) -> T:
    """What comes of asking, again every second while it is refused with this code."""
    while True:
        try:
            return await asked()
        except RefusedError as error:
            attempts -= 1
            if error.code != code or attempts < 0:
                raise
        await sleep(1.0)


async def agreed_terms(
    send: Transport, url: str, fingerprint: bytes | None = None, sleep: Sleep = asyncio.sleep
) -> FederationTerms:
    """`fetch_terms`, waiting a while for machines that have only just started to agree on them."""
    return await patiently(lambda: fetch_terms(send, url, fingerprint), sleep, "paused", ATTEMPTS)


async def fetch_terms(send: Transport, url: str, fingerprint: bytes | None = None) -> FederationTerms:
    """What a federation is; refuses another fingerprint, or terms that one of its machines has not signed."""
    message = (await ask(send, "GET", f"{url}/terms", largest=OFFER)).body
    content = message[SIGNED:]
    terms = FederationTerms.decode(content)
    if fingerprint is not None and terms.hash != fingerprint:
        raise forged(
            f"the federation at {url} must be the one of the invitation, but has other terms "
            f"({terms.hash.hex()[:16]}…, not {fingerprint.hex()[:16]}…); do not join it."
        )
    check_elsewhere(url, *(one.url for one in terms.aggregators))
    terms.check_signed("terms", content, *signatures(message))
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
        raise forged("the manifest must be of the federation this device joined, but is not.")
    if before is not None:
        brought = signed.proof.consistency if before.size == signed.proof.before else ()
        await check_grown(signed.proof.head, before, brought, send, url)
    return signed


async def check_grown(
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
    message = await ask_known(send, f"{url}/round/last", largest=LARGEST_ENVELOPE)
    if message is None:
        return None
    signed = SignedManifest.decode(message)
    if before is not None and signed.proof.head.size < before.size:
        signed.check(terms)  # of an earlier stage of the log that this device knows
        await check_grown(before, signed.proof.head, (), send, url)
        return signed
    return await verified(message, terms, before, send, url)


async def newest_model(
    send: Transport, url: str, terms: FederationTerms, before: LogHead | None
) -> LoggedModel | None:
    """The newest model in the public log, which is no model of one's own; None before the first."""
    message = await ask_known(send, f"{url}/model")
    if message is None:
        return None
    entry, proof = unpack_pair(message)
    logged = LogProof.decode(proof)
    logged.check(terms, entry)
    kind, _, content = entry.partition(b"\0")
    if not is_model(kind, content):
        raise malformed("the newest model must be an entry of the log, but is not.")
    if before is not None:
        await check_grown(logged.head, before, (), send, url)
    at = 8 + HASH_BYTES
    return LoggedModel(content[8:at].hex(), content[at:].hex())


PAGE_BYTES = 1 << 21
KINDS = (b"manifest", b"model", b"terms", b"resumed")  # of entries


@dataclass(frozen=True)
class CheckedLog:
    """What a log without a fault holds."""

    entries: int
    root: str
    manifests: int
    models: int
    terms: int  # how often the terms changed, the first included
    resumed: int = 0  # how often a coordinator that was restored from a copy went on from an older model


async def check_log(send: Transport, url: str, terms: FederationTerms) -> CheckedLog:
    """Fetch the whole log and check it; refuses any fault in one sentence."""
    head = LogHead.decode((await ask(send, "GET", f"{url}/log")).body)
    head.check(terms)
    entries = await fetch_entries(send, url, 0, head.size)
    tree = MerkleTree([leaf_hash(entry) for entry in entries])
    if tree.root() != head.root:
        raise forged("the entries of the log must have the root its head names, but have another.")
    found = _check_order(entries, terms)
    await _check_open_round(send, url, terms, tree)
    return CheckedLog(head.size, head.root.hex(), *(found[kind] for kind in KINDS))


async def fetch_entries(send: Transport, url: str, start: int, size: int) -> list[bytes]:
    """Those of a log of this size from a place on; refuses one that shows fewer."""
    entries: list[bytes] = []
    while (at := start + len(entries)) < size:
        page = unpack_entries((await ask(send, "GET", f"{url}/log/entries/{at}", largest=PAGE_BYTES)).body)
        if not page:
            raise forged(f"the log must have {size} entries, but only {at} are shown.")
        entries += page
    return entries[: size - start]


def _check_order(entries: list[bytes], terms: FederationTerms) -> Counter[bytes]:
    """How many entries of each kind there are; refuses a gap and entries that are none."""
    end, kinds = LogEnd(), Counter[bytes]()
    for place, entry in enumerate(entries):
        try:
            end = end.after(entry, terms)
        except RefusedError as error:
            why = f"entry {place} of the log must follow from those before it, but does not."
            raise (error if error.code == "version" else forged(why)) from None
        kinds[entry.partition(b"\0")[0]] += 1
    if end.terms != terms.hash:
        raise forged("the last terms of the log must be those that are shown, but are others.")
    return kinds


async def _check_open_round(send: Transport, url: str, terms: FederationTerms, tree: MerkleTree) -> None:
    """The round that devices are shown now must be in the log, and its head a stage of it."""
    try:
        message = (await ask(send, "GET", f"{url}/round", largest=LARGEST_ENVELOPE)).body
    except RefusedError as error:
        if error.code in ("paused", "finished"):
            return
        raise
    signed = SignedManifest.decode(message)
    signed.check(terms)
    shown = signed.proof.head
    if shown.size <= len(tree) and tree.root(shown.size) != shown.root:
        raise forged("the log that devices are shown must be this one, but is another.")


def objection(own: Identity, memory: DeviceMemory, allowed: Permission, manifest: Manifest) -> str | None:
    """The reason, in one clause; None: there is none."""
    least = min(own.terms.minimum, manifest.called)
    if least < own.minimum:
        return f"the round may release a sum of {least} devices, but this one wants at least {own.minimum}"
    if manifest.hold + manifest.spread >= manifest.deadline - manifest.opened:
        return "the round asks to be answered after it is over"
    for label in own.disallowed.values():
        return f"{label}, and this device does not allow that"
    return _of_noise(own, memory, allowed, manifest)


def _of_noise(own: Identity, memory: DeviceMemory, allowed: Permission, manifest: Manifest) -> str | None:
    noise = own.terms.noise
    if allowed.epsilon is None and allowed.release_epsilon is None:
        return None
    if not noise:
        return "no noise is added to the sums, and this device asks for a bound on what they reveal"
    if allowed.release_epsilon is not None and noise.epsilon > allowed.release_epsilon:
        return (
            f"noise bounds what the federation reveals to epsilon {noise.epsilon:g} only, but this device asks "
            f"for {allowed.release_epsilon:g}"
        )
    again = memory.pending is not None and memory.pending.manifest == manifest.hash.hex()
    after = (memory if again else memory.spending(noise.of_phase(manifest.phase))).epsilon(noise.delta)
    if allowed.epsilon is not None and after > allowed.epsilon:
        return f"this upload would bring epsilon to {after:.3g}, but {allowed.epsilon:g} is allowed in all"
    return None
