"""The parts of a run folder as plain values; a part that cannot be read is refused in one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from murmura.core.arrays import Floats
from murmura.core.errors import RunError
from murmura.engine.run_folder import Run

T = TypeVar("T")


def printable(text: object) -> str:
    """Text that can be shown: control characters, half characters and changes of direction become a mark."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", "\ufffd", str(text))


def ordered(keys: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Every key once, in the order it first appears."""
    return tuple(dict.fromkeys(key for some in keys for key in some))


def named(given: object, usual: str) -> dict[str, Any]:
    """What a configuration may give by its name alone, written out: {"name": ...}."""
    return given if isinstance(given, dict) else {"name": str(given or usual)}


def wrong_folder(path: Path, wanted: str, but: str, commands: str) -> RunError:
    """The sentence for a folder of another kind than the one that is wanted."""
    return RunError(f"{path} must be the folder of {wanted}, but {but}; give a folder {commands} printed.")


def read_object(run: Run, name: str) -> dict[str, Any]:
    """A JSON object, {} where there is none."""
    found = run.read(name) if run.has(name) else {}
    if not isinstance(found, dict):
        raise RunError(
            f"{run.path / name} must hold an object, but holds {type(found).__name__}; run it again."
        )
    return found


def object_part(name: str) -> cached_property[dict[str, Any]]:
    """An attribute of whatever has a `run`: a JSON object of its folder, read when it is first asked for."""
    return cached_property(lambda owner: read_object(owner.run, name))


def read_typed(run: Run, name: str, kind: type[T], key: str, again: str) -> T | None:
    """A JSON part, or what is under a key of it, checked to be of a kind; None where there is no such part."""
    if not run.has(name):
        return None
    found = run.read(name)
    try:
        typed: T = TypeAdapter(kind).validate_python(found[key] if key else found)
    except (KeyError, TypeError, ValidationError):
        raise RunError(f"{run.path / name} is damaged: delete it and {again}.") from None
    return typed


def read_numbers(run: Run, name: str) -> dict[str, float]:
    """The numbers of a JSON object; what is not a number is left out."""
    return {
        printable(key): float(value)
        for key, value in read_object(run, name).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def read_columns(
    run: Run, name: str, separator: str = ",", /, **readers: Callable[[str], Any]
) -> list[tuple[Any, ...]]:
    """Some columns of a CSV or TSV part, every field read by its column's reader."""
    try:
        header, rows = run.read_table(name, separator)
        places = [(header.index(column), read) for column, read in readers.items()]
        return [tuple(read(row[place]) for place, read in places) for row in rows]
    except (ValueError, KeyError, IndexError):
        raise RunError(
            f"{run.path / name} is damaged: its lines do not fit its header; run it again."
        ) from None


def read_grid(run: Run, name: str, skip: int = 0) -> tuple[list[str], Floats, list[str]]:
    """A CSV of numbers after `skip` columns of text: its header, numbers (NaN: none) and first column."""
    try:
        header, rows = run.read_table(name)
        ids = [row[0] for row in rows] if skip else []
        values = np.array([[_number(text) for text in row[skip:]] for row in rows], np.float64)
        values = values.reshape(len(rows), len(header) - skip)
    except (ValueError, IndexError):
        raise RunError(
            f"{run.path / name} is damaged: its lines do not fit its header; run it again."
        ) from None
    return [printable(key) for key in header[skip:]], values, ids


def whole_number(value: object) -> int:
    """A seed, or a number of seeds, as a configuration has it."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise RunError(
        f"seed and seeds in config.yaml must be whole numbers, but one is {value!r}; give an unchanged folder."
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
