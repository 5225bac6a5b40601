"""Whether a choice lies on the edge of what was tried: beyond it there may be better settings.

Of a list of two numbers every choice is an end, so only three or more have an edge; a range has one within a
twentieth of it. An end beyond which the model allows nothing (a share of 1, a shrinkage of 0) is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import TypeAdapter

from murmura.studies.methods import method_class
from murmura.studies.search.tpe import Range, space_of

if TYPE_CHECKING:
    from murmura.studies.compare.run import Comparison

NEAR = 0.05  # of a range


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


def kept_on_edges(plan: Comparison) -> str:
    """One line about kept settings of a comparison that won on the edge of their grid; "" where none did."""
    told = []
    grids = _kept_grids().get(plan.prepared.protocol.name) or {}
    for entry in plan.entries:
        axes = (grids.get(plan.prepared.data) or {}).get(entry.model) or {}
        if not entry.by_rule and (found := edges(entry.model, entry.usual, axes)):
            told.append(f"{entry.label} ({', '.join(found.values())})")
    if not told:
        return ""
    return (
        f"Kept settings on the edge of what was tried: {'; '.join(told)}. murmura search may find better ones."
    )


@cache
def _kept_grids() -> dict[str, Any]:
    """The grids behind the settings the package keeps: protocol -> data -> model -> axes."""
    from murmura.studies.configuration import experiment_folder

    values = yaml.safe_load((experiment_folder() / "defaults.yaml").read_text("utf-8"))
    return dict(values["grids"])
