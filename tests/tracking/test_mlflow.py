"""--log mlflow:URI: settings, numbers on the way and at the end, the report; each told once."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import murmura, ratings

HERE = find_spec("mlflow") is not None
needs_mlflow = pytest.mark.skipif(not HERE, reason="needs the extra mlflow: pip install 'murmura[mlflow]'")
theirs = pytest.mark.filterwarnings("ignore")  # MLflow's own parts warn


def told(folder: Path) -> list[Any]:
    """The runs MLflow knows, oldest first."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{folder}/told.db")
    found = client.get_experiment_by_name("murmura")
    assert found is not None
    return list(client.search_runs([found.experiment_id], order_by=["attributes.start_time ASC"]))


def steps(folder: Path, run: Any, key: str) -> list[tuple[int, float]]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{folder}/told.db")
    return [(one.step, one.value) for one in client.get_metric_history(run.info.run_id, key)]


@pytest.mark.parametrize("target", ["mlflow", "mlflow:", "wandb:here", "sqlite:///runs.db"])
def test_what_is_no_tracker_is_refused_before_any_work(target: str, tmp_path: Path) -> None:
    flags = ("--data", str(ratings(tmp_path)), "--models", "mostpop", "--log", target, "--out", "c")
    done = murmura("compare", *flags, cwd=tmp_path)
    assert done.returncode == 2
    assert "--log must be mlflow:URI" in done.stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(HERE, reason="the extra mlflow is installed")
def test_without_the_extra_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    flags = ("--data", str(ratings(tmp_path)), "--log", "mlflow:sqlite:///told.db", "--out", "c")
    done = murmura("fit", *flags, cwd=tmp_path)
    assert done.returncode == 5
    assert "pip install 'murmura[mlflow]'" in done.stderr
    assert not (tmp_path / "c").exists()


@needs_mlflow
@theirs
def test_an_address_that_does_not_answer_is_refused_before_any_work(tmp_path: Path) -> None:
    flags = ("--data", str(ratings(tmp_path)), "--log", "mlflow:nonsense://nowhere", "--out", "c")
    done = murmura("fit", *flags, cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert "mlflow:nonsense://nowhere does not" in done.stderr
    assert not (tmp_path / "c").exists()


@needs_mlflow
@theirs
def test_a_comparison_tells_settings_metrics_rounds_and_its_report_once(tmp_path: Path) -> None:
    words = ("compare", "--data", str(ratings(tmp_path)), "--models", "ease,mine=sfpl+", "-S", "mine.epochs=3")
    for _ in range(2):  # the second time there is nothing new
        done = murmura(*words, "--out", "c", "--log", f"mlflow:sqlite:///{tmp_path}/told.db", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    whole, ease, mine = told(tmp_path)
    assert whole.data.params["models"] == "ease, mine"
    assert (whole.info.status, mine.info.status) == ("FINISHED", "FINISHED")
    assert mine.data.tags["mlflow.parentRunId"] == whole.info.run_id
    assert {key: mine.data.params[key] for key in ("name", "label", "epochs", "seed")} == {
        "name": "sfpl+",
        "label": "mine",
        "epochs": "3",
        "seed": "0",
    }
    for run, name in ((ease, "ease-seed0"), (mine, "mine-seed0")):
        kept = json.loads((tmp_path / "c" / name / "metrics.json").read_text(encoding="utf-8"))
        assert run.data.metrics["nDCG_at_10"] == kept["nDCG@10"]
    _, *lines = (tmp_path / "c" / "mine-seed0" / "rounds.csv").read_text(encoding="utf-8").splitlines()
    found = steps(tmp_path, mine, "bytes_up")
    assert [(step, int(value)) for step, value in found] == [
        (int(line.split(",")[0]), int(line.split(",")[4])) for line in lines
    ]
    if find_spec("matplotlib"):
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/told.db")
        assert [one.path for one in client.list_artifacts(whole.info.run_id)] == ["report.html"]


@needs_mlflow
@theirs
def test_a_search_tells_its_metric_at_every_number_of_epochs(tmp_path: Path) -> None:
    words = ("search", "--data", str(ratings(tmp_path)), "--model", "bpr-mf", "--grid", "factors=2,3")
    more = ("--grid", "epochs=1,2,4", "--out", "s", "--log", f"mlflow:sqlite:///{tmp_path}/told.db")
    done = murmura(*words, *more, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    _, *tried = told(tmp_path)
    assert [run.data.params["factors"] for run in tried] == ["2", "3"]
    for run in tried:
        assert [step for step, _ in steps(tmp_path, run, "validation P_at_10")] == [1, 2, 4]


@needs_mlflow
@theirs
def test_one_fitted_model_is_one_run(tmp_path: Path) -> None:
    words = ("fit", "--data", str(ratings(tmp_path)), "--model", "fcf", "-S", "rounds=4", "--out", "f")
    done = murmura(*words, "--log", f"mlflow:sqlite:///{tmp_path}/told.db", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = told(tmp_path)
    assert run.data.params["model.rounds"] == "4"
    assert [step for step, _ in steps(tmp_path, run, "bytes_down")] == [1, 2, 3, 4]
