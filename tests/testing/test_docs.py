"""The page on writing an algorithm is true: its code runs, and its algorithm passes the kit."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "new-algorithm.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    module = ModuleType("page_new_algorithm")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), module.__dict__)
    return module.__dict__


def test_the_example_trains(page: dict[str, Any]) -> None:
    fitted = page["fitted"]
    assert fitted.rounds == 1
    assert np.nanmean(fitted.ledger.disclosed) < 0.5
    assert page["lists"].item.shape == (24, 5)


def test_the_example_keeps_every_promise(page: dict[str, Any]) -> None:
    kit = page["TestPairs"]()
    tests = [name for name in dir(kit) if name.startswith("test_")]
    assert len(tests) >= 10
    for name in tests:
        getattr(kit, name)()
