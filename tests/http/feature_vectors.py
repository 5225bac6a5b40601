"""Golden vectors of item features, and of what a device of KGFlex keeps, sends and says."""

from __future__ import annotations

import zlib
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.channel.phase_chains import chain
from murmura.core.codec import encode_model
from murmura.core.contract import RoundContext
from murmura.core.features import ItemFeatures, encode_features
from murmura.core.rng import Rng
from murmura.core.settings import as_dict
from murmura.engine.reasons import term_reasons
from murmura.engine.visit import visit
from tests.http.device_world import CHANNEL, COHORT, CONSENT, LISTED, OWN, PUBLIC, ROUND, SECRET, history_of

LABELS = (
    "director=Mel Brooks",
    "http://dbpedia.org/ontology/author~http://dbpedia.org/ontology/birthPlace=http://dbpedia.org/resource/Dublin",
    "http://dbpedia.org/property/musicBy=http://dbpedia.org/resource/AC/DC",
    "http://dbpedia.org/ontology/musicBy=http://dbpedia.org/resource/AC/DC",
    "genre=Trag%C3%A9die",
    "starring=http://example.org/people#Gene_Wilder/",
    "red",
    "writer~genre=com\u00e9die",
)
HAVING = ((0, 4), (0, 1, 6), (), (1, 2, 7), (3,), (0, 5), (5, 6), (0, 2, 3, 7), (4, 5), (1, 6, 7))
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("kgflex", {"factors": 3, "precision": "float64"}),
    ("ckgflex", {"factors": 3, "first_limit": 3, "second_limit": 1}),
    ("kgflex", {"factors": 3, "measure": "gini", "optimiser": "per-contributor", "clip_update": 0.05}),
)


def kgflex_vectors() -> list[dict[str, Any]]:
    """A visit and a list of each form of it."""
    return [_kgflex(name, settings) for name, settings in FORMS]


def _known() -> ItemFeatures:
    item = np.repeat(np.arange(len(HAVING), dtype=np.int32), [len(one) for one in HAVING])
    return ItemFeatures.of(LABELS, len(HAVING), item, np.array([f for one in HAVING for f in one], np.int32))


def feature_vectors() -> dict[str, Any]:
    """As they travel, as a person reads them, and messages that are none."""
    known, content = _known(), encode_features(_known())
    raw = zlib.decompress(content[3:])
    lies = {
        "of another kind": b"xx" + content[2:],
        "of another version": content[:2] + b"\2" + content[3:],
        "cut off": content[:-5],
        "longer than its stream": content + b"\0",
        "a feature that is none": _planed(raw, feature=len(known)),
        "a feature twice": _planed(raw, step=0),
        "a label too few": content[:3] + zlib.compress(raw.rsplit(b"\n", 1)[0]),
        "labels that are no text": content[:3] + zlib.compress(raw[:-1] + b"\xff"),
        "shorter than it says": content[:3] + zlib.compress(raw[:40]),
    }
    return {
        "content": content.hex(),
        "labels": list(known.labels),
        "names": list(known.names),
        "of": [known.of_item(item).tolist() for item in range(known.items)],
        "tampered": [{"what": what, "bytes": lie.hex()} for what, lie in lies.items()],
    }


def _planed(raw: bytes, feature: int = -1, step: int = -1) -> bytes:
    """The lowest byte of the first feature, or of the first step within an item, is another one."""
    changed = bytearray(raw)
    changed[12 + 4 * len(HAVING) + (feature < 0)] = max(feature, step)
    return b"mf\1" + zlib.compress(bytes(changed))


def _kgflex(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What a device of KGFlex keeps, sends and says."""
    method = algorithm(name)(**settings).algorithm()
    info = replace(PUBLIC, features=_known(), feature_count=len(LABELS))
    history, phase = history_of(CONSENT), method.phases(info)[0]
    model = method.server_init(info, Rng(np.array([5, 6], np.uint32))).model
    before = method.client_init(info, history, Rng(SECRET))
    context, stages = RoundContext(info, "train", ROUND, model), chain(CHANNEL, phase, info, COHORT)
    made = visit(method, phase, context, before, history, Rng(SECRET, ROUND), stages)
    folded = method.client_fold_in(context, history, Rng(SECRET, ROUND))
    terms = method.client_terms(context, folded, history)
    assert made.vector is not None
    assert terms is not None
    offered = np.setdiff1d(LISTED, OWN).astype(np.int32)
    shown = offered[np.argsort(-terms.scores[offered], kind="stable")[:2]]
    held = int((before["feature"] >= 0).sum())
    return {
        "method": name,
        "settings": as_dict(method),
        "sends": repr((phase.sends.tables, phase.sends.scalars)),
        "model": encode_model(model, method.publishes(info), LISTED).hex(),
        "feature": before["feature"][:held].tolist(),
        "gains": before["k"][:held].tolist(),
        "before": before["P"][:held].ravel().tolist(),
        "after": made.state["P"][:held].ravel().tolist(),
        "index": made.update.tables["features"].index.tolist(),
        "values": made.update.tables["features"].values.ravel().tolist(),
        "vector": made.vector.tolist(),
        "scores": terms.scores.tolist(),
        "shown": shown.tolist(),
        "reasons": [[asdict(one) for one in parts] for parts in term_reasons(terms, offered, shown, 2)],
    }
