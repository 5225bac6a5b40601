"""Configuration files: right ones are read, wrong ones are named with file, line and the nearest key."""

from pathlib import Path

import pytest

from murmura.core.errors import SettingError
from murmura.studies.configuration import CompareConfig, FitConfig, check_config, load_config, schema
from murmura.studies.methods import describe_settings, names

GOOD = """\
data: ml-1m
protocol: fpl
model:
  name: bpr-mf
  factors: 20
seed: 3
"""


def file(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_right_file_is_read(tmp_path: Path) -> None:
    read = load_config(file(tmp_path, GOOD))
    assert isinstance(read, FitConfig)
    assert (read.data.name, read.protocol, read.model["factors"], read.seed) == ("ml-1m", "fpl", 20, 3)


def test_several_models(tmp_path: Path) -> None:
    text = "data: {name: ml-1m}\nmodels:\n  ease: {}\n  wide: {name: bpr-mf, factors: 64}\nseeds: 3\n"
    read = load_config(file(tmp_path, text))
    assert isinstance(read, CompareConfig)
    assert list(read.models) == ["ease", "wide"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("factors", "factor"), "run.yaml:5: unknown setting 'model.factor'. Did you mean 'factors'?"),
        (("factors: 20", "factors: -2"), "run.yaml:3: bpr-mf.factors: input should be greater than"),
        (("bpr-mf", "bpr-fm"), "run.yaml:3: there is no model 'bpr-fm': did you mean 'bpr-mf'?"),
        (("seed", "sed"), "run.yaml:6: unknown setting 'sed'. Did you mean 'seed'?"),
        (
            ("seed: 3", "seed: -1"),
            "run.yaml:6: seed: input should be greater than or equal to 0, but",
        ),
        (("  name: bpr-mf\n", ""), "run.yaml:3: model.name must be given"),
        (("data: ml-1m\n", ""), "data must be given."),
        (
            ("data: ml-1m", "data: {name: ml-1m, featurs: f.csv}"),
            "run.yaml:1: unknown setting 'data.featurs'. Did you mean 'features'?",
        ),
        (
            ("data: ml-1m", "data: {name: ml-1m, hops: 0}"),
            "run.yaml:1: data.hops: input should be greater than",
        ),
        (("data: ml-1m", "data: {nam: ml-1m}"), "run.yaml:1: unknown setting 'data.nam'. Did you mean 'name'?"),
        (("data: ml-1m", "data: [ml-1m"), "not valid YAML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        load_config(file(tmp_path, GOOD.replace(*change)))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_files_that_are_no_settings(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="must be a readable file"):
        load_config(tmp_path / "absent.yaml")
    with pytest.raises(SettingError, match="holds none"):
        load_config(file(tmp_path, "- 1\n- 2\n"))
    (tmp_path / "latin.yaml").write_bytes("data: café".encode("latin-1"))
    with pytest.raises(SettingError, match="UTF-8"):
        load_config(tmp_path / "latin.yaml")


def test_the_schema_knows_every_setting() -> None:
    assert set(schema("bpr-mf")["properties"]) >= {"factors", "epochs"}
    assert schema("fit")["additionalProperties"] is False
    checked = check_config({"data": "ml-1m", "models": {"mostpop": {}}})
    assert isinstance(checked, CompareConfig)


def test_settings_are_described_in_words() -> None:
    told = {key: (may_be, usual) for key, may_be, usual in describe_settings("fedsplit")}
    assert told["bias"] == ("all, seen, counts, means", "all")
    assert told["factors"] == ("whole number ≥ 1", "5")
    assert told["clip"] == ("number > 0 or null", "null")
    assert told["eta_w"] == ("number > 0 < 1", "0.009")
    assert told["tuned"] == ("mapping", "{}")
    for name in names():
        for _, may_be, usual in describe_settings(name):
            assert not set("[]()") & set(may_be), (name, may_be)
            assert usual
