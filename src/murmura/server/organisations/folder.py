"""What the organisations of a federation agree on beforehand, and the people of a silo.

The terms are the method, its settings, the items and the size: `federation.json`, in one canonical spelling and
named by its SHA-256, and the features of the items beside it where the method uses them. Nothing in them is
private. A silo's folder holds its people too: their rows over the items, and the secrets they draw with.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms import algorithm
from murmura.algorithms.preset import ConfiguredPreset
from murmura.channel.consent_draws import ConsentChoices
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo
from murmura.core.errors import DataError, FederationError, RunError, SettingError
from murmura.core.features import encode_features
from murmura.core.files import group, prefixed, read_archive, whole_file, write_archive
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.population import Population
from murmura.core.rng import Words, client_secrets
from murmura.core.settings import as_dict, private_settings
from murmura.engine.plan import refuse_duplicates
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


USERS = "people.npz"


@dataclass(frozen=True, eq=False)
class SiloUsers:
    """Who is in a silo; its clients have the numbers from `first` on in the federation."""

    first: int
    data: Interactions  # over the items of the federation
    secrets: Words  # (users, 2)
    groups: Ints | None = None  # (users,) the client of each, where clients are groups
    group_secrets: Words | None = None  # (clients, 2)

    @property
    def clients(self) -> int:
        """How many clients the silo has."""
        return self.data.n_users if self.group_secrets is None else len(self.group_secrets)

    def population(self, terms: SiloTerms) -> Population:
        """Every client with its history, secret and consent."""
        choices = ConsentChoices.of(terms.preset.consent(), self.data, self.secrets)
        users = choices.population(self.data, self.secrets)
        if self.groups is None or self.group_secrets is None:
            return users
        return users.grouped(self.groups, self.group_secrets)

    def write(self, folder: Path, terms: SiloTerms) -> None:
        """Keep them in the silo's folder, with the terms they take part on."""
        terms.write(folder)
        rows: dict[str, NDArray[Any]] = {
            "user": self.data.user,
            "item": self.data.item,
            "value": self.data.value,
        }
        if self.data.time is not None:
            rows["time"] = self.data.time
        arrays = prefixed(rows=rows, attributes=dict(self.data.attributes))
        arrays |= {"users": self.data.users.labels, "secrets": self.secrets}
        if self.groups is not None and self.group_secrets is not None:
            arrays |= {"groups": self.groups, "group_secrets": self.group_secrets}
        write_archive(folder / USERS, arrays, {"first": self.first, "federation": terms.name})

    @staticmethod
    def read(folder: Path, terms: SiloTerms) -> SiloUsers:
        """The people a silo's folder keeps; refuses those of another federation."""
        arrays, meta = read_archive(folder / USERS)
        if meta.get("federation") != terms.name:
            raise RunError(
                f"{folder / USERS} must be of the federation whose terms lie beside it, but is of another; "
                "make the silo anew with `murmura silos`."
            )
        rows = group(arrays, "rows")
        data = Interactions(
            Vocabulary(arrays["users"]),
            terms.description.items,
            rows["user"],
            rows["item"],
            rows["value"],
            rows.get("time"),
            attributes=group(arrays, "attributes"),
        )
        return SiloUsers(
            int(meta["first"]), data, arrays["secrets"], arrays.get("groups"), arrays.get("group_secrets")
        )


def own_users(rows: Interactions, terms: SiloTerms, first: int) -> SiloUsers:
    """An organisation's own rows in a federation: secrets are drawn here and never leave.

    Refuses items that the federation does not know, and methods whose clients are groups of people.
    """
    if terms.preset.grouping() is not None:
        raise DataError(
            f"clients of {terms.preset.name} are groups of people, but this file says nothing of groups; cut "
            "the silos from one data set."
        )
    codes = terms.description.items.index(rows.items.labels.tolist(), "item")
    data = Interactions(rows.users, terms.description.items, rows.user, codes[rows.item], rows.value, rows.time)
    refuse_duplicates(data)
    last = first + data.n_users
    if last > terms.info.clients:
        raise DataError(
            f"the federation has the clients 0 to {terms.info.clients - 1}, but these people would be {first} "
            f"to {last - 1}; agree on other numbers."
        )
    return SiloUsers(first, data, client_secrets(int.from_bytes(os.urandom(8)), data.n_users))


def cut_silos(
    data: Interactions, groups: Ints | None, terms: SiloTerms, silos: int, seed: int
) -> list[SiloUsers]:
    """The people of one data set in so many silos, as a simulation with this seed has them: for rehearsals."""
    clients = terms.info.clients
    if silos > clients:
        raise DataError(f"{silos} silos need as many clients, but there are {clients}; make fewer.")
    client = np.arange(data.n_users, dtype=np.int32) if groups is None else groups
    secrets, of_groups = client_secrets(seed, data.n_users), client_secrets(seed, clients)
    made = []
    for k in range(silos):
        first, last = clients * k // silos, clients * (k + 1) // silos
        users = np.flatnonzero((client >= first) & (client < last))
        rows = np.flatnonzero(np.isin(data.user, users))
        own = Interactions(
            Vocabulary(data.users.labels[users]),
            data.items,
            np.searchsorted(users, data.user[rows]).astype(np.int32),
            data.item[rows],
            data.value[rows],
            None if data.time is None else data.time[rows],
            attributes={name: column[users] for name, column in data.attributes.items()},
        )
        grouped = (None, None) if groups is None else (client[users] - first, of_groups[first:last])
        made.append(SiloUsers(first, own, secrets[users], *grouped))
    return made
