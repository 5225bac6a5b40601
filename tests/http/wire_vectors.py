"""Golden vectors of the wire: messages every implementation must read alike, and tampered ones it must refuse.

`python -m tests.http.wire_vectors vectors/wire.json` writes the file anew. Binary is hexadecimal. What is sealed
is sealed with one-time keys that are given too, so that every byte of the file can be made again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.channel.chain import chain
from murmura.channel.shares import split
from murmura.core.channel import ChannelSettings
from murmura.core.codec import encode, encode_changes, encode_model
from murmura.core.contract import FederationInfo, History, Phase, RoundContext
from murmura.core.interactions import Vocabulary
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.row_bounds import RowBounds
from murmura.core.settings import as_dict
from murmura.core.update import SparseRows, Update
from murmura.engine.itinerary import public_part
from murmura.engine.visit import Visit, visit
from murmura.runtimes.http.device.receipts import mark
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.admission import Invitation, OwnAdmission, join_proof
from murmura.runtimes.http.protocol.description import FederationDescription
from murmura.runtimes.http.protocol.keys import SealingKey, ServerKey
from murmura.runtimes.http.protocol.log import (
    LogHead,
    LogProof,
    manifest_entry,
    model_entry,
    pack_entries,
    terms_entry,
)
from murmura.runtimes.http.protocol.manifest import Download, Manifest, SignedManifest
from murmura.runtimes.http.protocol.merkle import MerkleTree, leaf_hash
from murmura.runtimes.http.protocol.terms import (
    AggregatorAddress,
    CatalogueRule,
    FederationTerms,
    NoiseTerms,
    ReleaseWindows,
)
from murmura.runtimes.http.protocol.wire import IndividualReport, ShareHead, SharePass
from tests.channel import plain_hpke

COORDINATOR, SEED, VECTOR, ADMITTER, ADMITTED, STRANGER = (ServerKey(bytes([n]) * 32) for n in range(1, 7))
SEED_SEALING, VECTOR_SEALING = SealingKey(bytes([11]) * 32), SealingKey(bytes([12]) * 32)
ONE_TIME = {"pass": bytes([13]) * 32, "payload": bytes([14]) * 32}
FEDERATION, TOKEN, EXPIRES = "0f" * 16, "ee" * 32, 1_800_000_000
OPENED = 1_700_000_000.0
SHARE_SEED, SALT, JOURNAL = bytes(range(100, 132)), bytes(range(32)), "ab" * 32
LISTED, SECRET, STATE = np.array([0, 1, 3], np.int32), np.array([7, 9], np.uint32), np.array([0.25, -0.5])
Q = np.arange(8, dtype=np.float32).reshape(4, 2) / 8
HISTORY = History(np.array([0, 3], np.int32), np.ones(2), np.ones(2))
PART, PART_SEED = 0.25, bytes(range(16))
CHANNEL = ChannelSettings(channel="secure-sum")
EXACT = MessageSpec(
    (TableSpec("counts", "item", 4, 1, "uint32", exact=RowBounds(np.array([3, 3, 0, 70_000]))),)
)


def description() -> FederationDescription:
    """Four items, of which three are on offer."""
    labels = Vocabulary(np.array(["apple", "pear", "plum", "quince"]))
    return FederationDescription(labels, FederationInfo(4, LISTED, 200, 1000))


@cache
def terms() -> FederationTerms:
    """An invited federation of cFPL with two factors and a prior, without noise."""
    described, preset = description().encode(), algorithm("cfpl")(factors=2, clients=150, rounds=5)
    return FederationTerms(
        protocol=wire.PROTOCOL,
        federation=FEDERATION,
        coordinator=COORDINATOR.public.hex(),
        seed_aggregator=AggregatorAddress("https://one.example", SEED.public.hex(), SEED_SEALING.public.hex()),
        vector_aggregator=AggregatorAddress(
            "https://two.example", VECTOR.public.hex(), VECTOR_SEALING.public.hex()
        ),
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
        answers=False,
        called=200,
        largest=200,
        opened=OPENED - 200,
        deadline=OPENED - 140,
        hold=5.0,
        spread=20.0,
    )
    training = {"phase": "train", "called": 150, "largest": 150}
    first = replace(
        opening,
        **{**training, "serial": 1, "round": 1, "nonce": "a1" * 16, "previous": opening.hash.hex()},
        opened=OPENED - 100,
        deadline=OPENED - 40,
    )
    second = replace(
        first,
        **{"serial": 2, "round": 2, "nonce": "a2" * 16, "previous": first.hash.hex()},
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
    return SharePass(ticket, receipt, mark_of(), admission().shown.encode(), payload, signature)


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


def good() -> dict[str, Any]:
    """Messages to read."""
    answer = {"M": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array([3], np.int32)}
    content = terms().encode()
    return {
        "keys": _keys(),
        "terms": {"content": content.hex(), "hash": terms().hash.hex(), "signed": signed_terms(content).hex()},
        "noise": asdict(terms().noise),
        "description": description().encode().hex(),
        "manifest": {"signed": signed(manifest().encode()).hex(), "hash": manifest().hash.hex()},
        "log": _log(),
        "admission": _admission(),
        "model": {
            "base": packed(base()).hex(),
            "changes": changes().hex(),
            "whole": packed(newest()).hex(),
            "values": {name: values[LISTED].tolist() for name, values in newest().items()},
        },
        "steps": [_step("prior"), _step("train")],
        "shares": [_share(wire.SEED), _share(wire.VECTOR)],
        "receipts": _receipts(),
        "letter": letter().encode().hex(),
        "arrays": wire.pack_arrays(answer).hex(),
        "exact": _exact(),
        "part": {
            "seed": PART_SEED.hex(),
            "part": PART,
            "places": np.flatnonzero(public_part(PART_SEED, 64, PART)).tolist(),
            "of": 64,
        },
    }


def _keys() -> dict[str, Any]:
    signing = {"coordinator": COORDINATOR, "seed": SEED, "vector": VECTOR, "admitter": ADMITTER}
    sealing = {"seed": SEED_SEALING, "vector": VECTOR_SEALING}
    pairs = {name: {"private": key.private.hex(), "public": key.public.hex()} for name, key in signing.items()}
    return {
        "signing": pairs,
        "sealing": {
            name: {"private": key.private.hex(), "public": key.public.hex()} for name, key in sealing.items()
        },
    }


def _log() -> dict[str, Any]:
    made = tree()
    return {
        "entries": pack_entries(entries()).hex(),
        "head": head().encode().hex(),
        "inclusion": [
            {
                "index": index,
                "size": size,
                "leaf": leaf_hash(entries()[index]).hex(),
                "root": made.root(size).hex(),
                "proof": [one.hex() for one in made.inclusion(index, size)],
            }
            for index, size in ((0, 1), (2, 6), (4, 5), (5, 6))
        ],
        "consistency": [
            {
                "first": first,
                "size": size,
                "before": made.root(first).hex(),
                "root": made.root(size).hex(),
                "proof": [one.hex() for one in made.consistency(first, size)],
            }
            for first, size in ((1, 6), (3, 6), (4, 6), (4, 5), (6, 6))
        ],
    }


def _admission() -> dict[str, Any]:
    own = admission()
    return {
        "own": own.encode().hex(),
        "shown": own.shown.encode().hex(),
        "link": Invitation("https://fed.example/a", terms().hash, own).link(),
        "link_of_an_open_federation": Invitation("http://192.0.2.7:8000", terms().hash).link(),
        "token": TOKEN,
        "join_proof": join_proof(own, FEDERATION, TOKEN).hex(),
    }


def _step(phase: str) -> dict[str, Any]:
    made, context = step(phase)
    sends = terms().phase(phase, context.info).sends
    assert made.vector is not None
    return {
        "phase": phase,
        "round": context.round,
        "secret": SECRET.tolist(),
        "state": {"p": STATE.tolist()},
        "history": {"item": HISTORY.item.tolist(), "value": [1.0, 1.0], "consent": [1.0, 1.0]},
        "model": packed(context.model).hex(),  # type: ignore[arg-type]
        "update": encode(made.update, sends).hex(),
        "ring_vector": made.vector.tolist(),
        "state_after": {name: np.asarray(values).tolist() for name, values in made.state.items()},
    }


def _share(kind: int) -> dict[str, Any]:
    name, message = ShareHead(kind, manifest().hash, report()), share(kind)
    return {
        "kind": kind,
        "token": TOKEN,
        "report": report().hex(),
        "payload": payloads()[kind].hex(),
        "pass": pass_of(kind, wire.digest(wire.sealed_payload(message))).encode().hex(),
        "info": {part: name.info(part).hex() for part in ONE_TIME},
        "one_time_keys": {part: key.hex() for part, key in ONE_TIME.items()},
        "message": message.hex(),
    }


def _receipts() -> dict[str, Any]:
    content = manifest().hash + report() + mark_of()
    signers = {"coordinator": COORDINATOR, "seed": SEED, "vector": VECTOR}
    signatures = {name: key.sign("receipt", content).hex() for name, key in signers.items()}
    return {"salt": SALT.hex(), "journal_head": JOURNAL, "mark": mark_of().hex(), **signatures}


def _exact() -> dict[str, Any]:
    info = description().info
    stages = chain(CHANNEL, Phase("counts", EXACT), info, 200)
    return {
        "rows": [3, 3, 0, 70_000],
        "mark": EXACT.mark,
        "update": encode(exact_update(), EXACT).hex(),
        "ring_vector": stages.device(exact_update(), Rng(SECRET, 2), 2).tolist(),
    }


def vectors() -> dict[str, Any]:
    """The whole file."""
    from tests.http.wire_tampered import tampered

    return {"protocol": wire.PROTOCOL, "good": good(), "tampered": tampered()}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
