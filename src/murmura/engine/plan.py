"""Everything decided before a training begins: what is exchanged, with whom, and for how long."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from murmura.channel.chain import Chain, chain
from murmura.channel.disclosure import Choices
from murmura.channel.ledger import paper_costs
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.compiled_path import Population, Stretch
from murmura.core.errors import DataError, SettingError
from murmura.core.federation import Algorithm, Phase, Public
from murmura.core.interactions import Interactions
from murmura.core.rng import Words, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.core.settings import as_dict

EXAMPLES = 4_000_000  # of one stretch at most: a second or so of compiled work between signs of life
LINE_PER_ROUND = 20_000  # a schedule with more rounds than this has one ledger line per epoch


@dataclass(frozen=True, eq=False)
class Plan:
    """One training, before its first round. Building it refuses what cannot be trained."""

    algorithm: Algorithm
    public: Public
    data: Interactions
    schedule: Schedule
    choices: Choices
    seed: int
    groups: Ints | None = None  # (users,) the client of every user, -1 for none; None: every user is a client

    channel: ChannelSettings = field(default_factory=ChannelSettings)

    def __post_init__(self) -> None:
        self.public.check(self.data, self.clients)
        if not len(self.data):
            raise DataError("a federation must have at least one interaction to train on, but there is none.")
        rows = self.data.by_user
        again = (np.diff(rows.index) == 0) & (np.diff(self.data.user[rows.order]) == 0)
        if again.any():
            raise DataError(
                f"a client must hold an item once, but {int(again.sum())} rows repeat one; "
                "filter with latest-per-pair."
            )
        self.channel.check_cohort(self.schedule.cohort(self.public))
        for phase in self.opening:
            answering = int(self.people.answering(phase.asks).sum())
            self.channel.check_cohort(answering)
            if not answering:
                raise SettingError(
                    f"phase '{phase.name}' must have someone who takes part in {phase.asks}, but nobody does; "
                    f"raise {phase.asks} or do without the phase."
                )
        _ = self.chains  # refuses what could overflow

    @property
    def clients(self) -> int:
        """How many clients the users make."""
        return self.data.n_users if self.groups is None else int(self.groups.max(initial=-1)) + 1

    @cached_property
    def people(self) -> Population:
        """Every client with its history, secret and consent; consent is everyone's own, in a group too."""
        users = self.choices.population(self.data, client_secrets(self.seed, self.data.n_users))
        return users if self.groups is None else users.grouped(self.groups, self.secrets)

    @cached_property
    def secrets(self) -> Words:
        """What the clients draw with."""
        return client_secrets(self.seed, self.clients)

    @cached_property
    def server_secret(self) -> Words:
        """What the server draws with."""
        return server_secret(self.seed)

    @cached_property
    def chains(self) -> dict[str, Chain]:
        """The channel of every phase that is a sum; empty when updates are added as they are."""
        cohort = self.schedule.cohort(self.public)
        return {
            phase.name: chain(
                self.channel, phase, self.public, cohort if phase.repeat is None else self.public.clients
            )
            for phase in self.algorithm.phases(self.public)
            if self.channel.on and phase.combine == "sum"
        }

    @property
    def opening(self) -> tuple[Phase, ...]:
        """The exchanges before training, with every client."""
        return tuple(phase for phase in self.algorithm.phases(self.public) if phase.repeat is not None)

    @property
    def training(self) -> tuple[Phase, ...]:
        """The phases of a training round."""
        return tuple(phase for phase in self.algorithm.phases(self.public) if phase.repeat is None)

    @cached_property
    def opening_rounds(self) -> int:
        """How many rounds the opening takes."""
        return sum(phase.repeat or 0 for phase in self.opening)

    @cached_property
    def epoch_rounds(self) -> int:
        """How many rounds an epoch has."""
        return self.schedule.epoch_rounds(self.public, self.algorithm.visit_examples(self.public))

    @cached_property
    def rounds(self) -> int:
        """How many rounds there are in all, the opening included."""
        if not self.training:
            return self.opening_rounds
        examples = self.algorithm.visit_examples(self.public)
        return self.opening_rounds + self.schedule.total_rounds(self.public, examples)

    @property
    def line_per_round(self) -> bool:
        """Whether the ledger has a line for every round, or one for every epoch."""
        return self.rounds <= LINE_PER_ROUND

    def epoch(self, rounds: int) -> int:
        """The epochs completed after so many rounds; the last may be cut short by `schedule.rounds`."""
        done = max(0, rounds - self.opening_rounds)
        return -(-done // self.epoch_rounds) if rounds == self.rounds else done // self.epoch_rounds

    def ends_epoch(self, rounds: int) -> bool:
        """Whether an epoch ends with this number of rounds done."""
        done = rounds - self.opening_rounds
        return done > 0 and (done % self.epoch_rounds == 0 or rounds == self.rounds)

    def stretches(self, done: int, workers: int, stop_every: int | None) -> Iterator[Stretch]:
        """The work after `done` rounds, cut where a line, a checkpoint or an epoch is due."""
        first = 0
        for phase in self.opening:
            for _ in range(phase.repeat or 0):
                if first >= done:
                    yield self._stretch((phase,), first, 1, self.public.clients, workers)
                first += 1
        cohort = self.schedule.cohort(self.public)
        piece = max(1, int(EXAMPLES / (cohort * self.algorithm.visit_examples(self.public))))
        at = max(done, self.opening_rounds)
        while at < self.rounds:
            trained = at - self.opening_rounds
            end = min(self.rounds, at + piece, at + self.epoch_rounds - trained % self.epoch_rounds)
            end = at + 1 if self.line_per_round else end
            end = min(end, at + stop_every - at % stop_every) if stop_every else end
            yield self._stretch(self.training, at, end - at, cohort, workers)
            at = end

    def _stretch(
        self, phases: tuple[Phase, ...], first: int, rounds: int, cohort: int, workers: int
    ) -> Stretch:
        carrier = self.chains.get(phases[0].name)
        return Stretch(phases, first, rounds, cohort, self.server_secret, workers, carrier, self.channel)

    def paper_costs(self, rounds: int) -> dict[str, float]:
        """The papers' measures of what so many rounds cost."""
        return paper_costs(
            self.epoch_rounds,
            rounds - self.opening_rounds,
            self.schedule.cohort(self.public),
            len(self.public.listed),
            self.algorithm.visit_examples(self.public),
            float(self.choices.pi.mean()),
            self.public.interactions,
        )

    def config(self) -> dict[str, Any]:
        """What makes two trainings the same one, as plain values."""
        choices = self.choices
        wishes = hashlib.sha256(
            choices.pi.tobytes() + choices.excluded.tobytes() + choices.statistics.tobytes()
        )
        return {
            "algorithm": self.algorithm.name,
            "settings": as_dict(self.algorithm),
            "schedule": as_dict(self.schedule),
            "disclosure": self.choices.mode,
            "choices": wishes.hexdigest(),
            "seed": self.seed,
            "data": self.data.fingerprint,
            **({} if self.channel.plain else {"channel": as_dict(self.channel)}),
            **({} if self.groups is None else {"groups": hashlib.sha256(self.groups.tobytes()).hexdigest()}),
        }
