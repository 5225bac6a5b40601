"""Hierarchies in simulation: sums of sums, and groups whose members have several devices.

A region adds up its people, the federation adds up the regions. Sums are whole numbers of a ring, so the bits
are those of one flat sum. What is gained is where people's connections end; `region_levels` says what each
level can read.

FedSPLIT, section 3.4.2, names two ways for a group whose members do not share a device: every member's device
becomes the client and holds the ratings of all, or an intermediate server does. Both train what a household's
one device trains; `gather_members` carries the ratings to whoever holds them, `group_levels` says who reads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.core.arrays import Bools, Longs
from murmura.core.channel import SUM_PROTOCOLS, ChannelSettings
from murmura.core.contract import IndividualUpdates, Total
from murmura.core.errors import SettingError
from murmura.core.population import Population
from murmura.core.settings import settings
from murmura.engine.federation import Federation
from murmura.runtimes.inprocess import InProcess, PhaseVisits
from murmura.runtimes.ranges import RawSums
from murmura.wire.wire import pack_arrays, unpack_arrays

Arrangement = Literal["household", "members", "intermediate"]
COLUMNS = ("item", "value", "consent", "person")  # of a member's rows


@settings
class Regional(InProcess):
    """Clients are in so many regions, each with a server of its own that hands on its sum."""

    regions: Annotated[int, Field(ge=1)] = 2

    def run(self, federation: Federation, rounds: range) -> None:
        """Run these rounds; refuses protocols that know no regions."""
        channel = federation.plan.channel.channel
        if channel in SUM_PROTOCOLS:
            raise SettingError(
                f"regions hand on sums that are added up, but channel '{channel}' is a protocol between single "
                "devices and servers; set channel=secure-sum, or train without regions."
            )
        super().run(federation, rounds)

    def collect(self, exchange: PhaseVisits) -> Total | IndividualUpdates:
        """The sum of the regions' sums; a phase whose updates are read one by one has no regions."""
        f, phase, chain, through = exchange.f, exchange.phase, exchange.chain, exchange.through
        if chain is None or through is None:
            if phase.combine == "sum":
                raise SettingError(
                    f"regions hand on sums of whole numbers, but phase '{phase.name}' has no channel; set "
                    "channel=secure-sum."
                )
            return super().collect(exchange)
        parts, counted = [], np.zeros(f.plan.people.clients, np.bool_)
        region = exchange.clients.astype(np.int64) * self.regions // f.plan.people.clients
        for one in np.unique(region):  # neighbours in number are neighbours
            own = exchange.clients[region == one]
            f.plan.channel.check_cohort(len(own))  # a sum of a few would tell about them
            kept = RawSums(chain)
            super().collect(PhaseVisits(f, phase, exchange.round, own, kept))
            parts.append(chain.ring.wrap(kept.sums))
            counted |= f.counted.get(phase.name, counted)
        f.remember_counted(phase, [*np.flatnonzero(counted).tolist(), *exchange.malicious])
        return through.sum_up(chain.ring.add_up(parts).astype(np.int64), exchange.round)


def region_levels(channel: ChannelSettings) -> dict[str, str]:
    """What each level of a sum of sums can read."""
    shared = channel.channel == "secure-sum"
    region = "the sum of its people" if shared else "the update of each of its people"
    return {
        "a person's device": "its own rows and the public model",
        "a region's server": f"{region}; nothing of other regions",
        "the federation's server": "each region's sum, of at least minimum_cohort people; no update of anyone",
    }


def gather_members(people: Population, arrangement: Arrangement) -> tuple[Population, Longs]:
    """Carry the rows of every group's members, as bytes, to the devices or the server that become its client.

    household: one device has them already. members: every device gets those of all others. intermediate: every
    device sends its own once. What is trained on does not depend on it. Beside the groups stands how many bytes
    went between the devices of each: (groups,).
    """
    if people.person is None:
        raise SettingError("members of groups must be told apart, but every client here is one person.")
    moved, columns = np.zeros(people.clients, np.int64), list[dict[str, NDArray[Any]]]()
    for group in range(people.clients):
        rows = slice(people.start[group], people.start[group + 1])
        letters = [
            _update(people, rows, people.person[rows] == member) for member in np.unique(people.person[rows])
        ]
        copies = {"household": 0, "members": len(letters) - 1, "intermediate": 1}[arrangement]
        moved[group] = copies * sum(map(len, letters))
        columns += [unpack_arrays(letter) for letter in letters]
    item, value, consent, person = (np.concatenate([one[name] for one in columns]) for name in COLUMNS)
    return replace(people, item=item, value=value, consent=consent, person=person), moved


def _update(people: Population, rows: slice, own: Bools) -> bytes:
    """What one member's device sends: its rows with its owner's consent."""
    return pack_arrays({name: getattr(people, name)[rows][own] for name in COLUMNS})


def group_levels(arrangement: Arrangement) -> dict[str, str]:
    """What each level of a group on several devices can read (FedSPLIT, 3.4.2)."""
    inside = {
        "household": {"the household's device": "the ratings of all members"},
        "members": {"every member's device": "the ratings of all members of its group"},
        "intermediate": {
            "a member's device": "its own ratings and what it is told of the model",
            "the intermediate server": "the ratings of all members of the group",
        },
    }[arrangement]
    return {**inside, "the federation's server": "what the group's client sends, and not who is in the group"}
