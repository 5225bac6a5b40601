"""vectors/wire.json is what this implementation reads, writes and refuses."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.channel.shares import expand
from murmura.core.codec import decode, decode_model
from murmura.runtimes.http.aggregator.aggregator import Aggregator, Role, pack_pair
from murmura.runtimes.http.database import ServerDatabase, put_fact
from murmura.runtimes.http.device.download_cache import DownloadCache
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.keys import ServerKey
from murmura.runtimes.http.protocol.manifest import FederationDescription, open_manifest
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import REPLY_BYTES, HttpReply
from tests.http import wire_vectors

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "wire.json").read_text(encoding="utf-8")
)
GOOD = {name: bytes.fromhex(text) for name, text in VECTORS["good"].items() if isinstance(text, str)}
KEY = bytes.fromhex(VECTORS["good"]["keys"]["coordinator"])


def aggregator(role: Role, key: ServerKey, folder: Path) -> Aggregator:
    store = ServerDatabase(folder / f"{role}.db", "aggregator")
    store.write([put_fact("key", key.private)])
    made = Aggregator(role, store, lambda: 1700000030.0, 1, KEY)
    made.open_round(pack_pair(GOOD["manifest"], GOOD["description"]))
    return made


def test_the_file_is_what_the_code_writes() -> None:
    assert wire_vectors.vectors() == VECTORS, "run python -m tests.http.wire_vectors vectors/wire.json"


def test_good_messages_are_read() -> None:
    manifest = open_manifest(GOOD["manifest"], KEY)
    assert manifest.hash == GOOD["manifest_hash"]
    described = FederationDescription.decode(GOOD["description"])
    assert hashlib.sha256(GOOD["description"]).hexdigest() == manifest.description
    assert hashlib.sha256(GOOD["model"]).hexdigest() == manifest.model
    publishes = manifest.algorithm().publishes(described.info)
    model = decode_model(GOOD["model"], publishes, described.info.listed)
    assert model["Q"][described.info.listed].ravel().tolist() == VECTORS["good"]["model_values"]
    update = decode(GOOD["update"], manifest.exchange(described.info).sends)
    assert update.tables["items"].index.tolist() == [0, 3]
    assert wire.unpack_arrays(GOOD["arrays"])["M"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_two_shares_add_up_to_the_vector() -> None:
    manifest, described = (
        open_manifest(GOOD["manifest"], KEY),
        FederationDescription.decode(GOOD["description"]),
    )
    ring = manifest.chain(described.info).ring
    seed = wire.ShareMessage.decode(GOOD["share_seed"], wire.SEED, 32)
    vector = wire.ShareMessage.decode(GOOD["share_vector"], wire.VECTOR, ring.message_bytes)
    total = ring.add_up([expand(seed.payload, ring), ring.unpack(vector.payload)])
    np.testing.assert_array_equal(total, VECTORS["good"]["ring_vector"])
    assert (
        ring.unpack(wire.IndividualReport.decode(GOOD["letter"]).update).tolist()
        == VECTORS["good"]["ring_vector"]
    )


def test_aggregators_take_the_shares_and_sign_receipts(tmp_path: Path) -> None:
    first = aggregator("seed", wire_vectors.SEED, tmp_path).report(GOOD["share_seed"])
    assert first == wire.ShareMessage.decode(GOOD["share_vector"], wire.VECTOR, 4 * 7).receipt
    second = aggregator("vector", wire_vectors.VECTOR, tmp_path).report(GOOD["share_vector"])
    assert second == GOOD["receipt_vector"]


@pytest.mark.parametrize("case", VECTORS["tampered"], ids=lambda case: f"{case['message']}: {case['what']}")
def test_tampered_messages_are_refused(case: dict[str, str], tmp_path: Path) -> None:
    message = bytes.fromhex(case["bytes"])

    class Published:
        async def __call__(
            self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
        ) -> HttpReply:
            return HttpReply(200, message)

    def read() -> None:
        match case["message"]:
            case "manifest":
                open_manifest(message, KEY)
            case "model":
                named = hashlib.sha256(GOOD["model"]).hexdigest()
                asyncio.run(DownloadCache("", Published())._fetch(named))
            case "share_seed":
                aggregator("seed", wire_vectors.SEED, tmp_path).report(message)
            case "share_vector":
                aggregator("vector", wire_vectors.VECTOR, tmp_path).report(message)
            case _:
                wire.unpack_arrays(message)

    with pytest.raises(RefusedError) as refused:
        read()
    assert refused.value.code == case["error"]
