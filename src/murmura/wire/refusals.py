"""Why a machine of the federation says no: a short code for programs, one sentence for people.

Every refusal travels as {"error": code, "message": sentence} under the HTTP status of its code.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from murmura.core.errors import FederationError, MurmuraError

T = TypeVar("T")
STATUS = {
    "malformed": 400,  # not what docs/wire.md describes
    "unauthorised": 401,  # no token, or not the operator's
    "forged": 403,  # a signature or a hash does not fit
    "not-called": 403,  # the device is not in this round's cohort
    "unknown": 404,  # no such round, model, device or address
    "method": 405,
    "duplicate": 409,  # something else was accepted under this name before
    "replay": 409,  # of another round or another manifest
    "invalid": 409,  # a proof does not hold; what was sent is not added, and the others go on
    "left-out": 409,  # the server has read an update and will not use it; the others go on
    "released": 409,  # a sum of this round has been released; it is final
    "too-few": 409,  # fewer reports than the minimum cohort
    "no-twin": 409,  # the other aggregator has no share of this report
    "late": 410,  # the round is over
    "finished": 410,  # there will be no further round
    "lost": 410,  # the aggregator was restarted during this round
    "oversize": 413,
    "version": 426,  # the other side speaks another version of the protocol
    "rate": 429,
    "paused": 503,  # no round is open
    "full": 503,  # nothing can be written down, so nothing is accepted
}


LONGEST = 1000  # characters of a sentence that another machine says


class RefusedError(FederationError):
    """A typed no."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(printable(message))
        self.code = code

    @property
    def status(self) -> int:
        """Its HTTP status."""
        return STATUS[self.code]

    def body(self) -> bytes:
        """As it travels."""
        return json.dumps({"error": self.code, "message": str(self)}).encode()

    @staticmethod
    def read(status: int, body: bytes) -> RefusedError:
        """The refusal a reply carries; anything unreadable is malformed."""
        try:
            content = json.loads(body)
            code, message = str(content["error"]), str(content["message"])[:LONGEST]
        except (ValueError, KeyError, TypeError, RecursionError):
            code, message = "malformed", f"the other side answered {status} without saying why."
        return RefusedError(code if code in STATUS else "malformed", message)


def malformed(message: str) -> RefusedError:
    """It is not what docs/wire.md describes."""
    return RefusedError("malformed", message)


def forged(message: str) -> RefusedError:
    """A signature, a hash or what was agreed does not fit."""
    return RefusedError("forged", message)


def known(found: T | None, otherwise: str) -> T:
    """What was found; the refusal of what is unknown where nothing was."""
    if found is None:
        raise RefusedError("unknown", otherwise)
    return found


def printable(text: str) -> str:
    """A text of another machine as it may be shown: nothing in it moves a cursor or turns the line around."""
    shown = (one if one.isprintable() else " " if one.isspace() else "�" for one in text)
    return text if text.isprintable() else "".join(shown)


def json_object(content: bytes, otherwise: str) -> dict[str, Any]:
    """The JSON object in a message; anything else is refused with the sentence `otherwise`."""
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise RefusedError("malformed", otherwise)
    return read


class UnreachableError(MurmuraError):
    """A machine of the federation does not answer."""

    exit_code = 4


def path_number(text: str) -> int:
    """The number a part of a path names; refuses anything else."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise malformed("the path must name a number, but does not.")
    return int(text)
