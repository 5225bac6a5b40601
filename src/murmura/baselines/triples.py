"""One epoch of training triples (user, own item, other item), in the order a method states, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from murmura.core.arrays import Ints, Longs
from murmura.core.rng import Purpose, Words
from murmura.kernels.factorisation.triple_sampling import UserItems, draw_grouped, draw_others, draw_places

Triples = tuple[Ints, Ints, Ints]  # who, her own item, another item

CHUNK = 1 << 18  # triples drawn before they are trained on
_WHO, _ROW, _OTHER = 0, 1, 2  # the streams of a chunk of independent triples


def grouped(
    owned: UserItems, n_items: int, secrets: Words, epoch: int, users: Longs, purpose: Purpose = Purpose.TRIPLES
) -> Iterator[Triples]:
    """User after user, each with as many triples as rows, drawn from the stream of her own secret."""
    ends = np.cumsum(owned.start[users + 1] - owned.start[users])
    chunk_of = (ends - 1) // CHUNK
    own, words = np.zeros(n_items, np.bool_), np.empty(1 << 13, np.uint32)
    for chunk in np.split(users, np.flatnonzero(np.diff(chunk_of)) + 1):
        size = int((owned.start[chunk + 1] - owned.start[chunk]).sum())
        who, pos, neg = (np.empty(size, np.int32) for _ in range(3))
        draw_grouped(chunk, owned, secrets, np.uint64(epoch), np.uint64(purpose), own, words, who, pos, neg)
        yield who, pos, neg


def independent(owned: UserItems, server: Words, epoch: int, users: Longs, by_user: bool) -> Iterator[Triples]:
    """Triples that know nothing of each other: from a row drawn among all, or `by_user` from a user drawn."""
    counts = np.diff(owned.start)
    user_of = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    rows = np.flatnonzero(np.isin(user_of, users))
    words = np.empty(1 << 10, np.uint32)
    for chunk, first in enumerate(range(0, len(rows), CHUNK)):
        size = min(CHUNK, len(rows) - first)

        def draw(bounds: Longs, stream: int, chunk: int = chunk) -> Longs:
            out = np.empty(len(bounds), np.int64)
            draw_places(bounds, server, np.uint64(epoch), _purpose(chunk, stream), words, out)
            return out

        if by_user:
            drawn = users[draw(np.full(size, len(users)), _WHO)]
            row = owned.start[drawn] + draw(counts[drawn], _ROW)
        else:
            row = rows[draw(np.full(size, len(rows)), _ROW)]
        who, neg = user_of[row], np.empty(size, np.int32)
        draw_others(owned, server, np.uint64(epoch), _purpose(chunk, _OTHER), words, who, neg)
        yield who, owned.item[row], neg


def _purpose(chunk: int, stream: int) -> np.uint64:
    return np.uint64(Purpose.OWN + 3 * chunk + stream)
