"""Golden vectors of what a device does by itself: consent, packed pairs, ranking, its journal, its epsilon.

`python -m tests.http.device_vectors vectors/device.json` writes the file anew.
"""

from __future__ import annotations

import json
import sys
import zlib
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.channel.chain import chain
from murmura.channel.consent import StickyRecord, client_consent
from murmura.channel.journal import Journal, JournalEntry
from murmura.channel.noise_terms import NoiseTerms
from murmura.core.channel import ChannelSettings
from murmura.core.codec import encode_model
from murmura.core.contract import Algorithm, FederationInfo, History, Phase, RoundContext
from murmura.core.feature_codec import encode_features
from murmura.core.features import ItemFeatures
from murmura.core.rng import Rng
from murmura.core.settings import as_dict
from murmura.core.update import SparseRows, Update
from murmura.engine.reasons import term_reasons
from murmura.engine.visit import visit
from murmura.kernels.cooccurrence.packing import PackedPairs

SECRET, ROUND, COHORT = np.array([0x01234567, 0x89ABCDEF], np.uint32), 3, 200
LISTED = np.array([0, 1, 2, 3, 5, 6, 7, 8, 9], np.int32)
COUNTS = np.array([9, 1, 4, 30, 0, 8, 2, 15, 4, 120])
OWN, TIMES = np.array([1, 3, 5, 7, 9], np.int32), np.array([500, 100, 400, 400, 300])
CONSENT = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
CHANNEL = ChannelSettings(channel="secure-sum")
PUBLIC = FederationInfo(10, LISTED, 200, 1000)
COUNTED = FederationInfo(10, LISTED, 200, 1000, counts=COUNTS)
DECISIONS = (  # what an owner says, one after the other: pi, what is never shared, which items she has
    (0.0, (), (2, 3, 5, 8, 13, 21, 34)),
    (0.29, (), (2, 3, 5, 8, 13, 21, 34)),
    (0.5, (), (2, 3, 5, 8, 13, 21, 34)),
    (0.5, (2, 3), (2, 3, 5, 8, 13, 21, 34)),
    (0.1, (3,), (2, 3, 5, 8, 13, 21, 34)),
    (0.6, (3,), (2, 3, 5, 8, 13, 21, 34, 55, 89, 144)),
    (1.0, (), (2, 3, 5, 8, 13, 21, 34, 55, 89, 144)),
)
BLENDS: tuple[dict[str, Any], ...] = (
    {"ease": 1.0},
    {"knn": 1.0, "k": 3, "recency": 0.5},
    {"ease": 1.0, "knn": 0.5, "k": 4, "recency": 1.0, "discount": 0.1},
    {"knn": 1.0, "k": 3, "value_from": 2.0},
)
ENTRIES = (
    JournalEntry("2026-01-02T03:04:05+00:00", 0, "prior", "ab" * 32, 1172, 30, 0.5),
    JournalEntry("2026-01-02T03:05:05+00:00", 1, "train", "cd" * 32, 11_000, 30, 1.0),
    JournalEntry("2026-01-02T03:06:05+00:00", 2, "train", "ef" * 32, 11_000, 30, 1 / 3, "upload", 0.25, 1e-05),
)
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
NOISY = ChannelSettings(channel="secure-sum", clip=1.0)
MULTIPLIERS = (0.5, 20.0)  # with the second one fewer bits than `bits` travel
BUDGETS = ((1.0, 1e-4, {"train": 5}), (4.0, 1e-5, {"prior": 1, "train": 20}), (8.0, 1e-3, {"counts": 1}))


def device_vectors() -> dict[str, Any]:
    """The whole file."""
    return {
        "secret": SECRET.tolist(),
        "public": {"items": 10, "listed": LISTED.tolist(), "clients": 200, "interactions": 1000, "people": 1},
        "counts": COUNTS.tolist(),
        "own": OWN.tolist(),
        "time": TIMES.tolist(),
        "consents": CONSENT.tolist(),
        "round": ROUND,
        "cohort": COHORT,
        "channel": as_dict(CHANNEL),
        "consent": _consent(),
        "packing": [_packing(least) for least in (1, 2, 5, 200)],
        "steps": [_step(parts, phase) for parts, phase in ((1, "counts"), (1, "pairs"), (3, "pairs-2"))],
        "ranking": [_ranking(blend) for blend in BLENDS],
        "factors": [_factors(precision) for precision in ("float32", "float64")],
        "features": _features(),
        "kgflex": [_kgflex(name, settings) for name, settings in FORMS],
        "journal": _journal(),
        "noisy": [_noisy(multiplier, scale) for multiplier in MULTIPLIERS for scale in (0.001, 1.0)],
        "noise": [_noise(*budget) for budget in BUDGETS],
    }


def _consent() -> list[dict[str, Any]]:
    """Sticky decisions, each on top of those before it."""
    record, told = StickyRecord(), []
    for pi, never, items in DECISIONS:
        before = StickyRecord(record.joined, never)
        consent, record = client_consent("sticky", before, np.array(items, np.int32), pi, SECRET, ROUND)
        told.append(
            {
                "pi": pi,
                "never": list(never),
                "items": list(items),
                "before": list(before.joined),
                "joined": list(record.joined),
                "consent": consent.tolist(),
            }
        )
    return told


def _packing(least: int) -> dict[str, Any]:
    pairs = PackedPairs.of(COUNTS, least)
    return {
        "least": least,
        "items": pairs.items.tolist(),
        "words": pairs.words,
        "bounds": pairs.bounds.tolist(),
        "packed": pairs.pack(OWN).tolist(),
    }


def _history(consent: Any = None, value: Any = None) -> History:
    value = np.ones(len(OWN)) if value is None else value
    return History(OWN, value, np.ones(len(OWN)) if consent is None else consent, time=TIMES)


def _phase(method: Algorithm, name: str, info: FederationInfo) -> Phase:
    return next(phase for phase in method.phases(info) if phase.name == name)


def _step(parts: int, name: str) -> dict[str, Any]:
    """A visit of a method of sums: of pairs after all but one of the own items were counted."""
    method = algorithm("fed-item-knn")(least=2, k=3, parts=parts).algorithm()
    info, counted = (PUBLIC, 0) if name == "counts" else (COUNTED, 1)
    phase, history = _phase(method, name, info), _history(CONSENT)
    bits = np.zeros(16, np.bool_)
    bits[OWN[1:]] = bool(counted)
    state = {"counted": np.packbits(bits)}
    context, stages = RoundContext(info, name, ROUND, {}), chain(CHANNEL, phase, info, COHORT)
    made = visit(method, phase, context, state, history, Rng(SECRET, ROUND), stages)
    assert made.vector is not None
    return {
        "settings": as_dict(method),
        "phase": name,
        "sends": repr((phase.sends.tables, phase.sends.scalars)),
        "mark": phase.sends.mark,
        "counted": np.flatnonzero(bits).tolist(),
        "vector": made.vector.tolist(),
        "counted_after": np.flatnonzero(np.unpackbits(made.state["counted"])).tolist(),
        "shown": made.shown.astype(int).tolist(),
    }


def _ranking(blend: dict[str, Any]) -> dict[str, Any]:
    """The scores of someone by weights that are drawn, not solved for."""
    method = algorithm("fed-ease")(**{"ease": 0.0, "least": 2, **blend}).algorithm()
    publishes, drawn = method.publishes(COUNTED), np.random.default_rng(8)
    n, model = int((COUNTS >= 2).sum()), {"counts": COUNTS[:, None].astype(np.uint32)}
    tables: dict[str, Any] = {
        "ease": drawn.normal(size=(n, n)).astype(np.float32),
        "exposed": np.zeros((1, 1), np.uint32),
    }
    if "knn" in blend:
        near = np.stack([drawn.permutation(n)[: blend["k"]] for _ in range(n)]).astype(np.uint32)
        tables |= {
            "neighbours": near,
            "similarity": drawn.uniform(0, 1, size=(n, blend["k"])).astype(np.float32).round(1),
        }
    model |= {table.name: tables[table.name] for table in publishes.tables[1:]}
    value = np.array([1.0, 3.0, 2.0, 5.0, 1.0])
    history, context = _history(value=value), RoundContext(COUNTED, "ready", ROUND, model)
    return {
        "settings": as_dict(method),
        "publishes": repr((publishes.tables, publishes.scalars)),
        "model": encode_model(model, publishes, LISTED).hex(),
        "value": value.tolist(),
        "scores": method.client_score(context, {}, history)[0].tolist(),
    }


def _factors(precision: str) -> dict[str, Any]:
    """The vector and the scores of someone who comes later, and of someone who has trained."""
    method = algorithm("cfpl")(factors=4, precision=precision).algorithm()
    model = method.server_init(PUBLIC, Rng(np.array([5, 6], np.uint32))).model
    context, history = RoundContext(PUBLIC, "ready", ROUND + 1, model), _history()
    rng, first = Rng(SECRET, ROUND + 1), method.client_init(PUBLIC, history, Rng(SECRET))
    folded, ready = (
        method.client_fold_in(context, history, rng),
        method.client_ready(context, first, history, rng),
    )
    return {
        "settings": as_dict(method),
        "model": encode_model(model, method.publishes(PUBLIC), LISTED).hex(),
        "fold_in": folded["p"].tolist(),
        "ready": ready["p"].tolist(),
        "scores": method.client_score(context, folded, history)[0].tolist(),
    }


def _known() -> ItemFeatures:
    item = np.repeat(np.arange(len(HAVING), dtype=np.int32), [len(one) for one in HAVING])
    return ItemFeatures.of(LABELS, len(HAVING), item, np.array([f for one in HAVING for f in one], np.int32))


def _features() -> dict[str, Any]:
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
    history, phase = _history(CONSENT), method.phases(info)[0]
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


def _journal() -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.jsonl")
        heads = [journal.append(entry) for entry in ENTRIES]
        lines = journal.path.read_text(encoding="utf-8").splitlines()
    return {"entries": [asdict(entry) for entry in ENTRIES], "heads": heads, "lines": lines}


def _noisy(multiplier: float, scale: float) -> dict[str, Any]:
    """An update where aggregators add noise: short, and of the clip's length, which may not grow."""
    method = algorithm("dp-cfpl")(factors=2).algorithm()
    phase = _phase(method, "train", PUBLIC)
    values = scale * np.random.default_rng(9).normal(size=(3, 3)).astype(np.float32)
    update = Update({"items": SparseRows(np.array([1, 5, 8], np.int32), values.astype(np.float32))})
    made = chain(NOISY, phase, PUBLIC, COHORT, multiplier)
    return {
        "settings": as_dict(NOISY),
        "multiplier": multiplier,
        "index": [1, 5, 8],
        "values": update.tables["items"].values.tolist(),
        "vector": made.device(update, Rng(SECRET, ROUND), ROUND).tolist(),
    }


def _noise(epsilon: float, delta: float, answers: dict[str, int]) -> dict[str, Any]:
    """Noise that bounds what it says, and the same with a claim that is too good by a thousandth."""
    phases = tuple(Phase(name, algorithm("cfpl")().algorithm().phases(PUBLIC)[0].sends) for name in answers)
    settings = ChannelSettings(channel="secure-sum", epsilon=epsilon, delta=delta)
    good = NoiseTerms.of(settings, phases, answers, 200)
    return {"good": asdict(good), "bad": {**asdict(good), "epsilon": epsilon * 0.999}}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(device_vectors(), indent=1) + "\n", encoding="utf-8")
