"""vectors/wire.json is what this implementation reads, writes and refuses."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.channel.field_shares import unpack_numbers
from murmura.channel.key_pairs import unseal
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.phase_chains import chain
from murmura.channel.shares import expand
from murmura.core.codec import decode, decode_changes, decode_model, encode
from murmura.core.contract import Phase, RoundContext
from murmura.core.errors import MurmuraError
from murmura.core.rng import Rng
from murmura.device import trust
from murmura.device.download_cache import DownloadCache
from murmura.device.storage import Receipt, mark
from murmura.device.trust import fetch_terms, verified
from murmura.engine.itinerary import public_part
from murmura.engine.visit import visit
from murmura.kernels.proofs.field import added
from murmura.server.aggregator.aggregator import Aggregator, Role
from murmura.server.coordinator.open_round import IndividualReports
from murmura.server.database import ServerDatabase, put_fact
from murmura.server.dispatch import respond
from murmura.server.endpoints import AGGREGATOR
from murmura.server.loopback import Network
from murmura.wire import wire
from murmura.wire.admission import Admission, Invitation, OwnAdmission, check_join
from murmura.wire.description import FederationDescription
from murmura.wire.log import LogHead, extends, includes, leaf_hash, pack_entries, unpack_entries, unpack_hashes
from murmura.wire.manifest import ReleasedSum, SignedManifest
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import SealingKey, ServerKey, check_signature
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import REPLY_BYTES, HttpReply, check_length
from murmura.wire.wire import IndividualReport, ShareHead, SharePass
from tests.channel import plain_hpke
from tests.http import wire_vectors, wire_world

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "wire.json").read_text(encoding="utf-8")
)
GOOD = VECTORS["good"]
NOW = 1700000030.0
TERMS = FederationTerms.decode(bytes.fromhex(GOOD["terms"]["content"]))
DESCRIBED = FederationDescription.decode(bytes.fromhex(GOOD["description"]))
COUNTS = bytes.fromhex(GOOD["counts"])
INFO = DESCRIBED.with_counts(COUNTS).info
SIGNED = SignedManifest.decode(bytes.fromhex(GOOD["manifest"]["signed"]))
ENTRIES = unpack_entries(bytes.fromhex(GOOD["log"]["entries"]))
ROLES: tuple[Role, Role] = ("seed", "vector")


def key_of(name: str) -> ServerKey:
    return ServerKey(bytes.fromhex(GOOD["keys"]["signing"][name]["private"]))


def sealing_key(role: Role) -> SealingKey:
    return SealingKey(bytes.fromhex(GOOD["keys"]["sealing"][role]["private"]))


def proof_key(role: Role) -> SealingKey:
    return SealingKey(bytes.fromhex(GOOD["keys"]["proof"][role]["private"]))


def witness(role: Role, folder: Path) -> Aggregator:
    """One that has agreed to the terms and witnessed the log."""
    store, coordinator = ServerDatabase(folder / f"{role}.db", "aggregator"), key_of("coordinator")
    keys = {"sealing key": sealing_key(role).private, "proof key": proof_key(role).private}
    store.write([put_fact(name, key) for name, key in {**keys, "key": key_of(role).private}.items()])
    made = Aggregator(role, store, lambda: NOW, 1, coordinator.public)
    content, described = TERMS.encode(), bytes.fromhex(GOOD["description"])
    made.agreement.agree(coordinator.sign("terms", content) + content)
    made.agreement.take_description(hashlib.sha256(described).digest(), described)
    grown = (0).to_bytes(8, "little") + pack_entries(ENTRIES)
    head = LogHead.decode(bytes.fromhex(GOOD["log"]["head"]))
    signature = made.append_log(coordinator.sign("log", grown) + grown)
    assert signature == (head.seed if role == "seed" else head.vector)
    return made


def aggregator(role: Role, folder: Path) -> Aggregator:
    """One that has opened the round too."""
    made = witness(role, folder)
    assert opened(made, b"") == (SIGNED.seed if role == "seed" else SIGNED.vector)
    return made


def opened(made: Aggregator, more: bytes) -> bytes:
    """What an aggregator answers to the manifest of the round, with counts or without."""
    signature = key_of("coordinator").sign("manifest", SIGNED.content)
    return made.open_round(signature + wire.pack_pair(SIGNED.content, more))


def report(made: Aggregator, message: bytes) -> bytes:
    """What the address of an aggregator answers; a refusal is raised as one."""
    reply = respond(made, AGGREGATOR, "POST", "/reports", message, {})
    if reply.status != 200:
        raise RefusedError.read(reply.status, reply.body)
    return reply.body


class Published:
    """A coordinator that answers everything with the same bytes."""

    def __init__(self, message: bytes) -> None:
        self.message = message

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        check_length(url, len(self.message), largest)
        return HttpReply(200, self.message)


def test_the_file_is_what_the_code_writes() -> None:
    assert wire_vectors.vectors() == VECTORS, "run python -m tests.http.wire_vectors vectors/wire.json"
    assert VECTORS["protocol"] == wire.PROTOCOL


def test_terms_are_read_and_named_by_their_hash() -> None:
    assert TERMS.hash.hex() == GOOD["terms"]["hash"]
    assert TERMS.encode().hex() == GOOD["terms"]["content"]
    signed = Published(bytes.fromhex(GOOD["terms"]["signed"]))
    assert asyncio.run(fetch_terms(signed, "http://c", TERMS.hash)) == TERMS
    assert TERMS.noise == NoiseTerms() == NoiseTerms(**GOOD["noise"])
    assert hashlib.sha256(bytes.fromhex(GOOD["description"])).hexdigest() == TERMS.catalogue.description
    assert (TERMS.method, TERMS.minimum, TERMS.admission) == ("cfpl", 100, "invited")


def test_the_manifest_is_signed_by_all_and_in_the_log() -> None:
    read = asyncio.run(
        verified(SIGNED.encode(), TERMS, None, Published(b""), "http://c"),
    )
    assert read.manifest.hash.hex() == GOOD["manifest"]["hash"]
    before = LogHead(4, bytes.fromhex(GOOD["log"]["consistency"][2]["before"]))
    asyncio.run(verified(SIGNED.encode(), TERMS, before, Published(b""), "http://c"))
    assert SIGNED.proof.head.encode().hex() == GOOD["log"]["head"]
    assert [entry.partition(b"\0")[0] for entry in ENTRIES] == [
        b"terms",
        b"manifest",
        b"model",
        b"manifest",
        b"model",
        b"manifest",
    ]


def test_proofs_of_the_log_hold_and_no_others() -> None:
    for one in GOOD["log"]["inclusion"]:
        leaf, root = bytes.fromhex(one["leaf"]), bytes.fromhex(one["root"])
        assert leaf == leaf_hash(ENTRIES[one["index"]])
        hashes = [bytes.fromhex(text) for text in one["proof"]]
        assert includes(leaf, one["index"], one["size"], root, hashes)
        assert not includes(leaf_hash(b""), one["index"], one["size"], root, hashes)
    for one in GOOD["log"]["consistency"]:
        before, root = bytes.fromhex(one["before"]), bytes.fromhex(one["root"])
        hashes = [bytes.fromhex(text) for text in one["proof"]]
        assert extends(one["first"], before, one["size"], root, hashes)
        assert not extends(one["first"], bytes(32), one["size"], root, hashes)


def test_the_admission_and_its_links_are_read() -> None:
    plain = GOOD["admission"]
    own = OwnAdmission.decode(bytes.fromhex(plain["own"]))
    shown = Admission.decode(bytes.fromhex(plain["shown"]))
    assert own.shown == shown
    shown.check(TERMS, NOW)
    check_join(shown, TERMS, plain["token"], bytes.fromhex(plain["join_proof"]), NOW)
    assert Invitation.read(plain["link"]) == Invitation("https://fed.example/a", TERMS.hash, own)
    bare = Invitation.read(plain["link_of_an_open_federation"])
    assert bare == Invitation("http://192.0.2.7:8000", TERMS.hash, None)


def test_the_model_is_read_whole_or_by_what_changed() -> None:
    publishes, plain = TERMS.algorithm().publishes(INFO), GOOD["model"]
    messages = [bytes.fromhex(plain[name]) for name in ("base", "whole")]
    base, whole = (decode_model(message, publishes, INFO.listed) for message in messages)
    changed = decode_changes(bytes.fromhex(plain["changes"]), base, publishes, INFO.listed)
    for name, values in whole.items():
        np.testing.assert_array_equal(changed[name], values, strict=True)
        np.testing.assert_array_equal(values[INFO.listed].squeeze(), plain["values"][name])
    m = SIGNED.manifest
    assert m.counts is None
    assert hashlib.sha256(bytes.fromhex(plain["whole"])).hexdigest() == m.model.hash
    assert (m.changes[0].hash, m.changes[0].bytes) == (
        hashlib.sha256(bytes.fromhex(plain["changes"])).hexdigest(),
        len(plain["changes"]) // 2,
    )
    assert m.changes[0].base == hashlib.sha256(bytes.fromhex(plain["base"])).hexdigest()


@pytest.mark.parametrize("plain", GOOD["steps"], ids=lambda one: str(one["phase"]))
def test_a_step_of_training_is_what_the_file_says(plain: dict[str, Any]) -> None:
    """From nothing but the file: the method of the terms, a history, a state, a secret and a model."""
    info = INFO if plain["phase"] == "train" else DESCRIBED.info
    algorithm, phase = TERMS.algorithm(), TERMS.phase(plain["phase"], info)
    tables = decode_model(bytes.fromhex(plain["model"]), algorithm.publishes(info), info.listed)
    shapes = SIGNED.manifest.shapes
    model = {name: values.reshape(shapes[name]) for name, values in tables.items()}
    largest = SIGNED.manifest.largest if plain["phase"] == "train" else 200
    stages = TERMS.chain(plain["phase"], info, largest)
    context = RoundContext(info, plain["phase"], plain["round"], model)
    history = wire_world.HISTORY
    assert history.item.tolist() == plain["history"]["item"]
    state, rng = {"p": np.array(plain["state"]["p"])}, Rng(np.array(plain["secret"], np.uint32), plain["round"])
    made = visit(algorithm, phase, context, state, history, rng, stages)
    assert encode(made.update, phase.sends).hex() == plain["update"]
    assert made.vector is not None
    assert made.vector.tolist() == plain["ring_vector"]
    assert {name: values.tolist() for name, values in made.state.items()} == plain["state_after"]


@pytest.mark.parametrize("plain", GOOD["shares"], ids=lambda one: ROLES[one["kind"]])
def test_a_share_opens_to_its_pass_and_its_payload(plain: dict[str, Any]) -> None:
    role, message = ROLES[plain["kind"]], bytes.fromhex(plain["message"])
    head, private = ShareHead.decode(message, plain["kind"]), sealing_key(role).private
    assert head.manifest == SIGNED.manifest.hash
    token = plain["token"].encode()
    assert head.report == hashlib.sha256(b"murmura report\0" + token + head.manifest).digest()[:16]
    parts = {"pass": wire.sealed_pass(message), "payload": bytes(wire.sealed_payload(message))}
    for part, sealed in parts.items():
        assert head.info(part).hex() == plain["info"][part]
        assert unseal(sealed, private, head.info(part)).hex() == plain[part]
        one_time = bytes.fromhex(plain["one_time_keys"][part])
        content = bytes.fromhex(plain[part])
        assert plain_hpke.seal(content, sealing_key(role).public, head.info(part), one_time) == sealed
    shown = SharePass.decode(bytes.fromhex(plain["pass"]))
    assert shown.payload == hashlib.sha256(parts["payload"]).digest()
    admitted = Admission.decode(shown.admission)
    check_signature(admitted.public, "report", wire.report_content(head, shown.payload), shown.signature)


def test_the_two_shares_add_up_to_the_vector_of_the_step() -> None:
    ring = TERMS.chain("train", INFO, SIGNED.manifest.largest).ring
    seed, vector = (bytes.fromhex(one["payload"]) for one in GOOD["shares"])
    total = ring.add_up([expand(seed, ring), ring.unpack(vector)])
    (step,) = (one for one in GOOD["steps"] if one["phase"] == "train")
    assert total.tolist() == step["ring_vector"]
    letter = IndividualReport.decode(bytes.fromhex(GOOD["letter"]))
    assert ring.unpack(letter.update).tolist() == step["ring_vector"]


def test_aggregators_take_the_shares_and_countersign_the_journal(tmp_path: Path) -> None:
    plain = GOOD["receipts"]
    marked = mark(bytes.fromhex(plain["salt"]), plain["journal_head"])
    assert marked.hex() == plain["mark"]
    for role, one in zip(ROLES, GOOD["shares"]):
        assert report(aggregator(role, tmp_path), bytes.fromhex(one["message"])).hex() == plain[role]
    signatures = (plain["seed"], plain["vector"])
    named = GOOD["shares"][0]["report"]
    Receipt(
        TERMS.hash.hex(), GOOD["manifest"]["hash"], named, plain["journal_head"], plain["salt"], signatures
    ).check(TERMS)


def readable(message: bytes) -> IndividualReports:
    """What takes letters of the same round where the server may read them, after this one."""
    channel = {**TERMS.channel, "channel": "readable"}
    terms = replace(TERMS, channel=channel, seed_aggregator=None, vector_aggregator=None)
    box = IndividualReports(terms, SIGNED.manifest, INFO)
    box.take(IndividualReport.decode(message), 0, key_of("coordinator"), NOW)
    return box


def test_a_letter_is_taken_and_arrays_exact_tables_and_parts_are_read() -> None:
    assert readable(bytes.fromhex(GOOD["letter"])).used == 1
    assert wire.unpack_arrays(bytes.fromhex(GOOD["arrays"]))["M"].tolist() == [[0, 1, 2], [3, 4, 5]]
    exact, spec = GOOD["exact"], wire_world.EXACT
    assert spec.mark == exact["mark"]
    update = decode(bytes.fromhex(exact["update"]), spec)
    stages = chain(TERMS.channel_settings, Phase("counts", spec), INFO, 200)
    assert stages.device(update, Rng(wire_world.SECRET, 2), 2).tolist() == exact["ring_vector"]
    assert exact["ring_vector"][1 + 1 : 1 + 3] == [3, 70_000]  # untouched, behind the count of devices
    part = GOOD["part"]
    heads = public_part(bytes.fromhex(part["seed"]), part["of"], part["part"])
    assert np.flatnonzero(heads).tolist() == part["places"]


def _grown(message: bytes) -> None:
    one = GOOD["log"]["consistency"][1]
    head, before = (LogHead(one[s], bytes.fromhex(one[r])) for s, r in (("size", "root"), ("first", "before")))
    asyncio.run(trust.check_grown(head, before, unpack_hashes(message), Network(), ""))


def _receipt(message: bytes) -> None:
    plain = GOOD["receipts"]
    content = bytes.fromhex(GOOD["manifest"]["hash"] + GOOD["shares"][0]["report"] + plain["mark"])
    check_signature(key_of("vector").public, "receipt", content, message)


def _joined(message: bytes) -> None:
    plain = GOOD["admission"]
    check_join(Admission.decode(bytes.fromhex(plain["shown"])), TERMS, plain["token"], message, NOW)


def test_counts_are_what_both_halves_of_a_released_sum_add_up_to() -> None:
    assert INFO.counts is not None
    assert INFO.counts.tolist() == [90, 40, 0, 7]
    shown = ReleasedSum.decode(bytes.fromhex(GOOD["released"]["sum"]))
    shown.check(TERMS)
    assert shown.manifest.hex() == GOOD["released"]["manifest"]
    assert shown.encode().hex() == GOOD["released"]["sum"]
    total = added(*(unpack_numbers(half, len(INFO.listed)) for half in shown.halves))
    assert total.tolist() == INFO.counts[INFO.listed].tolist()


def _fetched(message: bytes, name: str) -> None:
    published, content = Published(message), bytes.fromhex(GOOD["model"][name])
    cache = DownloadCache("http://c", published, TERMS)
    asyncio.run(cache._fetch(hashlib.sha256(content).hexdigest(), len(content)))


def readers(folder: Path) -> dict[str, Callable[[bytes], object]]:
    """Who reads which message."""
    nobody = Published(b"")
    return {
        "terms": lambda m: asyncio.run(fetch_terms(Published(m), "http://c")),
        "manifest": lambda m: asyncio.run(verified(m, TERMS, None, nobody, "http://c")),
        "head": lambda m: LogHead.decode(m).check(TERMS),
        "entries": unpack_entries,
        "consistency": _grown,
        "admission": lambda m: Admission.decode(m).check(TERMS, NOW),
        "link": lambda m: Invitation.read(m.decode()),
        "model": lambda m: _fetched(m, "whole"),
        "changes": lambda m: _fetched(m, "changes"),
        "counts": lambda m: opened(witness("seed", folder), m),
        "description's counts": DESCRIBED.with_counts,
        "released sum": lambda m: ReleasedSum.decode(m).check(TERMS),
        "share 0": lambda m: report(aggregator("seed", folder), m),
        "share 1": lambda m: report(aggregator("vector", folder), m),
        "letter": readable,
        "receipt": _receipt,
        "join proof": _joined,
        "exact": lambda m: decode(m, wire_world.EXACT),
        "arrays": wire.unpack_arrays,
    }


@pytest.mark.parametrize("case", VECTORS["tampered"], ids=lambda case: f"{case['message']}: {case['what']}")
def test_tampered_messages_are_refused(case: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(MurmuraError) as refused:
        readers(tmp_path)[case["message"]](bytes.fromhex(case["bytes"]))
    # what no machine has typed reaches the other side as malformed
    code = refused.value.code if isinstance(refused.value, RefusedError) else "malformed"
    assert code == case["error"], refused.value


def test_every_kind_of_message_is_tampered_with(tmp_path: Path) -> None:
    assert {case["message"] for case in VECTORS["tampered"]} == readers(tmp_path).keys()
