"""What compiled loops of federated methods share: flat histories, consent, and sums of what clients send.

A loop goes over the clients of a `ClientBlock`. `shared_items` flips their coins of consent and notes what
leaves; `send_rows` adds a client's rows to the sum of the block, through the channel if there is one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Bytes, Floats, Ints, Longs
from murmura.core.kernel import VectorSlice
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.fixed_point import add_fixed_point_rows
from murmura.kernels.philox import Word, Words, coin_at

Bits = NDArray[np.uint64]
Index = Any  # a whole number: a client, an item, a row
Values = NDArray[Any]  # float32 or float64
_COINS, _CONSENT = np.uint64(Purpose.COINS), np.uint64(Purpose.CONSENT)


class FlatPopulation(NamedTuple):
    """All clients in flat arrays; client u holds rows start[u] to start[u + 1]."""

    start: Longs  # (clients + 1,)
    item: Ints  # (rows,) ascending for each client
    consent: Floats  # (rows,); (0,) where every share is 1
    per_round: bool  # a coin per row and round instead of one at each use
    everything: bool  # every share is 1: no coin is ever asked
    fractional: bool  # some share is neither 0 nor 1
    secrets: Words  # (clients, 2)
    listed: Ints  # the items on offer
    own: Bits  # (clients, items / 64) one bit per own item; (0, 0) where that would be too large


class Disclosed(NamedTuple):
    """What has left the clients so far: the arrays of a tally."""

    sent: Bytes  # (rows,)
    disclosed: Longs  # (clients,)
    item_rows: Longs  # (items,)


class Sums(NamedTuple):
    """What the clients of each block send, added up: a row for every row of the table that was sent.

    `block_of` is the same of one block, without the first dimension.
    """

    slot: Ints  # (blocks, rows) -1: where a row of the table is
    touched: Ints  # (blocks, rows) which row of the table it is
    values: Values  # (blocks, rows, width)
    senders: Ints  # (blocks, rows) how many clients sent the row
    last: Ints  # (blocks, rows) for loops that meet a row again: which client sent it last
    used: Longs  # (blocks,), and (1,) of one block


class ClientBlock(NamedTuple):
    """Some clients of a round, and where what they send is added up."""

    clients: Ints
    weights: Values | None  # what the update of each is multiplied by; None: by one
    round: Word
    people: FlatPopulation
    tally: Disclosed
    sums: Sums  # floating-point numbers, where there is no channel
    vector_slice: VectorSlice | None  # where and how the table travels through a channel
    total: Longs  # the sum of a channel, in whole numbers


@compiled
def mark_own(start: Longs, item: Ints, own: Bits) -> None:
    """Set the bit of every own item."""
    for u in range(len(start) - 1):
        for row in range(start[u], start[u + 1]):
            own[u, item[row] >> 6] |= np.uint64(1) << np.uint64(item[row] & 63)


@compiled(inline=True)
def disclose(u: Index, row: Index, sent: Bytes, disclosed: Longs) -> None:
    """Note a positive of client u that leaves."""
    disclosed[u] += 1 - sent[row]
    sent[row] = 1


@compiled(inline=True)
def shares_row(people: FlatPopulation, u: Index, row: int, round_: Word) -> bool:
    """Whether client u shares a row of its history in an exchange that uses every row once."""
    if people.everything:
        return True
    chance, place = people.consent[row], row - int(people.start[u])
    if people.per_round:
        chance = 1.0 if coin_at(people.secrets[u], round_, _CONSENT, place, chance) else 0.0
    return coin_at(people.secrets[u], round_, _COINS, place, chance)


def draw_consent(start: Longs, consent: Floats, secrets: Words, round_: int, per_round: bool) -> Bytes:
    """(rows,) the coin of every row of every client, which says whether it is shared in a round."""
    send = np.empty(len(consent), np.uint8)
    purpose = _CONSENT if per_round else _COINS
    _flip_coins(start, np.ascontiguousarray(consent), secrets, np.uint64(round_), purpose, send)
    return send


@compiled
def _flip_coins(
    start: Longs, consent: Floats, secrets: Words, round_: Word, purpose: Word, send: Bytes
) -> None:
    for client in range(len(start) - 1):
        for row in range(start[client], start[client + 1]):
            send[row] = coin_at(secrets[client], round_, purpose, row - start[client], consent[row])


@compiled
def shared_items(place: Index, block: ClientBlock) -> Ints:
    """The items that one client of a block shares in such an exchange; those whose rows travel are noted."""
    people, vector_slice, u = block.people, block.vector_slice, block.clients[place]
    (sent, disclosed, _), item = block.tally, people.item
    first, last = people.start[u], people.start[u + 1]
    shared, n = np.empty(last - first, np.int32), 0
    for row in range(first, last):
        if people.everything or shares_row(people, u, row, block.round):
            shared[n] = item[row]
            n += 1
            if _travels(vector_slice, item[row]):
                disclose(u, row, sent, disclosed)
    return shared[:n]


@compiled(inline=True)
def _travels(vector_slice: VectorSlice | None, row: Index) -> bool:
    """Whether a row of the table leaves in this round."""
    if vector_slice is None:
        return True
    return bool(vector_slice.place[row] >= 0)


@compiled
def send_rows(place: Index, rows: Ints, values: Values, block: ClientBlock) -> None:
    """Add what one client of a block sends to the sum, times its weight.

    values[r] is the row rows[r] of the table: rows are ascending, each once. The values are changed.
    """
    u = block.clients[place]
    _weigh_rows(weight_at(block.weights, place), len(rows), values)
    _add_rows(block.vector_slice, rows, values, block.people.secrets[u], block.round, block.sums, block.total)


@compiled
def _weigh_rows(weight: Any, n: int, values: Values) -> None:
    if weight is None:
        return
    for r in range(n):
        for f in range(values.shape[1]):
            values[r, f] *= weight


@compiled
def _add_rows(
    vector_slice: VectorSlice | None,
    rows: Ints,
    values: Values,
    secret: Words,
    round_: Word,
    sums: Sums,
    total: Longs,
) -> None:
    """Floating-point numbers to the sums, or whole numbers to the total of a channel."""
    if vector_slice is not None:
        add_fixed_point_rows(np.arange(len(rows)), rows, values, vector_slice, secret, round_, total)
        return
    slot, touched, summed, senders, _, used = sums
    for r in range(len(rows)):
        n = used[0]
        used[0] = open_row(rows[r], n, slot, touched, summed)
        if used[0] > n:
            senders[n] = 0
        k = slot[rows[r]]
        senders[k] += 1
        for f in range(values.shape[1]):
            summed[k, f] += values[r, f]


@compiled(inline=True)
def weight_at(weights: Values | None, place: Index) -> Any:
    """The weight of one client of a cohort; None, for which other code is compiled: all count alike."""
    if weights is None:
        return None
    return weights[place]


@compiled(inline=True)
def open_row(row: Index, used: int, slot: Ints, touched: Ints, values: Values) -> int:
    """Give a row of the table an empty row of sums, unless it has one; the rows in use afterwards."""
    if slot[row] >= 0:
        return used
    slot[row] = used
    touched[used] = row
    for f in range(values.shape[1]):
        values[used, f] = 0
    return used + 1


@compiled
def block_of(sums: Sums, block: int) -> Sums:
    """The sums of one block."""
    return Sums(
        sums.slot[block],
        sums.touched[block],
        sums.values[block],
        sums.senders[block],
        sums.last[block],
        sums.used[block : block + 1],
    )


@compiled
def merge_blocks(out: Sums, touched: Bools, total: Values, senders: Longs) -> None:
    """Add the blocks in their order to `total`, whose touched rows start at zero, and close their rows."""
    width = total.shape[1]
    for block in range(len(out.used)):
        for k in range(out.used[block]):
            row = out.touched[block, k]
            if not touched[row]:
                touched[row] = True
                senders[row] = 0
                for f in range(width):
                    total[row, f] = 0
            for f in range(width):
                total[row, f] += out.values[block, k, f]
            senders[row] += out.senders[block, k]
            out.slot[block, row] = -1
        out.used[block] = 0
