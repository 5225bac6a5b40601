"""What the coordinator promises about a round, signed; and the public description of the federation.

Both are JSON in one canonical form (keys sorted, no spaces), named by the SHA-256 of exactly those bytes. The
manifest travels as its signature (64 bytes) followed by its bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np

from murmura.algorithms import algorithm as named
from murmura.channel.chain import Chain, chain
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Algorithm, FederationInfo, Phase
from murmura.core.errors import MurmuraError
from murmura.core.interactions import Vocabulary
from murmura.core.settings import from_dict
from murmura.runtimes.http.protocol.keys import check_signature
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.wire import SIGNATURE_BYTES, check_version

ChannelMode = Literal["secure-sum", "readable"]
LARGEST = 1 << 16  # bytes of a manifest
KEY_BYTES = 32


@dataclass(frozen=True)
class AggregatorAddress:
    """An aggregator as devices see it."""

    url: str
    key: str  # its public key, hexadecimal


@dataclass(frozen=True)
class Manifest:
    """One round."""

    protocol: int
    federation: str  # a random name, hexadecimal: no message of one federation fits another
    serial: int  # counted from 0: one manifest each
    round: int  # what a device draws its randomness with; an exchange that failed is done again under another
    nonce: str
    previous: str  # hash of the manifest before this one, "" for the first
    preset: str  # the method's name on the command line
    settings: Mapping[str, Any]
    phase: str
    combine: Literal["sum", "each"]
    mode: ChannelMode
    description: str  # hash of the Description
    model: str  # hash of the public model
    shapes: Mapping[str, list[int]]  # of the model's arrays
    answers: bool  # devices fetch an answer of their own first
    called: int  # how many devices
    largest: int  # no round of this phase calls more
    minimum: int  # no sum of fewer is released
    opened: float  # seconds since 1970
    deadline: float
    hold: float  # seconds a device waits at least before it sends: longer than training takes
    spread: float  # and the width of the window its sending time is drawn from
    channel: Mapping[str, Any]
    seed_aggregator: AggregatorAddress | None  # None in readable mode
    vector_aggregator: AggregatorAddress | None

    def encode(self) -> bytes:
        """The canonical bytes."""
        return canonical(asdict(self))

    @cached_property
    def hash(self) -> bytes:
        """Its name: every share and ticket of the round carries it."""
        return hashlib.sha256(self.encode()).digest()

    @staticmethod
    def decode(content: bytes) -> Manifest:
        """The manifest in canonical bytes; refuses another version, other fields and other spellings."""
        values = _object(content, "manifest")
        check_version(values.get("protocol"))
        if set(values) != {field.name for field in fields(Manifest)}:
            raise RefusedError(
                "malformed", "a manifest must have exactly the fields of docs/wire.md, but has others."
            )
        try:
            for name in ("seed_aggregator", "vector_aggregator"):
                values[name] = None if values[name] is None else AggregatorAddress(**values[name])
            read = Manifest(**values)
            _check_types(read)
        except (TypeError, ValueError):
            raise RefusedError("malformed", "a field of the manifest has the wrong type.") from None
        if read.encode() != content:
            raise RefusedError("malformed", "a manifest must be in canonical form, but is not.")
        return read

    def algorithm(self) -> Algorithm:
        """The method as this round is configured; refuses one this version does not know."""
        try:
            return named(self.preset).method(**self.settings)
        except MurmuraError as error:
            raise RefusedError("version", f"the manifest asks for a method unknown here: {error}") from None

    def exchange(self, info: FederationInfo) -> Phase:
        """The phase of this round."""
        for phase in self.algorithm().phases(info):
            if (phase.name, phase.combine) == (self.phase, self.combine):
                return phase
        raise RefusedError("malformed", f"{self.preset} has no phase '{self.phase}' of kind '{self.combine}'.")

    def chain(self, info: FederationInfo) -> Chain:
        """The stages an update of this round goes through; refuses what cannot be carried."""
        try:
            return chain(
                from_dict(ChannelSettings, dict(self.channel)), self.exchange(info), info, self.largest
            )
        except RefusedError:
            raise
        except MurmuraError as error:
            raise RefusedError("malformed", f"the manifest's channel cannot be used: {error}") from None


def _check_types(m: Manifest) -> None:
    whole = (m.serial, m.round, m.called, m.largest, m.minimum)
    if any(type(n) is not int or not 0 <= n < 2**32 for n in whole):
        raise ValueError
    times = (m.opened, m.deadline, m.hold, m.spread)
    if any(type(t) not in (int, float) or not 0 <= t < 2**40 for t in times):
        raise ValueError
    if m.mode not in ("secure-sum", "readable") or m.combine not in ("sum", "each"):
        raise ValueError
    if (m.mode == "secure-sum") != (m.seed_aggregator is not None and m.vector_aggregator is not None):
        raise ValueError
    if any(type(text) is not str for text in (m.preset, m.phase)) or type(m.answers) is not bool:
        raise ValueError
    for address in (m.seed_aggregator, m.vector_aggregator):
        if address is not None and (
            type(address.url) is not str or len(bytes.fromhex(address.key)) != KEY_BYTES
        ):
            raise ValueError
    for text in (m.federation, m.nonce, m.previous, m.description, m.model):
        bytes.fromhex(text)
    if not all(isinstance(mapping, dict) for mapping in (m.settings, m.channel, m.shapes)):
        raise ValueError
    for shape in m.shapes.values():
        if any(type(n) is not int or n < 0 for n in shape):
            raise ValueError


def open_manifest(envelope: bytes, key: bytes) -> Manifest:
    """The manifest in a signed envelope; refuses one that this key did not sign."""
    if not SIGNATURE_BYTES < len(envelope) <= SIGNATURE_BYTES + LARGEST:
        raise RefusedError("malformed", f"a signed manifest must not have {len(envelope)} bytes.")
    signature, content = envelope[:SIGNATURE_BYTES], envelope[SIGNATURE_BYTES:]
    check_signature(key, "manifest", content, signature)
    return Manifest.decode(content)


@dataclass(frozen=True, eq=False)
class FederationDescription:
    """What every machine knows: the items by name, and how large the federation is."""

    items: Vocabulary
    info: FederationInfo

    def encode(self) -> bytes:
        """The canonical bytes."""
        p = self.info
        return canonical(
            {
                "items": self.items.labels.tolist(),
                "listed": p.listed.tolist(),
                "clients": p.clients,
                "interactions": p.interactions,
                "people": p.people,
                "counts": None if p.counts is None else p.counts.tolist(),
            }
        )

    @staticmethod
    def decode(content: bytes) -> FederationDescription:
        """From the canonical bytes."""
        read = _object(content, "description")
        try:
            items = Vocabulary(np.array(read["items"]).reshape(len(read["items"])))
            listed = np.array(read["listed"], np.int32).reshape(len(read["listed"]))
            sizes = int(read["clients"]), int(read["interactions"])
            counts = None if read["counts"] is None else np.array(read["counts"], np.int64).reshape(len(items))
            info = FederationInfo(len(items), listed, *sizes, people=int(read["people"]), counts=counts)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise RefusedError(
                "malformed", "a description must have the fields of docs/wire.md, but has not."
            ) from None
        if len(listed) and (listed.min() < 0 or listed.max() >= len(items) or (np.diff(listed) <= 0).any()):
            raise RefusedError(
                "malformed", "the listed items must be numbers of items, ascending, but are not."
            )
        return FederationDescription(items, info)


def canonical(value: Any) -> bytes:
    """One spelling for everyone."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def _object(content: bytes, what: str) -> dict[str, Any]:
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise RefusedError("malformed", f"a {what} must be a JSON object, but is something else.")
    return read
