"""`murmura sweep` and `murmura analyse`: flags become a sweep, and a sweep becomes tables and a page."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.errors import MurmuraError, RunError, SettingError
from murmura.lab.sweep.run import for_all, parse_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0,0.1,...,1", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        ("1,10,all", [1, 10, "all"]),
        ("1, 3, ..., 9", [1, 3, 5, 7, 9]),
        ("1,0.5,…,-0.5", [1, 0.5, 0, -0.5]),
        ("5", [5]),
        ("0,1,...,2,9", [0, 1, 2, 9]),
    ],
)
def test_values(text: str, values: list[Any]) -> None:
    assert parse_values(text) == values


@pytest.mark.parametrize("text", ["", " ", "1,,2", "1,"])
def test_no_value_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"--values must be values with commas .* write for example"):
        parse_values(text)


@pytest.mark.parametrize(
    "text", ["...", "1,...,5", "...,3,4", "0,0.1,...", "0,0.3,...,1", "1,1,...,1", "a,b,...,c"]
)
def test_dots_must_lead_somewhere(text: str) -> None:
    with pytest.raises(SettingError, match=r"'\.\.\.' in --values must stand between two numbers"):
        parse_values(text)


def test_a_setting_without_a_name_is_for_all() -> None:
    assert for_all(["epochs=2", "sfpl.alpha=1"], ["sfpl", "sfpl+"]) == [
        "sfpl.epochs=2",
        "sfpl+.epochs=2",
        "sfpl.alpha=1",
    ]


def table(folder: Path) -> Path:
    """A small file of interactions."""
    path = folder / "likes.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "item", "timestamp"])
        for user in range(24):
            for place in range(10):
                rows.writerow([user, (user % 2) * 15 + (user // 2 + place) % 15, 100 * user + place])
    return path


def murmura(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=True)
    if isinstance(result.exception, MurmuraError):
        raise result.exception
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.mark.slow
def test_from_flags_to_a_page(tmp_path: Path) -> None:
    file, out = table(tmp_path), tmp_path / "s"
    flags = [
        *(
            "sweep",
            "--data",
            file,
            "--protocol",
            "default",
            "--models",
            "sfpl,all=pfpl+",
            "--values",
            "0,0.5,...,1",
        ),
        *("--beside", "mostpop", "-S", "epochs=2", "-S", "all.factors=4", "--out", out),
    ]
    shown = murmura(*flags)
    assert "The sweep over pi, value by value" in shown
    assert (out / "report.html").is_file()
    lines = [json.loads(line) for line in murmura(*flags, "--json").splitlines()]
    assert [line["model"] for line in lines] == [
        "mostpop",
        *("sfpl pi=0", "sfpl pi=0.5", "sfpl pi=1"),
        *("all pi=0", "all pi=0.5", "all pi=1"),
    ]
    rows = [json.loads(line) for line in murmura("analyse", "sweep", out, "--json").splitlines()]
    assert [row["P@10"] for row in rows[:3]] == [line["P@10"] for line in lines[1:4]]
    in_csv = list(csv.DictReader(murmura("analyse", "sweep", out, "--csv").splitlines()))
    assert [line["model"] for line in in_csv] == [row["model"] for row in rows]
    assert [float(line["P@10"]) for line in in_csv] == [row["P@10"] for row in rows]
    assert "Updates and recommendations" in murmura("analyse", "frequency", out)
    assert "Freshness and accuracy" in murmura("analyse", "freshness", out)
    asked = ("analyse", "tests", out, "--pair", "sfpl pi=1,mostpop", "--pair", "all pi=1,sfpl pi=1", "--json")
    tests = [json.loads(line) for line in murmura(*asked).splitlines()]
    assert {(row["model"], row["against"]) for row in tests if row["metric"] == "P@10"} == {
        *(("sfpl pi=1", "mostpop"), ("all pi=1", "sfpl pi=1")),
    }
    with pytest.raises(SettingError, match=r"--pair must be two labels, A,B, out of .*but is 'sfpl,mostpop'"):
        murmura("analyse", "tests", out, "--pair", "sfpl,mostpop")
    with pytest.raises(RunError, match="must be of data whose items have categories"):
        murmura("analyse", "bias", out)


def test_what_is_refused(tmp_path: Path) -> None:
    file = table(tmp_path)
    with pytest.raises(SettingError, match=r"sfpl\.pi: .*less than or equal to 1 .*but it is 2\."):
        murmura("sweep", "--data", file, "--protocol", "default", "--models", "sfpl", "--values", "1,2")
    with pytest.raises(SettingError, match="Did you mean 'clients'"):
        murmura("sweep", "--data", file, "--models", "sfpl", "--key", "client", "--values", "1")
    with pytest.raises(SettingError, match="--values must be values"):
        murmura("sweep", "--data", file, "--key", "clients")
    out = tmp_path / "c"
    murmura("compare", "--data", file, "--models", "mostpop", "--out", out)
    with pytest.raises(RunError, match="must be the folder of a sweep"):
        murmura("analyse", "sweep", out)
    with pytest.raises(RunError, match="this analysis can read, but has none"):
        murmura("analyse", "freshness", out)
