"""The printed commands are parsed by the real command line and give the configuration back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from murmura.core import flag_text
from murmura.engine.run_folder import Run
from murmura.report.sections.facts import FILE, inline, rerun
from murmura.studies.compare.folder import ComparisonFolder

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


def folder_of(config: dict[str, Any]) -> ComparisonFolder:
    return ComparisonFolder(Run(Path("nowhere")), config)


def commands(config: dict[str, Any]) -> list[list[str]]:
    script = rerun(folder_of(config)).replace("\\\n", " ")
    return [shlex.split(line) for line in script.splitlines() if not line.startswith("#")]


def flags(command: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    rest = iter(command)
    for word in rest:
        if word in {"--skip-bad"}:
            found[word] = []
        elif word.startswith("-"):
            found.setdefault(word, []).append(next(rest))
    return found


@given(plain)
def test_a_setting_comes_back_as_it_was(value: Any) -> None:
    assert flag_text.parse_value(inline(value)) == value


def test_compare_gives_the_configuration_back() -> None:
    models = {
        "mostpop": {"name": "mostpop"},
        "knn, no: it's": {"name": "user-knn", "k": 100},
        "b.1": {"name": "bpr-mf", "rate": 1e-05, "kind": "yes", "layers": [8, 4], "limit": None},
    }
    models["knn: it's"] = models.pop("knn, no: it's")
    config = {
        "data": {"name": "my data.csv", "skip_bad": True, "dir": "/some where", "features": "a graph.nt"}
        | {"mapping": "m.tsv", "labels": "l.tsv", "hops": 3, "feature_items": 4, "exclude": [["p", "q"], []]},
        "protocol": {"name": "fpl"},
        "cutoffs": [1, 10],
        "models": models,
        "seeds": 3,
        "seed": 7,
    }
    (first, *_), last = commands(config)[:1], commands(config)[-1]
    given_flags = flags(first)
    read = flag_text.parse_models(given_flags["--models"][0])
    for label, own in flag_text.parse_settings(given_flags["-S"], list(read)).items():
        read[label] |= own
    assert read == models
    assert flag_text.parse_cutoffs(given_flags["--at"][0]) == (1, 10)
    assert given_flags["--data"] == ["my data.csv"]
    assert given_flags["--data-dir"] == ["/some where"]
    assert given_flags["--protocol"] == ["fpl"]
    assert given_flags["--seeds"] == ["3"]
    assert given_flags["--seed"] == ["7"]
    assert "--skip-bad" in given_flags
    assert given_flags["--features"] == ["a graph.nt"]
    assert [given_flags[f"--{name}"] for name in ("mapping", "labels", "hops")] == [["m.tsv"], ["l.tsv"], ["3"]]
    assert given_flags["--feature-items"] == ["4"]
    assert given_flags["--exclude"] == ["p,q", ""]
    assert first[:2] == ["murmura", "compare"]
    assert last == ["murmura", "report", "again"]


@pytest.mark.parametrize("label", ["a,b", "a=b", " a", "", "a\nb"])
def test_a_label_no_flag_can_carry_goes_through_a_file(label: str, tmp_path: Path) -> None:
    from murmura.studies.configuration import CompareConfig, load_config

    models = {label: {"name": "mostpop"}}
    config = {
        "data": {"name": "d", "skip_bad": False},
        "protocol": {"name": "fpl"},
        "cutoffs": [5],
        "models": models,
    }
    script = rerun(folder_of(config))
    assert f"murmura compare --config {FILE} --out again" in script
    text = script.split("<<'END'\n")[1].split("\nEND\n")[0]
    assert yaml.safe_load(text)["models"] == models
    (tmp_path / FILE).write_text(text)
    read = load_config(tmp_path / FILE)
    assert isinstance(read, CompareConfig)
    assert (read.models, read.protocol, read.cutoffs) == (models, "fpl", (5,))


def test_fit_and_evaluate_give_a_single_run_back() -> None:
    config = {
        "data": {"name": "ml-1m", "dir": None, "skip_bad": False},
        "protocol": "fpl",
        "model": {"name": "ease", "l2": 250.0},
        "seed": 2,
        "cutoffs": [10],
    }
    fit, evaluate, report = commands(config)
    assert flag_text.parse_settings(flags(fit)["-S"], ["ease"]) == {"ease": {"l2": 250.0}}
    assert flags(fit)["--model"] == ["ease"]
    assert flags(fit)["--seed"] == ["2"]
    assert evaluate == ["murmura", "evaluate", "again", "--at", "10"]
    assert report == ["murmura", "report", "again"]


def test_how_a_file_was_read_comes_back() -> None:
    said = {"columns": {"user": "a b", "item": "2"}, "header": False, "repeats": "sum", "positive_from": 0.0}
    config = {"data": {"name": "t.csv", **said}, "models": {"mostpop": {}}, "protocol": {"name": "default"}}
    command = next(words for words in commands(config) if words[:2] == ["murmura", "compare"])
    assert "--no-header" in command
    given = flags([word for word in command if word != "--no-header"])
    assert given["--columns"] == ["user=a b,item=2"]
    assert (given["--repeats"], given["--positive-from"]) == (["sum"], ["0.0"])
