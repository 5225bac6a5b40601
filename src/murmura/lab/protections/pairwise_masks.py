"""K. Bonawitz et al., CCS 2017; neighbours: J. H. Bell et al., "Secure single-server aggregation", CCS 2020.

One server. Four steps: keys, sealed shares, masked vectors, and one share of each peer from whoever is left. A
device has masks with `neighbours` others, chosen by the hash of everybody's keys, so that nobody chooses them.

For simulations. Nobody signs keys here: a server that invents devices, or gives everyone other keys, reads what
it wants (two aggregators with admissions are what a real federation has). A server that tells
devices different stories about who was lost does not, as long as the threshold is above half of the holders.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from murmura.channel.ring import Ring
from murmura.channel.shares import expanded_sum
from murmura.core.errors import SettingError
from murmura.core.rng import Words
from murmura.lab.protections import secret_sharing
from murmura.lab.protections.masking_device import Kind, MaskingDevice, PublicKeys, pair_mask, sign
from murmura.lab.protections.sum_protocol import NO_DROPOUTS, AbortedSumError, DropOuts, SumProtocol, SumSession

_NUMBER = 4  # bytes that name a peer in a message


@dataclass(frozen=True)
class PairwiseMasks(SumProtocol):
    """Masks that cancel; more than `threshold` of the holders of a device's shares must stay."""

    name: ClassVar[str] = "pairwise masks"
    sees: ClassVar[Mapping[str, str]] = {
        "server": "vectors under masks, and the sum",
        "server and a third of the devices together": "nothing of the others but their sum",
        "server and more devices than that": "each update",
    }
    dropouts: ClassVar[str] = (
        "up to a third may be lost, before or after their upload; if more are, there is no sum"
    )

    neighbours: int = 100
    threshold: float = 2 / 3

    def __post_init__(self) -> None:
        if not 0.5 <= self.threshold < 1:
            raise SettingError(
                f"the threshold of masks must be at least half and below 1, but is {self.threshold:g}; below "
                "half the server could have both secrets of a device."
            )
        if self.neighbours < 2:
            raise SettingError(f"a device needs at least 2 neighbours, but neighbours is {self.neighbours}.")

    def begin(self, clients: Collection[int], ring: Ring, lost: DropOuts = NO_DROPOUTS) -> SumSession:
        """Keys and shares go around before the first upload."""
        return MaskedSum(self, clients, ring, lost)

    def needed(self, holders: int) -> int:
        """How many shares undo a secret."""
        return int(self.threshold * holders + 1e-9) + 1


def neighbourhood(keys: Mapping[int, PublicKeys], neighbours: int) -> dict[int, tuple[int, ...]]:
    """Who has masks with whom: the nearest on a circle in the order of the hash of all keys and one's own."""
    everyone = hashlib.sha256(b"".join(b"".join(keys[client]) for client in sorted(keys))).digest()
    order = sorted(keys, key=lambda client: hashlib.sha256(everyone + keys[client].mask).digest())
    n, each = len(order), -(-neighbours // 2)
    if 2 * each >= n - 1:
        return {client: tuple(other for other in order if other != client) for client in order}
    steps = [step for step in range(-each, each + 1) if step]
    return {client: tuple(order[(at + step) % n] for step in steps) for at, client in enumerate(order)}


class MaskedSum(SumSession):
    """The server of one sum, and all its devices."""

    def __init__(
        self, protocol: PairwiseMasks, clients: Collection[int], ring: Ring, lost: DropOuts = NO_DROPOUTS
    ) -> None:
        super().__init__(ring)
        self.protocol, self.lost = protocol, lost
        with self.cost.at("device"):
            self.devices = {client: MaskingDevice(client, ring) for client in clients}
            self.keys = {client: device.advertise() for client, device in self.devices.items()}
        self.peers = neighbourhood(self.keys, protocol.neighbours)
        self._exchange_shares()
        self.sum = np.zeros(ring.words, np.uint32)

    def needed(self, client: int) -> int:
        """How many shares undo a secret of this device."""
        return self.protocol.needed(1 + len(self.peers[client]))

    def _exchange_shares(self) -> None:
        sealed: dict[int, dict[int, bytes]] = {client: {} for client in self.devices}
        for client, device in self.devices.items():
            with self.cost.at("device"):
                made = device.share({peer: self.keys[peer] for peer in self.peers[client]}, self.needed(client))
            self.cost.bytes_up += sum(map(len, self.keys[client]))
            self.cost.bytes_up += sum(_NUMBER + len(message) for message in made.values())
            for peer, message in made.items():
                sealed[peer][client] = message
        with self.cost.at("device"):
            for client, device in self.devices.items():
                device.receive(sealed[client])

    def _add(self, client: int, vector: Words) -> None:
        with self.cost.at("device"):
            message = self.ring.pack(self.devices[client].masked(vector))
        self.cost.bytes_up += len(message)
        with self.cost.at("server"):
            self.sum += self.ring.unpack(message)

    def _total(self) -> Words:
        there = set(self.counted)
        lost = set(self.devices) - there
        # asked before anything is: fewer than that could not be unmasked, and must not be asked for
        short = [c for c in self.devices if len(there & {c, *self.peers[c]}) < self.needed(c)]
        if short:
            raise self._aborted(len(there))
        shares = self.collect(there, lost)
        with self.cost.at("server"):
            return self.unmasked(there, lost, shares)

    def collect(self, there: set[int], lost: set[int]) -> dict[int, dict[int, int]]:
        """device -> holder -> share, from all who are still there to answer."""
        shares: dict[int, dict[int, int]] = {client: {} for client in self.devices}
        for holder in there - self.lost.after:
            with self.cost.at("device"):
                said = self.devices[holder].unmask(there, lost)
            self.cost.bytes_up += len(said) * (_NUMBER + secret_sharing.SHARE_BYTES)
            for client, (kind, share) in said.items():
                assert kind == _wanted(client in there)
                shares[client][1 + holder] = share
        return shares

    def unmasked(self, there: set[int], lost: set[int], shares: Mapping[int, Mapping[int, int]]) -> Words:
        """The sum without the own masks of those in it, and without the masks agreed with those who are not."""
        if any(len(shares[client]) < self.needed(client) for client in self.devices):
            raise self._aborted(len(there - self.lost.after))
        secrets = {client: secret_sharing.join(shares[client], self.needed(client)) for client in self.devices}
        total = self.sum - expanded_sum((secrets[client] for client in there), self.ring)
        for client in lost:
            for peer in there.intersection(self.peers[client]):
                mask = pair_mask(secrets[client], self.keys[peer].mask, self.ring)
                total = total - mask if sign(peer, client) > 0 else total + mask
        return self.ring.wrap(total.astype(np.int64))

    def _aborted(self, left: int) -> AbortedSumError:
        return AbortedSumError(
            f"a sum of {len(self.devices)} devices with masks needs more than {self.protocol.threshold:.0%} of "
            f"them to stay, but {left} are left; the model stays what it was."
        )


def _wanted(there: bool) -> Kind:
    return "own mask" if there else "key"
