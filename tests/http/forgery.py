"""What dishonest machines can make: manifests and logs under as many of the three keys as they have."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.runtimes.http.protocol.keys import ServerKey
from murmura.runtimes.http.protocol.log import LogHead, LogProof, manifest_entry, unpack_entries
from murmura.runtimes.http.protocol.manifest import SignedManifest
from murmura.runtimes.http.protocol.merkle import MerkleTree, leaf_hash
from murmura.runtimes.http.protocol.wire import NO_SIGNATURE
from tests.http.network import World


def keys_of(world: World) -> tuple[ServerKey, ServerKey, ServerKey]:
    """The keys of the coordinator, the seed aggregator and the vector aggregator."""
    return world.coordinator.key, world.aggregators["seed"].key, world.aggregators["vector"].key


def logged(world: World) -> list[bytes]:
    """Every entry of the coordinator's log."""
    log, entries = world.coordinator.rounds.store.log, list[bytes]()
    while len(entries) < len(log):
        entries += unpack_entries(log.page(len(entries)))
    return entries


def head_of(federation: str, entries: Sequence[bytes], keys: Sequence[ServerKey]) -> LogHead:
    """The head of a log of these entries under as many keys as there are."""
    tree = MerkleTree([leaf_hash(entry) for entry in entries])
    head = LogHead(len(tree), tree.root())
    signed = [head.sign(federation, key) for key in keys]
    return LogHead(head.size, head.root, *signed, *[NO_SIGNATURE] * (3 - len(signed)))


def envelope(
    world: World,
    content: bytes,
    entries: Sequence[bytes] | None = None,
    before: int = 0,
    keys: Sequence[ServerKey] | None = None,
) -> bytes:
    """A manifest as devices get it, at the end of a log of these entries, under as many keys as there are.

    `before` is how long the log was that its reader knows. By default all three machines have agreed to it, and
    the log is the coordinator's with this one more entry.
    """
    entries = [*logged(world), manifest_entry(content)] if entries is None else entries
    keys = keys_of(world) if keys is None else keys
    tree, place = MerkleTree([leaf_hash(entry) for entry in entries]), len(entries) - 1
    head = head_of(world.coordinator.rounds.store.federation, entries, keys)
    grown = tree.consistency(before, len(tree)) if before <= len(tree) else []
    proof = LogProof(head, place, before, tuple(tree.inclusion(place, len(tree))), tuple(grown))
    signed = [key.sign("manifest", content) for key in keys]
    one, two, three = (*signed, *[NO_SIGNATURE] * (3 - len(signed)))
    return SignedManifest(content, one, two, three, proof).encode()
