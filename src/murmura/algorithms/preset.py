"""A preset: an algorithm under a name on the command line, with what it is used with and other defaults.

A preset is a value, one row of the table in its paper's folder. Its flat settings, as `-S key=value` and YAML
take them, are those of the algorithm and of its parts: a schedule, a consent, a channel, weights, groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any, ClassVar, TypeVar

from murmura.aggregation.weighted import weighted, weighted_class
from murmura.aggregation.weighting import Weighting
from murmura.core.channel import READABLE, ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm
from murmura.core.errors import SettingError
from murmura.core.schedule import Grouping, Schedule
from murmura.core.settings import field_names, joined_fields, settings

T = TypeVar("T")
ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)  # every exchange happens once, with everyone
ROUNDS = (Weighting, Schedule, Consent, ChannelSettings)  # the parts of a method that trains in rounds
GROUPS = (Consent, Grouping)  # of one that exchanges something once, between groups


@dataclass(frozen=True)
class Preset:
    """A named configuration that settings make whole: `preset(factors=10)` is ready to be fitted or served."""

    name: str  # on the command line
    method: type[Algorithm]
    summary: str  # one line
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)  # where they differ from the parts'
    parts: tuple[type, ...] = ROUNDS
    fixed: Schedule = ONCE  # who takes part and how often, where Schedule is none of the parts
    seeded: bool = True  # whether the seed changes the result
    noisy: type[Algorithm] | None = (
        None  # the form of the method that bears noise, taken where epsilon is given
    )

    def __call__(self, **values: Any) -> ConfiguredPreset:
        """The preset with these settings, the others at their defaults."""
        return self.settings(**values)

    def rebuilt(self, values: Mapping[str, Any]) -> Algorithm:
        """The algorithm, weighted or not, whose settings these plain values are; the opposite of `as_dict`."""
        if "criteria" in values and Weighting in self.parts:
            return weighted_class(self.method)(**values)
        noisy = self.noisy is not None and set(values) == set(field_names(self.noisy))
        return (self.noisy or self.method)(**values) if noisy else self.method(**values)

    @property
    def noise_by_default(self) -> bool:
        """Whether everybody can read its exact sums in its model, and it has a form that bears noise."""
        readable = self.method.releases_counts or self.method.releases_pairs
        return readable and (self.noisy or self.method).bears_noise

    @property
    def settings(self) -> type[ConfiguredPreset]:
        """The flat settings as a class: its fields are those of the algorithm and of the parts."""
        return _settings_of(self)


UNWEIGHTED = Weighting()  # of a preset without criteria: every update counts alike


class ConfiguredPreset:
    """What every preset is once its settings are known."""

    name: ClassVar[str]
    seeded: ClassVar[bool]
    preset: ClassVar[Preset]

    def __post_init__(self) -> None:
        self.algorithm(), self.consent()  # which may refuse settings that do not go together
        default = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        for name in self._unused_form():
            if getattr(self, name) != default[name]:
                without = "not " if self.channel_settings().epsilon is None else ""
                raise SettingError(
                    f"{self.name}.{name} must be left out where epsilon is {without}given, but it is "
                    f"{getattr(self, name)}."
                )
        read = self.weighting().criteria and self.weighting().criteria_sent == "values"
        if read and self.channel_settings().channel == "secure-sum":
            raise SettingError(
                f"criteria_sent must be 'sums' for channel 'secure-sum', but it is 'values': {READABLE}; "
                "change one of them."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(self.preset, **{key: getattr(self, key) for key in field_names(type(self))}), ()

    def algorithm(self) -> Algorithm:
        """The algorithm alone, weighted where there are criteria; refuses noise it does not bear."""
        noisy = self.channel_settings().epsilon is not None
        form = self.preset.noisy if noisy and self.preset.noisy is not None else self.preset.method
        inner, weighting = self._part(form), self.weighting()
        if noisy and (not form.bears_noise or weighting.criteria):
            who = f"{self.name} with criteria" if form.bears_noise else self.name
            raise SettingError(
                f"epsilon must be left out for {who}, whose sums noise would make useless; fed-ease, "
                "fed-mostpop, cfpl and fcf bear it."
            )
        return weighted(inner, weighting) if weighting.criteria else inner

    def weighting(self) -> Weighting:
        """Whose update counts how much."""
        return self._part(Weighting) if Weighting in self.preset.parts else UNWEIGHTED

    def unused(self) -> tuple[str, ...]:
        """The settings that say nothing as things are: how to weight, where there are no criteria.

        That there are none is said where the preset has some by default. Of a method that has another form for
        noise, those of the form that is not taken.
        """
        return (*self._unused_form(), *self._unused_weights())

    def _unused_form(self) -> tuple[str, ...]:
        noisy, plain = self.preset.noisy, self.preset.method
        if noisy is None:
            return ()
        taken, other = (plain, noisy) if self.channel_settings().epsilon is None else (noisy, plain)
        return tuple(name for name in field_names(other) if name not in field_names(taken))

    def _unused_weights(self) -> tuple[str, ...]:
        if Weighting not in self.preset.parts or self.weighting().criteria:
            return ()
        excluded = {"criteria"} if self.preset.defaults.get("criteria") else set()
        return tuple(name for name in field_names(Weighting) if name not in excluded)

    def schedule(self) -> Schedule:
        """Who takes part and how often."""
        return self._part(Schedule) if Schedule in self.preset.parts else self.preset.fixed

    def consent(self) -> Consent:
        """What people allow."""
        return self._part(Consent) if Consent in self.preset.parts else Consent()

    def grouping(self) -> Grouping | None:
        """Who shares a client; None: everyone is one."""
        return self._part(Grouping) if Grouping in self.preset.parts else None

    def channel_settings(self) -> ChannelSettings:
        """How updates travel; a preset without these settings adds floating-point numbers."""
        return self._part(ChannelSettings) if ChannelSettings in self.preset.parts else ChannelSettings()

    def _part(self, cls: type[T]) -> T:
        return cls(**{name: getattr(self, name) for name in field_names(cls)})


def neutral(name: str, method: type[Algorithm]) -> Preset:
    """The preset of an algorithm that comes without one: trained in rounds, nothing changed."""
    summary = (method.__doc__ or name).strip().partition("\n")[0]
    return Preset(name, method, summary)


@cache
def _settings_of(preset: Preset) -> type[ConfiguredPreset]:
    """One class of flat settings, the parts' before the algorithm's; refuses a name that two of them have."""
    body = joined_fields(preset.name, (*reversed(preset.parts), preset.method), preset.defaults)
    if preset.noisy is not None:  # what both forms know is one setting
        more = joined_fields(preset.name, (preset.noisy,))
        for name in (name for name in field_names(preset.noisy) if name not in field_names(preset.method)):
            body["__annotations__"][name], body[name] = more["__annotations__"][name], more[name]
    about = {"__doc__": preset.summary, "__module__": __name__, "name": preset.name, "seeded": preset.seeded}
    return settings(type(preset.name, (ConfiguredPreset,), {**body, **about, "preset": preset}))
