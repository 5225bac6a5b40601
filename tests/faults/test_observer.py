"""What somebody on the network sees of real uploads: sizes and times tell nothing of likes.

Every device has a machine of its own: its clock moves with what its own work really costs and with its sleep,
not with what the other devices and the rest of this machine are doing.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from murmura.core.consent import Permission
from murmura.core.contract import History
from murmura.device.device import Device
from murmura.device.download_cache import DownloadCache
from murmura.device.enrolment import register
from murmura.device.http_transport import HttpTransport
from murmura.device.storage import Identity, InMemoryStorage
from murmura.device.trust import fetch_terms
from murmura.wire.admission import OwnAdmission
from murmura.wire.transport import REPLY_BYTES, HttpReply
from tests.faults.federation import persist
from tests.faults.machines import MINIMUM, Machines

pytestmark = pytest.mark.process

EACH, ROUNDS, ITEMS, FEW, MANY = 40, 4, 2200, 10, 2000
HOLD, SPREAD = 2.0, 1.0


class OwnTime:
    """The clock of one device: the work of this thread, and the device's own sleep."""

    def __init__(self) -> None:
        self._began = time.time() - time.thread_time()

    def __call__(self) -> float:
        return self._began + time.thread_time()

    async def sleep(self, seconds: float) -> None:
        self._began += seconds
        await asyncio.sleep(0)


class Observer:
    """Sees the two shares of one device pass by."""

    def __init__(self, real: HttpTransport, clock: OwnTime) -> None:
        self._real, self.clock = real, clock
        self.seen: list[tuple[float, int]] = []

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        if url.endswith("/reports"):
            self.seen.append((self.clock(), len(body) + sum(len(k) + len(v) for k, v in headers.items())))
        return await self._real(method, url, body, headers, largest=largest)


def options(folder: Path) -> list[str]:
    items = folder / "items.txt"
    items.write_text("\n".join(map(str, range(ITEMS))), encoding="utf-8")
    words = ["--items", str(items), "--clients", str(2 * EACH), "--interactions", str(EACH * (FEW + MANY))]
    words += ["--model", "fcf", "-S", f"rounds={ROUNDS}", "-S", "factors=2", "--start"]
    timing = ["--round-seconds", "3600", "--hold", str(HOLD), "--spread", str(SPREAD)]
    return [*words, *timing, "--wait-for", str(2 * EACH), "--seed", "1"]


def drawn(name: str) -> Callable[[int], bytes]:
    """Fixed draws, so that a verdict is the same every time; each device has its own."""
    count = iter(range(10**9))
    return lambda n: hashlib.shake_256(f"{name} {next(count)}".encode()).digest(n)


def auc(low: list[float], high: list[float]) -> float:
    pairs = np.subtract.outer(np.array(high), np.array(low))
    return float((pairs > 0).mean() + (pairs == 0).mean() / 2)


async def watched(folder: Path, leaky: bool) -> tuple[list[list[float]], list[list[float]]]:
    """(sizes, seconds from the manifest to the first share) of those with few and with many likes."""
    machines = Machines(folder, options(folder))
    sizes: list[list[float]] = [[], []]
    times: list[list[float]] = [[], []]
    async with HttpTransport(connections=128) as send:
        try:
            await machines.start(send)
            terms, crowd = await persist(lambda: fetch_terms(send, machines.url)), []
            cache = DownloadCache(machines.url, send, terms)
            for slot in range(2 * EACH):
                own = OwnAdmission.create(machines.admitter, terms.federation)
                token = secrets.token_hex(32)
                place = await register(send, machines.url, terms, own, token)
                rng = np.random.default_rng(slot)
                secret = rng.integers(0, 2**32, 2, np.uint32)
                identity = Identity(machines.url, terms, token, secret, place, own, minimum=MINIMUM)
                item = np.sort(rng.choice(ITEMS, MANY if slot % 2 else FEW, replace=False)).astype(np.int32)
                rows, seen = History.private(item, 1.0), Observer(send, OwnTime())
                device = Device(
                    identity,
                    InMemoryStorage(Permission()),
                    rows,
                    cache,
                    seen,
                    seen.clock,
                    seen.clock.sleep,
                    drawn(f"{slot}"),
                )
                if leaky:
                    hasty(device)
                crowd.append((device, seen))
            await rounds(machines.url, send, crowd, sizes, times, 1 if leaky else ROUNDS)
        finally:
            machines.kill()
    return sizes, times


def hasty(device: Device) -> None:
    """An impostor: it takes its time in proportion to the likes, and then draws when to send."""
    train = device._train

    async def slow(work: object, seed: bytes) -> object:
        result = await train(work, seed)  # type: ignore[arg-type]
        await device._sleep(0.0003 * len(device.rows.item))
        work.__dict__["send_at"] = device._clock() + SPREAD * device._entropy(1)[0] / 256
        return result

    device._train = slow  # type: ignore[method-assign, assignment]


async def rounds(
    url: str,
    send: HttpTransport,
    crowd: list[tuple[Device, Observer]],
    sizes: list[list[float]],
    times: list[list[float]],
    count: int,
) -> None:
    for _ in range(count):
        while (reply := await send("GET", f"{url}/round", b"", {})).status != 200 or _known(crowd, reply):
            await asyncio.sleep(0.05)
        for slot, (device, observer) in enumerate(crowd):  # one at a time: what is worked now is its own work
            started = observer.clock()
            assert (await device.take_part(reply)).kind == "sent"
            sizes[slot % 2].append(float(sum(size for _, size in observer.seen[-2:])))
            times[slot % 2].append(observer.seen[-2][0] - started)


def _known(crowd: list[tuple[Device, Observer]], reply: HttpReply) -> bool:
    return crowd[0][0]._etag == reply.headers["etag"]


@pytest.mark.parametrize("leaky", [False, True])
def test_ten_likes_cannot_be_told_from_two_thousand(tmp_path: Path, leaky: bool) -> None:
    """160 uploads against 160: the standard error of an AUC of 1/2 is sqrt(321 / (12 * 160**2)) = 0.032."""
    sizes, times = asyncio.run(watched(tmp_path, leaky))
    assert len(times[0]) == len(times[1]) == EACH * (1 if leaky else ROUNDS)
    assert auc(*sizes) == 0.5
    told = auc(*times)
    print(f"AUC of times {told:.3f}")
    if leaky:
        assert told > 0.75
    else:
        assert max(told, 1 - told) <= 0.55
