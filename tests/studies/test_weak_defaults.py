"""Default settings that are worse than MostPop on the validation part are said before the table."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.core.catalogue import Dataset
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.weak_defaults import MOST_ROWS, below_mostpop
from tests.studies.worlds import small_world


def crowded() -> Dataset:
    """Everybody has what is popular, in an order that says nothing: few beat MostPop."""
    from murmura.core.interactions import Interactions

    rng = np.random.default_rng(0)
    odds = 1 / np.arange(1, 61)
    rows = [
        (u, i, t)
        for u in range(80)
        for t, i in enumerate(rng.choice(60, 20, replace=False, p=odds / odds.sum()))
    ]
    user, item, time = np.array(rows).T
    return replace(
        small_world(), interactions=Interactions.of(user, item, np.ones(len(user)), time.astype(np.int64))
    )


def said(data: Dataset, models: dict[str, dict[str, Any]]) -> list[str]:
    return list(below_mostpop(plan(data, "default", models)))


def test_a_weak_default_is_named_with_both_numbers() -> None:
    (line,) = said(crowded(), {"mostpop": {}, "bpr-mf": {}})
    assert line.startswith("bpr-mf: below MostPop on the validation part with settings nobody chose")
    found, level = (
        float(one) for one in (line.split("@10 ")[1].split(",")[0], line.split("MostPop ")[2].split(")")[0])
    )
    assert found < level


def test_what_was_given_or_is_good_enough_is_not_named() -> None:
    assert said(crowded(), {"bpr-mf": {"epochs": 1}, "mostpop": {}, "random": {}}) == []
    assert said(small_world(), {"item-knn": {}}) == []


def test_large_data_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("murmura.studies.compare.weak_defaults.MOST_ROWS", 10)
    assert MOST_ROWS > 10
    assert said(crowded(), {"bpr-mf": {}}) == []


def test_nothing_is_tried_where_a_split_has_no_validation_part() -> None:
    data = small_world()
    assert not plan(data, "default:validation=0", {"bpr-mf": {}}).prepared.split.has_validation
    assert list(below_mostpop(plan(data, "default:validation=0", {"bpr-mf": {}}))) == []
