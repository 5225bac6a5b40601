"""Looking for one person's update in everything the servers have written."""

from __future__ import annotations

from pathlib import Path

from murmura.core.rng import Words
from murmura.wire import wire

HEAD = 4 + wire.HASH_BYTES + wire.ID_BYTES  # of a share: what everyone on the way can read, its report id last
WINDOW = 24  # bytes: six words in a row of one device's vector


def nothing_of_one_person(folder: Path, vectors: list[Words], needles: tuple[bytes, ...] = ()) -> None:
    """No file and no log below `folder` holds a stretch of a device's vector, nor one of the needles."""
    wanted = {bytes(piece): None for vector in vectors for piece in pieces(vector)} | dict.fromkeys(needles)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            for needle in wanted:
                assert needle not in content, f"{path.name} holds a part of one person's update"


def pieces(vector: Words) -> list[bytes]:
    """Stretches of the vector that tell something: the all-zero ones do not."""
    raw = vector.astype("<u4").tobytes()
    cut = [raw[at : at + WINDOW] for at in range(0, len(raw) - WINDOW + 1, WINDOW)]
    return [piece for piece in cut if len(set(piece)) > 4]
