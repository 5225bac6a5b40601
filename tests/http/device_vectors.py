"""Golden vectors of what a device does by itself: consent, packed pairs, ranking, its journal, its epsilon.

`python -m tests.http.device_vectors vectors/device.json` writes the file anew.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.channel.circuits import weighted_circuit
from murmura.channel.consent_draws import StickyRecord, client_consent
from murmura.channel.field_shares import pack_numbers
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.phase_chains import chain
from murmura.channel.proven_chain import ProvenChain
from murmura.channel.rounded_chain import rounded_chain
from murmura.channel.weighted_chain import WeightedChain
from murmura.core.channel import ChannelSettings
from murmura.core.claims import WeightedCountsClaim, WeightedPairsClaim
from murmura.core.codec import encode_model
from murmura.core.contract import Algorithm, FederationInfo, Phase, RoundContext
from murmura.core.rng import Rng
from murmura.core.settings import as_dict
from murmura.core.update import SparseRows, Update
from murmura.device.journal import Journal, JournalEntry
from murmura.engine.visit import visit
from murmura.kernels.proofs.pair_words import RankedItems
from tests.http.device_world import (
    CHANNEL,
    COHORT,
    CONSENT,
    COUNTED,
    COUNTS,
    LISTED,
    OWN,
    PUBLIC,
    ROUND,
    SECRET,
    TIMES,
    history_of,
)
from tests.http.feature_vectors import feature_vectors, kgflex_vectors

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
NOISY = ChannelSettings(channel="secure-sum", clip=1.0)
MULTIPLIERS = (0.5, 20.0)  # with the second one fewer bits than `bits` travel
SIZES = (
    (6040, 1.1, 16),
    (6040, 0.0, 16),
    (30_000, 1.1, 16),
    (10**6, 3.7, 14),
    (100, 0.003, 20),
    (12, 900.0, 16),
)
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
        "steps": [_step(*asked) for asked in ((1, "counts"), (1, "pairs"), (3, "pairs-3"), (1, "counts", 2))],
        "ranking": [_ranking(blend) for blend in BLENDS],
        "factors": [_factors(precision) for precision in ("float32", "float64")],
        "normalised": [_normalised(phase) for phase in ("counts", "pairs")],
        "weights": [_weights(*size) for size in SIZES],
        "low_rank": _low_rank(),
        "features": feature_vectors(),
        "kgflex": kgflex_vectors(),
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
    ranked = RankedItems.of(COUNTS, least)
    return {
        "least": least,
        "items": ranked.items.tolist(),
        "words": ranked.pairs.words,
        "packed": [str(word) for word in ranked.pairs.pack(ranked.own_ranks(OWN).astype(np.int64)).tolist()],
    }


def _phase(method: Algorithm, name: str, info: FederationInfo) -> Phase:
    return next(phase for phase in method.phases(info) if phase.name == name)


def _step(parts: int, name: str, cap: int = 0) -> dict[str, Any]:
    """A visit of a method of sums: of pairs after all but one of the own items were counted."""
    method = algorithm("fed-item-knn")(least=2, k=3, parts=parts, cap=cap).algorithm()
    info, counted = (PUBLIC, 0) if name == "counts" else (COUNTED, 1)
    phase, history = _phase(method, name, info), history_of(CONSENT)
    bits = np.zeros(16, np.bool_)
    bits[OWN[1:]] = bool(counted)
    state = {"counted": np.packbits(bits)}
    context, stages = RoundContext(info, name, ROUND, {}), chain(CHANNEL, phase, info, COHORT)
    made = visit(method, phase, context, state, history, Rng(SECRET, ROUND), stages)
    assert made.vector is not None
    assert isinstance(stages, ProvenChain)
    return {
        "settings": as_dict(method),
        "phase": name,
        "sends": repr((phase.sends.tables, phase.sends.scalars)),
        "mark": phase.sends.mark,
        "counted": np.flatnonzero(bits).tolist(),
        "vector": pack_numbers(made.vector).hex(),
        "proved": pack_numbers(stages.vector(made.update)).hex(),
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
    history, context = history_of(value=value), RoundContext(COUNTED, "ready", ROUND, model)
    return {
        "settings": as_dict(method),
        "publishes": repr((publishes.tables, publishes.scalars)),
        "model": encode_model(model, publishes, LISTED).hex(),
        "value": value.tolist(),
        "scores": method.client_score(context, {}, history)[0].tolist(),
    }


def _private() -> Algorithm:
    """Of noisy sums; its core is four of the nine items on offer."""
    settings = {"core_items": 4, "eigenvectors": 3, "recency": 0.5, "discount": 0.05, "epsilon": 4.0}
    return algorithm("fed-ease")(**settings).algorithm()


def _normalised(name: str) -> dict[str, Any]:
    """A visit of a method whose sums bear noise."""
    method, info = _private(), PUBLIC if name == "counts" else COUNTED
    phase = _phase(method, name, info)
    context, stages = RoundContext(info, name, ROUND, {}), chain(CHANNEL, phase, info, COHORT, 0.5)
    made = visit(method, phase, context, {}, history_of(CONSENT), Rng(SECRET, ROUND), stages)
    assert made.vector is not None
    assert isinstance(stages, WeightedChain)
    readable = rounded_chain(CHANNEL, phase, info, COHORT, 0.5)
    return {
        "settings": as_dict(method),
        "phase": name,
        "multiplier": 0.5,
        "sends": repr((phase.sends.tables, phase.sends.scalars)),
        "proved": pack_numbers(stages.vector(made.update)).hex(),
        "vector": pack_numbers(made.vector).hex(),
        "rounded": readable.device(made.update, Rng(SECRET, ROUND), ROUND).tolist(),
        "shown": made.shown.astype(int).tolist(),
    }


def _weights(cohort: int, multiplier: float, bits: int) -> dict[str, Any]:
    """How fine the weights of a noisy sum of pairs are: of so many devices, with so much noise."""
    claim = WeightedPairsClaim(LISTED, 1, 16)
    made = weighted_circuit(claim, bits, cohort, multiplier)
    counts = weighted_circuit(WeightedCountsClaim(LISTED, 1), bits, cohort, multiplier)
    own = np.arange(0, len(LISTED), 2)
    return {
        "cohort": cohort,
        "multiplier": multiplier,
        "bits": bits,
        "few": claim.few,
        "pairs": pack_numbers(made.vector([own])).hex(),
        "counts": pack_numbers(counts.vector([own])).hex(),
    }


def _low_rank() -> dict[str, Any]:
    """The scores by vectors of the core, which are drawn."""
    method, publishes = _private(), _private().publishes(COUNTED)
    factors = 0.3 * np.random.default_rng(7).normal(size=(4, 3)).astype(np.float32)
    model = {"counts": COUNTS[:, None].astype(np.uint32), "factors": factors.astype(np.float32)}
    context = RoundContext(COUNTED, "ready", ROUND, model)
    return {
        "settings": as_dict(method),
        "publishes": repr((publishes.tables, publishes.scalars)),
        "model": encode_model(model, publishes, LISTED).hex(),
        "scores": method.client_score(context, {}, history_of())[0].tolist(),
    }


def _factors(precision: str) -> dict[str, Any]:
    """The vector and the scores of someone who comes later, and of someone who has trained."""
    method = algorithm("cfpl")(factors=4, precision=precision).algorithm()
    model = method.server_init(PUBLIC, Rng(np.array([5, 6], np.uint32))).model
    context, history = RoundContext(PUBLIC, "ready", ROUND + 1, model), history_of()
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
