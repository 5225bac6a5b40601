"""What a search tries: lists of values and ranges, every combination of a grid, the edge a choice may lie on.

Beyond the edge of what was tried there may be better settings. Of a list of two numbers every choice is an end,
so only three or more have an edge; a range has one within a twentieth of it. An end beyond which the model
allows nothing (a share of 1, a shrinkage of 0) is none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from murmura.core.errors import SettingError
from murmura.studies.methods import method_class

NEAR = 0.05  # of a range
SHOWN = 4  # significant digits of a drawn number: more say nothing, and a person may want to type it


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; by their logarithm, or whole ones, or both."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SettingError(
                f"a range must be LOW:HIGH with LOW below HIGH, but it is {self.low:g}:{self.high:g}; "
                "write for example alpha=0.01:0.3:log."
            )
        if self.log and self.low <= 0:
            raise SettingError(f"a :log range must begin above 0, but begins at {self.low:g}; leave :log out.")
        if self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise SettingError(
                f"an :int range must have whole ends, but they are {self.low:g} and {self.high:g}."
            )

    def value(self, drawn: float) -> float | int:
        """A drawn number as a setting: whole where whole ones are meant, otherwise SHOWN digits of it."""
        if self.whole:
            return round(drawn)
        return min(self.high, max(self.low, float(f"{drawn:.{SHOWN}g}")))


Values = Annotated[list[Any], Field(min_length=1)]
Axes = dict[str, Values | str]  # a setting -> the values that are tried, or a range LOW:HIGH[:log][:int]
Space = dict[str, "Range | list[Any]"]  # the same, ranges read


def parse_range(text: str) -> Range:
    """`LOW:HIGH[:log][:int]`."""
    low, _, rest = text.partition(":")
    high, *marks = rest.split(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if any(math.isnan(end) for end in ends) or not set(marks) <= {"log", "int"}:
        raise SettingError(
            f"a range must be LOW:HIGH, with :log or :int after it, but it is '{text}'; "
            "write for example alpha=0.01:0.3:log."
        )
    return Range(*ends, "log" in marks, "int" in marks)


def space_of(axes: Mapping[str, list[Any] | str]) -> Space:
    """What each setting may be, ranges read."""
    return {key: parse_range(axis) if isinstance(axis, str) else axis for key, axis in axes.items()}


def has_range(axes: Mapping[str, list[Any] | str]) -> bool:
    """Whether they are a space for tpe; otherwise they are a grid."""
    return any(isinstance(axis, str) for axis in axes.values())


def corners(space: Space) -> list[dict[str, Any]]:
    """Settings that show whether every end of every range and every value is allowed, one changed at a time."""
    ends = {
        key: axis if isinstance(axis, list) else [axis.value(axis.low), axis.value(axis.high)]
        for key, axis in space.items()
    }
    first = {key: values[0] for key, values in ends.items()}
    return [{**first, key: value} for key, values in ends.items() for value in values]


def grid(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination, the last axis fastest."""
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def edges(model: str, chosen: Mapping[str, Any], axes: Mapping[str, list[Any] | str]) -> dict[str, str]:
    """The settings that are the lowest or the highest of what was tried, and what that was in words."""
    found = {}
    allowed = TypeAdapter(method_class(model)).json_schema()["properties"]
    for key, axis in space_of(axes).items():
        value = chosen.get(key)
        if not _is_number(value) or key not in allowed:
            continue
        low, high, side = _side(float(value), axis)  # type: ignore[arg-type]
        bound = allowed[key].get("minimum" if side == "lowest" else "maximum")
        if side and value != bound:
            found[key] = f"{key}={value:g} is the {side} of {low:g} to {high:g}"
    return found


def _side(value: float, axis: Range | list[Any]) -> tuple[float, float, str]:
    """Between which numbers it was looked for, and at which end the value is; "" for neither."""
    if isinstance(axis, Range):
        low, high, near = axis.low, axis.high, NEAR
        place = math.log(value / low) / math.log(high / low) if axis.log else (value - low) / (high - low)
    else:
        numbers = sorted({float(one) for one in axis if _is_number(one)})
        if len(numbers) < 3:
            return value, value, ""
        low, high, near = numbers[0], numbers[-1], 0.0
        place = (value - low) / (high - low)
    return low, high, "lowest" if place <= near else "highest" if place >= 1 - near else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def edge_sentence(found: Mapping[str, str]) -> str:
    """One line for the person who searched; "" where nothing is on an edge."""
    if not found:
        return ""
    return f"the search ended on the edge of what it tried ({', '.join(found.values())}): try beyond it."
