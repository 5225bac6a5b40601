"""What decides the rounds of a training, apart from whose data it is: phases, cohorts, channel, noise."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from murmura.channel.chain import Chain, chain
from murmura.channel.noise import simulated_noise
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.simulated_protections import mechanism_chain
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Algorithm, FederationInfo, Phase
from murmura.core.population import Population
from murmura.core.rng import Words, server_secret
from murmura.core.schedule import Schedule
from murmura.core.update import Arrays
from murmura.engine.itinerary import Itinerary


class RoundPlan:
    """What follows from the settings and from what every machine knows; a plan adds whose data it is."""

    algorithm: Algorithm
    schedule: Schedule
    seed: int
    channel: ChannelSettings

    if TYPE_CHECKING:  # a field or derived, as the plan has it

        @property
        def info(self) -> FederationInfo:
            """What every machine knows."""

        @property
        def people(self) -> Population:
            """The clients that are here."""

    def after(self, model: Arrays) -> Self:
        """The same training once this public model is known."""
        raise NotImplementedError

    def config(self) -> dict[str, Any]:
        """What makes two trainings the same one, as plain values."""
        raise NotImplementedError

    @cached_property
    def itinerary(self) -> Itinerary:
        """Phases, rounds and cohorts."""
        return Itinerary(self.algorithm, self.info, self.schedule)

    @cached_property
    def server_secret(self) -> Words:
        """What the server draws with."""
        return server_secret(self.seed)

    @cached_property
    def chains(self) -> dict[str, Chain]:
        """The channel of every phase that is a sum; empty when updates are added as they are."""
        make = mechanism_chain() if self.channel.mechanism else chain
        return {
            phase.name: make(
                self.channel,
                phase,
                self.info,
                self.itinerary.cohort_size if phase.repeat is None else self.info.clients,
                self.noise.of_phase(phase.name) / self._as_if,
                simulated_noise(self.seed),
            )
            for phase in self.algorithm.phases(self.info)
            if self.channel.on and phase.combine == "sum"
        }

    @property
    def through(self) -> tuple[Phase, ...]:
        """The phases whose updates go through a channel."""
        return tuple(phase for phase in self.algorithm.phases(self.info) if phase.name in self.chains)

    @cached_property
    def noise(self) -> NoiseTerms:
        """The noise of every phase, and what it bounds."""
        return self.itinerary.noise(self.channel, self.server_secret)

    def privacy(self, rounds: int) -> dict[str, Any]:
        """What noise bounds after so many rounds, for the ledger; {}: nothing does."""
        if not self.noise:
            return {}
        told = self.noise.statement()
        answered = self.itinerary.answers(self.server_secret, rounds)
        people = {} if self.channel.as_if is None else {"as if people": self.channel.as_if}
        return {**told, "epsilon": self.noise.spent(answered), "of": self.noise.epsilon, **people}

    @property
    def _as_if(self) -> float:
        """How many times as many people there are as the noise is simulated for."""
        return (self.channel.as_if or self.info.clients) / self.info.clients
