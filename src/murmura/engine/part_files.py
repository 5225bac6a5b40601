"""The parts of a run folder as plain values; a part that cannot be read is refused in one sentence."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from murmura.core.arrays import Floats
from murmura.core.errors import RunError
from murmura.core.files import write_whole

T = TypeVar("T")


@dataclass(frozen=True)
class PartFiles:
    """A folder of JSON, CSV and TSV parts; a part is there completely or not at all."""

    path: Path

    def has(self, name: str) -> bool:
        """Whether a part is there."""
        return (self.path / name).is_file()

    def write(self, name: str, text: str) -> None:
        """A text part, complete or not at all."""
        write_whole(self.path / name, text.encode())

    def write_json(self, name: str, value: Any) -> None:
        """A JSON part."""
        self.write(name, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def write_table(
        self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ","
    ) -> None:
        """A CSV or TSV part."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
        self.write(name, text.getvalue())

    def read(self, name: str) -> Any:
        """A JSON part."""
        try:
            return json.loads(self._text(name))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise RunError(f"{self.path / name} is damaged ({error}); run it again.") from None

    def read_object(self, name: str) -> dict[str, Any]:
        """A JSON object, {} where there is none."""
        found = self.read(name) if self.has(name) else {}
        if not isinstance(found, dict):
            raise RunError(
                f"{self.path / name} must hold an object, but holds {type(found).__name__}; run it again."
            )
        return found

    def read_typed(self, name: str, kind: type[T], key: str, again: str) -> T | None:
        """A JSON part, or what is under a key of it, checked to be of a kind; None if there is no such part."""
        if not self.has(name):
            return None
        found = self.read(name)
        try:
            typed: T = TypeAdapter(kind).validate_python(found[key] if key else found)
        except (KeyError, TypeError, ValidationError):
            raise RunError(f"{self.path / name} is damaged: delete it and {again}.") from None
        return typed

    def read_numbers(self, name: str) -> dict[str, float]:
        """The numbers of a JSON object; what is not a number is left out."""
        return {
            printable(key): float(value)
            for key, value in self.read_object(name).items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def read_table(self, name: str, separator: str = ",") -> tuple[list[str], list[list[str]]]:
        """A CSV or TSV part: its header and its rows as text."""
        header, *rows = csv.reader(io.StringIO(self._text(name), newline=""), delimiter=separator)
        return header, rows

    def read_columns(
        self, name: str, separator: str = ",", /, **readers: Callable[[str], Any]
    ) -> list[tuple[Any, ...]]:
        """Some columns of a CSV or TSV part, every field read by its column's reader."""
        try:
            header, rows = self.read_table(name, separator)
            places = [(header.index(column), read) for column, read in readers.items()]
            return [tuple(read(row[place]) for place, read in places) for row in rows]
        except (ValueError, KeyError, IndexError):
            raise self._misfit(name) from None

    def read_grid(self, name: str, skip: int = 0) -> tuple[list[str], Floats, list[str]]:
        """A CSV of numbers after `skip` columns of text: its header, numbers (NaN: none) and first column."""
        try:
            header, rows = self.read_table(name)
            ids = [row[0] for row in rows] if skip else []
            values = np.array([[_number(text) for text in row[skip:]] for row in rows], np.float64)
            values = values.reshape(len(rows), len(header) - skip)
        except (ValueError, IndexError):
            raise self._misfit(name) from None
        return [printable(key) for key in header[skip:]], values, ids

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_bytes().decode()
        except FileNotFoundError:
            raise RunError(
                f"{self.path} has no {name}; the run has not come that far: run it to its end."
            ) from None

    def _misfit(self, name: str) -> RunError:
        return RunError(f"{self.path / name} is damaged: its lines do not fit its header; run it again.")


def object_part(name: str) -> cached_property[dict[str, Any]]:
    """An attribute of whatever has a `run`: a JSON object of its folder, read when it is first asked for."""
    return cached_property(lambda owner: owner.run.read_object(name))


def printable(text: object) -> str:
    """Text that can be shown: control characters, half characters and changes of direction become a mark."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", "\ufffd", str(text))


def ordered(keys: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Every key once, in the order it first appears."""
    return tuple(dict.fromkeys(key for some in keys for key in some))


def named(given: object, default: str) -> dict[str, Any]:
    """What a configuration may give by its name alone, written out: {"name": ...}."""
    return given if isinstance(given, dict) else {"name": str(given or default)}


def wrong_folder(path: Path, wanted: str, but: str, commands: str) -> RunError:
    """The sentence for a folder of another kind than the one that is wanted."""
    return RunError(f"{path} must be the folder of {wanted}, but {but}; give a folder {commands} printed.")


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
