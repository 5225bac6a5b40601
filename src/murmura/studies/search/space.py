"""A search space: what each setting may be, a list of values or a range of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from murmura.core.errors import SettingError

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

    def text(self) -> str:
        """As it is written on the command line."""
        return f"{self.low:.12g}:{self.high:.12g}{':log' * self.log}{':int' * self.whole}"


Space = dict[str, "Range | list[Any]"]


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


def corners(space: Space) -> list[dict[str, Any]]:
    """Settings that show whether every end of every range and every value is allowed, one changed at a time."""
    ends = {
        key: axis if isinstance(axis, list) else [axis.value(axis.low), axis.value(axis.high)]
        for key, axis in space.items()
    }
    first = {key: values[0] for key, values in ends.items()}
    return [{**first, key: value} for key, values in ends.items() for value in values]
