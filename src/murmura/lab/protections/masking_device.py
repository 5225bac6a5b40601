"""The device of K. Bonawitz et al., "Practical secure aggregation", CCS 2017.

Two devices agree on a mask that one adds and the other subtracts, so that all of them cancel in the sum; a mask
of its own covers what is left if others are lost. What undoes masks is shared among the peers (Shamir): the key
of a device that was lost before its upload, the own mask of one that was not.

Whoever gets both of one device reads its update. **So a device gives away one of the two for each peer, once
and for ever**, and none where fewer devices than the threshold are said to be left.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from murmura.channel.ring import Ring
from murmura.channel.shares import SEED_BYTES, Entropy, expand
from murmura.core.errors import FederationError, MissingExtraError
from murmura.core.rng import Words
from murmura.lab.protections import secret_sharing

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ModuleNotFoundError:
    X25519PrivateKey = None  # type: ignore[assignment,misc]

Kind = Literal["key", "own mask"]
_MASK, _SEAL = b"murmura pairwise mask", b"murmura shares for a peer"
_ONCE = bytes(12)  # the nonce of a key that seals one message


class PublicKeys(NamedTuple):
    """What a device shows to all: one key that masks are agreed with, one that shares are sealed with."""

    mask: bytes
    seal: bytes


class Held(NamedTuple):
    """What a device holds of a peer: a share of its key, and one of its own mask."""

    key: int
    own_mask: int


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
    """One device in one round; it is thrown away after it."""

    client: int
    ring: Ring
    entropy: Entropy = os.urandom

    def __post_init__(self) -> None:
        if X25519PrivateKey is None:
            raise MissingExtraError("a sum with pairwise masks", "serve")
        self._mask_key, self._seal_key = self.entropy(32), self.entropy(32)
        self._own_mask = self.entropy(SEED_BYTES)
        self._held: dict[int, Held] = {}
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
        keys = secret_sharing.split(self._mask_key, holders, threshold, self.entropy)
        masks = secret_sharing.split(self._own_mask, holders, threshold, self.entropy)
        self._held[self.client] = Held(keys[1 + self.client], masks[1 + self.client])
        return {
            peer: self._seal(peer, sent=True).encrypt(_ONCE, _written(keys[1 + peer], masks[1 + peer]), None)
            for peer in peers
        }

    def receive(self, sealed: Mapping[int, bytes]) -> None:
        """Open what peers have shared; who shared nothing is no peer any more."""
        for peer, message in sealed.items():
            try:
                text = self._seal(peer, sent=False).decrypt(_ONCE, message, None)
            except InvalidTag:
                raise FederationError(
                    f"the shares of device {peer} must be sealed to device {self.client}, but are not."
                ) from None
            half = len(text) // 2
            self._held[peer] = Held(
                int.from_bytes(text[:half], "little"), int.from_bytes(text[half:], "little")
            )
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
        return {
            peer: (kind, self._held[peer].key if kind == "key" else self._held[peer].own_mask)
            for peer, kind in self._said.items()
        }

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


def _written(*shares: int) -> bytes:
    return b"".join(share.to_bytes(secret_sharing.SHARE_BYTES, "little") for share in shares)
