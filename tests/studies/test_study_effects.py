"""What a study says of its differences: the cost of federation, the gain of information; and its frame."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import murmura as front
from murmura.core.errors import MurmuraError, SettingError
from murmura.engine.run_folder import environment
from murmura.lab.study.folder import StudyFolder
from murmura.lab.study.run import study
from murmura.lab.study.section import DataSetRows, StudyRow
from murmura.lab.study.study_plan import plan_of
from tests.cli.processes import ratings

METHODS: dict[str, Any] = {
    "mostpop": {},
    "ease": {},
    "timed": {"name": "ease", "recency": 1.0},
    "fed": {"name": "fed-ease", "least": 3, "minimum_cohort": 2},
    "pooled": {"name": "pooled-ease", "settings_of": "fed"},
    "every item": {"name": "ease", "settings_of": "fed"},
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = tmp_path_factory.mktemp("effects")
    data = {"rated": {"data": str(ratings(folder)), "protocol": "default"}}
    asked = {"data": data, "methods": METHODS, "trials": 3, "metric": "nDCG@10"}
    return study(plan_of(asked), folder / "runs" / "done")


def by_label(done: StudyFolder) -> dict[str, StudyRow]:
    return {row.method: row for row in DataSetRows(done, "rated").rows()}


def test_a_row_that_takes_settings_has_them_and_no_trials_of_its_own(done: StudyFolder) -> None:
    assert {*done.trials("rated")} == {"mostpop", "ease", "timed", "fed"}
    found = done.comparison("rated")
    assert found is not None
    chosen = {model.label: model.settings for model in found.models}
    for key in ("reg", "recency", "discount"):
        assert chosen["pooled"][key] == chosen["fed"][key]
    assert chosen["every item"]["reg"] == chosen["fed"]["reg"]
    rows = by_label(done)
    assert [rows[label].effort for label in ("fed", "pooled")] == ["3", "as fed"]
    assert rows["pooled"].value == rows["fed"].value  # to the last digit
    assert rows["pooled"].cpu < rows["fed"].cpu


def test_the_best_is_marked_within_equal_information(done: StudyFolder) -> None:
    rows = by_label(done)
    assert rows["timed"].uses == "order"
    assert rows["ease"].uses == ""
    for more in (False, True):
        alike = [row for row in rows.values() if bool(row.uses) is more]
        top = max(row.value.mean for row in alike)
        assert [row.best for row in alike] == [row.value.mean == top for row in alike]


def test_federation_and_information_are_two_differences(done: StudyFolder) -> None:
    own = DataSetRows(done, "rated")
    found = {(cause, test.label, test.reference): test for cause, test in own.effects()}
    assert {
        ("federation", "fed", "pooled"), ("federation", "fed", "every item"), ("information", "timed", "ease"),
    } == {*found}  # fmt: skip
    for (_, label, less), test in found.items():
        assert math.isclose(test.difference.mean, own.values[label].mean - own.values[less].mean, abs_tol=1e-12)
    assert found["federation", "fed", "pooled"].difference.mean == 0.0


def test_nothing_scored_has_no_rank(done: StudyFolder) -> None:
    other = replace(DataSetRows(done, "rated"), name="unknown")
    assert math.isnan(other.rank("ease"))


@pytest.mark.parametrize("source", ["nobody", "pooled"])
def test_settings_come_from_a_method_that_is_searched(done: StudyFolder, source: str) -> None:
    methods = {**METHODS, "bad": {"name": "ease", "settings_of": source}}
    with pytest.raises(SettingError, match=r"bad\.settings_of must be a method of the plan that is searched"):
        replace(done.plan, methods=methods).check()


def test_the_frame_of_a_study_and_of_its_comparison(done: StudyFolder, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    frame = front.read(done.run.path)
    assert list(frame.method) == list(METHODS)
    assert frame.value.tolist() == [by_label(done)[label].value.mean for label in METHODS]
    runs = front.read(str(done.run.path / "rated"))
    assert set(runs.model) == set(METHODS)
    assert runs["nDCG@10"].notna().all()
    with pytest.raises(MurmuraError):
        front.read(tmp_path)


def test_the_environment_says_on_what_it_ran() -> None:
    found = environment()
    assert {"processor", "blas", "commit", "at"} <= {*found}
    assert found["commit"] is None or len(found["commit"].removesuffix("-dirty")) == 40
    assert found["blas"] is None or found["blas"].split()
