"""Golden vectors of the channel: from an update to the words that leave a device, for every implementation.

`python -m tests.channel.channel_vectors vectors/channel.json` writes it anew. Packed bytes are hexadecimal.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from murmura.channel.rounded_chain import rounded_chain
from murmura.channel.shares import SEED_BYTES, split
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.rng import Rng
from murmura.core.settings import as_dict
from murmura.core.update import SparseRows, Update

PUBLIC = FederationInfo(
    9, np.array([0, 1, 3, 4, 7, 8], np.int32), 200, 900, counts=np.array([9, 1, 0, 7, 4, 0, 0, 8, 2])
)
PHASE = Phase("train", MessageSpec((TableSpec("items", "item", 9, 3),), ("hits",)))
BOUNDS = np.array([9, 9, 0, 2**24 - 1, 1, 1, 1, 70_000, 5])
EXACT = MessageSpec(
    (
        TableSpec("counts", "item", 9, 1, "uint32", exact=RowBounds(1)),
        *PHASE.sends.tables,
        TableSpec("packed", "item", 9, 1, "uint32", exact=RowBounds(BOUNDS, of="sum")),
    ),
    PHASE.sends.scalars,
)
SECRET, ROUND, COHORT, SEED = np.array([7, 9], np.uint32), 12, 200, bytes(range(SEED_BYTES))
VALUES = np.array([[0.5, -1.25, 0.0], [3.0, 1e-3, -7.5], [-0.75, 20.0, 0.25]], np.float32)
WAYS = (
    ChannelSettings(channel="secure-sum"),
    ChannelSettings(channel="secure-sum", clip=4.0, coordinate=2.5),
    ChannelSettings(channel="secure-sum", bits=14, ring=24),
    ChannelSettings(channel="readable", block="half"),
    ChannelSettings(channel="secure-sum", block="core", core=4),
)


def channel_vectors() -> dict[str, Any]:
    """One update through several channels."""
    update = Update({"items": SparseRows(np.array([1, 3, 7], np.int32), VALUES)}, {"hits": 0.625})
    return {
        "public": {"items": PUBLIC.items, "listed": PUBLIC.listed.tolist(), "counts": _counts().tolist()},
        "table": {"space": "item", "rows": 9, "width": 3},
        "scalars": ["hits"],
        "update": {"index": [1, 3, 7], "values": VALUES.tolist(), "hits": 0.625},
        "secret": SECRET.tolist(),
        "round": ROUND,
        "cohort": COHORT,
        "seed": SEED.hex(),
        "channels": [_through(way, update) for way in WAYS],
        "exact": _exact(update),
    }


def _exact(update: Update) -> dict[str, Any]:
    """The same update between two exact tables: words that are theirs, beside the words of the floats."""
    rows = update.tables["items"].index
    counts, packed = np.ones((3, 1), np.uint32), np.array([[9], [2**23], [70_000]], np.uint32)
    tables = {"counts": SparseRows(rows, counts), **update.tables, "packed": SparseRows(rows, packed)}
    ways = []
    for way in WAYS[:3]:
        made = rounded_chain(way, Phase("train", EXACT), PUBLIC, COHORT)
        vector = made.device(Update(tables, update.scalars), Rng(SECRET, ROUND), ROUND)
        beyond = vector.copy()
        beyond[made.vector_slice("packed", ROUND).place[7]] += 1  # above the bound of the row
        ways.append(
            {
                "settings": as_dict(way),
                "vector": vector.tolist(),
                "longest_sum_of_three": made.longest(3),
                "refused": beyond.tolist(),
            }
        )
    return {
        "declaration": repr((EXACT.tables, EXACT.scalars)),
        "mark": EXACT.mark,
        "bounds": BOUNDS.tolist(),
        "counts": counts.ravel().tolist(),
        "packed": packed.ravel().tolist(),
        "channels": ways,
    }


def _through(way: ChannelSettings, update: Update) -> dict[str, Any]:
    made = rounded_chain(way, PHASE, PUBLIC, COHORT)
    vector = made.device(update, Rng(SECRET, ROUND), ROUND)
    _, other = split(vector, made.ring, lambda n: SEED)
    total = made.server(made.ring.add_up([vector, vector]), ROUND)
    rows = total.update.tables["items"]
    return {
        "settings": as_dict(way),
        "block": made.block(ROUND).tolist(),
        "vector": vector.tolist(),
        "packed": made.ring.pack(vector).hex(),
        "other_share": made.ring.pack(other).hex(),
        "twice": {"index": rows.index.tolist(), "values": rows.values.tolist(), **total.update.scalars},
    }


def _counts() -> Any:
    assert PUBLIC.counts is not None
    return PUBLIC.counts


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(channel_vectors(), indent=1) + "\n", encoding="utf-8")
