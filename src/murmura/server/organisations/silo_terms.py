"""What the organisations of a federation agree on beforehand: the method, its settings, the items, the size.

A folder with `federation.json`, in one canonical spelling and named by its SHA-256, and the features of the
items beside it where the method uses them. Nothing in it is private.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from murmura.algorithms import algorithm
from murmura.algorithms.preset import ConfiguredPreset
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo
from murmura.core.errors import FederationError, RunError, SettingError
from murmura.core.features import encode_features
from murmura.core.files import whole_file
from murmura.core.population import Population
from murmura.core.settings import as_dict, private_settings
from murmura.runtimes.ranges import EMPTY, RangePlan
from murmura.wire.description import FederationDescription
from murmura.wire.signed_records import SignedRecord, canonical

FILE, FEATURES = "federation.json", "features.bin"
SUPERLINK_READS = "the SuperLink can read each organisation's sum, and an organisation its people's updates"
SUPERLINK_READS_EACH = "the SuperLink can read the update of each client of an organisation"


@dataclass(frozen=True, eq=False)
class SiloTerms(SignedRecord):
    """What is public about a federation of organisations; building it refuses what cannot be run so."""

    said: ClassVar = "the terms of a federation of organisations"

    preset: ConfiguredPreset
    description: FederationDescription

    def __post_init__(self) -> None:
        method, channel = self.preset.algorithm(), self.preset.channel_settings()
        if channel.channel != "readable" and ChannelSettings in self.preset.preset.parts:
            raise SettingError(
                "organisations add up whole numbers that a SuperLink can read, so channel must be 'readable', "
                f"but it is '{channel.channel}'; set channel=readable."
            )
        if self.info.task is not None:
            raise SettingError(
                f"a silo holds people's interactions, but {self.preset.name} classifies samples; take a method "
                "that recommends."
            )
        if private := private_settings(method):
            raise SettingError(
                "every organisation reads the settings, so they must hold nothing private, but "
                f"{self.preset.name}.{private[0]} was made from private data; leave it out."
            )

    @property
    def info(self) -> FederationInfo:
        """What every machine knows."""
        return self.description.info

    @property
    def label(self) -> str:
        """What must stand wherever such a federation is shown."""
        phases = self.preset.algorithm().phases(self.info)
        each = not self.preset.channel_settings().on or any(phase.combine == "each" for phase in phases)
        return SUPERLINK_READS_EACH if each else SUPERLINK_READS

    @property
    def name(self) -> str:
        """The SHA-256 of the terms: organisations with another one do not take part together."""
        return self.hash.hex()

    def plan(self, people: Population = EMPTY, seed: int = 0) -> RangePlan:
        """What decides the rounds, for a silo with these people or for the server, which draws with a seed."""
        columns = people.start, people.item, people.value, people.consent, people.secrets
        held = hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()
        preset, identity = self.preset, {"federation": self.name, "people": held}
        plan = RangePlan(
            preset.algorithm(), self.info, preset.schedule(), preset.consent(), seed, preset.channel_settings()
        )
        plan = replace(plan, people=people, identity=identity)
        plan.channel.check_cohort(plan.itinerary.cohort_size, plan.info.clients)
        _ = plan.chains  # refuses what could overflow
        return plan

    def plain(self) -> dict[str, Any]:
        """The JSON object that they are."""
        plain = {"method": self.preset.name, "settings": as_dict(self.preset)}
        return {**plain, "federation": self.description.plain()}

    def write(self, folder: Path) -> None:
        """Keep the terms in a folder; the file that names them comes last."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.info.features is not None:
            with whole_file(folder / FEATURES) as file:
                file.write(encode_features(self.info.features))
        with whole_file(folder / FILE) as file:
            file.write(self.encode())

    @staticmethod
    def read(folder: Path) -> SiloTerms:
        """The terms a folder keeps; refuses a folder without any."""
        try:
            read: dict[str, Any] = json.loads((folder / FILE).read_bytes())
            description = FederationDescription.decode(canonical(read["federation"]))
            if description.feature_hash:
                content = (folder / FEATURES).read_bytes()
                if hashlib.sha256(content).hexdigest() != description.feature_hash:
                    raise FederationError("its features are others than those it names")
                description = description.with_features(content)
            return SiloTerms(algorithm(read["method"])(**read["settings"]), description)
        except (OSError, ValueError, KeyError, TypeError, FederationError) as error:
            raise RunError(
                f"{folder} must hold the terms of a federation of organisations ({FILE}), but cannot be read "
                f"({error}); make it with `murmura silos`."
            ) from None
