"""What an algorithm must implement, said by name where it is missing: the first question of every test."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import SkipTest

from murmura.core.contract import Algorithm, FederationInfo, Phase, ServerState
from murmura.core.errors import FederationError
from murmura.core.update import Update


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
