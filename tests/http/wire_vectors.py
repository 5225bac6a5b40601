"""Golden vectors of the wire: messages every implementation must read alike, and tampered ones it must refuse.

`python -m tests.http.wire_vectors vectors/wire.json` writes the file anew. Binary is hexadecimal. What is
sealed is sealed with one-time keys that are given too, so that every byte can be made again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from murmura.channel.phase_chains import chain
from murmura.core.codec import encode
from murmura.core.contract import Phase
from murmura.core.rng import Rng
from murmura.engine.itinerary import public_part
from murmura.wire import wire
from murmura.wire.admission import Invitation, join_proof
from murmura.wire.log import leaf_hash, pack_entries
from murmura.wire.signed_records import SealingKey, ServerKey
from murmura.wire.wire import ShareHead
from tests.http.proved_world import proved
from tests.http.wire_tampered import tampered
from tests.http.wire_world import (
    ADMITTER,
    CHANNEL,
    COORDINATOR,
    EXACT,
    EXACT_ROWS,
    FEDERATION,
    HISTORY,
    JOURNAL,
    LISTED,
    ONE_TIME,
    PART,
    PART_SEED,
    SALT,
    SECRET,
    SEED,
    SEED_PROOF,
    SEED_SEALING,
    STATE,
    TOKEN,
    VECTOR,
    VECTOR_PROOF,
    VECTOR_SEALING,
    admission,
    base,
    changes,
    counts,
    description,
    entries,
    exact_update,
    head,
    letter,
    manifest,
    manifests,
    mark_of,
    newest,
    packed,
    pass_of,
    payloads,
    released,
    report,
    share,
    signed,
    signed_terms,
    step,
    terms,
    tree,
)


def good() -> dict[str, Any]:
    """Messages to read."""
    answer = {"M": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array([3], np.int32)}
    content = terms().encode()
    return {
        "keys": _keys(),
        "terms": {"content": content.hex(), "hash": terms().hash.hex(), "signed": signed_terms(content).hex()},
        "noise": asdict(terms().noise),
        "description": description().encode().hex(),
        "counts": counts().hex(),
        "released": {"sum": released().encode().hex(), "manifest": manifests()[0].hash.hex()},
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
        "proved": proved(),
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
    proof = {"seed": SEED_PROOF, "vector": VECTOR_PROOF}
    purposes: dict[str, Mapping[str, ServerKey | SealingKey]] = {
        "signing": signing,
        "sealing": sealing,
        "proof": proof,
    }
    return {
        purpose: {
            name: {"private": one.private.hex(), "public": one.public.hex()} for name, one in keys.items()
        }
        for purpose, keys in purposes.items()
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
        "rows": EXACT_ROWS,
        "mark": EXACT.mark,
        "update": encode(exact_update(), EXACT).hex(),
        "ring_vector": stages.device(exact_update(), Rng(SECRET, 2), 2).tolist(),
    }


def vectors() -> dict[str, Any]:
    """The whole file."""
    return {"protocol": wire.PROTOCOL, "good": good(), "tampered": tampered()}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
