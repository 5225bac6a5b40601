"""Golden messages of version 2: an update, a whole model, what changed of it, and tampered ones to refuse.

`python -m tests.core.message_vectors vectors/messages.json` writes it anew. Binary is hexadecimal.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.codec import decode_model, encode, encode_changes, encode_model
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.update import SparseRows, Update

LISTED = np.array([0, 1, 3, 4], np.int32)
SENDS = MessageSpec(
    (
        TableSpec("items", "item", 5, 2, "float32", bound=4.0),
        TableSpec("counts", "item", 5, 1, "uint32", exact=RowBounds(np.array([3, 3, 0, 7, 2**32 - 1]))),
        TableSpec("whole", "dense", 2, 1, "float64"),
    ),
    ("loss",),
)
PUBLISHES = MessageSpec(
    (
        TableSpec("Q", "item", 5, 2, "float32"),
        TableSpec("b", "dense", 3, 1, "float64"),
        TableSpec("n", "item", 5, 1, "uint32"),
    )
)
NARROW = PUBLISHES.narrowed("int8")


def update() -> Update:
    """Two items, counts of two, a dense table."""
    return Update(
        {
            "items": SparseRows(
                np.array([1, 4], np.int32), np.array([[0.5, -1.25], [3.0, 0.0625]], np.float32)
            ),
            "counts": SparseRows(np.array([3, 4], np.int32), np.array([[7], [2**32 - 1]], np.uint32)),
            "whole": SparseRows(np.arange(2, dtype=np.int32), np.array([[0.1], [-2.0]])),
        },
        {"loss": 0.625},
    )


def base() -> dict[str, Any]:
    """The model a device has."""
    Q = np.arange(10, dtype=np.float32).reshape(5, 2) / 8
    return {"Q": Q, "b": np.array([1.0, 0.0, -1.0]), "n": np.arange(5, dtype=np.uint32)}


def newer() -> dict[str, Any]:
    """The next one: a row of Q, two numbers of b, of which one only loses its sign, and none of n."""
    Q = base()["Q"].copy()
    Q[3, 1] = -5.5
    return {**base(), "Q": Q, "b": np.array([1.5, -0.0, -1.0])}


def message_vectors() -> dict[str, Any]:
    """The whole file."""
    sent, whole = encode(update(), SENDS), encode_model(newer(), PUBLISHES, LISTED)
    changes = encode_changes(base(), newer(), PUBLISHES, LISTED)
    narrow = encode_model(newer(), NARROW, LISTED)
    return {
        "version": 2,
        "listed": LISTED.tolist(),
        "sends": repr((SENDS.tables, SENDS.scalars)),
        "sends_mark": SENDS.mark,
        "publishes": repr((PUBLISHES.tables, PUBLISHES.scalars)),
        "publishes_mark": PUBLISHES.mark,
        "update": sent.hex(),
        "base": encode_model(base(), PUBLISHES, LISTED).hex(),
        "model": whole.hex(),
        "changes": changes.hex(),
        "unchanged": encode_changes(newer(), newer(), PUBLISHES, LISTED).hex(),
        "int8 publishes": repr((NARROW.tables, NARROW.scalars)),
        "int8 publishes_mark": NARROW.mark,
        "int8 base": encode_model(base(), NARROW, LISTED).hex(),
        "int8 model": narrow.hex(),
        "int8 changes": encode_changes(base(), newer(), NARROW, LISTED).hex(),
        "int8 values": {name: v.tolist() for name, v in decode_model(narrow, NARROW, LISTED).items()},
        "tampered": [
            {"message": kind, "what": what, "bytes": content.hex()}
            for kind, what, content in (
                *_bad_updates(sent),
                *_bad_models(whole),
                *_bad_changes(changes),
                ("int8 model", "an exponent beyond float32", narrow[:12] + b"\x7a" + narrow[13:]),
                ("int8 model", "cut off before its exponent", narrow[:12]),
            )
        ],
    }


def _bad_updates(good: bytes) -> list[tuple[str, str, bytes]]:
    place = 8 + 8 + 4 + 2 * (4 + 8) + 4 + 2 * 4  # the first value of counts
    return [
        ("update", "of version 1", good[:2] + b"\1" + good[3:]),
        ("update", "of another declaration", _flip(good, 4)),
        ("update", "a byte too long", good + b"\0"),
        ("update", "a byte too short", good[:-1]),
        ("update", "an exact number above the bound of its row", good[:place] + b"\x08" + good[place + 1 :]),
        ("update", "a model's magic", b"mc" + good[2:]),
    ]


def _bad_models(good: bytes) -> list[tuple[str, str, bytes]]:
    return [
        ("model", "of version 1", good[:2] + b"\1" + good[3:]),
        ("model", "cut off", good[:-1]),
        ("model", "a row more than is on offer", good[:8] + b"\5" + good[9:]),
    ]


def _bad_changes(good: bytes) -> list[tuple[str, str, bytes]]:
    first = 8 + 32 + 4  # the row number of Q
    second = first + 4 + 8 + 4  # the row numbers of b
    return [
        ("changes", "of version 1", good[:2] + b"\1" + good[3:]),
        ("changes", "a whole model's magic", b"mu" + good[2:]),
        ("changes", "of another model", _flip(good, 8)),
        ("changes", "of an item that is not on offer", good[:first] + b"\2" + good[first + 1 :]),
        ("changes", "of a row that is none", good[:first] + b"\x09" + good[first + 1 :]),
        ("changes", "a row twice", good[:second] + b"\1" + good[second + 1 :]),
        ("changes", "rows that do not ascend", good[:second] + b"\2" + good[second + 1 :]),
        ("changes", "more rows than there are", good[: first - 4] + b"\5" + good[first - 3 :]),
        ("changes", "a byte too long", good + b"\0"),
        ("changes", "a byte too short", good[:-1]),
        ("changes", "without its base", good[:30]),
    ]


def _flip(message: bytes, place: int) -> bytes:
    return message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(message_vectors(), indent=1) + "\n", encoding="utf-8")
