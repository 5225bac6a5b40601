"""The itinerary of a federation: which phases follow which, for how many rounds, with whom.

The simulator, the coordinator and whoever replays a federation go by it. A simulation never gives a round up,
so its round numbers are the rounds done; a coordinator's may run ahead of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np

from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.simulated_protections import mechanism_terms
from murmura.core.arrays import Bools, Ints
from murmura.core.channel import ChannelSettings, NoiseForecast
from murmura.core.contract import Algorithm, FederationInfo, Phase
from murmura.core.errors import FederationError, SettingError
from murmura.core.rng import Purpose, Rng, Words, philox
from murmura.core.schedule import Schedule
from murmura.core.update import Arrays

EXAMPLES = 4_000_000  # of one batch of rounds at most: a second or so of compiled work between signs of life
LINE_PER_ROUND = 20_000  # a schedule with more rounds than this has one ledger line per epoch
PART_SEED_BYTES = 16


@dataclass(frozen=True)
class Position:
    """How far a federation has come."""

    done: int = 0  # rounds completed, the exchanges before training included
    step: int = 0  # the phase within the training round
    round: int = 0  # the number of the round at work; rounds given up have used theirs
    serial: int = 0  # of the next manifest

    def encode(self) -> bytes:
        """As a database holds it."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def decode(content: bytes) -> Position:
        """From what a database holds."""
        return Position(**json.loads(content))


@dataclass(frozen=True, eq=False)
class Itinerary:
    """What is exchanged in which order."""

    algorithm: Algorithm
    info: FederationInfo
    schedule: Schedule

    def __post_init__(self) -> None:
        phases = self.algorithm.phases(self.info)
        for place, phase in enumerate(phases):
            if phase.follows and phase.follows not in (earlier.name for earlier in phases[:place]):
                raise SettingError(
                    f"phase '{phase.name}' must follow a phase before it, but '{phase.follows}' is none."
                )

    @cached_property
    def setup(self) -> tuple[Phase, ...]:
        """The exchanges before training, with every client: one round each."""
        phases = self.algorithm.phases(self.info)
        return tuple(phase for phase in phases if phase.repeat is not None for _ in range(phase.repeat))

    @cached_property
    def training(self) -> tuple[Phase, ...]:
        """The exchanges of a training round."""
        return tuple(phase for phase in self.algorithm.phases(self.info) if phase.repeat is None)

    @cached_property
    def cohort_size(self) -> int:
        """How many clients a training round calls; everyone where there is none."""
        return self.schedule.cohort(self.info) if self.training else self.info.clients

    @cached_property
    def visit_examples(self) -> float:
        """How many training examples one visit uses on average."""
        return self.algorithm.visit_examples(self.info)

    @cached_property
    def epoch_rounds(self) -> int:
        """How many rounds an epoch has."""
        return self.schedule.epoch_rounds(self.info, self.visit_examples)

    @cached_property
    def rounds(self) -> int:
        """How many rounds there are in all, the opening included."""
        if not self.training:
            return len(self.setup)
        return len(self.setup) + self.schedule.total_rounds(self.info, self.visit_examples)

    @property
    def line_per_round(self) -> bool:
        """Whether the ledger has a line for every round, or one for every epoch."""
        return self.rounds <= LINE_PER_ROUND

    def epoch(self, rounds: int) -> int:
        """The epochs completed after so many rounds; the last may be cut short by `schedule.rounds`."""
        done = max(0, rounds - len(self.setup))
        return -(-done // self.epoch_rounds) if rounds == self.rounds else done // self.epoch_rounds

    def ends_epoch(self, rounds: int) -> bool:
        """Whether an epoch ends with this number of rounds done."""
        done = rounds - len(self.setup)
        return done > 0 and (done % self.epoch_rounds == 0 or rounds == self.rounds)

    def at(self, done: int) -> Position:
        """The position after so many rounds none of which was given up."""
        return Position(done, 0, done)

    def finished(self, at: Position) -> bool:
        """Whether nothing is left to do."""
        return at.done >= self.rounds

    def phase(self, at: Position) -> Phase:
        """The exchange at work."""
        return self.setup[at.done] if at.done < len(self.setup) else self.training[at.step]

    def called(self, at: Position) -> int:
        """How many clients an exchange like this one calls at most."""
        return self.info.clients if at.done < len(self.setup) else self.cohort_size

    def cohort(self, at: Position, registered: Ints, secret: Words, before: Ints) -> Ints:
        """Who is called, ascending: everyone, or drawn by the server without replacement.

        The phases of one training round call the same clients: those of the exchange `before`, if still there.
        A phase for a part of the clients calls those of them that are in it.
        """
        drawn, part = self._drawn(at, registered, secret, before), self.phase(at).part
        if part == 1 or not len(drawn):
            return drawn
        return drawn[public_part(self.part_seed(at, secret), int(drawn[-1]) + 1, part)[drawn]]

    def _drawn(self, at: Position, registered: Ints, secret: Words, before: Ints) -> Ints:
        if at.step > 0:
            return np.intersect1d(before, registered).astype(np.int32)
        size = min(self.called(at), len(registered))
        if size == len(registered):
            return registered
        return registered[Rng(secret, at.round).stream(Purpose.SELECT).choose(len(registered), size)]

    def part_seed(self, at: Position, secret: Words) -> bytes:
        """What says publicly who is in the part that an exchange calls: words 4 step to 4 step + 3."""
        places = 4 * at.step + np.arange(4)
        return Rng(secret, at.round).stream(Purpose.PART).words_at(places).astype("<u4").tobytes()

    def after(self, model: Arrays) -> Itinerary:
        """The same once this public model is known: perhaps it tells how often items occur."""
        if not self.algorithm.releases_counts:
            return self
        return replace(self, info=replace(self.info, counts=self.algorithm.public_counts(model)))

    def known_in(self, phase: str) -> FederationInfo:
        """What is known in a visit of a phase: released counts only where it follows the phase of their sum."""
        if not self.algorithm.releases_counts:
            return self.info
        asked = next(one for one in self.algorithm.phases(self.info) if one.name == phase)
        return self.info if self.algorithm.knows_counts(asked) else replace(self.info, counts=None)

    def noise(self, channel: ChannelSettings, secret: Words) -> NoiseTerms:
        """The noise that bounds what a training reveals, by how often clients are called."""
        phases = self.algorithm.phases(self.info)
        if channel.epsilon is None:
            return NoiseTerms()
        if channel.mechanism:
            sizes = {p.name: self.cohort_size if p.repeat is None else self.info.clients for p in phases}
            answers = self.answers(secret, self.rounds)
            return mechanism_terms()(channel, phases, answers, self.info.clients, sizes)
        return NoiseTerms.of(channel, phases, self.answers(secret, self.rounds), self.info.clients)

    def answers(self, secret: Words, rounds: int) -> dict[str, int]:
        """How often the client that is called most often answers each phase in so many rounds."""
        setup = [phase.name for phase in self.setup[:rounds]]
        calls = self._calls(secret, rounds) if self.training else 0
        phases = self.algorithm.phases(self.info)
        return {p.name: calls if p.repeat is None else setup.count(p.name) for p in phases}

    def _calls(self, secret: Words, rounds: int) -> int:
        trained = range(len(self.setup), rounds)
        if self.cohort_size == self.info.clients:
            return len(trained)
        everyone, called = np.arange(self.info.clients, dtype=np.int32), np.zeros(self.info.clients, np.int64)
        for done in trained:
            called[self._drawn(self.at(done), everyone, secret, everyone)] += 1
        return int(called.max())

    def followed(self, phase: Phase) -> bool:
        """Whether who is counted in this phase decides who takes part in a later one."""
        return any(other.follows == phase.name for other in self.algorithm.phases(self.info))

    def after_success(self, at: Position) -> Position:
        """The exchange at work has been completed."""
        if at.done >= len(self.setup) and at.step + 1 < len(self.training):
            return replace(at, step=at.step + 1, serial=at.serial + 1)
        return Position(at.done + 1, 0, at.round + 1, at.serial + 1)

    def after_failure(self, at: Position) -> Position:
        """It has been given up: done again under a new number, never under this one, with a new draw."""
        return replace(at, step=0, round=at.round + 1, serial=at.serial + 1)

    def batches(self, done: int, stop_every: int | None) -> Iterator[range]:
        """The rounds after `done`, cut where a phase, a line, a checkpoint or an epoch ends."""
        before = len(self.setup)
        piece = max(1, int(EXAMPLES / (self.cohort_size * self.visit_examples)))
        while done < self.rounds:
            end = done + 1
            if done >= before and not self.line_per_round:
                end = min(
                    self.rounds, done + piece, done + self.epoch_rounds - (done - before) % self.epoch_rounds
                )
                end = min(end, done + stop_every - done % stop_every) if stop_every else end
            yield range(done, end)
            done = end


def forecast_of(
    itinerary: Itinerary, noise: NoiseTerms, noisy: bool, as_if: float = 1.0
) -> NoiseForecast | None:
    """What noise will leave of the sums, by what is public; `as_if`: of how many times as many people."""
    if not noise:
        return None
    sigmas = {name: math.sqrt(2.0) * float(one) / as_if for name, one in noise.multipliers.items()}
    return itinerary.algorithm.noise_outlook(itinerary.info, sigmas, noisy)


def public_part(seed: bytes, clients: int, part: float) -> Bools:
    """Which of the client numbers 0 to clients - 1 are in a public random part: a coin for each, by itself.

    A client number alone and the 16 bytes decide, so that a device finds its own answer and can check it.
    """
    if len(seed) != PART_SEED_BYTES:
        raise FederationError(f"the seed of a part must have {PART_SEED_BYTES} bytes, but has {len(seed)}.")
    key0, key1, low, high = np.frombuffer(seed, "<u4").tolist()
    counter = np.zeros((-(-clients // 4), 4), np.int64)
    counter[:, 0] = np.arange(len(counter))
    counter[:, 1:] = low, Purpose.PART, high
    words = philox(counter, np.array([key0, key1])).reshape(-1)[:clients]
    heads: Bools = words < np.floor(part * 2.0**32)
    return heads
