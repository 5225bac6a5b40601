"""`murmura reproduce`, as a user meets it: every experiment runs, says what it lacks, and refuses nonsense."""

import csv
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.errors import DataError, MurmuraError, SettingError
from murmura.lab.papers.experiments import experiment, experiment_names
from murmura.studies.search.folder import side
from tests.studies.experiment_files import check_ins, featured, small

pytestmark = pytest.mark.slow

BARE = {"MURMURA_DATA": "", "COLUMNS": "200", "TERM": "dumb"}


def run(*words: str, env: dict[str, str] | None = None) -> str:
    result = CliRunner().invoke(app, ["-q", "reproduce", *words], env=env or BARE)
    if isinstance(result.exception, MurmuraError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and one --out for all: experiments that show the same run find it."""
    made = tmp_path_factory.mktemp("reproduce")
    check_ins(made, users=30)
    featured(made)
    return made


def of_lists_or_ratings() -> list[str]:
    """Those without torch and images; tests/neural runs the classifiers."""
    return [name for name in experiment_names() if not {"mnist", "celeba"} & {*experiment(name).data}]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.smoke if name == "fpl-fig4" else ())
        for name in of_lists_or_ratings()
    ],
)
def test_every_experiment_runs_small_and_writes_its_page(name: str, folder: Path) -> None:
    one, out = experiment(name), folder / "out"
    data = "dense.csv" if side(one.metric) == "lower" else "ratings.csv"  # errors of ratings, or lists
    data = "featured.csv" if name.startswith(("kgflex", "client-aware", "sums-kgflex")) else data
    run("run", name, "--quick", "--data", str(folder / data), "--out", str(out), "--workers", "1")
    page = (out / f"{name}.html").read_text(encoding="utf-8")
    assert one.title in unescape(page)
    assert page.count("<html") == 1
    assert 'src="http' not in page  # self-contained
    assert 'href="http' not in page
    assert (out / f"{name}.md").read_text(encoding="utf-8").startswith(f"# {name}")
    with (out / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = {row["metric"] for row in rows}
    if not any(metric.startswith(("B_T", "BD")) for metric in one.shown):  # the file has no categories
        assert shown == set(one.shown) - ({"T", "clients per round"} if not one.counts else set())


@pytest.mark.smoke
def test_costs_are_calculated_from_the_printed_size_of_the_data(tmp_path: Path) -> None:
    run("run", "fpl-table3", "--out", str(tmp_path))
    with (tmp_path / "fpl-table3.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["verdict"] for row in rows} == {"reproduced"}
    cce = {row["row"]: row for row in rows if row["metric"] == "CCE"}
    assert cce["sFPL pi=0"]["ours"] == "2.83606e+10"  # 599,958 * (47,270 + 1)
    assert float(cce["pFPL pi=1"]["difference"]) == pytest.approx(34 * 17473 / 599958 - 1, rel=0.01)


@pytest.mark.smoke
def test_list_and_show_say_what_is_here_and_what_is_not() -> None:
    shown = run("list")
    assert "federank-table2" in shown
    states = [line.split() for line in shown.splitlines()]
    assert any("librarything" in words and words[-3:] == ["is", "not", "here"] for words in states)
    assert any("amazon-digital-music" in words and "kept:" in words and "CPU" in words for words in states)
    text = run("show", "federank-table2")
    assert "librarything: not here" in text
    assert "0.01422" in text
    assert "repeats that of MovieLens 1M" in text
    assert run("show", "sums-day").count("as compare takes them") == len(experiment("sums-day").rows)


def test_a_run_without_its_data_says_what_to_get(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"needs amazon-digital-music or librarything or ml-1m"):
        run("run", "federank-table2", "--out", str(tmp_path))


@pytest.mark.smoke
def test_nonsense_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"did you mean 'thesis-4\.2'"):
        run("run", "thesis-42", "--out", str(tmp_path))
    with pytest.raises(SettingError, match="there is no data set 'ml-2m'"):
        run("run", "federank-table2", "--data", "ml-2m", "--out", str(tmp_path))
    with pytest.raises(SettingError, match="must be a readable file"):
        run("run", str(tmp_path / "none.yaml"))
    text = "title: a\npaper: b\ndocs: c\ndata: [ml-1m]\nshown: [P@10]\n\nrows:\n  A:\n    modle: x\n"
    path = small(tmp_path, text, "broken")
    with pytest.raises(SettingError, match=r"broken\.yaml:9: "):
        run("show", str(path))


PAPER = """title: A table of embedded data
paper: none
docs: docs/reproduce.md
data: [embedded]
protocol: default
metric: nDCG@10
shown: [nDCG@10, IC@10]
rows:
  Top-Pop: {model: mostpop}
  EASE: {model: ease, search: [{reg: [100, 300, 1000]}]}
  BPR-MF: {model: bpr-mf, settings: {epochs: 200}}
printed:
  embedded:
    Top-Pop: {IC@10: 12345}
"""


def test_quick_runs_the_cheap_rows_of_the_papers_data_with_verdicts(tmp_path: Path) -> None:
    shown = run("run", str(small(tmp_path, PAPER, "paper")), "--quick", "--out", str(tmp_path / "out"))
    assert "not reached" in shown  # nobody covers 12,345 items
    assert "12345" in shown
    assert "BPR-MF" not in shown  # it learns in epochs
    with (tmp_path / "out" / "paper.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["row"], row["metric"]): row for row in csv.DictReader(file)}
    assert rows["Top-Pop", "IC@10"]["verdict"] == "not reached"
    assert rows["EASE", "nDCG@10"]["ours"] > rows["Top-Pop", "nDCG@10"]["ours"]
    chosen = (tmp_path / "out" / "paper-embedded-quick" / "choices.json").read_text(encoding="utf-8")
    assert "BPR-MF" not in chosen


def test_quick_without_the_papers_data_says_so(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["reproduce", "run", str(small(tmp_path)), "--quick", "--out", str(tmp_path)], env=BARE
    )
    assert "none of ml-1m is here, so every row is run small on embedded" in result.output
