"""Sweeps: every model with every value, resumable, refused before any work when they cannot be run."""

import json
from pathlib import Path
from typing import Any

import pytest

from murmura.core.errors import RunError, SettingError
from murmura.engine.run_folder import Run
from murmura.lab.sweep.folder import entry_points
from murmura.lab.sweep.run import plan_sweep, sweep
from murmura.studies.compare.folder import ComparisonFolder, Sweep, run_name
from tests.studies.worlds import small_world

QUICK = {"epochs": 2, "factors": 3}
MODELS: dict[str, dict[str, Any]] = {"sfpl+": dict(QUICK), "every": {"name": "pfpl+", **QUICK}}
VALUES = [0, 0.5, 1]


def run(folder: Path, seeds: int = 1) -> Sweep:
    plan, what = plan_sweep(small_world(), "default", MODELS, "pi", VALUES, beside={"mostpop": {}}, seeds=seeds)
    assert [line.label for line in sweep(plan, what, folder)] == [e.label for e in plan.entries]
    return what


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeps") / "pi"
    run(folder, seeds=2)
    return folder


@pytest.mark.slow
def test_every_model_meets_every_value(done: Path) -> None:
    found = entry_points(ComparisonFolder.open(done))
    assert [point.label for point in found] == [
        "mostpop",
        *("sfpl+ pi=0", "sfpl+ pi=0.5", "sfpl+ pi=1"),
        *("every pi=0", "every pi=0.5", "every pi=1"),
    ]
    assert [(point.curve, point.value) for point in found[:3]] == [
        ("mostpop", None),
        ("sfpl+", 0),
        ("sfpl+", 0.5),
    ]
    assert [point.seeds for point in found] == [1, 2, 2, 2, 2, 2, 2]  # no seed changes the most popular items


def test_a_point_is_the_mean_of_its_runs(done: Path) -> None:
    point = next(one for one in entry_points(ComparisonFolder.open(done)) if one.label == "sfpl+ pi=0.5")
    runs = [json.loads((done / run_name(point.label, s) / "metrics.json").read_text()) for s in (0, 1)]
    f1 = [2 * m["P@10"] * m["R@10"] / (m["P@10"] + m["R@10"]) for m in runs]
    assert point.found["P@10"] == pytest.approx((runs[0]["P@10"] + runs[1]["P@10"]) / 2, abs=1e-12)
    assert point.found["F1@10"] == pytest.approx(sum(f1) / 2, abs=1e-12)


def test_the_ledger_comes_along(done: Path) -> None:
    world = small_world()
    by_label = {point.label: point.found for point in entry_points(ComparisonFolder.open(done))}
    assert by_label["sfpl+ pi=0"]["disclosed"] == 0
    assert by_label["sfpl+ pi=0.5"]["disclosed"] == pytest.approx(0.5, abs=1e-9)  # 10 training rows each
    assert by_label["sfpl+ pi=1"]["bytes_up"] > by_label["sfpl+ pi=0"]["bytes_up"]
    # rpe = X+, one client, |I| items down, T = X+ / |U| = 10 triples up: CCE of FPL, eq. 9 and 10; two epochs
    rows, items = 600, world.interactions.n_items
    assert by_label["sfpl+ pi=0.5"]["TCC"] == pytest.approx(2 * rows * (items + 10 * 1.5))
    assert by_label["every pi=0.5"]["TCC"] == pytest.approx(2 * 10 * 60 * (items + 10 * 1.5))
    assert by_label["sfpl+ pi=1"]["normalised freshness"] == 1
    assert by_label["every pi=1"]["normalised freshness"] == pytest.approx(1 / 60)
    assert "TCC" not in by_label["mostpop"]


@pytest.mark.slow
def test_a_killed_sweep_goes_on(tmp_path: Path) -> None:
    plan, what = plan_sweep(small_world(), "default", MODELS, "pi", VALUES)
    lines = sweep(plan, what, tmp_path / "s")
    next(lines)
    next(lines)
    lines.close()
    assert ComparisonFolder.open(tmp_path / "s").sweep == what
    assert [point.value for point in entry_points(ComparisonFolder.open(tmp_path / "s"))] == [0, 0.5]
    kept = tmp_path / "s" / run_name("sfpl+ pi=0.5", 0) / "metrics.json"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "P@10": 0.123}))
    again = {line.label: line.values for line in sweep(plan, what, tmp_path / "s")}
    assert again["sfpl+ pi=0.5"]["P@10"] == 0.123  # not run again
    assert len(again) == 6
    assert Run.open(tmp_path / "s").status == "done"


def test_another_sweep_may_not_use_the_folder(tmp_path: Path) -> None:
    plan, what = plan_sweep(small_world(), "default", {"sfpl+": dict(QUICK)}, "pi", [1])
    list(sweep(plan, what, tmp_path / "s"))
    plan, what = plan_sweep(small_world(), "default", {"sfpl+": dict(QUICK)}, "pi", [0.5])
    with pytest.raises(RunError, match="holds another"):
        list(sweep(plan, what, tmp_path / "s"))
    kept = ComparisonFolder.open(tmp_path / "s").sweep
    assert kept is not None
    assert kept.values == (1,)


def test_any_setting_can_be_swept_and_text_is_a_value(tmp_path: Path) -> None:
    plan, what = plan_sweep(
        small_world(), "default", {"sfpl+": dict(QUICK)}, "clients", [1, 30, 0.5, "all", 90]
    )
    list(sweep(plan, what, tmp_path / "s"))
    assert [(p.label, p.found["freshness"]) for p in entry_points(ComparisonFolder.open(tmp_path / "s"))] == [
        ("sfpl+ clients=1", 600),
        ("sfpl+ clients=30", 20),
        ("sfpl+ clients=0.5", 20),
        ("sfpl+ clients=all", 10),
        ("sfpl+ clients=90", 10),  # of 60
    ]
    plan, _ = plan_sweep(small_world(), "default", {"user-knn": {}}, "k", [5, 10])
    assert [entry.settings["k"] for entry in plan.entries] == [5, 10]


@pytest.mark.parametrize(
    ("models", "key", "values", "sentence"),
    [
        ({"sfpl+": {}}, "pi", [0.5, 1.5], "sfpl+.pi: input should be less than or equal to 1"),
        ({"sfpl+": {}}, "pi", [-0.1], "but it is -0.1"),
        ({"sfpl+": {}}, "pie", [1], "unknown setting 'sfpl+.pie'. Did you mean 'pi'?"),
        ({"sfpl+": {}, "mostpop": {}}, "pi", [1], "unknown setting 'mostpop.pi'"),
        ({"sfpl+": {}}, "pi", [], "at least one model and one value, but has 1 and 0"),
        ({}, "pi", [1], "at least one model and one value, but has 0 and 1"),
        ({"sfpl+": {}}, "pi", [0.5, 0.50], "must differ, but 0.5 is there twice"),
        ({"sfpl+": {}}, "pi", [float("nan")], "must be finite"),
        ({"sfpl+": {"pi": 1}}, "pi", [0.5], "sfpl+.pi is what the sweep varies"),
        ({"sfpl+": {}}, "clients", [0.5, 1.0], "sfpl+.clients: input should be a valid integer or less than 1"),
        ({"sfpl+": {}}, "clients", [0], "sfpl+.clients: input should be greater than or equal to 1"),
        ({"sfpll": {}}, "pi", [1], "did you mean 'sfpl'"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(
    models: dict[str, dict[str, object]], key: str, values: list[object], sentence: str
) -> None:
    with pytest.raises(SettingError) as refused:
        plan_sweep(small_world(), "default", models, key, values)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_model_is_swept_or_stands_beside() -> None:
    with pytest.raises(SettingError, match="named for both"):
        plan_sweep(small_world(), "default", {"sfpl": {}}, "pi", [1], beside={"sfpl": {}})


def test_an_ordinary_comparison_is_no_sweep(tmp_path: Path) -> None:
    from murmura.studies.compare.comparison_plan import plan
    from murmura.studies.compare.run import compare

    list(compare(plan(small_world(), "default", {"mostpop": {}}), tmp_path / "c"))
    assert ComparisonFolder.open(tmp_path / "c").sweep is None
    assert [(point.curve, point.value) for point in entry_points(ComparisonFolder.open(tmp_path / "c"))] == [
        ("mostpop", None)
    ]


@pytest.mark.parametrize("text", ["{}", "[]", '{"key": "pi", "values": 3, "curves": {}, "beside": []}'])
def test_a_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    Run.create(tmp_path / "c", {"models": {"mostpop": {}}}).write("sweep.json", text)
    with pytest.raises(RunError, match=r"sweep\.json is damaged"):
        assert ComparisonFolder.open(tmp_path / "c").sweep
