"""The kit must refuse a step for many clients that mixes them up: each impostor fails both of its tests."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from murmura.core.client_batch import NO_ROW, BatchUpdate, ClientBatch
from murmura.core.contract import RoundContext
from murmura.core.errors import FederationError
from murmura.testing import AlgorithmKit

Step = tuple[Any, BatchUpdate]
Batched = Callable[[Any, RoundContext, Any, ClientBatch], Step]
EXAMPLE = Path(__file__).parents[2] / "examples" / "murmura-compiled" / "murmura_compiled.py"


def example() -> ModuleType:
    """The package of the page on batched steps, whose step is right."""
    spec = importlib.util.spec_from_file_location(EXAMPLE.stem, EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[EXAMPLE.stem] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PULL = example().Pull


def honest(self: Any, context: RoundContext, states: Any, batch: ClientBatch) -> Step:
    made: Step = PULL.clients_step(self, context, states, batch)
    return made


def padding(self: Any, context: RoundContext, states: Any, batch: ClientBatch) -> Step:
    """The mean vector takes the padding in, which is item 0."""
    everything = replace(batch)
    everything.__dict__["held"] = np.ones(batch.item.shape, np.bool_)
    return honest(self, context, states, everything)


def longest(self: Any, context: RoundContext, states: Any, batch: ClientBatch) -> Step:
    """The mean divides by the longest history of the batch."""
    return honest(self, context, states, replace(batch, length=np.full_like(batch.length, batch.item.shape[1])))


def neighbours(self: Any, context: RoundContext, states: Any, batch: ClientBatch) -> Step:
    """A thousandth of the neighbour's values is added to each one's own."""
    kept, sent = honest(self, context, states, batch)
    rows = sent.tables["items"]
    values = rows.values + 1e-3 * np.roll(rows.values, 1, axis=0)
    return kept, replace(sent, tables={"items": replace(rows, values=values)})


def one_stream(self: Any, context: RoundContext, states: Any, batch: ClientBatch) -> Step:
    """All flip the coins of the first."""
    same = np.broadcast_to(batch.secrets[:1], batch.secrets.shape).copy()
    return honest(self, context, states, replace(batch, secrets=same))


def unshared(self: Any, context: RoundContext, states: Any, batch: ClientBatch) -> Step:
    """All rows leave, whatever their coins say."""
    kept, sent = honest(self, context, states, batch)
    index = np.where(batch.held, batch.item, NO_ROW).astype(np.int32)
    return kept, replace(sent, tables={"items": replace(sent.tables["items"], index=index)})


def kit(step: Batched) -> AlgorithmKit:
    class Kit(AlgorithmKit):
        def make(self) -> Any:
            return type("Pull", (PULL,), {"clients_step": step})(rate=0.5)

    return Kit()


TESTS = [
    "test_many_clients_at_once_equal_the_plain_loop",
    "test_many_clients_at_once_send_what_each_sends_alone",
]


@pytest.mark.parametrize("test", TESTS)
def test_the_honest_step_passes(test: str) -> None:
    getattr(kit(honest), test)()


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("step", [padding, longest, neighbours, one_stream, unshared])
def test_an_impostor_fails(step: Batched, test: str) -> None:
    with pytest.raises((AssertionError, FederationError)):  # what an owner does not share is refused at once
        getattr(kit(step), test)()
