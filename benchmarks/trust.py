"""What trust costs: CPU time of an upload of 311 kB, sent by a device and taken by each aggregator.

device    a manifest with three signatures, its head with three more, inclusion and consistency with the last
          head; both shares sealed and signed, both receipts checked
seed      one share: its pass opened, ticket and admission checked, its payload opened and kept, a receipt
          signed; and its part of what a round takes once: the log's new entries, the head and the manifest
vector    the same, with the seed aggregator's receipt and a vector that is added to the sum

The machines are those of a federation without sockets: real devices, real messages, five rounds, no HTTP. The
model it ends with must be that of the same federation simulated, bit for bit, so every share was opened and
added up. The time is the median of the rounds.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.sides import Benchmark, Work
from murmura.algorithms import algorithm
from murmura.data.sources.synthetic import synth
from murmura.device import device
from murmura.device.trust import verified
from murmura.device.upload import UploadMessage
from murmura.engine.federation import Federation
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.server.aggregator.aggregator import Aggregator
from murmura.server.loopback import Loopback
from murmura.wire.signed_records import check_signature
from murmura.wire.wire import SHARE_HEADER

DEVICES, ITEMS, FACTORS, ROUNDS = 200, 3706, 20, 5
UPLOAD_BYTES = 311_000  # at least: a vector of the size of ml-1m, a seed, two passes
MS = 1e3


@dataclass
class Stopwatch:
    """CPU seconds of one round, by who worked; what calls something else that is timed counts once."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _running: bool = False

    @contextmanager
    def running(self, who: str) -> Iterator[None]:
        if self._running:
            yield
            return
        self._running, start = True, time.process_time()
        try:
            yield
        finally:
            self._running = False
            self.seconds[who] += time.process_time() - start

    def around(self, call: Callable[..., Any], who: Callable[..., str]) -> Callable[..., Any]:
        def timed(*args: Any, **named: Any) -> Any:
            with self.running(who(*args)):
                return call(*args, **named)

        return timed

    def around_async(self, call: Callable[..., Any], who: str) -> Callable[..., Any]:
        async def timed(*args: Any, **named: Any) -> Any:
            with self.running(who):  # one device at a time, which waits for nobody here
                return await call(*args, **named)

        return timed


def here(*_: Any) -> str:
    return "device"


@contextmanager
def watching(watch: Stopwatch) -> Iterator[None]:
    """Time what devices and aggregators do for the sake of trust."""
    patches = [
        mock.patch.object(Aggregator, name, watch.around(getattr(Aggregator, name), lambda a, *_: a.role))
        for name in ("admit", "report", "append_log", "open_round")
    ]
    patches += [
        mock.patch.object(UploadMessage, "sealed", watch.around(UploadMessage.sealed, here)),
        mock.patch.object(device, "check_signature", watch.around(check_signature, here)),
        mock.patch.object(device, "verified", watch.around_async(verified, "device")),
    ]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


@dataclass
class Spent:
    """What every upload of every round took, and whether the sums were right."""

    rounds: list[dict[str, float]]  # CPU seconds of an upload
    equal: bool
    bytes: int  # of an upload

    def median(self, who: str) -> float:
        return float(np.median([one[who] for one in self.rounds]))


def plan() -> Plan:
    data = synth(DEVICES, ITEMS, 300 * DEVICES).interactions
    preset = algorithm("cfpl")(rounds=ROUNDS, factors=FACTORS, prior=False, channel="secure-sum")
    return Plan(preset.algorithm(), data, preset.schedule(), channel=preset.channel_settings(), seed=1)


@cache
def run() -> Spent:
    made, simulated = Federation.begin(plan()), Federation.begin(plan())
    runtime, rounds = Loopback(), []
    for done in range(ROUNDS):
        watch = Stopwatch()
        with watching(watch):
            runtime.run(made, range(done, done + 1))
        rounds.append({who: spent / DEVICES for who, spent in watch.seconds.items()})
    InProcess().run(simulated, range(ROUNDS))
    equal = all(
        np.array_equal(made.server.model[name], simulated.server.model[name]) for name in made.server.model
    )
    return Spent(rounds, equal, plan().chains["train"].upload_bytes + 2 * SHARE_HEADER)


def ours() -> Work:
    return run


def judge(who: str, found: Spent, _: None) -> tuple[str, str]:
    assert found.equal, "the model must be that of a simulation"
    assert found.bytes >= UPLOAD_BYTES, f"an upload has {found.bytes} bytes"
    each = [MS * one[who] for one in found.rounds]
    return (
        f"{MS * found.median(who):.2f} ms an upload of {found.bytes / 1e3:.1f} kB, {min(each):.2f} to "
        f"{max(each):.2f} in {ROUNDS} rounds of {DEVICES} devices; the bits of the simulation"
    ), ""


def _row(who: str, title: str, goal: float) -> Benchmark:
    return Benchmark(
        title=title,
        ours=ours,
        goal=goal,
        judge=partial(judge, who),
        timed=lambda found: found.median(who),
        rounds=1,
    )


BENCHMARKS = {
    "device": _row("device", "trust: one upload, on the device", 0.010),
    "seed": _row("seed", "trust: one upload, on the seed aggregator", 0.001),
    "vector": _row("vector", "trust: one upload, on the vector aggregator", 0.001),
}
