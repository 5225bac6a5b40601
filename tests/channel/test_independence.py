"""What one aggregator receives from one device tells nothing of its data; leaky ways to share are found out.

Two devices differ as much as they can: one likes a handful of items, the other nearly all. Each sends
a thousand times. An attacker who knows both plain vectors measures every upload in several ways; if shares are
independent of the data, no measure ranks the uploads of one device above those of the other: AUC 1/2 within
four standard deviations, which is 0.05 here.
"""

from collections.abc import Callable

import numpy as np
import pytest

from murmura.channel.chain import Chain
from murmura.channel.phase_chains import chain
from murmura.channel.ring import Ring
from murmura.channel.shares import SEED_BYTES, expand, split
from murmura.core.arrays import Floats
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng, Words, client_secrets
from murmura.core.update import SparseRows, Update

pytestmark = pytest.mark.slow

ITEMS, UPLOADS = 100, 1100
LARGEST = 4 * np.sqrt((2 * UPLOADS + 1) / (12 * UPLOADS**2))  # four standard deviations of an AUC
Share = Callable[[Words, Ring, np.random.Generator], tuple[bytes, Words]]


def through(ring: int) -> Chain:
    info = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), 500, 5000)
    phase = Phase("train", MessageSpec((TableSpec("items", "item", ITEMS, 5),)))
    bits = 16 if ring == 32 else 14
    return chain(ChannelSettings(channel="secure-sum", ring=ring, bits=bits), phase, info, 500)  # type: ignore[arg-type]


def vectors(channel: Chain, likes: int, secret: int) -> list[Words]:
    """A device's uploads before they are shared, round after round."""
    rng = np.random.default_rng(likes)
    index = np.sort(rng.choice(ITEMS, likes, replace=False)).astype(np.int32)
    update = Update({"items": SparseRows(index, rng.normal(size=(likes, 5)).astype(np.float32))})
    own = client_secrets(secret, 1)[0]
    return [channel.device(update, Rng(own, round), round) for round in range(UPLOADS)]


def honest(vector: Words, ring: Ring, rng: np.random.Generator) -> tuple[bytes, Words]:
    return split(vector, ring, lambda n: rng.bytes(n))


def masks_only_what_is_there(vector: Words, ring: Ring, rng: np.random.Generator) -> tuple[bytes, Words]:
    seed, other = honest(vector, ring, rng)
    return seed, np.where(vector == 0, 0, other).astype(np.uint32)


def masks_with_few_bits(vector: Words, ring: Ring, rng: np.random.Generator) -> tuple[bytes, Words]:
    short = rng.integers(0, 2**12, ring.words)
    return rng.bytes(SEED_BYTES), ring.wrap(vector.astype(np.int64) - short)


def uses_a_seed_again(vector: Words, ring: Ring, rng: np.random.Generator) -> tuple[bytes, Words]:
    seed = bytes(SEED_BYTES)
    return seed, ring.wrap(vector.astype(np.int64) - expand(seed, ring))


def draws_the_seed_from_the_data(vector: Words, ring: Ring, rng: np.random.Generator) -> tuple[bytes, Words]:
    seed = bytes([int(np.count_nonzero(vector)) % 256]) + rng.bytes(SEED_BYTES - 1)
    return seed, ring.wrap(vector.astype(np.int64) - expand(seed, ring))


def measures(received: list[Words], pattern: Floats, ring: Ring) -> Floats:
    """(uploads, measures): what an attacker who knows both devices would look at."""
    words = np.array(received).astype(np.float64)
    signed = np.where(words >= 2.0 ** (ring.bits - 1), words - 2.0**ring.bits, words)
    low = np.array(received) & 1
    return np.column_stack(
        [
            np.sign(signed) @ pattern,  # a matched filter
            signed @ pattern,
            (words == 0).sum(axis=1),
            np.abs(signed).sum(axis=1),
            low.sum(axis=1),
            (low[:, 1:] ^ low[:, :-1]).sum(axis=1),
        ]
    )


def seed_measures(seeds: list[bytes]) -> Floats:
    values = np.array([list(seed) for seed in seeds], np.float64)
    return np.column_stack([values[:, 0], values.sum(axis=1), (values == 0).sum(axis=1)])


def advantages(one: Floats, other: Floats) -> Floats:
    """|AUC - 1/2| of every measure, ties counted half."""
    found = []
    for a, b in zip(one.T, other.T):
        together = np.concatenate([a, b])
        _, place, count = np.unique(together, return_inverse=True, return_counts=True)
        rank = (np.cumsum(count) - (count - 1) / 2)[place]
        found.append(abs((rank[: len(a)].sum() - len(a) * (len(a) + 1) / 2) / (len(a) * len(b)) - 0.5))
    return np.array(found)


def advantage(share: Share, ring: int) -> float:
    """The largest advantage over everything either aggregator receives."""
    channel, rng = through(ring), np.random.default_rng(ring)
    few, many = vectors(channel, 3, 1), vectors(channel, 95, 2)
    plain = [channel.ring.server(which[0]).astype(np.float64) for which in (many, few)]
    pattern = np.sign(plain[0]) - np.sign(plain[1])
    sent = [[share(vector, channel.ring, rng) for vector in which] for which in (few, many)]
    for seed, other in sent[0] + sent[1]:  # every message has one length
        assert len(seed) == SEED_BYTES
        assert len(channel.ring.pack(other)) == channel.ring.message_bytes
    seeds = advantages(*(seed_measures([seed for seed, _ in which]) for which in sent))
    others = advantages(*(measures([other for _, other in which], pattern, channel.ring) for which in sent))
    return float(max(seeds.max(), others.max()))


@pytest.mark.parametrize("ring", [24, 32])
def test_a_share_alone_is_independent_of_the_data(ring: int) -> None:
    assert LARGEST <= 0.05
    assert advantage(honest, ring) < LARGEST


@pytest.mark.parametrize(
    "leaky",
    [masks_only_what_is_there, masks_with_few_bits, uses_a_seed_again, draws_the_seed_from_the_data],
)
def test_a_leaky_way_to_share_is_found_out(leaky: Share) -> None:
    assert advantage(leaky, 32) > 2 * LARGEST


@pytest.mark.smoke
def test_the_bytes_of_shares_are_uniform() -> None:
    """Chi-square over 255 degrees of freedom within four standard deviations, whatever the data."""
    channel, rng = through(32), np.random.default_rng(5)
    for likes in (3, 95):
        shares = [honest(vector, channel.ring, rng)[1] for vector in vectors(channel, likes, 7)[:300]]
        seen = np.bincount(np.frombuffer(b"".join(map(channel.ring.pack, shares)), np.uint8), minlength=256)
        expected = seen.sum() / 256
        assert abs(((seen - expected) ** 2 / expected).sum() - 255) < 4 * np.sqrt(2 * 255)
