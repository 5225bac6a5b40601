"""One training, before its first round: what is exchanged, with whom, for how long, through what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from murmura.channel.chain import Chain
from murmura.channel.consent_draws import ConsentChoices
from murmura.channel.ledger import paper_costs
from murmura.channel.noise import simulated_noise
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.phase_chains import chain
from murmura.channel.simulated_protections import mechanism_chain
from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.channel import ChannelSettings, NoiseForecast
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, FederationInfo, Phase
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Attributes, Interactions
from murmura.core.population import Population
from murmura.core.rng import Words, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.core.settings import as_dict
from murmura.core.update import Arrays
from murmura.engine.itinerary import Itinerary, forecast_of


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
        """The same training once this public model is known: perhaps it tells how often items occur."""
        counts, known = self.algorithm.public_counts(model), self.info.counts
        if counts is None or (known is not None and np.array_equal(counts, known)):
            return self
        return self.with_counts(counts)

    def with_counts(self, counts: Longs) -> Self:
        """The same training with public counts of the items."""
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
        stated = self.noise.statement()
        answered = self.itinerary.answers(self.server_secret, rounds)
        people = {} if self.channel.as_if is None else {"as if people": self.channel.as_if}
        return {**stated, "epsilon": self.noise.spent(answered), "of": self.noise.epsilon, **people}

    @property
    def _as_if(self) -> float:
        """How many times as many people there are as the noise is simulated for."""
        return (self.channel.as_if or self.info.clients) / self.info.clients


@dataclass(frozen=True, eq=False)
class Plan(RoundPlan):
    """Everything that decides a training of the users of `data`. Building it refuses what cannot be trained.

    `consent` is what people allow, as settings or everyone's own choices. `groups` is the client of every user,
    numbered from 0; a user at -1 is in none and joins after training; None: every user is a client. Updates go
    through `channel` between a client and the server; by default they are added as they are.
    """

    algorithm: Algorithm
    data: Interactions
    schedule: Schedule = field(default_factory=Schedule)
    consent: Consent | ConsentChoices = field(default_factory=Consent)
    seed: int = 0
    groups: Ints | None = None  # (users,)
    channel: ChannelSettings = field(default_factory=ChannelSettings)
    counts: Longs | None = None  # (items,) what a phase of the algorithm has made public
    checked: bool = False  # of a training that was: it needs no checks

    def __post_init__(self) -> None:
        if self.checked:
            return
        refuse_unfit(self.algorithm, self.data)
        if not len(self.data):
            raise DataError("a federation must have at least one interaction to train on, but there is none.")
        refuse_duplicates(self.data)
        least = min((phase.part for phase in self.itinerary.training), default=1.0)
        self.channel.check_cohort(int(self.itinerary.cohort_size * least), int(self.info.clients * least))
        for phase, taking in zip(self.itinerary.setup, self._setup_clients()):
            self.channel.check_cohort(taking, taking)
            if not taking:
                raise SettingError(
                    f"phase '{phase.name}' must have someone who takes part in {phase.asks}, but nobody does; "
                    f"raise {phase.asks} or do without the phase."
                )
        if self.counts is None:
            self.algorithm.check_size(self.expected_info)
        _ = self.chains  # refuses what could overflow
        if self.noise and not self.channel.hopeless and self.counts is None:
            forecast = self.noise_outlook()
            if forecast is not None:
                forecast.check(self.noise.epsilon)
        for phase in self.algorithm.phases(self.info):
            phase.sends.check_room(32, self.info.clients)  # as without a channel, where words have 32 bits

    def _setup_clients(self) -> Iterator[int]:
        """How many clients take part in each exchange before training, if no update is refused."""
        counted: dict[str, Bools] = {}
        everyone = np.arange(self.info.clients, dtype=np.int32)
        for done, phase in enumerate(self.itinerary.setup):
            there = np.zeros(self.info.clients, np.bool_)
            there[self.itinerary.cohort(self.itinerary.at(done), everyone, self.server_secret, everyone)] = True
            there &= self.people.answering(phase.asks)
            counted[phase.name] = there & counted[phase.follows] if phase.follows else there
            yield int(counted[phase.name].sum())

    @cached_property
    def info(self) -> FederationInfo:
        """What every machine knows."""
        info = federation_info(self.algorithm, self.data, self.groups)
        return info if self.counts is None else replace(info, counts=self.counts)

    @property
    def expected_info(self) -> FederationInfo:
        """The same with the counts that these people's choices make likely, where a phase will tell them."""
        counts = self.algorithm.expected_counts(self.data)
        if counts is None:
            return self.info
        share = self.choices.pi * self.choices.statistics
        if (share < 1).any():
            counts = np.rint(np.bincount(self.data.item, share[self.data.user], len(counts))).astype(np.int64)
        return replace(self.info, counts=counts)

    def with_counts(self, counts: Longs) -> Plan:
        """The same training with public counts of the items."""
        later = replace(self, counts=counts)
        vars(later).update(choices=self.choices, people=self.people, noise=self.noise)  # it changes none
        return later

    @cached_property
    def choices(self) -> ConsentChoices:
        """What every user allows."""
        if isinstance(self.consent, ConsentChoices):
            return self.consent
        return ConsentChoices.of(self.consent, self.data, client_secrets(self.seed, self.data.n_users))

    @cached_property
    def people(self) -> Population:
        """Every client with its history, secret and consent; consent is everyone's own, in a group too."""
        users = self.choices.population(self.data, client_secrets(self.seed, self.data.n_users))
        if self.groups is None:
            return users
        return users.grouped(self.groups, client_secrets(self.seed, self.info.clients))

    def noise_outlook(self) -> NoiseForecast | None:
        """What noise will leave of this training's sums, before any is drawn."""
        counts = self.algorithm.expected_counts(self.data) if self.noise else None
        known = self.info if counts is None else replace(self.info, counts=counts)
        return forecast_of(replace(self.itinerary, info=known), self.noise, noisy=False, as_if=self._as_if)

    def paper_costs(self, rounds: int) -> dict[str, float]:
        """The papers' measures of what so many rounds cost."""
        return paper_costs(
            self.itinerary.epoch_rounds,
            rounds - len(self.itinerary.setup),
            self.itinerary.cohort_size,
            len(self.info.listed),
            self.itinerary.visit_examples,
            float(self.choices.pi.mean()),
            self.info.interactions,
        )

    def config(self) -> dict[str, Any]:
        """What makes two trainings the same one, as plain values."""
        choices = self.choices
        allowed = hashlib.sha256(
            choices.pi.tobytes() + choices.excluded.tobytes() + choices.statistics.tobytes()
        )
        return {
            "algorithm": self.algorithm.name,
            "settings": as_dict(self.algorithm),
            "schedule": as_dict(self.schedule),
            "disclosure": choices.mode,
            "choices": allowed.hexdigest(),
            "seed": self.seed,
            "data": self.data.fingerprint,
            **({} if self.info.features is None else {"features": self.info.features.fingerprint}),
            **({} if self.data.samples is None else {"samples": self.data.samples.fingerprint}),
            **({} if not self.data.attributes else {"attributes": _said_digest(self.data.attributes)}),
            **({} if self.channel.plain else {"channel": as_dict(self.channel)}),
            **({} if self.groups is None else {"groups": hashlib.sha256(self.groups.tobytes()).hexdigest()}),
        }


def _said_digest(attributes: Attributes) -> str:
    """A sha256 over what clients say of themselves."""
    columns = [(name, np.asarray(attributes[name], np.float64)) for name in sorted(attributes)]
    return hashlib.sha256(b"".join(name.encode() + b"\0" + c.tobytes() for name, c in columns)).hexdigest()


def refuse_duplicates(data: Interactions) -> None:
    """Refuse a history that holds an item twice."""
    rows = data.by_user
    again = (np.diff(rows.index) == 0) & (np.diff(data.user[rows.order]) == 0)
    if again.any():
        raise DataError(
            f"a client must hold an item once, but {int(again.sum())} rows repeat one; "
            "filter with latest-per-pair."
        )


def refuse_unfit(algorithm: Algorithm, data: Interactions) -> None:
    """Refuse samples for a method that learns from interactions, the reverse, and rows it has no use for."""
    if algorithm.holds == "samples" and data.samples is None:
        raise DataError(
            f"{algorithm.name} classifies samples with labels, but this data has interactions; take data with "
            "samples, such as mnist."
        )
    if algorithm.holds == "history" and data.samples is not None:
        raise DataError(
            f"{algorithm.name} learns from interactions, but this data has samples with labels; take a method "
            "that classifies, or other data."
        )
    algorithm.check_rows(data.value, data.time)


def federation_info(algorithm: Algorithm, data: Interactions, groups: Ints | None = None) -> FederationInfo:
    """What every machine knows of a federation of the users of `data`: features only where they are used.

    A method that releases the counts of items itself begins without any.
    """
    info = with_used_features(algorithm, FederationInfo.of(data, groups))
    return replace(info, counts=None) if algorithm.releases_counts else info


def with_used_features(algorithm: Algorithm, info: FederationInfo) -> FederationInfo:
    """The same, with features only where they are used; refuses to do without where they are needed."""
    if not algorithm.uses_features:
        return replace(info, features=None, feature_count=0)
    weight = getattr(algorithm, "features", None)  # what asks for them: a setting of that name, or the method
    who, way_out = algorithm.name, ""
    if weight is not None:
        who, way_out = f"features={weight:g}", ", or set features to 0"
    if info.features is None:
        raise DataError(
            f"{who} learns from features of items, but nothing is known of these; give --features "
            f"FILE, or take a data set with genres or a knowledge graph{way_out}."
        )
    if not len(info.features):
        raise DataError(
            f"{who} learns from features that items share, but none is shared by as many items as "
            "the protocol asks for; give others with --features FILE, or choose another protocol."
        )
    return info
