"""The public description of a federation: the items by name, and how large it is.

JSON in one canonical form (keys sorted, no spaces), named by the SHA-256 of exactly those bytes.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from murmura.core.contract import Algorithm, FederationInfo
from murmura.core.errors import MurmuraError
from murmura.core.features import decode_features, encode_features
from murmura.core.interactions import Classification, Vocabulary
from murmura.wire.refusals import json_object, malformed
from murmura.wire.signed_records import SignedRecord
from murmura.wire.wire import unpack_arrays

MOST_VALUES = 1 << 24  # of one sample, and classes


@dataclass(frozen=True, eq=False)
class FederationDescription(SignedRecord):
    """What every machine knows: the items by name, and how large the federation is."""

    said: ClassVar = "a description"
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
            raise malformed(str(error)) from None
        if features.items != len(self.items) or len(features) != self.info.feature_count:
            raise malformed("the item features must be those of the items, but are others.")
        return replace(self, info=replace(self.info, features=features))

    def with_counts(self, content: bytes) -> FederationDescription:
        """The same with the counts of items that were made public; refuses any that do not fit."""
        read = unpack_arrays(content).get("counts")
        if read is None or read.shape != (len(self.items),) or read.dtype != np.uint32:
            raise malformed("the counts must be one uint32 for every item, but are something else.")
        return replace(self, info=replace(self.info, counts=read.astype(np.int64)))

    def check_for(self, algorithm: Algorithm) -> None:
        """Refuse counts for a method whose devices tell them: nobody could say where these are from."""
        if algorithm.releases_counts and self.info.counts is not None:
            raise malformed(
                f"the description for {algorithm.name}, which sums up the counts of items, must have none, but "
                "has some; take no part."
            )

    def plain(self) -> dict[str, Any]:
        """The JSON object that it is; of item features their number and their hash."""
        p = self.info
        features = {"features": [p.feature_count, self.feature_hash]} if self.feature_hash else {}
        task = {} if p.task is None else {"task": {"shape": list(p.task.shape), "classes": p.task.classes}}
        return {
            **features,
            **task,
            "items": self.items.labels.tolist(),
            "listed": p.listed.tolist(),
            "clients": p.clients,
            "interactions": p.interactions,
            "people": p.people,
            "counts": None if p.counts is None else p.counts.tolist(),
        }

    @classmethod
    def decode(cls, content: bytes) -> Self:
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
            raise malformed("a description must have the fields of docs/wire.md, but has not.") from None
        whole = (*sizes, info.people, info.feature_count)
        if items.labels.dtype.kind == "O" or not all(0 <= n < 2**32 for n in whole) or not info.people:
            raise malformed("a description must have names of items and sizes, but has others.")
        if counts is not None and (counts.min(initial=0) < 0 or int(counts.sum()) >= 2**32):
            raise malformed("counts of items must be from 0 and add up to less than 2**32.")
        if len(listed) and (listed.min() < 0 or listed.max() >= len(items) or (np.diff(listed) <= 0).any()):
            raise malformed("the listed items must be numbers of items, ascending, but are not.")
        return cls(items, info, name)


def _task(read: Any) -> Classification:
    """What a classifier is asked; refuses shapes and numbers of classes that no samples have."""
    shape, classes = tuple(read["shape"]), read["classes"]
    whole = all(type(one) is int and one > 0 for one in (*shape, classes))
    if not whole or not shape or classes < 2 or max(classes, math.prod(shape)) > MOST_VALUES:
        raise ValueError
    return Classification(shape, classes)
