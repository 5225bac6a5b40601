"""Comparisons of what federations make: to the bit, or within a stated error."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from murmura.channel.ledger import Ledger
from murmura.core.update import Update

T = TypeVar("T")


def frozen(value: T) -> T:
    """The same value, every array in it read-only: whoever changes an argument fails."""
    if isinstance(value, np.ndarray):
        shut = value.copy()
        shut.flags.writeable = False
        return shut
    if isinstance(value, Mapping):
        return {key: frozen(inner) for key, inner in value.items()}  # type: ignore[return-value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: frozen(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return type(value)(**parts)
    return value


def assert_same_bits(one: Any, other: Any, name: str) -> None:
    """Equal types, shapes and bits, down through mappings and dataclasses."""
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, f"{name} is {one.dtype} and {other.dtype}"
        assert one.shape == other.shape, f"{name} has the shapes {one.shape} and {other.shape}"
        assert one.tobytes() == other.tobytes(), f"{name} differs by up to {_gap(one, other)}"
    elif isinstance(one, Mapping):
        assert one.keys() == other.keys(), f"{name} holds {set(one)} and {set(other)}"
        for key in one:
            assert_same_bits(one[key], other[key], f"{name}.{key}")
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same_bits(getattr(one, field.name), getattr(other, field.name), f"{name}.{field.name}")
    else:
        assert one == other, f"{name} is {one!r} and {other!r}"


def assert_same_ledger(one: Ledger, other: Ledger) -> None:
    """Equal traffic line by line, equal disclosed fractions of items and features, equal rows of every item."""
    assert one.totals == other.totals, f"the totals are {one.totals} and {other.totals}"
    assert one.lines == other.lines, "the ledgers have different lines"
    assert np.array_equal(one.disclosed, other.disclosed, equal_nan=True), "disclosed fractions differ"
    assert (one.item_rows == other.item_rows).all(), "items were sent differently often"
    assert (one.features is None) == (other.features is None), "only one ledger knows of features"
    if one.features is not None and other.features is not None:
        assert np.array_equal(one.features, other.features, equal_nan=True), "disclosed features differ"


def assert_close(one: Any, other: Any, error: float, name: str) -> None:
    """Within `error` of each other, relative to the largest value where that is above 1."""
    allowed = error * max(1.0, float(np.abs(one).max(initial=0.0)))
    assert _gap(one, other) <= allowed, f"{name} differs by {_gap(one, other):.1e}, allowed is {allowed:.1e}"


def same_update(one: Update, other: Update) -> bool:
    """Equal to the bit."""
    try:
        assert_same_bits(dict(one.tables), dict(other.tables), "tables")
    except AssertionError:
        return False
    return dict(one.scalars) == dict(other.scalars)


def _gap(one: Any, other: Any) -> float:
    return float(np.abs(np.asarray(one, np.float64) - other).max(initial=0.0))
