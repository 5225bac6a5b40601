"""What travels between the server of a federation and a silo: a request for one exchange, and its reply.

Both are one message of named arrays (`pack_arrays` of the wire format), with the plain values as JSON in the
array `about`. Equal content, equal bytes: a request repeated after a restart is the same request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.errors import FederationError
from murmura.core.files import answers_of, flat_answers, group, prefixed
from murmura.engine.itinerary import Position
from murmura.runtimes.ranges import Request
from murmura.wire.wire import pack_arrays, unpack_arrays


@dataclass(frozen=True)
class SiloIntroduction:
    """Who a silo is: the server learns how many people it has, and which numbers are theirs."""

    federation: str
    first: int
    clients: int

    def encode(self) -> bytes:
        """As it travels."""
        return json.dumps(vars(self), sort_keys=True).encode()

    @staticmethod
    def decode(message: bytes) -> SiloIntroduction:
        """From what travelled."""
        return SiloIntroduction(**json.loads(message))


@dataclass(frozen=True, eq=False)
class SiloRequest(Request):
    """One exchange, as it is asked of a silo: the cohort is counted from its first client."""

    federation: str = ""  # the name of the terms

    def encode(self) -> bytes:
        """As it travels."""
        about = {"federation": self.federation, "at": json.loads(self.at.encode()), "phase": self.phase}
        arrays, cohort = prefixed(model=self.model, answers=flat_answers(self.answers)), self.cohort
        assert cohort is not None
        return pack_arrays({**arrays, "cohort": cohort, "about": _plain(about)})

    @staticmethod
    def decode(message: bytes) -> SiloRequest:
        """From what travelled."""
        arrays, about = _read(message, ("federation", "at", "phase"), ("cohort",))
        return SiloRequest(
            Position(**about["at"]),
            str(about["phase"]),
            group(arrays, "model"),
            arrays["cohort"].astype(np.int32),
            answers_of(group(arrays, "answers")),
            federation=str(about["federation"]),
        )


@dataclass(frozen=True, eq=False)
class SiloReply:
    """What a silo answers: the packed sum of its people's vectors, or each update where there is no channel."""

    request: str = ""  # the SHA-256 of the request it answers
    people: int = 0  # whose updates are in it
    vector: bytes = b""
    updates: Mapping[int, bytes] = field(default_factory=dict)  # by client of the silo
    refused: Mapping[int, str] = field(default_factory=dict)  # whose update was left out, and why
    declined: str = ""  # why nothing was sent

    def encode(self) -> bytes:
        """As it travels."""
        about = {
            "request": self.request,
            "people": self.people,
            "refused": {str(client): why for client, why in self.refused.items()},
            "declined": self.declined,
        }
        updates = {str(client): as_array(update) for client, update in self.updates.items()}
        return pack_arrays(
            {**prefixed(updates=updates), "vector": as_array(self.vector), "about": _plain(about)}
        )

    @staticmethod
    def decode(message: bytes) -> SiloReply:
        """From what travelled."""
        arrays, about = _read(message, ("request", "people", "refused", "declined"), ("vector",))
        updates = {int(client): update.tobytes() for client, update in group(arrays, "updates").items()}
        return SiloReply(
            str(about["request"]),
            int(about["people"]),
            arrays["vector"].tobytes(),
            dict(sorted(updates.items())),
            {int(client): str(why) for client, why in about["refused"].items()},
            str(about["declined"]),
        )


def name_of(message: bytes) -> str:
    """What a message is called: its SHA-256."""
    return hashlib.sha256(message).hexdigest()


def _plain(values: Mapping[str, Any]) -> NDArray[Any]:
    return as_array(json.dumps(values, sort_keys=True).encode())


def as_array(content: bytes) -> NDArray[Any]:
    """Bytes among the arrays of a message."""
    return np.frombuffer(content, np.uint8)


def _read(
    message: bytes, plain: tuple[str, ...], wanted: tuple[str, ...]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the plain values; refuses a message that lacks any."""
    arrays = unpack_arrays(message)
    about = json.loads(arrays.pop("about").tobytes()) if "about" in arrays else {}
    if missing := [name for name in (*plain, *wanted) if name not in about and name not in arrays]:
        raise FederationError(
            f"a message between server and silo must have {', '.join((*plain, *wanted))}, but lacks "
            f"{missing[0]}; both sides need the same version of Murmura."
        )
    return arrays, about
