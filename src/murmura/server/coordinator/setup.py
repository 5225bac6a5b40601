"""What an operator decides before a federation begins."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from murmura.algorithms import algorithm
from murmura.algorithms.preset import ConfiguredPreset
from murmura.channel.ledger import DeviceCosts, device_costs
from murmura.channel.noise_terms import NoiseTerms
from murmura.core.channel import EPSILON, EXACT, READABLE, WITHOUT_NOISE, ChannelSettings
from murmura.core.contract import FederationInfo
from murmura.core.errors import RunError, SettingError
from murmura.core.features import encode_features
from murmura.core.rng import Words, server_secret
from murmura.core.settings import as_dict, changed, field_names, private_settings, settings
from murmura.engine.itinerary import Itinerary, forecast_of
from murmura.server.database import ServerDatabase, put_fact
from murmura.wire.description import FederationDescription
from murmura.wire.terms import (
    UNLINKED,
    AggregatorAddress,
    CatalogueRule,
    FederationTerms,
    ReleaseWindows,
    labels_of,
)
from murmura.wire.wire import PROTOCOL

ChannelMode = Literal["secure-sum", "readable"]

Seconds = Annotated[float, Field(ge=0, le=10**8)]


@settings
class RoundTiming:
    """How long things take: seconds."""

    round: Annotated[float, Field(gt=0, le=10**6)] = 60.0  # from the opening of a round to its deadline
    hold: Seconds = 5.0  # a device sends no earlier than this after it heard of the round
    spread: Seconds = 20.0  # and at a time drawn from a window this wide, before it trains
    window: Seconds = (
        86400.0  # in one release window no exchange of the opening is answered twice; 0: never again
    )

    def check(self) -> None:
        """Refuse a window that ends after the deadline."""
        if self.hold + self.spread >= self.round:
            raise SettingError(
                f"hold and spread must end before the round does, but {self.hold:g} + {self.spread:g} seconds "
                f"are not below {self.round:g}; lower them or lengthen the round."
            )


@dataclass(frozen=True)
class FederationSetup:
    """One federation."""

    preset: ConfiguredPreset
    description: FederationDescription
    channel: ChannelSettings
    timing: RoundTiming
    seed: int
    aggregators: tuple[str, ...] = ()  # addresses: the seed aggregator's, the vector aggregator's
    wait_for: int = 0  # devices that must have joined before the first round
    admission: Literal["invited", "open"] = "invited"  # who may take part
    admitter: str = ""  # the key that signs invitations; "": that of an aggregator's operator
    expire: int = 20  # rounds a device may miss before its place is free again
    keep: int = 5  # models that a rollback can go back to
    exact: bool = False  # whether its operator allows sums without noise that everybody can read

    @property
    def server_secret(self) -> Words:
        """What cohorts and the first model are drawn with."""
        return server_secret(self.seed)

    def itinerary(self) -> Itinerary:
        """Its exchanges; refuses what cannot be run."""
        self.timing.check()
        info, method = self.description.info, self.preset.algorithm()
        self.description.check_for(method)
        method.check_size(info)
        if private := private_settings(method):
            raise SettingError(
                f"everybody reads the settings of a federation, so they must hold nothing private, but "
                f"{self.preset.name}.{private[0]} was made from private data; leave it out."
            )
        each = [phase.name for phase in method.phases(info) if phase.combine == "each"]
        if self.channel.channel == "none" or self.channel.simulated:
            raise SettingError(
                "a real federation needs channel 'secure-sum', or 'readable' by name, in a ring of 24 or 32 "
                f"bits, not '{self.channel.channel}' in {self.channel.ring}."
            )
        if each and self.channel.channel != "readable":
            raise SettingError(
                f"phase '{each[0]}' of {self.preset.name} needs every update for itself, so {READABLE}; "
                "say channel 'readable' to run it all the same."
            )
        if self.channel.channel == "secure-sum" and len(set(self.aggregators)) != 2:
            raise SettingError(
                f"a secure sum needs the addresses of two aggregators, but has {len(set(self.aggregators))}; "
                "start two with `murmura aggregate`."
            )
        if self.channel.channel == "readable" and self.admission == "invited" and not self.admitter:
            raise SettingError(
                "an invited federation in readable mode needs the key of whoever invites; give --admitter KEY "
                "(`murmura invite key`), or --admission open."
            )
        follows = any(phase.follows for phase in method.phases(info))
        if self.admission == "open" and self.aggregators and follows and "exact" in self.labels:
            raise SettingError(f"{UNLINKED}; leave out --admission open, or set epsilon.")
        itinerary = Itinerary(method, info, self.preset.schedule())
        self.channel.check_cohort(itinerary.cohort_size, info.clients)
        self._check_noise(itinerary)
        if "exact" in self.labels and not self.exact:
            remedy = "Set -S epsilon=4" if self.preset.preset.noise_by_default else "Serve fed-ease"
            raise SettingError(
                f"{self.preset.name} must have noise in its sums, but has none, and {EXACT}. {remedy}, or say "
                "--exact."
            )
        return itinerary

    def device_costs(self) -> DeviceCosts:
        """What each device will send and receive, before anything is known of what people have."""
        method, schedule = self.preset.algorithm(), self.preset.schedule()
        return device_costs(method, self.description.info, schedule, self.channel)

    def _check_noise(self, itinerary: Itinerary) -> None:
        """Refuse noise of more people than there are, and noise that leaves nothing to learn."""
        if self.channel.as_if is not None:
            raise SettingError(
                "as_if is for simulations and must be left out of a real federation, but it is "
                f"{self.channel.as_if}: nobody would be protected as the terms say."
            )
        forecast = forecast_of(itinerary, self.noise, noisy=True)
        if forecast is not None and not self.channel.hopeless:
            forecast.check(self.noise.epsilon)

    @cached_property
    def noise(self) -> NoiseTerms:
        """The noise of every phase, and what it bounds."""
        itinerary = Itinerary(self.preset.algorithm(), self.description.info, self.preset.schedule())
        return itinerary.noise(self.channel, self.server_secret)

    @property
    def labels(self) -> dict[str, str]:
        """What its operator and each device's owner must allow."""
        return labels_of(self.channel.channel, self.preset.algorithm(), self.noise)

    @property
    def label(self) -> str:
        """What everybody should know of its sums; "" of noisy ones."""
        return "; ".join(self.labels.values()) or WITHOUT_NOISE * (not self.noise)

    def terms(
        self,
        federation: str,
        coordinator: bytes,
        pair: tuple[AggregatorAddress, ...],
        admitter: str,
        start: float,
    ) -> FederationTerms:
        """What its devices pin."""
        described, features = self.description.encode(), self.description.info.features
        seed, vector = pair or (None, None)
        return FederationTerms(
            protocol=PROTOCOL,
            federation=federation,
            coordinator=coordinator.hex(),
            seed_aggregator=seed,
            vector_aggregator=vector,
            admission=self.admission,
            admitter=admitter if self.admission == "invited" else "",
            method=self.preset.name,
            settings=as_dict(self.preset.algorithm()),
            schedule=as_dict(self.preset.schedule()),
            catalogue=CatalogueRule(
                "fixed",
                self.description.hash.hex(),
                len(described),
                0 if features is None else len(encode_features(features)),
            ),
            channel=as_dict(self.channel),
            windows=ReleaseWindows(start, self.timing.window),
            noise=self.noise,
        )

    def remember(self, store: ServerDatabase) -> None:
        """Write this down at the first start; refuses to go on with the store of another federation."""
        text = json.dumps(
            {
                "method": self.preset.name,
                "settings": as_dict(self.preset.algorithm()),
                "schedule": as_dict(self.preset.schedule()),
                "channel": as_dict(self.channel),
                "description": self.description.hash.hex(),
                "seed": self.seed,
            },
            sort_keys=True,
        ).encode()
        stored = store.fact("setup")
        if stored is None:
            store.write([put_fact("setup", text)], durable=True)
        elif stored != text:
            there, here = json.loads(stored), json.loads(text)
            differing = ", ".join(name for name in here if there.get(name) != here[name])
            raise RunError(
                f"the state folder must be of this federation, but its {differing} differ; "
                "give another folder, or the settings it was made with."
            )


FEWEST_TOLERATED, TOLERATED_SHARE = 4, 100  # malicious devices: as many, or one in so many places
SHORTEST_CAP, CAP_MEANS = 100, 4  # items of one person: as many, or so many times the mean


def guarded(
    preset: ConfiguredPreset, info: FederationInfo, tolerated: int | None = None
) -> tuple[ConfiguredPreset, str]:
    """Exact pairs that so many malicious devices can add no rare item to, and what is to be said of them.

    Items take part from `least` and so many owners on, and at most `cap` of one person.
    """
    if preset.channel_settings().epsilon is not None or not {"least", "cap"} <= set(field_names(type(preset))):
        return preset, ""
    few = max(FEWEST_TOLERATED, -(-info.clients // TOLERATED_SHARE)) if tolerated is None else tolerated
    own: dict[str, int] = as_dict(preset)
    least, mean = own["least"] + few, -(-info.interactions // info.clients)
    cap = own["cap"] or max(SHORTEST_CAP, CAP_MEANS * mean)
    said = f"pairs are of items with at least {least} owners, {few} of them against malicious devices"
    return changed(preset, least=least, cap=cap), f"{said}; at most {cap} items of one person"


def configured(
    name: str, given: dict[str, Any], mode: ChannelMode, minimum: int | None = None, exact: bool = False
) -> tuple[ConfiguredPreset, ChannelSettings]:
    """The method of that name, and the channel of its updates in this mode.

    Sums that everybody can read get noise, unless an operator has said that they may be exact.
    """
    if "channel" in given:
        raise SettingError(
            "the channel of a real federation is a secure sum; say --readable for the other one."
        )
    named = algorithm(name)
    noisy = mode == "secure-sum" and not exact and "epsilon" not in given and named.noise_by_default
    of_channel = set(field_names(ChannelSettings)).difference(field_names(named.settings))
    apart = {key: given[key] for key in given if key in of_channel}
    own = {key: value for key, value in given.items() if key not in apart}
    if noisy:
        own["epsilon"] = EPSILON
    try:
        preset = named(**own)
    except SettingError as error:
        if not noisy:
            raise
        raise SettingError(
            f"{error} Epsilon is {EPSILON:g} unless --exact asks for sums without noise."
        ) from None
    least = {} if minimum is None else {"minimum_cohort": minimum}
    return preset, changed(preset.channel_settings(), **{**apart, **least, "channel": mode})
