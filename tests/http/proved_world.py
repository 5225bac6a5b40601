"""The golden federations whose contributions are proved: exact counts and the pairs after them, and noisy ones.

One device of two people takes part in all exchanges; what is secret elsewhere is given here, so that every byte
can be made again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.channel.chain import Chain
from murmura.channel.field_shares import pack_numbers
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.proof_keys import ProofKey
from murmura.channel.proven_shares import ProvenUpload, answer, decide
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, History, RoundContext
from murmura.core.interactions import Vocabulary
from murmura.core.rng import Rng
from murmura.core.settings import as_dict
from murmura.device.upload import ProvedHalf
from murmura.engine.visit import Visit, visit
from murmura.wire import wire
from murmura.wire.description import FederationDescription
from murmura.wire.log import manifest_entry, terms_entry
from murmura.wire.manifest import Download, Manifest, RoundPrivacy
from murmura.wire.proved_round import ProvedRound, report_of
from murmura.wire.terms import CatalogueRule, FederationTerms
from murmura.wire.wire import ShareHead, SharePass
from tests.channel import plain_hpke
from tests.http import wire_world
from tests.http.wire_world import (
    ADMITTED,
    COORDINATOR,
    ONE_TIME,
    OPENED,
    SECRET,
    SEED,
    SEED_PROOF,
    SEED_SEALING,
    TOKEN,
    VECTOR,
    VECTOR_PROOF,
    VECTOR_SEALING,
)

METHOD, PHASES = "fed-item-knn", ("counts", "pairs")
NOISY = ("noisy counts", "noisy pairs")  # exchanges of the second federation
OWN = (np.array([0, 2, 3, 5], np.int32), np.array([2, 3, 7], np.int32))  # of each person
ITEM = np.concatenate(OWN)
HISTORY = History(ITEM, np.ones(len(ITEM)), np.ones(len(ITEM)), np.repeat([0, 1], [4, 3]).astype(np.int32))
UPLOAD = {  # secrets of the uploads
    name: bytes(range(first, first + 32)) for name, first in zip((*PHASES, *NOISY), (50, 150, 90, 200))
}
SEALING, SIGNING = (SEED_SEALING, VECTOR_SEALING), (SEED, VECTOR)


def description() -> FederationDescription:
    """Eight items, of which seven are on offer, and devices of at most two people."""
    labels = Vocabulary(np.array(["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "oak"]))
    listed = np.array([0, 1, 2, 3, 5, 6, 7], np.int32)
    return FederationDescription(labels, FederationInfo(8, listed, 1, 7, people=2))


@cache
def terms(phase: str = "counts") -> FederationTerms:
    """An invited federation of exact sums, or of noisy ones."""
    described = description().encode()
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=1, ring=32)
    preset, noise = algorithm(METHOD)(k=3, least=1, power=1.0, discount=0.1), NoiseTerms()
    if phase in NOISY:
        preset = algorithm("fed-ease")(epsilon=4.0, core_items=5, eigenvectors=3)
        asked = preset.algorithm().phases(description().info)
        given = replace(channel, epsilon=4.0, delta=0.01)
        noise = NoiseTerms.of(given, asked, {one.name: 1 for one in asked}, 1)
    return replace(
        wire_world.terms(),
        method="fed-ease" if phase in NOISY else METHOD,
        settings=as_dict(preset.algorithm()),
        schedule=as_dict(preset.schedule()),
        catalogue=CatalogueRule("fixed", hashlib.sha256(described).hexdigest(), len(described)),
        channel=as_dict(channel),
        noise=noise,
    )


def name_of(phase: str) -> str:
    """What a phase is called in its federation."""
    return phase.removeprefix("noisy ")


def counts() -> bytes:
    """How many people share each item: what the first exchange tells."""
    return wire.pack_arrays({"counts": np.bincount(ITEM, minlength=8).astype(np.uint32)})


def info(phase: str) -> FederationInfo:
    """What everybody knows in the round of a phase."""
    described = description()
    return (described if name_of(phase) == "counts" else described.with_counts(counts())).info


@cache
def manifests() -> dict[str, Manifest]:
    """The rounds of both phases."""
    first = replace(
        wire_world.manifests()[0],
        terms=terms().hash.hex(),
        phase="counts",
        shapes={},
        called=1,
        largest=1,
        opened=OPENED,
        deadline=OPENED + 60,
    )
    named = Download(hashlib.sha256(counts()).hexdigest(), len(counts()))
    second = replace(
        first, serial=1, round=1, nonce="a1" * 16, previous=first.hash.hex(), phase="pairs", counts=named
    )
    noisy = [
        replace(
            one, terms=terms(NOISY[0]).hash.hex(), privacy=RoundPrivacy.of(terms(NOISY[0]).noise, one.phase)
        )
        for one in (first, second)
    ]
    noisy[1] = replace(noisy[1], previous=noisy[0].hash.hex())
    return {"counts": first, "pairs": second, **dict(zip(NOISY, noisy))}


def entries() -> list[bytes]:
    """The log."""
    return [terms_entry(terms().encode()), *(manifest_entry(manifests()[one].encode()) for one in PHASES)]


def chain_of(phase: str) -> Chain:
    """The channel of a phase."""
    return terms(phase).chain(name_of(phase), info(phase), manifests()[phase].largest)


def step(phase: str) -> Visit:
    """What the method makes of the device's history."""
    m, method, name = manifests()[phase], terms(phase).algorithm(), name_of(phase)
    declared = terms(phase).phase(name, info(phase))
    context = RoundContext(info(phase), name, m.round, {})
    state = method.client_init(info(phase), HISTORY, Rng(SECRET))
    if phase == "pairs":
        state = step("counts").state
    return visit(method, declared, context, state, HISTORY, Rng(SECRET, m.round), chain_of(phase))


def report(phase: str) -> bytes:
    """The id of the device's report."""
    return hashlib.sha256(b"murmura report\0" + TOKEN.encode() + manifests()[phase].hash).digest()[:16]


@dataclass(frozen=True, eq=False)
class GoldenUpload:
    """Both messages of one upload, and what each aggregator says."""

    phase: str
    half: ProvedHalf
    answered: bytes  # by the seed aggregator: receipt, challenge, sealed share of the check
    links: tuple[int, int]  # that are left for later exchanges

    @property
    def payloads(self) -> tuple[bytes, bytes]:
        """What is sealed."""
        _, challenge, check = self.half.round.taken_apart(self.answered)
        return self.half.first, self.half.upload.second(self.half.half, challenge, check)

    def passes(self, kind: int, sealed: bytes) -> SharePass:
        """Why a share counts."""
        name = ShareHead(kind, manifests()[self.phase].hash, report(self.phase))
        receipt, challenge, _ = self.half.round.taken_apart(self.answered)
        named, shown = wire.digest(sealed), wire_world.admission().shown.encode()
        if kind == wire.VECTOR:
            named = self.half.first[32:]
        else:
            receipt, challenge = wire.NO_RECEIPT, wire.NO_CHALLENGE
        signature = ADMITTED.sign("report", wire.report_content(name, named))
        ticket = COORDINATOR.sign("ticket", name.signed)
        return SharePass(ticket, receipt, wire_world.mark_of(), shown, named, challenge, signature)

    def share(self, kind: int, content: bytes | None = None, **changed: Any) -> bytes:
        """A sealed share; `changed` are fields of its pass."""
        name = ShareHead(kind, manifests()[self.phase].hash, report(self.phase))
        payload, key = self.payloads[kind] if content is None else content, SEALING[kind].public
        inside = plain_hpke.seal(payload, key, name.info("payload"), ONE_TIME["payload"])
        shown = replace(self.passes(kind, inside), **changed)
        passed = plain_hpke.seal(shown.encode(), key, name.info("pass"), ONE_TIME["pass"])
        return name.encode() + passed + inside

    @property
    def receipt(self) -> bytes:
        """What the vector aggregator answers."""
        content = manifests()[self.phase].hash + report(self.phase) + wire_world.mark_of()
        return VECTOR.sign("receipt", content)


@cache
def upload(phase: str) -> GoldenUpload:
    """The upload of a phase."""
    links = upload("counts").links if phase == "pairs" else (None, None)
    stages, declared = chain_of(phase), terms(phase).phase(name_of(phase), info(phase))
    circuit = stages.circuit
    assert circuit is not None
    made = ProvenUpload(circuit, stages.vector(step(phase).update), UPLOAD[phase])
    half = ProvedHalf(ProvedRound(declared, circuit), made, made.half())
    key = ProofKey.agreed(SEED_PROOF.private, VECTOR_PROOF.public)
    one = report_of(manifests()[phase], report(phase), ADMITTED.public)
    found = answer(key, one, circuit, half.first, links[0])
    content = one.manifest + one.report + wire_world.mark_of() + half.first[32:] + found.challenge
    golden = GoldenUpload(phase, half, SEED.sign("receipt", content) + found.encode(), (0, 0))
    decided = decide(key, one, circuit, half.first[32:], golden.payloads[1], links[1])
    assert decided.valid
    return replace(golden, links=(found.link, decided.link))


def proved() -> dict[str, Any]:
    """What the file says of this federation."""
    content = terms().encode()
    return {
        "terms": {"content": content.hex(), "hash": terms().hash.hex()},
        "description": description().encode().hex(),
        "counts": counts().hex(),
        "history": {"item": HISTORY.item.tolist(), "person": HISTORY.owners.tolist()},
        "secret": SECRET.tolist(),
        "exchanges": [_exchange(phase) for phase in PHASES],
        "noisy": {
            "terms": {"content": terms(NOISY[0]).encode().hex(), "hash": terms(NOISY[0]).hash.hex()},
            "exchanges": [_exchange(phase) for phase in NOISY],
        },
    }


def _exchange(phase: str) -> dict[str, Any]:
    made, m = upload(phase), manifests()[phase]
    vector, circuit = made.half.upload.vector, made.half.round.circuit
    return {
        "manifest": m.encode().decode(),
        "hash": m.hash.hex(),
        "parameters": circuit.parameters.decode(),
        "vector": pack_numbers(vector).hex(),
        "released": pack_numbers(circuit.released(vector)).hex(),
        "secret_of_upload": UPLOAD[phase].hex(),
        "token": TOKEN,
        "report": report(phase).hex(),
        "shares": [_share(made, kind) for kind in (wire.SEED, wire.VECTOR)],
        "answers": [made.answered.hex(), made.receipt.hex()],
        "answers_refused": _refused(made),
    }


def _share(made: GoldenUpload, kind: int) -> dict[str, Any]:
    name = ShareHead(kind, manifests()[made.phase].hash, report(made.phase))
    message = made.share(kind)
    return {
        "kind": kind,
        "payload": made.payloads[kind].hex(),
        "pass": made.passes(kind, bytes(wire.sealed_payload(message))).encode().hex(),
        "info": {part: name.info(part).hex() for part in ONE_TIME},
        "one_time_keys": {part: key.hex() for part, key in ONE_TIME.items()},
        "message": message.hex(),
    }


def _refused(made: GoldenUpload) -> list[dict[str, str]]:
    """Answers of a seed aggregator that a device must refuse."""
    good = made.answered
    unproved = SEED.sign("receipt", manifests()[made.phase].hash + report(made.phase) + wire_world.mark_of())
    rows = [
        ("a bit of the receipt flipped", bytes([good[0] ^ 1]) + good[1:], "forged"),
        ("another challenge", good[:64] + bytes(32) + good[96:], "forged"),
        ("a receipt of what is not proved", unproved + good[64:], "forged"),
        ("the receipt alone", good[:64], "malformed"),
        ("a byte too long", good + b"\0", "malformed"),
    ]
    return [{"what": what, "bytes": content.hex(), "error": code} for what, content, code in rows]
