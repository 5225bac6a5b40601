"""Golden vectors of the wire: messages every implementation must read alike, and tampered ones it must refuse.

`python -m tests.http.wire_vectors vectors/wire.json` writes the file anew. Binary is hexadecimal.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms.fcf.baseline import FCF
from murmura.channel.shares import split
from murmura.core.channel import ChannelSettings
from murmura.core.codec import encode, encode_model
from murmura.core.contract import FederationInfo
from murmura.core.interactions import Vocabulary
from murmura.core.rng import Rng
from murmura.core.settings import as_dict
from murmura.core.update import SparseRows, Update
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.keys import ServerKey
from murmura.runtimes.http.protocol.manifest import (
    AggregatorAddress,
    FederationDescription,
    Manifest,
    canonical,
)
from murmura.runtimes.http.protocol.wire import IndividualReport, ShareMessage

COORDINATOR, SEED, VECTOR = (ServerKey(bytes([n]) * 32) for n in (1, 2, 3))
REPORT, SHARE_SEED = bytes(range(16)), bytes(range(100, 132))
LISTED = np.array([0, 1, 3], np.int32)
SECRET = np.array([7, 9], np.uint32)
Q = np.arange(8, dtype=np.float32).reshape(4, 2) / 8


def description() -> FederationDescription:
    """Four items, of which three are on offer."""
    labels = Vocabulary(np.array(["apple", "pear", "plum", "quince"]))
    return FederationDescription(labels, FederationInfo(4, LISTED, 200, 1000))


def manifest() -> Manifest:
    """A round of FCF with two factors."""
    return Manifest(
        protocol=wire.PROTOCOL,
        federation="0f" * 16,
        serial=5,
        round=4,
        nonce="ab" * 16,
        previous="cd" * 32,
        preset="fcf",
        settings={"factors": 2, "gamma": 0.02, "reg": 1.0, "refresh": False, "precision": "float32"},
        phase="train",
        combine="sum",
        mode="secure-sum",
        description=hashlib.sha256(description().encode()).hexdigest(),
        model=hashlib.sha256(model()).hexdigest(),
        shapes={"Q": [4, 2]},
        answers=False,
        called=150,
        largest=200,
        minimum=100,
        opened=1700000000.0,
        deadline=1700000060.0,
        hold=5.0,
        spread=20.0,
        channel=as_dict(ChannelSettings(channel="secure-sum")),
        seed_aggregator=AggregatorAddress("https://one.example", SEED.public.hex()),
        vector_aggregator=AggregatorAddress("https://two.example", VECTOR.public.hex()),
    )


def model() -> bytes:
    """Q of the items on offer."""
    return encode_model({"Q": Q}, FCF(factors=2).publishes(description().info), LISTED)


def update() -> Update:
    """Gradients of two items."""
    values = np.array([[0.5, -1.25], [3.0, 0.0625]], np.float32)
    return Update({"items": SparseRows(np.array([0, 3], np.int32), values)})


def signed(content: bytes, key: ServerKey = COORDINATOR) -> bytes:
    """A manifest's envelope."""
    return key.sign("manifest", content) + content


def shares() -> tuple[ShareMessage, ShareMessage]:
    """Both halves of a report."""
    m = manifest()
    chain = m.chain(description().info)
    vector = chain.device(update(), Rng(SECRET, m.round), m.round)
    seed, other = split(vector, chain.ring, lambda n: SHARE_SEED)
    name = m.hash + REPORT
    ticket, receipt = COORDINATOR.sign("ticket", name), SEED.sign("receipt", name)
    first = ShareMessage(wire.SEED, m.hash, REPORT, ticket, wire.NO_RECEIPT, seed)
    return first, replace(first, kind=wire.VECTOR, receipt=receipt, payload=chain.ring.pack(other))


def good() -> dict[str, Any]:
    """Messages to read."""
    m, (first, second) = manifest(), shares()
    chain = m.chain(description().info)
    vector = chain.device(update(), Rng(SECRET, m.round), m.round)
    upload = IndividualReport(m.hash, REPORT, first.ticket, chain.ring.pack(vector))
    answer = {"M": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array([3], np.int32)}
    return {
        "keys": {
            "coordinator": COORDINATOR.public.hex(),
            "seed": SEED.public.hex(),
            "vector": VECTOR.public.hex(),
        },
        "description": description().encode().hex(),
        "manifest": signed(m.encode()).hex(),
        "manifest_hash": m.hash.hex(),
        "model": model().hex(),
        "model_values": Q[LISTED].ravel().tolist(),
        "update": encode(update(), m.exchange(description().info).sends).hex(),
        "secret": SECRET.tolist(),
        "ring_vector": vector.tolist(),
        "share_seed": first.encode().hex(),
        "share_vector": second.encode().hex(),
        "receipt_vector": VECTOR.sign("receipt", m.hash + REPORT).hex(),
        "letter": upload.encode().hex(),
        "arrays": wire.pack_arrays(answer).hex(),
    }


def tampered() -> list[dict[str, str]]:
    """Messages to refuse: what, for whom, why."""
    m, (first, second) = manifest(), shares()
    content, envelope = m.encode(), signed(m.encode())
    plain = json.loads(content)
    body, other = first.encode(), second.encode()
    stranger = ServerKey(bytes(32))
    forged = replace(first, ticket=stranger.sign("ticket", m.hash + REPORT))
    alone, arrays = replace(second, receipt=wire.NO_RECEIPT), wire.pack_arrays({"a": np.zeros(3)})
    elsewhere = replace(second, receipt=SEED.sign("receipt", m.hash + bytes(16)))
    rows = [
        ("manifest", "a bit of the signature flipped", _flip(envelope, 3), "forged"),
        ("manifest", "a bit of the content flipped", _flip(envelope, 90), "forged"),
        ("manifest", "signed by somebody else", signed(content, stranger), "forged"),
        ("manifest", "of a later version", signed(canonical({**plain, "protocol": 2})), "version"),
        ("manifest", "of an earlier version", signed(canonical({**plain, "protocol": 0})), "version"),
        ("manifest", "with a field too many", signed(canonical({**plain, "more": 1})), "malformed"),
        ("manifest", "spelled another way", signed(json.dumps(plain).encode()), "malformed"),
        ("manifest", "cut off", envelope[:40], "malformed"),
        ("model", "a bit flipped", _flip(model(), 20), "forged"),
        ("model", "cut off", model()[:-1], "forged"),
        ("share_seed", "a byte too long", body + b"\0", "malformed"),
        ("share_seed", "a byte too short", body[:-1], "malformed"),
        ("share_seed", "another magic", b"xx" + body[2:], "malformed"),
        ("share_seed", "of a later version", body[:2] + b"\2" + body[3:], "version"),
        ("share_seed", "of the other kind", body[:3] + b"\1" + body[4:], "malformed"),
        ("share_seed", "of another manifest", _flip(body, 10), "replay"),
        ("share_seed", "under a ticket for another report", _flip(body, 40), "forged"),
        ("share_seed", "with a forged ticket", forged.encode(), "forged"),
        ("share_vector", "without the receipt of its twin", alone.encode(), "no-twin"),
        ("share_vector", "with the receipt of another report", elsewhere.encode(), "forged"),
        ("share_vector", "a byte too long", other + b"\0", "malformed"),
        ("arrays", "a shape that claims more", arrays.replace(b"[3]", b"[9]"), "malformed"),
        ("arrays", "a type that is none", arrays.replace(b"<f8", b"|O8"), "malformed"),
    ]
    return [{"message": kind, "what": what, "bytes": b.hex(), "error": code} for kind, what, b, code in rows]


def _flip(message: bytes, place: int) -> bytes:
    return message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :]


def vectors() -> dict[str, Any]:
    """The whole file."""
    return {"protocol": wire.PROTOCOL, "good": good(), "tampered": tampered()}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
