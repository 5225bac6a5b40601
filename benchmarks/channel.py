"""The channel of a secure sum at the size of ml-1m: one upload on a device, a thousand on a server.

3,706 items on offer, F = 20 with a bias each, 264 rows: the update of a median client of cFPL.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.sides import Benchmark, Work
from murmura.channel.chain import Chain
from murmura.channel.phase_chains import chain
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng, client_secrets
from murmura.core.update import SparseRows, Update

ITEMS, FACTORS, ROWS, UPLOADS = 3706, 20, 264, 1000


def phase() -> Phase:
    return Phase("train", MessageSpec((TableSpec("items", "item", ITEMS, FACTORS + 1),)))


def through() -> Chain:
    info = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), 6040, 800_000)
    return chain(ChannelSettings(channel="secure-sum"), phase(), info, UPLOADS)


def an_update() -> Update:
    rng = np.random.default_rng(0)
    index = np.sort(rng.choice(ITEMS, ROWS, replace=False)).astype(np.int32)
    return Update({"items": SparseRows(index, rng.normal(0, 0.1, (ROWS, FACTORS + 1)).astype(np.float32))})


def upload() -> Work:
    from murmura.channel.shares import split

    channel, update, rng = through(), an_update(), Rng(client_secrets(0, 1)[0], 1)

    def work() -> int:
        seed, other = split(channel.device(update, rng, 1), channel.ring)
        return len(seed) + len(channel.ring.pack(other))

    return work


def add_seeds() -> Work:
    from murmura.channel.shares import expand

    channel = through()
    seeds = [bytes([n % 256, n // 256]) + bytes(30) for n in range(UPLOADS)]
    return lambda: channel.ring.add_up(expand(seed, channel.ring) for seed in seeds)


def add_vectors() -> Work:
    channel = through()
    message = channel.ring.pack(channel.device(an_update(), Rng(client_secrets(0, 1)[0], 1), 1))
    return lambda: channel.ring.add_up(channel.ring.unpack(message) for _ in range(UPLOADS))


def judge_upload(mine: int, _: None) -> tuple[str, str]:
    assert mine == through().upload_bytes, "everything that leaves was made"
    return f"{mine:,} bytes leave", ""


def judge_sum(mine: Any, _: None) -> tuple[str, str]:
    assert mine.shape == (through().words,)
    return f"{UPLOADS:,} uploads of {through().ring.message_bytes:,} bytes", ""


def _row(title: str, ours: Callable[[], Work], goal: float, judge: Callable[[Any, Any], Any]) -> Benchmark:
    return Benchmark(title=title, ours=ours, goal=goal, judge=judge)


BENCHMARKS = {
    "upload": _row("channel: one upload, clip to packed shares", upload, 0.02, judge_upload),
    "seeds": _row("channel: expand and add 1,000 shares that are seeds", add_seeds, 1.0, judge_sum),
    "vectors": _row("channel: unpack and add 1,000 shares that are vectors", add_vectors, 1.0, judge_sum),
}
