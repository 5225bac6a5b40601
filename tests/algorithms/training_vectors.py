"""The golden training steps: python -m tests.algorithms.training_vectors vectors/training.json

What a device gets, what it computes on the way, and what leaves it, for whoever writes one in another language.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.algorithms.fpl.fpl import draw_triples
from murmura.channel.phase_chains import chain
from murmura.channel.shares import split
from murmura.core.channel import ChannelSettings
from murmura.core.codec import encode, encode_model
from murmura.core.contract import FederationInfo, History, Phase, RoundContext
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import as_dict
from murmura.engine.visit import visit

ITEMS, LISTED = 8, np.array([0, 1, 2, 3, 5, 6, 7], np.int32)
OWN = np.array([1, 3, 6], np.int32)
SECRET, ROUND, LARGEST = np.array([0x01234567, 0x89ABCDEF], np.uint32), 3, 200
SEED = bytes(range(32))
PUBLIC = FederationInfo(ITEMS, LISTED, clients=200, interactions=1000)
CHANNEL = ChannelSettings(channel="secure-sum")
STEPS = (
    ("cfpl", {"factors": 4, "precision": "float64"}),
    ("cfpl", {"factors": 4, "precision": "float32"}),
    ("fcf", {"factors": 4, "precision": "float64"}),
)


def training_vectors() -> dict[str, Any]:
    """Everything the file holds."""
    return {
        "items": ITEMS,
        "listed": LISTED.tolist(),
        "clients": PUBLIC.clients,
        "interactions": PUBLIC.interactions,
        "own": OWN.tolist(),
        "secret": SECRET.tolist(),
        "round": ROUND,
        "largest": LARGEST,
        "channel": as_dict(CHANNEL),
        "seed": SEED.hex(),
        "steps": [
            _step(name, settings, phase) for name, settings in STEPS for phase in _phases(name, settings)
        ],
    }


def _phases(name: str, settings: dict[str, Any]) -> tuple[Phase, ...]:
    return algorithm(name)(**settings).algorithm().phases(PUBLIC)


def _step(name: str, settings: dict[str, Any], phase: Phase) -> dict[str, Any]:
    method, rng = algorithm(name)(**settings).algorithm(), Rng(SECRET, ROUND)
    history = History(OWN, np.ones(len(OWN)), np.ones(len(OWN)))
    before = method.client_init(PUBLIC, history, Rng(SECRET))
    model = method.server_init(PUBLIC, Rng(np.array([5, 6], np.uint32))).model
    context = RoundContext(PUBLIC, phase.name, ROUND, model)
    through = chain(CHANNEL, phase, PUBLIC, LARGEST)
    made = visit(method, phase, context, before, history, rng, through)
    assert made.vector is not None
    (table,) = made.update.tables.values()
    _, other = split(made.vector, through.ring, lambda _: SEED)
    return {
        "method": name,
        "settings": as_dict(method),
        "phase": phase.name,
        "publishes": repr((method.publishes(PUBLIC).tables, ())),
        "sends": repr((phase.sends.tables, phase.sends.scalars)),
        "model": encode_model(model, method.publishes(PUBLIC), LISTED).hex(),
        "before": before["p"].tolist(),
        **(_triples(rng, as_dict(method)["warm"]) if (name, phase.name) == ("cfpl", "train") else {}),
        "after": made.state["p"].tolist(),
        "rows": {"index": table.index.tolist(), "values": table.values.tolist()},
        "update": encode(made.update, phase.sends).hex(),
        "vector": made.vector.tolist(),
        "other_share": through.ring.pack(other).hex(),
    }


def _triples(rng: Rng, warm: int) -> dict[str, Any]:
    """(own item, other item) in the order they are used."""
    drawn = {}
    for name, purpose, n in (("warm", Purpose.WARM, warm * len(OWN)), ("triples", Purpose.TRIPLES, len(OWN))):
        pairs = draw_triples(LISTED, OWN, n, rng.stream(purpose))
        drawn[name] = np.column_stack([OWN[pairs[:, 0]], pairs[:, 1]]).tolist()
    return drawn


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(training_vectors(), indent=1) + "\n", encoding="utf-8")
