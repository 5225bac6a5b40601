"""What the coordinator promises about a round, signed; and the public description of the federation.

Both are JSON in one canonical form (keys sorted, no spaces), named by the SHA-256 of exactly those bytes. The
manifest travels as its signature (64 bytes) followed by its bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StrictBool, TypeAdapter

from murmura.algorithms import algorithm as named
from murmura.channel.chain import Chain, chain
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Algorithm, FederationInfo, Phase
from murmura.core.errors import MurmuraError
from murmura.core.feature_codec import decode_features, encode_features
from murmura.core.interactions import Vocabulary
from murmura.core.samples import Classification
from murmura.core.settings import from_dict
from murmura.runtimes.http.protocol.keys import check_signature
from murmura.runtimes.http.protocol.refusals import RefusedError, json_object
from murmura.runtimes.http.protocol.wire import SIGNATURE_BYTES, check_version

ChannelMode = Literal["secure-sum", "readable"]
LARGEST = 1 << 16  # bytes of a manifest
MOST_VALUES = 1 << 24  # of one sample, and classes
Hexadecimal = Annotated[str, Field(pattern="^([0-9a-fA-F]{2})*$")]
PublicKey = Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")]
Size = Annotated[int, Field(strict=True, ge=0)]
Count = Annotated[int, Field(strict=True, ge=0, lt=2**32)]
Seconds = Annotated[int | float, Field(ge=0, lt=2**40)]


@dataclass(frozen=True)
class AggregatorAddress:
    """An aggregator as devices see it."""

    url: str
    key: PublicKey


@dataclass(frozen=True)
class Manifest:
    """One round."""

    protocol: int
    federation: Hexadecimal  # a random name, hexadecimal: no message of one federation fits another
    serial: Count  # counted from 0: one manifest each
    round: Count  # what a device draws its randomness with; an exchange that failed is done again under another
    nonce: Hexadecimal
    previous: Hexadecimal  # hash of the manifest before this one, "" for the first
    preset: str  # the method's name on the command line
    settings: Mapping[str, Any]
    phase: str
    combine: Literal["sum", "each"]
    mode: ChannelMode
    description: Hexadecimal  # hash of the Description
    model: Hexadecimal  # hash of the public model
    shapes: Mapping[str, list[Size]]  # of the model's arrays
    answers: StrictBool  # devices fetch an answer of their own first
    called: Count  # how many devices
    largest: Count  # no round of this phase calls more
    minimum: Count  # no sum of fewer is released
    opened: Seconds  # seconds since 1970
    deadline: Seconds
    hold: Seconds  # seconds a device waits at least before it sends: longer than training takes
    spread: Seconds  # and the width of the window its sending time is drawn from
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
        values = json_object(content, "a manifest must be a JSON object, but is something else.")
        check_version(values.get("protocol"))
        if set(values) != {field.name for field in fields(Manifest)}:
            raise RefusedError(
                "malformed", "a manifest must have exactly the fields of docs/wire.md, but has others."
            )
        try:
            read = _MANIFEST.validate_python(values)
            pair = read.seed_aggregator is not None and read.vector_aggregator is not None
            if pair != (read.mode == "secure-sum"):
                raise ValueError
        except ValueError:
            raise RefusedError("malformed", "a field of the manifest has the wrong type.") from None
        if read.encode() != content:
            raise RefusedError("malformed", "a manifest must be in canonical form, but is not.")
        return read

    def algorithm(self) -> Algorithm:
        """The method as this round is configured; refuses one this version does not know."""
        try:
            return named(self.preset).rebuilt(self.settings)
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


_MANIFEST = TypeAdapter(Manifest)


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
    feature_hash: str = ""  # of the item features that devices download; "": the method uses none

    @staticmethod
    def of(items: Vocabulary, info: FederationInfo) -> FederationDescription:
        """The description of a federation that begins; samples are their owners', and none is listed."""
        items = items if info.task is None else Vocabulary(np.zeros(0, np.int64))
        content = None if info.features is None else encode_features(info.features)
        name = "" if content is None else hashlib.sha256(content).hexdigest()
        return FederationDescription(items, info, name)

    def with_features(self, content: bytes) -> FederationDescription:
        """The same with the item features in `content`; refuses any that do not fit."""
        try:
            features = decode_features(content)
        except MurmuraError as error:
            raise RefusedError("malformed", str(error)) from None
        if features.items != len(self.items) or len(features) != self.info.feature_count:
            raise RefusedError("malformed", "the item features must be those of the items, but are others.")
        return replace(self, info=replace(self.info, features=features))

    def encode(self) -> bytes:
        """The canonical bytes; of item features their number and their hash."""
        p = self.info
        names = {} if not self.feature_hash else {"features": [p.feature_count, self.feature_hash]}
        task = {} if p.task is None else {"task": {"shape": list(p.task.shape), "classes": p.task.classes}}
        return canonical(
            {
                **names,
                **task,
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
        read = json_object(content, "a description must be a JSON object, but is something else.")
        try:
            items = Vocabulary(np.array(read["items"]).reshape(len(read["items"])))
            listed = np.array(read["listed"], np.int32).reshape(len(read["listed"]))
            sizes = int(read["clients"]), int(read["interactions"])
            counts = None if read["counts"] is None else np.array(read["counts"], np.int64).reshape(len(items))
            features, name = read.get("features", (0, ""))
            if "features" in read and len(bytes.fromhex(name)) != hashlib.sha256().digest_size:
                raise ValueError
            info = FederationInfo(
                len(items),
                listed,
                *sizes,
                people=int(read["people"]),
                counts=counts,
                feature_count=int(features),
                task=_task(read["task"]) if "task" in read else None,
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            raise RefusedError(
                "malformed", "a description must have the fields of docs/wire.md, but has not."
            ) from None
        if counts is not None and (counts.min(initial=0) < 0 or int(counts.sum()) >= 2**32):
            raise RefusedError("malformed", "counts of items must be from 0 and add up to less than 2**32.")
        if len(listed) and (listed.min() < 0 or listed.max() >= len(items) or (np.diff(listed) <= 0).any()):
            raise RefusedError(
                "malformed", "the listed items must be numbers of items, ascending, but are not."
            )
        return FederationDescription(items, info, name)


def _task(read: Any) -> Classification:
    """What a classifier is asked; refuses shapes and numbers of classes that no samples have."""
    shape, classes = tuple(read["shape"]), read["classes"]
    whole = all(type(one) is int and one > 0 for one in (*shape, classes))
    if not whole or not shape or classes < 2 or max(classes, math.prod(shape)) > MOST_VALUES:
        raise ValueError
    return Classification(shape, classes)


def canonical(value: Any) -> bytes:
    """One spelling for everyone."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
