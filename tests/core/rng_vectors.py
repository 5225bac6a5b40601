"""Golden vectors of the random draws: what numpy, the compiled loops and TypeScript must all answer.

`python -m tests.core.rng_vectors vectors/rng.json` writes the file anew; changing it changes every result.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.rng import Purpose, Rng, client_secrets, guest_secret, philox, server_secret
from murmura.engine.itinerary import public_part

# Random123 distribution, kat_vectors, rows "philox4x32 10"
KNOWN = (
    ((0, 0, 0, 0), (0, 0)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)),
)
SEED = 2**40 + 43
STREAMS = ((0, 0, Purpose.INIT), (1, 7, Purpose.TRIPLES), (2, 2**31 + 5, Purpose.OWN))
BOUNDS = (1, 2, 10, 3706, 3 << 30, 2**32 - 1)  # 3 << 30: one word in four is unfair and passed over
SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)

PARTS = ((bytes(16), 0.5), (bytes(range(16)), 0.1), (bytes(range(16)), 0.9), (b"\xff" * 16, 1.0))


def rng_vectors() -> dict[str, Any]:
    """Every kind of draw, computed by the plain generator."""
    secrets = client_secrets(SEED, 3)
    return {
        "blocks": [
            {"counter": list(c), "key": list(k), "words": philox(np.array(c), np.array(k)).tolist()}
            for c, k in KNOWN
        ],
        "seed": str(SEED),  # text: above what a JavaScript number holds exactly in general
        "client_secrets": secrets.tolist(),
        "server_secret": server_secret(SEED).tolist(),
        "guest_secret": guest_secret(SEED).tolist(),
        "parts": [_part(seed, part) for seed, part in PARTS],
        "streams": [_stream(Rng(secrets[who], round), int(purpose)) for who, round, purpose in STREAMS],
    }


def _stream(rng: Rng, purpose: int) -> dict[str, Any]:
    return {
        "secret": rng.secret.tolist(),
        "round": rng.round,
        "purpose": purpose,
        "words": rng.stream(purpose).words(12).tolist(),
        "below": [{"n": n, "draws": _below(rng, purpose, n)} for n in BOUNDS],
        "coins": [{"share": p, "heads": rng.stream(purpose).coins(p, 16).astype(int).tolist()} for p in SHARES],
        "normals": rng.stream(purpose).normals(16).tolist(),  # shortest text that reads back to the same double
        "choose": [
            {"n": n, "m": m, "chosen": rng.stream(purpose).choose(n, m).tolist()}
            for n, m in ((10, 1), (10, 10), (1000, 7))
        ],
    }


def _part(seed: bytes, part: float) -> dict[str, Any]:
    """Who of thirty clients is in a public part."""
    return {"seed": seed.hex(), "part": part, "members": public_part(seed, 30, part).astype(int).tolist()}


def _below(rng: Rng, purpose: int, n: int) -> list[int]:
    stream = rng.stream(purpose)
    return [stream.below(n) for _ in range(12)]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(rng_vectors(), indent=1) + "\n", encoding="utf-8")
