"""What every baseline promises (tests/baselines/test_kit.py), kept by the networks as well."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

from murmura.baselines import BASELINES, baseline
from murmura.core.model import Model
from tests.baselines import kit, test_kit
from tests.neural.quick import QUICK

NEURAL = [name for name in BASELINES if baseline(name).extra == "neural"]
PROMISES = [
    promise
    for title, promise in vars(test_kit).items()
    if title.startswith("test_") and "name" in inspect.signature(promise).parameters
]


@pytest.fixture(scope="module")
def fitted() -> Iterator[dict[str, Model]]:
    with pytest.MonkeyPatch.context() as patch:
        for name in NEURAL:
            patch.setitem(kit.QUICK, name, QUICK[name])
        yield {name: kit.quick(name).fit(kit.scattered(), seed=5) for name in NEURAL}


@pytest.mark.parametrize("name", NEURAL)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__.removeprefix("test_"))
def test_promise(
    promise: Callable[..., None], name: str, fitted: dict[str, Model], request: pytest.FixtureRequest
) -> None:
    known: dict[str, Any] = {"name": name, "fitted": fitted}
    wanted = inspect.signature(promise).parameters
    promise(**{each: known[each] if each in known else request.getfixturevalue(each) for each in wanted})


def test_there_are_promises_and_networks_to_keep_them() -> None:
    assert len(PROMISES) >= 10
    assert NEURAL == ["multvae", "neumf", "sasrec"]
