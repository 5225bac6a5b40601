"""The course of a federation: which exchange comes next, with whom, until the schedule is done."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.errors import SettingError
from murmura.core.federation import Algorithm, Phase, Public
from murmura.core.rng import Purpose, Rng, Words
from murmura.core.schedule import Schedule


@dataclass(frozen=True)
class Progress:
    """How far a federation has come."""

    done: int = 0  # rounds completed, the exchanges before training included
    step: int = 0  # the phase within the training round
    round: int = 0  # the number of the round at work; rounds given up have used theirs
    serial: int = 0  # of the next manifest

    def encode(self) -> bytes:
        """As it is kept."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def decode(content: bytes) -> Progress:
        """From what was kept."""
        return Progress(**json.loads(content))


@dataclass(frozen=True, eq=False)
class Course:
    """What is exchanged in which order: the same as in a simulation, as long as nothing fails."""

    algorithm: Algorithm
    public: Public
    schedule: Schedule
    minimum: int

    def __post_init__(self) -> None:
        smallest = self.public.clients if not self.training else self.schedule.cohort(self.public)
        if smallest < self.minimum:
            raise SettingError(
                f"clients per round must be at least the minimum cohort of {self.minimum}, but there are "
                f"{smallest}; raise clients or lower the minimum."
            )

    @property
    def opening(self) -> list[Phase]:
        """The exchanges before training, with every device."""
        phases = self.algorithm.phases(self.public)
        return [phase for phase in phases if phase.repeat is not None for _ in range(phase.repeat)]

    @property
    def training(self) -> list[Phase]:
        """The exchanges of a training round."""
        return [phase for phase in self.algorithm.phases(self.public) if phase.repeat is None]

    @property
    def rounds(self) -> int:
        """How many rounds there are in all."""
        if not self.training:
            return len(self.opening)
        examples = self.algorithm.visit_examples(self.public)
        return len(self.opening) + self.schedule.total_rounds(self.public, examples)

    def finished(self, at: Progress) -> bool:
        """Whether nothing is left to do."""
        return at.done >= self.rounds

    def phase(self, at: Progress) -> Phase:
        """The exchange at work."""
        return self.opening[at.done] if at.done < len(self.opening) else self.training[at.step]

    def largest(self, at: Progress) -> int:
        """How many devices an exchange like this one calls at most."""
        return self.public.clients if at.done < len(self.opening) else self.schedule.cohort(self.public)

    def after_success(self, at: Progress) -> Progress:
        """The exchange at work has been completed."""
        if at.done >= len(self.opening) and at.step + 1 < len(self.training):
            return replace(at, step=at.step + 1, serial=at.serial + 1)
        return Progress(at.done + 1, 0, at.round + 1, at.serial + 1)

    def after_failure(self, at: Progress) -> Progress:
        """It has been given up: done again under a new number, never under this one."""
        return replace(at, round=at.round + 1, serial=at.serial + 1)

    def cohort(self, at: Progress, registered: Ints, secret: Words) -> Ints:
        """The slots called, ascending: when everyone is registered, those a simulation draws."""
        size = min(self.largest(at), len(registered))
        if size == len(registered):
            return registered
        return registered[Rng(secret, at.round).stream(Purpose.SELECT).choose(len(registered), size)]


def slots(packed: bytes) -> Ints:
    """Slots from the bytes they are kept in."""
    return np.frombuffer(packed, "<i4").astype(np.int32)
