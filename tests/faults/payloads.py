"""Bodies, paths and headers no honest machine would send, from a seed."""

from __future__ import annotations

import json
import math
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Bytes = Callable[[random.Random, bytes], bytes]


@dataclass(frozen=True)
class Payload:
    """One request."""

    machine: str
    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def _cut(rng: random.Random, good: bytes) -> bytes:
    return good[: rng.randrange(len(good))] if good else b"\0"


def _flipped(rng: random.Random, good: bytes) -> bytes:
    bent = bytearray(good or b"\0")
    for _ in range(rng.randint(1, 8)):
        bent[rng.randrange(len(bent))] ^= 1 << rng.randrange(8)
    return bytes(bent) if bytes(bent) != good else good + b"\0"


def _numbers(rng: random.Random, good: bytes) -> bytes:
    """Numbers that are none, over the second half."""
    bad = struct.pack("<f", rng.choice([math.nan, math.inf, -math.inf, 3e38]))
    half = len(good) // 2
    return good[:half] + (bad * (len(good) // 4 + 1))[: len(good) - half]


def _bomb(rng: random.Random, good: bytes) -> bytes:
    """A megabyte and more in a few bytes."""
    return zlib.compress(bytes(rng.randint(1, 4) << 20), 9)


def _text(rng: random.Random, good: bytes) -> bytes:
    deep = rng.choice(["[", '{"a":'])
    return rng.choice(
        [
            (deep * rng.randint(1, 4000)).encode()[:4000],
            json.dumps({"slot": rng.choice([-1, 2**70, 1.5, "0", None, [0], True, {}])}).encode(),
            b'{"slot": NaN}',
            b'{"slot": 1e999}',
            b'{"slot": 0, "slot": 99999999}',
            json.dumps({"token": "é" * rng.randint(0, 70)}).encode(),
            json.dumps(
                {"token": "0" * 64, "admission": rng.choice(["", "0" * 208, 7, None]), "proof": "zz"}
            ).encode(),
            b"\xff\xfe" + bytes(rng.randrange(60)),
            b'"\\ud800"',
        ]
    )


MUTATIONS: tuple[Bytes, ...] = (
    _cut,
    _flipped,
    _flipped,
    _numbers,
    _bomb,
    _text,
    lambda rng, good: good + rng.randbytes(rng.randint(1, 40)),
    lambda rng, good: rng.randbytes(len(good)),
    lambda rng, good: rng.randbytes(rng.randint(0, 3000)),
    lambda rng, good: b"",
    lambda rng, good: bytes(len(good)) + b"\0" * (not good),
    lambda rng, good: b"\xff" * max(1, len(good)),
    lambda rng, good: (good * 3)[: rng.randint(1, max(1, len(good) * 3))] + b"!",
)
NAMES = (
    "",
    "..",
    "%00",
    "%2e%2e%2f",
    "a" * 64,
    "0" * 64,
    "zz" * 32,
    "%F0%9F%92%A9",
    "a" * 3000,
    "-1",
    "0",
    "9" * 15,
    "start",
)
HEADERS = (
    {"authorization": "Bearer "},
    {"authorization": "Basic dXNlcg=="},
    {"authorization": "Bearer " + "a" * 5000},
    {"authorization": "Bearer \xe9\xff"},
    {"murmura-protocol": "9" * 40},
    {"murmura-protocol": "\xb2"},
    {"murmura-protocol": ""},
    {"if-none-match": '"' + "0" * 64},
    {"content-encoding": "gzip"},
    {"content-encoding": "deflate", "content-type": "application/zip"},
    {"transfer-encoding": "chunked"},
    {"range": "bytes=0-,5-"},
    {"expect": "100-continue"},
)


def fuzzed(good: list[Payload], paths: list[tuple[str, str, str]], n: int, seed: int) -> Iterator[Payload]:
    """`n` payloads: mutations of good messages, and every address with wrong names and headers.

    `paths` are (machine, method, path with {} for a name).
    """
    rng = random.Random(seed)
    for _ in range(n):
        head = dict(rng.choice(HEADERS)) if rng.random() < 0.25 else {}
        if rng.random() < 0.7:
            base = rng.choice(good)
            body = rng.choice(MUTATIONS)(rng, base.body)
            yield Payload(base.machine, base.method, base.path, body, base.headers | head)
        else:
            machine, method, path = rng.choice(paths)
            body = b"" if method == "GET" else rng.choice(MUTATIONS)(rng, rng.randbytes(48))
            while "{}" in path:
                path = path.replace("{}", rng.choice(NAMES), 1)
            yield Payload(machine, method, path, body, head)
