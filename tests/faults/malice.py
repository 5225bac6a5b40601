"""What liars do: manifests nobody agreed to, shares of invented devices, and reading what they get hold of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from murmura.channel.shares import expanded_sum
from murmura.core.contract import FederationInfo, Total
from murmura.device.folder import DeviceFolder
from murmura.device.storage import Identity
from murmura.device.upload import UploadMessage
from murmura.server.log_table import DICTIONARY, whole
from murmura.wire import wire
from murmura.wire.log import LogHead, LogProof, MerkleTree, leaf_hash, manifest_entry
from murmura.wire.manifest import Manifest, SignedManifest
from murmura.wire.signed_records import SealingKey, ServerKey
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import HttpReply
from murmura.wire.wire import NO_SIGNATURE, ShareHead, SharePass
from tests.http.network import Faults, World
from tests.http.own_devices import settle

UPLOADS = ("/reports", "/letters")


def uploads(network: Faults) -> list[tuple[str, bytes]]:
    """Every message about somebody's history that anybody tried to send."""
    return [(url, body) for method, url, body in network.log if method == "POST" and url.endswith(UPLOADS)]


async def newcomer(world: World, folder: Path, client: int = 0) -> DeviceFolder:
    """A device that joins as its owner would, by an invitation without a fingerprint."""
    return await settle(world, folder, client, fingerprint=None)


@dataclass(frozen=True)
class HeldKeys:
    """Whose private keys a liar holds."""

    coordinator: ServerKey
    seed: ServerKey | None = None
    vector: ServerKey | None = None

    @staticmethod
    def of(world: World, *, all_three: bool) -> HeldKeys:
        """The coordinator's, or those of all machines."""
        if not all_three:
            return HeldKeys(world.coordinator.key)
        return HeldKeys(world.coordinator.key, *(world.aggregators[role].key for role in ("seed", "vector")))

    def sign(self, purpose: str, content: bytes) -> tuple[bytes, bytes, bytes]:
        """Three signatures; zeros where the key is not held."""
        held = (self.coordinator, self.seed, self.vector)
        first, second, third = (NO_SIGNATURE if key is None else key.sign(purpose, content) for key in held)
        return first, second, third

    def show(self, federation: str, past: Sequence[bytes], content: bytes, before: int) -> HttpReply:
        """A manifest in a log that begins with `past`, for a device that has seen `before` entries."""
        tree = MerkleTree([leaf_hash(entry) for entry in (*past, manifest_entry(content))])
        size = len(tree)
        head = LogHead(size, tree.root())
        own, seed, vector = (
            b"" if key is None else head.sign(federation, key)
            for key in (self.coordinator, self.seed, self.vector)
        )
        signed = LogHead(size, head.root, own, seed or NO_SIGNATURE, vector or NO_SIGNATURE)
        inclusion, consistency = tree.inclusion(size - 1, size), tree.consistency(before, size)
        proof = LogProof(signed, size - 1, before, tuple(inclusion), tuple(consistency))
        envelope = SignedManifest(content, *self.sign("manifest", content), proof).encode()
        return HttpReply(200, envelope, {"etag": '"a lie"'})


def ordered(manifest: Manifest | bytes, key: ServerKey) -> bytes:
    """A manifest as a coordinator sends it to its aggregators."""
    content = manifest if isinstance(manifest, bytes) else manifest.encode()
    return key.sign("manifest", content) + wire.pack_pair(content, b"")


def logged(world: World) -> list[bytes]:
    """The entries of the coordinator's log."""
    store = world.coordinator._store
    stored = [entry for (entry,) in store.rows("SELECT entry FROM log ORDER BY place")]
    return list(whole(store.fact(DICTIONARY) or b"", stored))


def invented_share(
    own: Identity,
    head: ShareHead,
    payload: bytes,
    ticket: bytes,
    receipt: bytes = wire.NO_RECEIPT,
    mark: bytes = bytes(wire.MARK_BYTES),
) -> bytes:
    """A share with any payload, under whatever admission its sender shows."""
    address = own.terms.seed_aggregator if head.kind == wire.SEED else own.terms.vector_aggregator
    assert address is not None
    return UploadMessage(address.url, payload, address).sealed(head, ticket, receipt, mark, own.admission)


def opened_share(body: bytes, kind: int, key: SealingKey) -> tuple[ShareHead, SharePass, bytes]:
    """What the owner of an aggregator's key reads in a share."""
    head = ShareHead.decode(body, kind)
    passed = SharePass.decode(key.unseal(wire.sealed_pass(body), head.info("pass")))
    return head, passed, key.unseal(wire.sealed_payload(body), head.info("payload"))


def read_both(
    terms: FederationTerms,
    info: FederationInfo,
    m: Manifest,
    shares: tuple[bytes, bytes],
    keys: Sequence[SealingKey],
) -> Total:
    """The update of one device, for whoever has both of its shares and both keys."""
    chain = terms.chain(m.phase, info, m.largest)
    seed, vector = (opened_share(body, kind, keys[kind])[2] for kind, body in enumerate(shares))
    both = chain.ring.add_up([expanded_sum([seed], chain.ring), chain.ring.unpack(vector)])
    return chain.server(both, m.round)


def counted_items(total: Total) -> set[int]:
    """The items that a sum of statistics counts."""
    counts = total.update.tables["counts"]
    return set(counts.index[counts.values[:, 0] > 0.5].tolist())


def every_file(folder: Path) -> dict[str, bytes]:
    """Every byte of every file below a folder, write-ahead files included."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
