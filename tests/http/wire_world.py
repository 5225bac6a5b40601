"""The federation of the golden vectors: its keys, its terms, its log, an open round, one report."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.channel.field_shares import expand_numbers, pack_numbers
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.shares import split
from murmura.core.channel import ChannelSettings
from murmura.core.codec import encode_changes, encode_model
from murmura.core.contract import FederationInfo, History, RoundContext
from murmura.core.interactions import Vocabulary
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.rng import Rng
from murmura.core.settings import as_dict
from murmura.core.update import SparseRows, Update
from murmura.device.storage import mark
from murmura.engine.visit import Visit, visit
from murmura.kernels.proofs.field import subtracted
from murmura.wire import wire
from murmura.wire.admission import OwnAdmission
from murmura.wire.description import FederationDescription
from murmura.wire.log import LogHead, LogProof, MerkleTree, leaf_hash, manifest_entry, model_entry, terms_entry
from murmura.wire.manifest import Download, Manifest, ReleasedSum, SignedManifest, sum_content
from murmura.wire.signed_records import SealingKey, ServerKey
from murmura.wire.terms import (
    AggregatorAddress,
    CatalogueRule,
    FederationTerms,
    ReleaseWindows,
)
from murmura.wire.wire import IndividualReport, ShareHead, SharePass
from tests.channel import plain_hpke

COORDINATOR, SEED, VECTOR, ADMITTER, ADMITTED, STRANGER = (ServerKey(bytes([n]) * 32) for n in range(1, 7))
SEED_SEALING, VECTOR_SEALING = SealingKey(bytes([11]) * 32), SealingKey(bytes([12]) * 32)
SEED_PROOF, VECTOR_PROOF = SealingKey(bytes([15]) * 32), SealingKey(bytes([16]) * 32)
ONE_TIME = {"pass": bytes([13]) * 32, "payload": bytes([14]) * 32}
FEDERATION, TOKEN, EXPIRES = "0f" * 16, "ee" * 32, 1_800_000_000
OPENED = 1_700_000_000.0
SHARE_SEED, SALT, JOURNAL = bytes(range(100, 132)), bytes(range(32)), "ab" * 32
LISTED, SECRET, STATE = np.array([0, 1, 3], np.int32), np.array([7, 9], np.uint32), np.array([0.25, -0.5])
Q = np.arange(8, dtype=np.float32).reshape(4, 2) / 8
HISTORY = History(np.array([0, 3], np.int32), np.ones(2), np.ones(2))
PART, PART_SEED = 0.25, bytes(range(16))
CHANNEL = ChannelSettings(channel="secure-sum")
EXACT_ROWS = [3, 3, 0, 70_000]
EXACT = MessageSpec((TableSpec("counts", "item", 4, 1, "uint32", exact=RowBounds(np.array(EXACT_ROWS))),))


def description() -> FederationDescription:
    """Four items, of which three are on offer."""
    labels = Vocabulary(np.array(["apple", "pear", "plum", "quince"]))
    return FederationDescription(labels, FederationInfo(4, LISTED, 200, 1000))


def _address(url: str, key: ServerKey, *others: SealingKey) -> AggregatorAddress:
    return AggregatorAddress(url, key.public.hex(), *(one.public.hex() for one in others))


@cache
def terms() -> FederationTerms:
    """An invited federation of cFPL with two factors and a prior, without noise."""
    described, preset = description().encode(), algorithm("cfpl")(factors=2, clients=150, rounds=5)
    return FederationTerms(
        protocol=wire.PROTOCOL,
        federation=FEDERATION,
        coordinator=COORDINATOR.public.hex(),
        seed_aggregator=_address("https://one.example", SEED, SEED_SEALING, SEED_PROOF),
        vector_aggregator=_address("https://two.example", VECTOR, VECTOR_SEALING, VECTOR_PROOF),
        admission="invited",
        admitter=ADMITTER.public.hex(),
        method="cfpl",
        settings=as_dict(preset.algorithm()),
        schedule=as_dict(preset.schedule()),
        catalogue=CatalogueRule("fixed", hashlib.sha256(described).hexdigest(), len(described)),
        channel=as_dict(CHANNEL),
        windows=ReleaseWindows(OPENED - 1000, 86400.0),
        noise=NoiseTerms(),
    )


def counts() -> bytes:
    """How often each item occurs, as an exchange of this window has told."""
    return wire.pack_arrays({"counts": np.array([90, 40, 0, 7], np.uint32)})


def released() -> ReleasedSum:
    """The two halves of a sum of 150 devices that tells these counts."""
    first = expand_numbers(SHARE_SEED, 3)
    second = subtracted(np.array([90, 40, 7], np.uint64), first)
    name, listed = manifests()[0].hash, wire.digest(b"".join(n.to_bytes(16, "big") for n in range(150)))
    halves = pack_numbers(first), pack_numbers(second)
    seed, vector = (
        key.sign("sum", sum_content(name, listed, half)) for key, half in zip((SEED, VECTOR), halves)
    )
    return ReleasedSum(name, listed, seed, vector, halves)


def base() -> dict[str, Any]:
    """The model before the one of the round."""
    return {"Q": Q, "b": np.array([0.5, -0.5, 0.0, 0.25], np.float32)}


def newest() -> dict[str, Any]:
    """The model of the round: one row of Q and one bias have changed."""
    changed, b = Q.copy(), base()["b"].copy()
    changed[3, 1], b[1] = -0.75, 0.125
    return {"Q": changed, "b": b}


def packed(model: dict[str, Any]) -> bytes:
    """A public model as it travels."""
    return encode_model(model, terms().algorithm().publishes(description().info), LISTED)


def changes() -> bytes:
    """The same model for whoever has the one before."""
    return encode_changes(base(), newest(), terms().algorithm().publishes(description().info), LISTED)


@cache
def manifests() -> tuple[Manifest, Manifest, Manifest]:
    """The opening, a first and a second round of training."""
    old, new = hashlib.sha256(packed(base())).hexdigest(), hashlib.sha256(packed(newest())).hexdigest()
    shorter = Download(hashlib.sha256(changes()).hexdigest(), len(changes()), old)
    opening = Manifest(
        protocol=wire.PROTOCOL,
        terms=terms().hash.hex(),
        federation=FEDERATION,
        serial=0,
        round=0,
        window=0,
        nonce="a0" * 16,
        previous="",
        phase="prior",
        part=1.0,
        part_seed="",
        model=Download(old, len(packed(base()))),
        changes=[],
        shapes={"Q": [4, 2], "b": [4]},
        counts=None,
        answers=False,
        called=200,
        largest=200,
        opened=OPENED - 200,
        deadline=OPENED - 140,
        hold=5.0,
        spread=20.0,
        privacy=None,
    )
    first = replace(
        opening,
        serial=1,
        round=1,
        nonce="a1" * 16,
        previous=opening.hash.hex(),
        phase="train",
        called=150,
        largest=150,
        opened=OPENED - 100,
        deadline=OPENED - 40,
    )
    second = replace(
        first,
        serial=2,
        round=2,
        nonce="a2" * 16,
        previous=first.hash.hex(),
        model=Download(new, len(packed(newest()))),
        changes=[shorter],
        opened=OPENED,
        deadline=OPENED + 60,
    )
    return opening, first, second


def manifest() -> Manifest:
    """The open round."""
    return manifests()[-1]


def entries() -> list[bytes]:
    """The log up to the open round."""
    opening, first, second = (manifest_entry(one.encode()) for one in manifests())
    models = [model_entry(n, hashlib.sha256(packed(one)).digest()) for n, one in enumerate((base(), newest()))]
    return [terms_entry(terms().encode()), opening, models[0], first, models[1], second]


def tree() -> MerkleTree:
    """The tree of the log."""
    return MerkleTree([leaf_hash(entry) for entry in entries()])


def head(size: int = 6, vector: ServerKey = VECTOR) -> LogHead:
    """A head that all have signed."""
    bare = LogHead(size, tree().root(size))
    return LogHead(size, bare.root, *(bare.sign(FEDERATION, key) for key in (COORDINATOR, SEED, vector)))


def proof() -> LogProof:
    """That the open round is in the log, and that the log extends the one of the round before."""
    return LogProof(head(), 5, 4, tuple(tree().inclusion(5, 6)), tuple(tree().consistency(4, 6)))


def signed(content: bytes, keys: tuple[ServerKey, ...] = (COORDINATOR, SEED, VECTOR)) -> bytes:
    """A manifest as devices get it; the proof is that of the golden one."""
    one, two, three = (key.sign("manifest", content) for key in keys)
    return SignedManifest(content, one, two, three, proof()).encode()


def signed_terms(content: bytes, keys: tuple[ServerKey, ...] = (COORDINATOR, SEED, VECTOR)) -> bytes:
    """Terms as devices get them."""
    return b"".join(key.sign("terms", content) for key in keys) + content


def admission(expires: int = EXPIRES, federation: str = FEDERATION, by: ServerKey = ADMITTER) -> OwnAdmission:
    """The one of an invitation."""
    content = bytes.fromhex(federation) + ADMITTED.public + expires.to_bytes(8, "little")
    return OwnAdmission(ADMITTED, expires, by.sign("admission", content))


def report() -> bytes:
    """The id of the device's report: what its token and the manifest give."""
    return hashlib.sha256(b"murmura report\0" + TOKEN.encode() + manifest().hash).digest()[:16]


def step(phase: str) -> tuple[Visit, RoundContext]:
    """What the method makes of a device's history in the round of a phase."""
    m, method, info = manifests()[0 if phase == "prior" else 2], terms().algorithm(), description().info
    model = base() if phase == "prior" else newest()
    context = RoundContext(info, phase, m.round, model)
    stages = terms().chain(phase, info, m.largest)
    rng = Rng(SECRET, m.round)
    return visit(method, terms().phase(phase, info), context, {"p": STATE}, HISTORY, rng, stages), context


def payloads() -> tuple[bytes, bytes]:
    """The seed, and the vector that is missing."""
    ring, vector = terms().chain("train", description().info, manifest().largest).ring, step("train")[0].vector
    assert vector is not None
    seed, other = split(vector, ring, lambda n: SHARE_SEED)
    return seed, ring.pack(other)


def mark_of() -> bytes:
    """What the receipts countersign."""
    return mark(SALT, JOURNAL)


def share(kind: int, payload: bytes | None = None, sealed: ShareHead | None = None, **changed: Any) -> bytes:
    """A sealed share; `changed` are fields of its pass, `sealed` is what it is sealed for."""
    key = (SEED_SEALING if kind == wire.SEED else VECTOR_SEALING).public
    name = ShareHead(kind, manifest().hash, report())
    head_, content = sealed or name, payloads()[kind] if payload is None else payload
    inside = plain_hpke.seal(content, key, head_.info("payload"), ONE_TIME["payload"])
    shown = pass_of(kind, wire.digest(inside))
    passed = plain_hpke.seal(replace(shown, **changed).encode(), key, head_.info("pass"), ONE_TIME["pass"])
    return name.encode() + passed + inside


def pass_of(kind: int, payload: bytes, by: ServerKey = ADMITTED) -> SharePass:
    """Why a share counts."""
    name = ShareHead(kind, manifest().hash, report())
    receipt = SEED.sign("receipt", name.signed + mark_of()) if kind == wire.VECTOR else wire.NO_RECEIPT
    signature = by.sign("report", wire.report_content(name, payload))
    ticket = COORDINATOR.sign("ticket", name.signed)
    shown = admission().shown.encode()
    return SharePass(ticket, receipt, mark_of(), shown, payload, wire.NO_CHALLENGE, signature)


def letter() -> IndividualReport:
    """The same vector where a server may read it."""
    ring, vector = terms().chain("train", description().info, manifest().largest).ring, step("train")[0].vector
    assert vector is not None
    name = manifest().hash + report()
    return IndividualReport(
        manifest().hash, report(), COORDINATOR.sign("ticket", name), mark_of(), ring.pack(vector)
    )


def exact_update() -> Update:
    """Counts of two items, each at most what its row allows."""
    values = np.array([[3], [70_000]], np.uint32)
    return Update({"counts": SparseRows(np.array([1, 3], np.int32), values)})
