"""Models are held against those that use as much: pairs alone, or times and features as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from murmura.report.summary import summarise
from murmura.studies.compare.command import best_of_each_kind
from murmura.studies.compare.comparison_plan import plan, with_pooled_rows
from murmura.studies.compare.folder import read_runs
from murmura.studies.compare.run import compare
from murmura.studies.methods import method
from tests.studies.worlds import small_world

FED: dict[str, Any] = {"recency": 0.6, "reg": 10.0, "least": 2}


@pytest.mark.parametrize(
    ("name", "settings", "uses"),
    [
        ("ease", {}, ()),
        ("cfpl", {}, ()),
        ("fed-ease", {}, ()),
        ("fed-ease", {"recency": 0.6}, ("order",)),
        ("fed-ease", {"recency": 0.6, "epsilon": 4.0}, ("order",)),
        ("fed-ease", {"features": 0.1}, ("features",)),
        ("pooled-ease", {"recency": 0.6, "features": 0.1}, ("order", "features")),
        ("fed-order", {}, ("order",)),
        ("kgflex", {}, ("features",)),
        ("kgflex-central", {}, ("features",)),
        ("mostpop-by-feature", {}, ("features",)),
        ("kahfm", {}, ("features",)),
    ],
)
def test_a_method_says_what_it_uses_beside_the_pairs(
    name: str, settings: dict[str, Any], uses: tuple[str, ...]
) -> None:
    assert method(name, settings).uses == uses


def test_the_centralised_equivalent_stands_beside_a_method_of_sums_and_agrees_in_every_digit(
    tmp_path: Path,
) -> None:
    chosen = plan(small_world(), "default", {"fed-ease": FED, "mostpop": {}})
    whole = with_pooled_rows(chosen)
    assert [entry.label for entry in whole.entries] == ["fed-ease", "mostpop", "fed-ease pooled"]
    lines = {line.label: line for line in compare(whole, tmp_path / "c")}
    for key, value in lines["fed-ease pooled"].values.items():
        assert value == lines["fed-ease"].values[key], key
    assert lines["fed-ease pooled"].flat()["uses"] == "order"
    assert "uses" not in lines["mostpop"].flat()


def test_an_equivalent_that_is_there_is_not_added_again() -> None:
    chosen = plan(small_world(), "default", {"fed-ease": FED, "mine": {"name": "pooled-ease"}})
    assert with_pooled_rows(chosen) == chosen


def test_best_is_meant_among_those_that_use_as_much(tmp_path: Path) -> None:
    plain = {"name": "fed-ease", "reg": 10.0, "recency": 0.0}
    models = {"ease": {"reg": 10.0}, "mostpop": {}, "fed-ease": FED, "plain": plain}
    list(compare(with_pooled_rows(plan(small_world(), "default", models)), tmp_path / "c"))
    results = summarise(read_runs(tmp_path / "c"))
    stars = best_of_each_kind(results)
    assert stars == {"ease": "★", "plain": "★", "fed-ease": "☆", "fed-ease pooled": "☆"}
    against = {(test.label, test.reference) for test in results.against_baseline}
    assert against == {("fed-ease", "fed-ease pooled"), ("plain", "ease")}
