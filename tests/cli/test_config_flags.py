"""Flags beside `--config` come on top of the file, every one of them, and what nobody gave does not."""

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from murmura.cli.options import flags_of
from murmura.lab.blend.run import BlendConfig
from murmura.lab.sweep.run import SweepConfig
from murmura.runtimes.sharded_training import SimulateConfig
from murmura.studies.configuration import CompareConfig, FitConfig
from murmura.studies.evaluate.run import EvaluateConfig
from murmura.studies.search.run import SearchConfig
from tests.cli.processes import murmura, ratings

COMPARED = """\
data: {name: ratings.csv, positive_from: 2}
protocol: default
seeds: 2
seed: 7
cutoffs: [3]
metrics: [HR]
models:
  mostpop: {}
  near: {name: user-knn, k: 5}
"""
FITTED = """\
data: ratings.csv
seed: 7
model: {name: user-knn, k: 5}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    ratings(tmp_path).rename(tmp_path / "other.csv")
    ratings(tmp_path)
    (tmp_path / "sets").mkdir()
    (tmp_path / "c.yaml").write_text(COMPARED)
    (tmp_path / "f.yaml").write_text(FITTED)
    return tmp_path


def written(place: Path, *words: str) -> dict[str, Any]:
    """What a command's folder says it was run with; the environment names another folder of data sets."""
    done = murmura(*words, "--out", "out", cwd=place, data_dir=place / "sets")
    assert done.returncode == 0, done.stderr
    read: dict[str, Any] = yaml.safe_load((place / "out" / "config.yaml").read_text())
    return read


def test_a_file_alone_is_what_is_compared(place: Path) -> None:
    read = written(place, "compare", "--config", "c.yaml")
    assert (read["data"]["name"], read["seeds"], read["seed"], read["cutoffs"]) == ("ratings.csv", 2, 7, [3])
    assert list(read["models"]) == ["mostpop", "near"]


@pytest.mark.parametrize(
    ("flags", "key", "value"),
    [
        (["--seeds", "1"], "seeds", 1),
        (["--seed", "0"], "seed", 0),
        (["--at", "2,5"], "cutoffs", [2, 5]),
        (["--metrics", "nDCG"], "metrics", ["nDCG"]),
        (["--workers", "1"], "seeds", 2),  # which is no part of what was run
    ],
)
def test_a_flag_takes_the_place_of_its_key(flags: list[str], key: str, value: Any, place: Path) -> None:
    assert written(place, "compare", "--config", "c.yaml", *flags)[key] == value


def test_flags_of_the_data_and_the_protocol(place: Path) -> None:
    flags = (
        "--data",
        "other.csv",
        "--protocol",
        "fpl:test=0.5",
        "--split",
        "leave-one-out",
        "--repeats",
        "latest",
    )
    read = written(place, "compare", "--config", "c.yaml", *flags[:2], *flags[4:])
    assert (read["data"]["name"], read["data"]["repeats"]) == ("other.csv", "latest")
    assert read["data"]["positive_from"] == 2
    assert read["protocol"]["name"] == "default:split=leave-one-out"
    (place / "out").rename(place / "before")
    again = written(place, "compare", "--config", "c.yaml", "--protocol", "default:test=0.5")
    assert (again["protocol"]["name"], again["metrics"]) == ("default:test=0.5", ["HR"])


def test_models_named_beside_a_file_are_its_own_or_new_ones(place: Path) -> None:
    words = ("compare", "--config", "c.yaml", "--models", "near,far=user-knn,ease", "-S", "far.k=9")
    models = written(place, *words)["models"]
    assert {label: one["name"] for label, one in models.items()} == {
        "near": "user-knn",
        "far": "user-knn",
        "ease": "ease",
    }
    assert (models["near"]["k"], models["far"]["k"]) == (5, 9)


def test_the_same_for_one_model(place: Path) -> None:
    read = written(place, "fit", "--config", "f.yaml", "--data", "other.csv", "--seed", "0", "-S", "k=9")
    assert (read["data"]["name"], read["seed"], read["model"]["k"]) == ("other.csv", 0, 9)


def test_another_model_has_none_of_the_files_settings(place: Path) -> None:
    assert "k" not in written(place, "fit", "--config", "f.yaml", "--model", "mostpop")["model"]


@pytest.mark.parametrize(
    ("command", "file", "said"), [("fit", "c.yaml", "lists"), ("compare", "f.yaml", "has one")]
)
def test_a_file_for_the_other_command_is_refused(command: str, file: str, said: str, place: Path) -> None:
    done = murmura(command, "--config", file, cwd=place)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


SCORED = {"data", "data_dir", "protocol", "split", "columns", "features"}
STUDIES: tuple[type, ...] = (FitConfig, CompareConfig, SearchConfig, SweepConfig, BlendConfig)
FLAGS: dict[type, set[str]] = {cls: {*SCORED, "candidates"} for cls in STUDIES}
FLAGS |= {EvaluateConfig: {*SCORED, "at", "metrics", "format"}}
FLAGS |= {SimulateConfig: {"model", "seed", "shard", "checkpoint_every"}}


@pytest.mark.parametrize(("cls", "flags"), FLAGS.items())
def test_every_flag_of_a_configuration_has_help_and_shows_a_default_that_can_be_typed(
    cls: type, flags: set[str]
) -> None:
    found = {flag.parameter.name: flag.parameter for flag in flags_of(cls)}
    assert flags <= found.keys()
    for one in found.values():
        assert get_args(one.annotation)[1].help, one.name
        assert one.default is None or isinstance(one.default, str | int | float), one.name
