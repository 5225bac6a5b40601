"""The people of a silo: their rows over the federation's items, and the secrets they draw with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.consent_draws import ConsentChoices
from murmura.core.arrays import Ints
from murmura.core.errors import DataError, RunError
from murmura.core.files import group, prefixed, read_archive, write_archive
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.population import Population
from murmura.core.rng import Words, client_secrets
from murmura.engine.plan import refuse_duplicates
from murmura.server.organisations.silo_terms import SiloTerms

FILE = "people.npz"


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
        write_archive(folder / FILE, arrays, {"first": self.first, "federation": terms.name})

    @staticmethod
    def read(folder: Path, terms: SiloTerms) -> SiloUsers:
        """The people a silo's folder keeps; refuses those of another federation."""
        arrays, meta = read_archive(folder / FILE)
        if meta.get("federation") != terms.name:
            raise RunError(
                f"{folder / FILE} must be of the federation whose terms lie beside it, but is of another; make "
                "the silo anew with `murmura silos`."
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
