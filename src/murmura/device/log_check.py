"""Anybody's check of a federation's public log: every entry, every signature, every link."""

from __future__ import annotations

from dataclasses import dataclass

from murmura.wire.log import LogHead, is_model, unpack_entries
from murmura.wire.manifest import LARGEST_ENVELOPE, Manifest, SignedManifest
from murmura.wire.merkle import MerkleTree, leaf_hash
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import Transport, ask

PAGE_BYTES = 1 << 21


@dataclass(frozen=True)
class CheckedLog:
    """What a log without a fault holds."""

    entries: int
    root: str
    manifests: int
    models: int
    terms: int  # how often the terms changed, the first included


async def check_log(send: Transport, url: str, terms: FederationTerms) -> CheckedLog:
    """Fetch the whole log and check it; refuses any fault in one sentence."""
    head = LogHead.decode((await ask(send, "GET", f"{url}/log")).body)
    head.check(terms)
    entries = await _entries(send, url, head.size)
    tree = MerkleTree([leaf_hash(entry) for entry in entries])
    if tree.root() != head.root:
        raise RefusedError(
            "forged", "the entries of the log must have the root its head names, but have another."
        )
    found = _check_order(entries, terms)
    await _check_open_round(send, url, terms, tree)
    return CheckedLog(head.size, head.root.hex(), *found)


async def _entries(send: Transport, url: str, size: int) -> list[bytes]:
    entries: list[bytes] = []
    while len(entries) < size:
        reply = await ask(send, "GET", f"{url}/log/entries/{len(entries)}", largest=PAGE_BYTES)
        page = unpack_entries(reply.body)
        if not page:
            raise RefusedError(
                "forged", f"the log must have {size} entries, but only {len(entries)} are shown."
            )
        entries += page
    return entries[:size]


def _check_order(entries: list[bytes], terms: FederationTerms) -> tuple[int, int, int]:
    """How many manifests, models and terms there are; refuses a gap and entries that are none."""
    manifests = models = changed = 0
    previous = under = ""
    for place, entry in enumerate(entries):
        kind, _, content = entry.partition(b"\0")
        if kind == b"terms":
            read = FederationTerms.decode(content)
            under, changed = read.hash.hex(), changed + 1
            fits = read.federation == terms.federation
        elif kind == b"manifest":
            m = Manifest.decode(content)
            fits = (m.serial, m.previous, m.terms) == (manifests, previous, under)
            manifests, previous = manifests + 1, m.hash.hex()
        else:
            fits, models = is_model(kind, content), models + 1
        if not fits or (place == 0 and kind != b"terms"):
            raise RefusedError(
                "forged", f"entry {place} of the log must follow from those before it, but does not."
            )
    if under != terms.hash.hex():
        raise RefusedError("forged", "the last terms of the log must be those that are shown, but are others.")
    return manifests, models, changed


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
        raise RefusedError("forged", "the log that devices are shown must be this one, but is another.")
