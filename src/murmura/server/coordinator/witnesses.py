"""What a coordinator asks of both aggregators when it starts: their logs, and who was taken back.

The log is the truth. A coordinator that was restored from a copy has an older one; it takes over what it lacks.
Whatever a device has seen is in the logs of both aggregators, as both have signed its head, so one of them that
was not restored is enough. What only one of them has beyond that, no device has seen: it is taken over too,
because that aggregator signs no log without it. Two aggregators that know two pasts end the start.
"""

from __future__ import annotations

from dataclasses import dataclass

from murmura.core.errors import RunError
from murmura.server.coordinator.public_log import PublicLog
from murmura.wire.log import LogHead, MerkleTree, leaf_hash, unpack_entries
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError, forged, malformed
from murmura.wire.signed_records import ServerKey, check_signature
from murmura.wire.terms import CLOCKS_DIFFER, FederationTerms
from murmura.wire.transport import Transport, ask, ask_known

PAGE_BYTES = 1 << 21  # of entries that come at once


@dataclass(frozen=True)
class ServerIdentity:
    """What a server shows of itself before anything is agreed."""

    key: bytes
    sealing_key: bytes = b""
    proof_key: bytes = b""
    admitter: bytes = b""


async def fetch_identity(send: Transport, url: str) -> ServerIdentity:
    """The public keys a server shows."""
    reply = (await ask(send, "GET", f"{url}/key")).json()
    names = ("key", "sealing_key", "proof_key", "admitter")
    key, *others = (hexadecimal(reply.get(name, "")) for name in names)
    if len(key) != 32 or any(len(one) not in (0, 32) for one in others):
        raise malformed(f"{url}/key must show public keys of 32 bytes, but does not.")
    return ServerIdentity(key, *others)


@dataclass(frozen=True)
class WitnessedLog:
    """The log as an aggregator keeps it."""

    url: str
    key: bytes  # what it signs with
    size: int
    signature: bytes  # of its head; b"" where it has agreed to nothing yet, or to other terms

    @staticmethod
    async def of(send: Transport, url: str, key: ServerKey) -> WitnessedLog:
        """What an aggregator shows to the coordinator that it knows."""
        shown = await fetch_identity(send, url)
        size, _ = await logged(send, url)
        nothing_new = size.to_bytes(8, "little")
        message = key.sign("log", nothing_new) + nothing_new
        try:
            signature = (await ask(send, "POST", f"{url}/log", message)).body
        except RefusedError:
            signature = b""  # that is said when terms are to be agreed on
        return WitnessedLog(url, shown.key, size, signature)

    async def entries(self, send: Transport, start: int) -> list[bytes]:
        """Its entries from a place on."""
        found: list[bytes] = []
        while start + len(found) < self.size:
            at = f"{self.url}/log/entries/{start + len(found)}"
            page = unpack_entries(await ask_known(send, at, largest=PAGE_BYTES) or b"")
            if not page:
                raise RunError(
                    f"{self.url} must have kept all {self.size} entries of the log, but lacks entry "
                    f"{start + len(found)}; start the other aggregator's newest copy, or restore a mirror."
                )
            found += page
        return found[: self.size - start]


async def logged(send: Transport, url: str) -> tuple[int, int]:
    """How many entries an aggregator knows, and how many of them, from the first on, it has whole."""
    said = (await ask(send, "GET", f"{url}/log")).json()
    return number(said.get("size")), number(said.get("whole", said.get("size")))


async def lacking(
    send: Transport,
    witnesses: list[WitnessedLog],
    log: PublicLog,
    federation: str,
    key: ServerKey,
    now: float,
) -> list[bytes]:
    """What the aggregators have logged beyond this log; refuses logs that do not begin alike."""
    longest = max(witnesses, key=lambda one: one.size)
    fresh: list[bytes] = []
    if longest.size > len(log):
        if not longest.signature:
            raise RunError(
                f"the coordinator's log must have the {longest.size} entries that {longest.url} has seen, but "
                f"has {len(log)}, and its key is another: its folder is new; restore any copy of it, however "
                "old, or begin another federation in new folders of all three machines."
            )
        fresh = await longest.entries(send, len(log))
        check_following(log, fresh, federation, key, longest.url, now)
    tree = MerkleTree([*log.tree.leaves, *(leaf_hash(entry) for entry in fresh)])
    for one in witnesses:
        if one.signature:
            _check_beginning(tree, one, federation)
    return fresh


def check_following(
    log: PublicLog, fresh: list[bytes], federation: str, key: ServerKey, whose: str, now: float
) -> None:
    """Refuse entries that do not follow from this log, or are of another federation.

    Nobody signs a single entry. One aggregator could invent some, so numbers that would end the federation for
    everybody, whatever machine takes its place, are refused before they are written down.
    """
    terms = log.newest(b"terms") or fresh[0].partition(b"\0")[2]
    try:
        own, end = FederationTerms.decode(terms), log.end()
        if (own.federation, own.coordinator) != (federation, key.public.hex()):
            raise forged("the log must be of this federation, but is of another.")
        windows = own.windows
        for entry in fresh:
            end = end.after(entry, own)
            kind, _, content = entry.partition(b"\0")
            if kind == b"terms":
                windows = FederationTerms.decode(content).windows
            if kind == b"manifest":
                _check_numbers(Manifest.decode(content), windows.at(now + CLOCKS_DIFFER))
    except RefusedError as error:
        raise RunError(
            f"the log of {whose} must go on where this one ends, but does not ({error}); restore the newest "
            "copy of every machine, or begin another federation in new folders of all three."
        ) from None


def _check_numbers(manifest: Manifest, newest: int) -> None:
    """Refuse what no coordinator can have opened by now: rounds are fewer than manifests."""
    if manifest.round > manifest.serial or manifest.window > newest:
        raise forged(
            f"manifest {manifest.serial} must be of a round up to it and of a window up to {newest}, but is of "
            f"round {manifest.round} and window {manifest.window}."
        )


def _check_beginning(tree: MerkleTree, witness: WitnessedLog, federation: str) -> None:
    head = LogHead(witness.size, tree.root(witness.size))
    try:
        check_signature(witness.key, "head", head.content(federation), witness.signature)
    except RefusedError:
        raise RunError(
            f"the coordinator's log must begin with the {witness.size} entries that {witness.url} has seen, "
            "but has others; one of the two went on from an older copy; restore the newest copy of both, or "
            "begin another federation in new folders of all three machines."
        ) from None


def number(value: object) -> int:
    """A count that another machine answered with."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise malformed("an aggregator must answer with a number, but has not.")
    return value


def hexadecimal(text: object) -> bytes:
    """What another machine spelled in hexadecimal; b"" of anything else."""
    try:
        return bytes.fromhex(str(text))
    except ValueError:
        return b""
