"""A runtime with a clock: what the rounds of a training take, without what comes before the first."""

import time
from dataclasses import dataclass, field

from murmura.core.contract import Algorithm, Phase
from murmura.core.kernel import Kernel
from murmura.engine.federation import Federation, Runtime
from murmura.runtimes.inprocess import InProcess


@dataclass
class Clocked(Runtime):
    """A runtime that keeps the time of every round."""

    inner: InProcess
    seconds: list[float] = field(default_factory=list)  # of the wall
    cpu: list[float] = field(default_factory=list)

    def kernel_for(self, algorithm: Algorithm, through: tuple[Phase, ...] = ()) -> Kernel | None:
        return self.inner.kernel_for(algorithm, through)

    def run(self, federation: Federation, rounds: range) -> None:
        assert len(rounds) == 1
        wall, cpu = time.perf_counter(), time.process_time()
        self.inner.run(federation, rounds)
        self.seconds.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)
