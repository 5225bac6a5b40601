"""Messages of the wire that must be refused, each with the error that must be given."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from murmura.core.codec import encode
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.update import SparseRows, Update
from murmura.wire import wire
from murmura.wire.admission import Invitation
from murmura.wire.log import pack_entries
from murmura.wire.manifest import SignedManifest
from murmura.wire.signed_records import canonical
from murmura.wire.wire import ShareHead
from tests.http import wire_world as good
from tests.http.wire_world import ADMITTED, COORDINATOR, SEED, STRANGER, VECTOR

Row = tuple[str, str, bytes, str]


def tampered() -> list[dict[str, str]]:
    """What it is, what was done to it, the bytes, the error."""
    shown = [*_terms(), *_manifests(), *_log(), *_admissions(), *_models(), *_counts()]
    rows = [*shown, *_shares(), *_letters(), *_others()]
    return [{"message": kind, "what": what, "bytes": b.hex(), "error": code} for kind, what, b, code in rows]


def _terms() -> list[Row]:
    content = good.terms().encode()
    plain = json.loads(content)
    seed, vector = plain["seed_aggregator"], plain["vector_aggregator"]

    def changed(**values: Any) -> bytes:
        return good.signed_terms(canonical({**plain, **values}))

    same_key, same_seal = {**vector, "key": seed["key"]}, {**vector, "sealing_key": seed["sealing_key"]}
    same_proof = {**vector, "proof_key": seed["proof_key"]}
    two_uses = {**vector, "proof_key": seed["sealing_key"]}
    infinite = content.replace(b'"clip":30.0', b'"clip":Infinity')
    fewer, elsewhere = (
        {n: plain[n] for n in plain if n != "noise"},
        {**vector, "url": "https://ONE.example.:81"},
    )
    moving = {**plain["catalogue"], "rule": "any"}
    strangers = {
        "coordinator": (STRANGER, SEED, VECTOR),
        "seed aggregator": (COORDINATOR, STRANGER, VECTOR),
        "vector aggregator": (COORDINATOR, SEED, STRANGER),
    }
    return [
        *(
            ("terms", f"signed by somebody else than the {who}", good.signed_terms(content, keys), "forged")
            for who, keys in strangers.items()
        ),
        ("terms", "a bit of a signature flipped", _flip(good.signed_terms(content), 70), "forged"),
        ("terms", "of version 1", changed(protocol=1), "version"),
        ("terms", "of version 2", changed(protocol=2), "version"),
        ("terms", "of a later version", changed(protocol=4), "version"),
        ("terms", "with a field too many", changed(more=1), "malformed"),
        ("terms", "without a field", good.signed_terms(canonical(fewer)), "malformed"),
        ("terms", "spelled another way", good.signed_terms(json.dumps(plain).encode()), "malformed"),
        ("terms", "with a number that is none", good.signed_terms(infinite), "malformed"),
        ("terms", "a key of another length", changed(coordinator="00"), "malformed"),
        ("terms", "with one aggregator", changed(vector_aggregator=None), "malformed"),
        ("terms", "admitting by no key", changed(admitter=""), "malformed"),
        ("terms", "admitted by the coordinator", changed(admitter=plain["coordinator"]), "forged"),
        ("terms", "one key for both aggregators", changed(vector_aggregator=same_key), "forged"),
        ("terms", "one sealing key for both aggregators", changed(vector_aggregator=same_seal), "forged"),
        ("terms", "one proof key for both aggregators", changed(vector_aggregator=same_proof), "forged"),
        ("terms", "a proof key that shares are sealed to", changed(vector_aggregator=two_uses), "forged"),
        ("terms", "both aggregators on one host", changed(vector_aggregator=elsewhere), "forged"),
        ("terms", "a catalogue that may change", changed(catalogue=moving), "malformed"),
        ("terms", "noise below zero", changed(noise={**plain["noise"], "epsilon": -1}), "malformed"),
        ("terms", "cut off", good.signed_terms(content)[:-1], "malformed"),
    ]


def _manifests() -> list[Row]:
    m = good.manifest()
    content, envelope = m.encode(), good.signed(m.encode())
    plain, whole, proof = json.loads(content), SignedManifest.decode(envelope), good.proof()
    other, root = good.manifests()[1].encode(), _flip(proof.head.root, 0)
    longer = envelope[:192] + b"\xff\xff\0\0" + envelope[196:]
    elsewhere = replace(whole, proof=replace(proof, index=3, inclusion=tuple(good.tree().inclusion(3, 6))))
    unsigned = replace(whole, proof=replace(proof, head=good.head(vector=STRANGER)))
    flipped = replace(whole, proof=replace(proof, head=replace(proof.head, root=root)))

    def changed(**values: Any) -> bytes:
        return good.signed(canonical({**plain, **values}))

    return [
        ("manifest", "a bit of the coordinator's signature flipped", _flip(envelope, 3), "forged"),
        ("manifest", "a bit of the seed aggregator's signature flipped", _flip(envelope, 67), "forged"),
        ("manifest", "a bit of the vector aggregator's signature flipped", _flip(envelope, 131), "forged"),
        ("manifest", "a digit of its nonce changed", envelope.replace(b"a2a2", b"a3a2", 1), "forged"),
        ("manifest", "signed by the coordinator alone", good.signed(content, (COORDINATOR,) * 3), "forged"),
        ("manifest", "signed by somebody else", good.signed(content, (STRANGER, SEED, VECTOR)), "forged"),
        ("manifest", "not in the log", changed(nonce="00" * 16), "forged"),
        ("manifest", "with the proof of another entry", elsewhere.encode(), "forged"),
        ("manifest", "in a log whose head an aggregator has not signed", unsigned.encode(), "forged"),
        ("manifest", "in a log of another root", flipped.encode(), "forged"),
        ("manifest", "of an earlier round with this round's proof", good.signed(other), "forged"),
        ("manifest", "of version 1", changed(protocol=1), "version"),
        ("manifest", "of version 2", changed(protocol=2), "version"),
        ("manifest", "of a later version", changed(protocol=4), "version"),
        ("manifest", "with a field too many", changed(more=1), "malformed"),
        ("manifest", "spelled another way", good.signed(json.dumps(plain).encode()), "malformed"),
        ("manifest", "a length that is none", changed(model={**plain["model"], "bytes": -1}), "malformed"),
        ("manifest", "a part of nobody", changed(part=0), "malformed"),
        ("manifest", "cut off before its proof", envelope[:40], "malformed"),
        ("manifest", "cut off within its proof", envelope[:-1], "malformed"),
        ("manifest", "a length that claims more", longer, "malformed"),
    ]


def _log() -> list[Row]:
    head, packed = good.head().encode(), pack_entries(good.entries())
    proof, other = b"".join(good.tree().consistency(3, 6)), b"".join(good.tree().consistency(4, 6))
    return [
        ("head", "a bit of its root flipped", _flip(head, 8), "forged"),
        ("head", "another size", _flip(head, 0), "forged"),
        ("head", "a bit of a signature flipped", _flip(head, 200), "forged"),
        ("head", "cut off", head[:-1], "malformed"),
        ("entries", "cut off", packed[:-1], "malformed"),
        ("entries", "an entry of nothing", packed + bytes(4), "malformed"),
        ("entries", "half a length", packed + b"\1", "malformed"),
        ("consistency", "a bit flipped", _flip(proof, 0), "forged"),
        ("consistency", "of another size", other, "forged"),
        ("consistency", "a hash too many", proof + bytes(32), "forged"),
        ("consistency", "half a hash", proof[:-16], "malformed"),
    ]


def _admissions() -> list[Row]:
    own = good.admission()
    link = Invitation("https://fed.example/a", good.terms().hash, own).link()
    shown = own.shown.encode()
    rows = [
        ("admission", "signed by somebody else", good.admission(by=STRANGER).shown.encode(), "forged"),
        ("admission", "signed by the coordinator", good.admission(by=COORDINATOR).shown.encode(), "forged"),
        ("admission", "of another federation", good.admission(federation="00" * 16).shown.encode(), "forged"),
        ("admission", "over", good.admission(expires=1_600_000_000).shown.encode(), "forged"),
        ("admission", "a later end", _flip(shown, 36), "forged"),
        ("admission", "another key", _flip(shown, 0), "forged"),
        ("admission", "a byte too short", shown[:-1], "malformed"),
    ]
    links = {
        "cut off": link[:-8],
        "without a version": link.replace("#2.", "#"),
        "of version 1": link.replace("#2.", "#1."),
        "of another scheme": link.replace("murmura:", "https:"),
        "without a host": link.replace("fed.example/a", ""),
        "with a space inside": link.replace("#2.", " #2."),
        "with a sign that is none": link[:-1] + "!",
        "a digit too many": link + "A",
    }
    return [*rows, *(("link", what, text.encode(), "malformed") for what, text in links.items())]


def _models() -> list[Row]:
    whole, changes = good.packed(good.newest()), good.changes()
    return [
        ("model", "a bit flipped", _flip(whole, 20), "forged"),
        ("model", "cut off", whole[:-1], "forged"),
        ("model", "a byte too long", whole + b"\0", "oversize"),
        ("changes", "a bit flipped", _flip(changes, 60), "forged"),
        ("changes", "a byte too long", changes + b"\0", "oversize"),
    ]


def _counts() -> list[Row]:
    told = np.array([90, 40, 0, 7], np.uint32)
    wide = wire.pack_arrays({"counts": told.astype(np.float64)})
    summed, first = good.released(), good.released().halves[0]
    larger = replace(summed, halves=(_flip(first, 4), summed.halves[1]))
    another = replace(summed, manifest=good.manifest().hash)
    exchanged = replace(summed, seed=summed.vector, vector=summed.seed)
    return [
        ("counts", "some where the manifest names none", wire.pack_pair(good.counts(), b""), "forged"),
        ("counts", "shorter than they claim", wire.pack_pair(good.counts(), b"")[:-1], "malformed"),
        ("released sum", "a half with a bit flipped", larger.encode(), "forged"),
        ("released sum", "of another round", another.encode(), "forged"),
        ("released sum", "signed by the other aggregator", exchanged.encode(), "forged"),
        ("released sum", "a byte short", summed.encode()[:-1], "malformed"),
        ("description's counts", "of fewer items", wire.pack_arrays({"counts": told[:3]}), "malformed"),
        ("description's counts", "of another type", wide, "malformed"),
        ("description's counts", "under another name", wire.pack_arrays({"count": told}), "malformed"),
    ]


def _shares() -> list[Row]:
    body, other = good.share(wire.SEED), good.share(wire.VECTOR)
    m, report = good.manifest().hash, good.report()
    at = wire.SHARE_PRELUDE
    expired = good.admission(expires=1_600_000_000).shown.encode()
    another = ShareHead(wire.SEED, m, bytes(16))
    earlier = ShareHead(wire.SEED, good.manifests()[1].hash, report)
    crossed = ShareHead(wire.VECTOR, m, report)
    unsigned = good.pass_of(wire.SEED, wire.digest(wire.sealed_payload(body)), STRANGER).signature
    other_mark = SEED.sign("receipt", m + report + bytes(32))
    other_report = SEED.sign("receipt", m + bytes(16) + good.mark_of())
    ticket, zeros = STRANGER.sign("ticket", m + report), wire.NO_RECEIPT
    short, vector = good.share(wire.SEED, bytes(31)), wire.VECTOR
    return [
        ("share 0", "a byte too long", body + b"\0", "oversize"),
        ("share 0", "a byte too short", body[:-1], "forged"),
        ("share 0", "shorter than its sealed pass", body[: at - 1], "malformed"),
        ("share 0", "a payload that is too short, named and sealed", short, "malformed"),
        ("share 0", "another magic", b"xx" + body[2:], "malformed"),
        ("share 0", "of version 2", body[:2] + b"\2" + body[3:], "version"),
        ("share 0", "of a later version", body[:2] + b"\4" + body[3:], "version"),
        ("share 0", "of the other kind", body[:3] + b"\1" + body[4:], "malformed"),
        ("share 0", "of another manifest", _flip(body, 10), "replay"),
        ("share 0", "under another report id than it is sealed for", _flip(body, 40), "forged"),
        ("share 0", "a bit of the encapsulated key flipped", _flip(body, 52), "forged"),
        ("share 0", "a bit of the sealed pass flipped", _flip(body, 100), "forged"),
        ("share 0", "a bit of the sealed payload flipped", _flip(body, at + 40), "forged"),
        ("share 0", "sealed for another report", good.share(wire.SEED, sealed=another), "forged"),
        ("share 0", "sealed for an earlier round", good.share(wire.SEED, sealed=earlier), "forged"),
        ("share 0", "sealed for the other kind", good.share(wire.SEED, sealed=crossed), "forged"),
        ("share 0", "sealed to the other aggregator", body[:52] + other[52:at] + body[at:], "forged"),
        ("share 0", "with a forged ticket", good.share(wire.SEED, ticket=ticket), "forged"),
        ("share 0", "with an admission that is over", good.share(wire.SEED, admission=expired), "forged"),
        ("share 0", "without an admission", good.share(wire.SEED, admission=wire.NO_ADMISSION), "forged"),
        (
            "share 0",
            "with a challenge",
            good.share(wire.SEED, challenge=bytes([1]) * 32),
            "malformed",
        ),
        ("share 0", "not signed by the admission's key", good.share(wire.SEED, signature=unsigned), "forged"),
        ("share 1", "without the receipt of its twin", good.share(vector, receipt=zeros), "no-twin"),
        ("share 1", "with the receipt of another report", good.share(vector, receipt=other_report), "forged"),
        ("share 1", "with the receipt of another journal", good.share(vector, receipt=other_mark), "forged"),
        ("share 1", "a byte too long", other + b"\0", "oversize"),
        ("share 1", "with the payload of the seed", other[:at] + body[at:], "forged"),
    ]


def _letters() -> list[Row]:
    letter = good.letter()
    body = letter.encode()
    ticket = STRANGER.sign("ticket", letter.manifest + letter.report)
    return [
        ("letter", "of version 2", body[:2] + b"\2" + body[3:], "version"),
        ("letter", "another magic", b"ms" + body[2:], "malformed"),
        ("letter", "cut off before its mark", body[:140], "malformed"),
        ("letter", "with a forged ticket", replace(letter, ticket=ticket).encode(), "forged"),
        ("letter", "under another report id", _flip(body, 40), "forged"),
        ("letter", "of another manifest", _flip(body, 10), "replay"),
        ("letter", "a byte too short", body[:-1], "malformed"),
    ]


def _others() -> list[Row]:
    arrays = wire.pack_arrays({"a": np.zeros(3)})
    content = good.manifest().hash + good.report()
    above = Update({"counts": SparseRows(np.array([1, 3], np.int32), np.array([[4], [70_000]], np.uint32))})
    loose = MessageSpec((TableSpec("counts", "item", 4, 1, "uint32", exact=RowBounds(2**32 - 1)),))
    claimed = encode(above, loose)[:4] + good.EXACT.mark.to_bytes(4, "little") + encode(above, loose)[8:]
    return [
        ("receipt", "of another journal", VECTOR.sign("receipt", content + bytes(32)), "forged"),
        ("receipt", "of the other aggregator", SEED.sign("receipt", content + good.mark_of()), "forged"),
        ("receipt", "a ticket in its place", VECTOR.sign("ticket", content + good.mark_of()), "forged"),
        ("join proof", "by another key", STRANGER.sign("join", _joining()), "forged"),
        ("join proof", "under another token", ADMITTED.sign("join", _joining()[:-1] + b"0"), "forged"),
        ("exact", "a number above the bound of its row", claimed, "malformed"),
        ("exact", "declared otherwise", encode(above, loose), "malformed"),
        ("arrays", "a shape that claims more", arrays.replace(b"[3]", b"[9]"), "malformed"),
        ("arrays", "a type that is none", arrays.replace(b"<f8", b"|O8"), "malformed"),
        ("arrays", "of version 2", arrays[:2] + b"\2" + arrays[3:], "version"),
    ]


def _joining() -> bytes:
    return bytes.fromhex(good.FEDERATION) + good.TOKEN.encode()


def _flip(message: bytes, place: int) -> bytes:
    return message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :]
