"""What the kit checks: that a method is there, by its name, and that what it makes is equal or close."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest import SkipTest

import numpy as np

from murmura.channel.ledger import Ledger
from murmura.core.contract import Algorithm, FederationInfo, Phase, ServerState
from murmura.core.errors import FederationError
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
    elif isinstance(one, tuple):
        assert len(one) == len(other), f"{name} holds {len(one)} and {len(other)}"
        for place, (first, second) in enumerate(zip(one, other)):
            assert_same_bits(first, second, f"{name}[{place}]")
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


def assert_close_messages(one: Update, other: Update, error: float, name: str) -> None:
    """Equal rows of the same tables, values and scalars within `error` of each other."""
    assert one.tables.keys() == other.tables.keys(), f"{name} holds {set(one.tables)} and {set(other.tables)}"
    for table, rows in one.tables.items():
        assert_same_bits(rows.index, other.tables[table].index, f"the rows of '{table}' in {name}")
        assert_close(rows.values, other.tables[table].values, error, f"'{table}' in {name}")
    for scalar, value in one.scalars.items():
        assert_close(value, other.scalars[scalar], error, f"'{scalar}' in {name}")


def same_update(one: Update, other: Update) -> bool:
    """Equal to the bit."""
    try:
        assert_same_bits(dict(one.tables), dict(other.tables), "tables")
    except AssertionError:
        return False
    return dict(one.scalars) == dict(other.scalars)


def _gap(one: Any, other: Any) -> float:
    return float(np.abs(np.asarray(one, np.float64) - other).max(initial=0.0))


def made(make: Callable[[], Algorithm]) -> Algorithm:
    """The algorithm under test, or what its class lacks to be one."""
    try:
        found = make()
    except TypeError as error:
        missing = [
            name for name in sorted(Algorithm.__abstractmethods__) if re.search(rf"\b{name}\b", str(error))
        ]
        if "abstract" not in str(error) or not missing:
            raise
        raise AssertionError("; ".join(map(to_write, missing))) from None
    name = type(found).__name__
    assert isinstance(found, Algorithm), f"make must return an Algorithm, but returned {found!r}."
    assert dataclasses.is_dataclass(found), f"{name} must be a frozen dataclass: put @settings above the class."
    assert isinstance(getattr(found, "name", None), str), f'{name} must state name: ClassVar[str] = "...".'
    return found


def to_write(method: str) -> str:
    """The sentence for a method that is not there: its signature, and what it is for."""
    expected = getattr(Algorithm, method)
    return f"write {method}{inspect.signature(expected)}: {inspect.getdoc(expected)}"


def require(algorithm: Algorithm, method: str) -> None:
    """Fail with what to write where an algorithm has only the contract's own version of a method."""
    own = getattr(type(algorithm), method) is not getattr(Algorithm, method)
    assert own, f"{type(algorithm).__name__} cannot be ranked with: {to_write(method)}"


def exchanges(algorithm: Algorithm, info: FederationInfo) -> tuple[Phase, ...]:
    """The phases there are; an algorithm without any exchanges nothing and is none."""
    phases = algorithm.phases(info)
    assert phases, f"{type(algorithm).__name__}.phases must declare at least one exchange, but returned none."
    return phases


def check_model(algorithm: Algorithm, info: FederationInfo, server: ServerState) -> None:
    """Every declared table is in the model, with as many numbers as declared."""
    name = type(algorithm).__name__
    assert isinstance(server, ServerState), (
        f"{name}.server_init must return a ServerState, but returned {server!r}."
    )
    for table in algorithm.publishes(info).tables:
        assert table.name in server.model, (
            f"{name}.server_init must fill the table '{table.name}' that publishes declares, but the model has "
            f"{sorted(server.model)}."
        )
        size, declared = server.model[table.name].size, table.rows * table.width
        assert size == declared, (
            f"the model's '{table.name}' must hold {table.rows} rows of {table.width} as {name}.publishes "
            f"declares, but holds {size} numbers."
        )


def check_step(algorithm: Algorithm, returned: object) -> Update:
    """The update of what `client_step` returned."""
    pair = isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], Update)
    name = type(algorithm).__name__
    assert pair, f"{name}.client_step must return (state, Update), but returned {type(returned).__name__}."
    update: Update = returned[1]  # type: ignore[index]
    return update


@contextmanager
def pure(algorithm: Algorithm, method: str) -> Iterator[None]:
    """Say which method changes its arguments; they are read-only here."""
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        where = f"{type(algorithm).__name__}.{method}"
        raise AssertionError(f"{where} must not change its arguments, but did; return new arrays.") from error


@contextmanager
def declared(algorithm: Algorithm, method: str, phase: str = "") -> Iterator[None]:
    """Say whose message is not what was declared."""
    try:
        yield
    except FederationError as error:
        where = f"{type(algorithm).__name__}.{method}" + (f" in phase '{phase}'" if phase else "")
        raise AssertionError(f"{where}: {error}") from error


def skip_unless(applies: bool, reason: str) -> None:
    """Leave out a test that asks for what an algorithm does not have."""
    if not applies:
        raise SkipTest(reason)
