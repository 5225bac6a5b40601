"""K. Bonawitz et al., CCS 2017; neighbours: J. H. Bell et al., "Secure single-server aggregation", CCS 2020.

One server. Four steps: keys, sealed shares, masked vectors, and one share of each peer from whoever is left.
Two devices agree on a mask that one adds and the other subtracts, so that all of them cancel in the sum; a mask
of its own covers what is left if others are lost. What undoes masks is shared among the peers (Shamir): the key
of a device that was lost before its upload, the own mask of one that was not. A device has masks with
`neighbours` others, chosen by the hash of everybody's keys, so that nobody chooses them.

For simulations. Nobody signs keys here: a server that invents devices, or gives everyone other keys, reads what
it wants (two aggregators with admissions are what a real federation has). A server that tells
devices different stories about who was lost does not, as the threshold is above half of the holders.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from murmura.channel.ring import Ring
from murmura.channel.shares import SEED_BYTES, Entropy, expand, expanded_sum
from murmura.core.errors import FederationError, MissingExtraError, SettingError
from murmura.core.rng import Words
from murmura.lab.protections.sum_protocol import NO_DROPOUTS, AbortedSumError, DropOuts, SumSession

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ModuleNotFoundError:
    X25519PrivateKey = None  # type: ignore[assignment,misc]

PRIME = 2**256 + 297
SHARE_BYTES = 33
_SECRET_BYTES = 32


def split(
    secret: bytes, holders: Sequence[int], threshold: int, entropy: Entropy = os.urandom
) -> dict[int, int]:
    """The share of every holder, numbered from 1; any `threshold` of them give the secret.

    A. Shamir, "How to share a secret", CACM 1979: any t of n shares give the secret, fewer tell nothing of it.

    A secret of 32 bytes is the value at 0 of a random polynomial of degree t - 1 over the field of the smallest
    prime above 2**256; share x is its value at x. (The thesis, 3.4.2, says degree R for R points; it takes R -
    1.) For simulations: Python's whole numbers do not take the same time for all values. The package `shamirs`
    computes the same (the tests compare), .4 s for a secret of 67 shares; here the weights of a set of holders
    are worked out once for all secrets they hold.
    """
    if len(secret) != _SECRET_BYTES:
        raise FederationError(f"a secret must have {_SECRET_BYTES} bytes, but has {len(secret)}.")
    if not 1 <= threshold <= len(holders):
        raise FederationError(
            f"the threshold of {len(holders)} shares must be from 1 to {len(holders)}, but is {threshold}."
        )
    if min(holders) < 1 or len(set(holders)) < len(holders):
        raise FederationError("holders must have numbers of their own, from 1: the share of 0 is the secret.")
    # 64 bytes modulo a number of 257 bits: uniform but for 2**-255
    coefficients = [int.from_bytes(entropy(64), "little") % PRIME for _ in range(threshold - 1)]
    shares = {}
    for holder in holders:
        value = 0
        for coefficient in reversed(coefficients):
            value = (value + coefficient) * holder % PRIME
        shares[holder] = (value + int.from_bytes(secret, "little")) % PRIME
    return shares


def join(shares: Mapping[int, int], threshold: int) -> bytes:
    """The secret that the first `threshold` of these shares give; refuses fewer, and shares that give none."""
    if len(shares) < threshold:
        raise FederationError(f"a secret needs {threshold} shares, but there are {len(shares)}.")
    taken = tuple(sorted(shares)[:threshold])
    value = sum(weight * shares[holder] for holder, weight in zip(taken, _weights(taken))) % PRIME
    if value >= 2**256:
        raise FederationError("shares must be of one secret, but these are not; discard the round.")
    return value.to_bytes(_SECRET_BYTES, "little")


@lru_cache(maxsize=256)
def _weights(holders: tuple[int, ...]) -> tuple[int, ...]:
    """The Lagrange weights of a set of holders for the value at 0."""
    weights = []
    for holder in holders:
        above, below = 1, 1
        for other in holders:
            if other != holder:
                above, below = above * other % PRIME, below * (other - holder) % PRIME
        weights.append(above * pow(below, -1, PRIME) % PRIME)
    return tuple(weights)


Kind = Literal["key", "own mask"]
_MASK, _SEAL = b"murmura pairwise mask", b"murmura shares for a peer"
_ONCE = bytes(12)  # the nonce of a key that seals one message


class PublicKeys(NamedTuple):
    """What a device shows to all: one key that masks are agreed with, one that shares are sealed with."""

    mask: bytes
    seal: bytes


def agreed_seed(private: bytes, public: bytes, purpose: bytes) -> bytes:
    """32 bytes that two devices and nobody else know: X25519, then HKDF-SHA256."""
    shared = X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))
    return HKDF(SHA256(), SEED_BYTES, salt=None, info=purpose).derive(shared)


def pair_mask(private: bytes, public: bytes, ring: Ring) -> Words:
    """The mask of two devices, before its sign."""
    return expand(agreed_seed(private, public, _MASK), ring)


def sign(client: int, peer: int) -> int:
    """Of two devices the one with the smaller number adds their mask, the other subtracts it."""
    return 1 if client < peer else -1


@dataclass(eq=False)
class MaskingDevice:
    """One device in one round; it is thrown away after it.

    Whoever gets both secrets of one device reads its update. **So a device gives away one of the two for each
    peer, once and for ever**, and none where fewer devices than the threshold are said to be left.
    """

    client: int
    ring: Ring
    entropy: Entropy = os.urandom

    def __post_init__(self) -> None:
        if X25519PrivateKey is None:
            raise MissingExtraError("a sum with pairwise masks", "serve")
        self._mask_key, self._seal_key = self.entropy(32), self.entropy(32)
        self._own_mask = self.entropy(SEED_BYTES)
        self._held: dict[int, dict[Kind, int]] = {}  # of a peer: a share of its key, and one of its own mask
        self._said: dict[int, Kind] = {}
        self._peers: Mapping[int, PublicKeys] = {}
        self._threshold, self._sent = 1, False

    def advertise(self) -> PublicKeys:
        """The public keys of this round."""
        made = (X25519PrivateKey.from_private_bytes(key) for key in (self._mask_key, self._seal_key))
        return PublicKeys(*(key.public_key().public_bytes_raw() for key in made))

    def share(self, peers: Mapping[int, PublicKeys], threshold: int) -> dict[int, bytes]:
        """For every peer its shares of this device's secrets, sealed; a share stays here."""
        self._peers, self._threshold = dict(peers), threshold
        holders = [1 + number for number in sorted((*peers, self.client))]
        keys = split(self._mask_key, holders, threshold, self.entropy)
        masks = split(self._own_mask, holders, threshold, self.entropy)
        own = 1 + self.client
        self._held[self.client] = {"key": keys[own], "own mask": masks[own]}
        written = {
            peer: b"".join(one[1 + peer].to_bytes(SHARE_BYTES, "little") for one in (keys, masks))
            for peer in peers
        }
        return {peer: self._seal(peer, sent=True).encrypt(_ONCE, text, None) for peer, text in written.items()}

    def receive(self, sealed: Mapping[int, bytes]) -> None:
        """Open what peers have shared; who shared nothing is no peer any more."""
        for peer, message in sealed.items():
            try:
                text = self._seal(peer, sent=False).decrypt(_ONCE, message, None)
            except InvalidTag:
                raise FederationError(
                    f"the shares of device {peer} must be sealed to device {self.client}, but are not."
                ) from None
            halves = text[:SHARE_BYTES], text[SHARE_BYTES:]
            key, own_mask = (int.from_bytes(half, "little") for half in halves)
            self._held[peer] = {"key": key, "own mask": own_mask}
        self._peers = {peer: keys for peer, keys in self._peers.items() if peer in sealed}

    def masked(self, vector: Words) -> Words:
        """The vector under all masks: what leaves."""
        self.ring.check(vector)
        self._sent = True
        total = vector + expand(self._own_mask, self.ring)  # modulo 2**32, of which 2**24 is a divisor
        for peer, keys in self._peers.items():
            mask = pair_mask(self._mask_key, keys.mask, self.ring)
            total = total + mask if sign(self.client, peer) > 0 else total - mask
        return self.ring.wrap(total.astype(np.int64))

    def unmask(self, there: Collection[int], lost: Collection[int]) -> dict[int, tuple[Kind, int]]:
        """One share for every peer: of its own mask if its upload is `there`, of its key if it is `lost`."""
        asked: dict[int, Kind] = {peer: "own mask" for peer in there if peer in self._held}
        keys: dict[int, Kind] = {peer: "key" for peer in lost if peer in self._held}
        self._refuse(asked, keys)
        self._said |= asked | keys
        return {peer: (kind, self._held[peer][kind]) for peer, kind in self._said.items()}

    def _refuse(self, asked: Mapping[int, Kind], keys: Mapping[int, Kind]) -> None:
        if len(asked) < self._threshold:
            raise FederationError(
                f"a device unmasks a sum of at least {self._threshold} peers, but {len(asked)} are said "
                "to be left."
            )
        if self._sent and self.client not in asked:
            raise FederationError("a device unmasks a sum that it is in, but it is said to be lost.")
        if both := next((peer for peer in asked if peer in keys), None):
            raise FederationError(f"a peer must be there or lost, but {both} is said to be both.")
        for peer, kind in {**asked, **keys}.items():
            if self._said.get(peer, kind) != kind:
                raise FederationError(
                    f"a device gives away the key or the own mask of a peer, but both of {peer} are asked for."
                )

    def _seal(self, peer: int, sent: bool) -> Any:
        first, second = (self.client, peer) if sent else (peer, self.client)
        purpose = _SEAL + first.to_bytes(8, "little") + second.to_bytes(8, "little")
        return AESGCM(agreed_seed(self._seal_key, self._peers[peer].seal, purpose))


THRESHOLD = 2 / 3  # below half the server could have both secrets of a device
_NUMBER = 4  # bytes that name a peer in a message


def neighbourhood(keys: Mapping[int, PublicKeys], neighbours: int) -> dict[int, tuple[int, ...]]:
    """Who has masks with whom: the nearest on a circle in the order of the hash of all keys and one's own."""
    everyone = hashlib.sha256(b"".join(b"".join(keys[client]) for client in sorted(keys))).digest()
    order = sorted(keys, key=lambda client: hashlib.sha256(everyone + keys[client].mask).digest())
    n, each = len(order), -(-neighbours // 2)
    if 2 * each >= n - 1:
        return {client: tuple(other for other in order if other != client) for client in order}
    steps = [step for step in range(-each, each + 1) if step]
    return {client: tuple(order[(at + step) % n] for step in steps) for at, client in enumerate(order)}


class PairwiseMasks(SumSession):
    """Masks that cancel: the server of one sum, and all its devices, whose keys go around before any upload.

    More than THRESHOLD of the holders of a device's shares must stay.
    """

    name: ClassVar[str] = "pairwise masks"
    sees: ClassVar[Mapping[str, str]] = {
        "server": "vectors under masks, and the sum",
        "server and a third of the devices together": "nothing of the others but their sum",
        "server and more devices than that": "each update",
    }
    dropouts: ClassVar[str] = (
        "up to a third may be lost, before or after their upload; if more are, there is no sum"
    )

    def __init__(
        self,
        clients: Collection[int],
        ring: Ring,
        lost: DropOuts = NO_DROPOUTS,
        neighbours: int = 100,
    ) -> None:
        if neighbours < 2:
            raise SettingError(f"a device needs at least 2 neighbours, but neighbours is {neighbours}.")
        super().__init__(clients, ring, lost)
        with self.cost.at("device"):
            self.devices = {client: MaskingDevice(client, ring) for client in clients}
            self.keys = {client: device.advertise() for client, device in self.devices.items()}
        self.peers = neighbourhood(self.keys, neighbours)
        self._exchange_shares()
        self.sum = np.zeros(ring.words, ring.word)

    def needed(self, client: int) -> int:
        """How many shares undo a secret of this device."""
        return int(THRESHOLD * (1 + len(self.peers[client])) + 1e-9) + 1

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
            self.cost.bytes_up += len(said) * (_NUMBER + SHARE_BYTES)
            for client, (kind, share) in said.items():
                assert kind == ("own mask" if client in there else "key")
                shares[client][1 + holder] = share
        return shares

    def unmasked(self, there: set[int], lost: set[int], shares: Mapping[int, Mapping[int, int]]) -> Words:
        """The sum without the own masks of those in it, and without the masks agreed with those who are not."""
        if any(len(shares[client]) < self.needed(client) for client in self.devices):
            raise self._aborted(len(there - self.lost.after))
        secrets = {client: join(shares[client], self.needed(client)) for client in self.devices}
        total = self.sum - expanded_sum((secrets[client] for client in there), self.ring)
        for client in lost:
            for peer in there.intersection(self.peers[client]):
                mask = pair_mask(secrets[client], self.keys[peer].mask, self.ring)
                total = total - mask if sign(peer, client) > 0 else total + mask
        return self.ring.wrap(total.astype(np.int64))

    def _aborted(self, left: int) -> AbortedSumError:
        return AbortedSumError(
            f"a sum of {len(self.devices)} devices with masks needs more than {THRESHOLD:.0%} of "
            f"them to stay, but {left} are left; the model stays what it was."
        )
