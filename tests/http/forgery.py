"""What dishonest machines can make: manifests and logs under the keys they have, and shares of their own."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.channel.key_pairs import seal
from murmura.server.aggregator.aggregator import Role
from murmura.wire import wire
from murmura.wire.admission import OwnAdmission
from murmura.wire.log import LogHead, LogProof, MerkleTree, leaf_hash, manifest_entry, unpack_entries
from murmura.wire.manifest import SignedManifest
from murmura.wire.signed_records import ServerKey
from murmura.wire.wire import NO_ADMISSION, NO_SIGNATURE, ShareHead, SharePass
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


def opened_share(world: World, role: Role, body: bytes) -> tuple[ShareHead, SharePass, bytes]:
    """Head, pass and payload of a share, as its aggregator reads them."""
    key, kind = world.aggregators[role].sealing_key, wire.SEED if role == "seed" else wire.VECTOR
    head = ShareHead.decode(body, kind)
    shown = SharePass.decode(key.unseal(wire.sealed_pass(body), head.info("pass")))
    return head, shown, key.unseal(wire.sealed_payload(body), head.info("payload"))


def made_share(
    world: World,
    role: Role,
    head: ShareHead,
    payload: bytes,
    admission: OwnAdmission | None,
    mark: bytes = bytes(32),
    signer: ServerKey | None = None,
) -> bytes:
    """A share with a good ticket and, for the vector aggregator, a good receipt; `signer` signs the report."""
    key = world.aggregators[role].sealing_key.public
    content = seal(payload, key, head.info("payload"))
    receipt = world.aggregators["seed"].key.sign("receipt", head.signed + mark)
    signing = signer or (None if admission is None else admission.key)
    named = wire.report_content(head, wire.digest(content))
    shown = SharePass(
        world.coordinator.key.sign("ticket", head.signed),
        wire.NO_RECEIPT if role == "seed" else receipt,
        mark,
        NO_ADMISSION if admission is None else admission.shown.encode(),
        wire.digest(content),
        wire.NO_CHALLENGE,
        NO_SIGNATURE if signing is None else signing.sign("report", named),
    )
    return head.encode() + seal(shown.encode(), key, head.info("pass")) + content
