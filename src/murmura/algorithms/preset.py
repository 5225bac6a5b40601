"""A named configuration: one flat set of settings that is an algorithm, a schedule, a consent and a channel.

`class SFPL(FPL, Schedule, Consent, ChannelSettings)` states nothing twice: the settings are theirs, with other
defaults.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.federation import Algorithm
from murmura.core.grouping import Grouping
from murmura.core.schedule import Schedule
from murmura.core.settings import field_names

T = TypeVar("T")


class Preset:
    """What a named configuration consists of."""

    name: ClassVar[str]
    seeded: ClassVar[bool] = True
    method: ClassVar[type[Algorithm]]

    def algorithm(self) -> Algorithm:
        """The algorithm alone."""
        return _part(self, self.method)

    def schedule(self) -> Schedule:
        """Who takes part and how often."""
        return _part(self, Schedule)

    def consent(self) -> Consent:
        """What people allow."""
        return _part(self, Consent)

    def grouping(self) -> Grouping | None:
        """Who shares a client; None: everyone is one."""
        return None

    def channel_settings(self) -> ChannelSettings:
        """How updates travel; a preset without these settings adds floating-point numbers."""
        return _part(self, ChannelSettings) if isinstance(self, ChannelSettings) else ChannelSettings()


def _part(whole: object, cls: type[T]) -> T:
    return cls(**{name: getattr(whole, name) for name in field_names(cls)})
