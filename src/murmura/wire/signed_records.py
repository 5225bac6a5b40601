"""JSON in one spelling: what is signed and named by its hash has exactly one form."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter

from murmura.wire.refusals import json_object, malformed
from murmura.wire.wire import check_version

DEEPEST = 8  # objects and lists in each other: no method has settings of more, and who reads on would never end


class _Encoded(Protocol):
    def encode(self) -> bytes:
        """The canonical bytes."""


T = TypeVar("T", bound=_Encoded)


def canonical(value: Any) -> bytes:
    """One spelling for everyone."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def read_canonical(made: TypeAdapter[T], kind: type[T], content: bytes, what: str) -> T:
    """A value in canonical bytes; refuses another version, other fields, other types and other spellings."""
    values = json_object(content, f"{what} must be a JSON object, but is something else.")
    check_version(values.get("protocol"))
    if _depth(values) > DEEPEST:
        raise malformed(f"{what} must be nested {DEEPEST} deep at most, but is deeper.")
    if set(values) != {field.name for field in fields(kind)}:  # type: ignore[arg-type]
        raise malformed(f"{what} must have exactly the fields of docs/wire.md, but has others.")
    try:
        read = made.validate_python(values)
        spelled = read.encode()  # numbers that JSON has no spelling for are of no type
    except ValueError:
        raise malformed(f"a field of {what} has the wrong type.") from None
    if spelled != content:
        raise malformed(f"{what} must be in canonical form, but is not.")
    return read


def _depth(value: object) -> int:
    """How many objects and lists are in each other; not counted further than what is refused."""
    layer, depth = [value], 0
    while depth <= DEEPEST and (layer := [one for one in layer if isinstance(one, dict | list)]):
        layer = [inner for one in layer for inner in (one.values() if isinstance(one, dict) else one)]
        depth += 1
    return depth
