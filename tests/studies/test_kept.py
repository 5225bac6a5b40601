"""What is kept of the papers: every result says its run, and a run what it will cost."""

import csv
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.core.version import __version__
from murmura.lab.papers.experiments import experiment
from murmura.lab.papers.published_results import (
    PLACE,
    PublishedResult,
    checkout,
    code_version,
    cost_before,
    published_results,
    shares_with,
    unique_verdicts,
    written,
)

ROOT = Path(__file__).parents[2]
BESIDE = ("-trials.csv", "-shares.csv", "-tables.csv")
KEPT = sorted(file for file in (ROOT / PLACE).glob("*.csv") if not file.name.endswith(BESIDE))
ONE = PublishedResult("ml-1m", "2026-11-17", "1a2b3c4", 3, 298, 55.5)


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_every_kept_result_says_the_run_it_comes_from(file: Path) -> None:
    with file.open(encoding="utf-8", newline="") as text:
        data = {row["data"] for row in csv.DictReader(text)}
    found = published_results(file.stem, file.parent)
    assert {*found} == data
    assert not any(one.quick for one in found.values())
    assert all(one.calculated or one.counted or one.fits for one in found.values())


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    shown = experiment("federank-table2")
    (tmp_path / "federank-table2.json").write_text(written(shown, [ONE]), encoding="utf-8")
    assert published_results("federank-table2", tmp_path) == {"ml-1m": ONE}
    assert ONE.text() == "kept: 2026-11-17, 1a2b3c4, 56 CPU min, 3 seeds"
    assert replace(ONE, fewest=1).text() == "kept: 2026-11-17, 1a2b3c4, 56 CPU min, 1 to 3 seeds"
    assert published_results("fpl-table2", tmp_path) == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"results": [{"data": 1}]}', '{"results": [{"who": "x"}]}'])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=r"a\.json is damaged: run `murmura reproduce run a`"):
        published_results("a", tmp_path)


def test_the_code_is_the_commit_of_a_checkout_or_the_version(tmp_path: Path) -> None:
    assert checkout() == ROOT
    assert checkout(tmp_path / "site-packages" / "murmura") is None
    assert code_version(None) == code_version(tmp_path) == f"version {__version__}"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert head.startswith(code_version(tmp_path))


def test_a_kept_run_says_what_it_will_cost() -> None:
    kept = cost_before(experiment("fpl-table2"), "foursquare-italy")
    assert kept is not None
    assert kept.cpu_minutes > 0
    assert cost_before(experiment("fpl-table2"), "foursquare-brazil") is None
    assert cost_before(experiment("fpl-table3"), "foursquare-brazil") is None  # calculated: no run


def test_whose_run_is_shown() -> None:
    assert shares_with(experiment("federank-fig1"), "ml-1m").name == "thesis-fig4.2"
    assert shares_with(experiment("federank-fig1"), "amazon-digital-music").name == "federank-fig1"
    assert shares_with(experiment("federank-fig1"), "foursquare-italy").name == "federank-fig1"
    assert shares_with(experiment("thesis-fig4.4"), "foursquare-italy").name == "federank-fig1"


def test_a_number_of_one_run_in_two_tables_counts_once() -> None:
    """thesis-4.2 shows the runs of federank-table2 and fpl-table2; costs of a formula stand apart."""
    trained, facts = unique_verdicts(ROOT / PLACE)
    printed = 0
    for file in KEPT:
        with file.open(encoding="utf-8", newline="") as text:
            printed += sum(bool(row["verdict"]) for row in csv.DictReader(text))
    assert "better" not in {*trained, *facts}
    assert trained["above print"] > 0
    assert trained.total() + facts.total() < printed
    assert facts["reproduced"] >= 120  # fpl-table3


def test_the_reader_of_a_file_is_told_of_another_name_in_print() -> None:
    with (ROOT / PLACE / "fedsplit-table3.csv").open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert {row["printed as"] for row in rows if row["printed"]} == {"RMSE"}
    assert {row["metric"] for row in rows if row["printed"]} == {"MSE"}
