"""`murmura data`: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from murmura.core.errors import DataError, MurmuraError, SettingError
from murmura.data.command import data_app
from murmura.data.filters import KCore, apply_filters
from murmura.data.sources.registry import SOURCES, load
from murmura.data.splits.split_files import load_split
from tests.cli.processes import murmura

TABLE = "user,item,value,time\n" + "".join(
    f"{user},{item},{(user + item) % 5 + 1},{user * 10 + item}\n"
    for user in range(1, 9)
    for item in range(10, 20)
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def run(*words: str | Path) -> Result:
    result = CliRunner().invoke(data_app, [str(word) for word in words])
    if isinstance(result.exception, MurmuraError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_list(tmp_path: Path) -> None:
    (tmp_path / "ml-100k").mkdir()
    (tmp_path / "ml-100k" / "u.data").write_text("1\t1\t1\t1\n")
    lines = run("list", "--data-dir", tmp_path, "--json").stdout.splitlines()
    here = {row["name"]: row["here"] for row in map(json.loads, lines)}
    assert list(here) == list(SOURCES)
    assert [name for name in here if here[name]] == ["ml-latest-small-2016", "ml-100k"]
    shown = run("list", "--data-dir", tmp_path).stdout
    assert all(name in shown for name in SOURCES)


def test_describe(table: Path) -> None:
    facts = json.loads(run("describe", table, "--json").stdout)
    assert (facts["rows"], facts["users"], facts["items"], facts["density"]) == (80, 8, 10, 1.0)
    assert facts["first"] == "1970-01-01 00:00:20"
    assert facts["fingerprint"] == load(table).interactions.fingerprint
    assert facts["values"] == [1.0, 3.0, 5.0]
    shown = run("describe", table).stdout
    assert facts["fingerprint"] in shown
    assert "100.0000%" in shown


def test_describe_what_a_protocol_leaves(table: Path) -> None:
    facts = json.loads(run("describe", table, "--protocol", "default:pick=oldest", "--json").stdout)
    assert facts["protocol"] == "default:pick=oldest"
    assert facts["whole"]["rows"] == 80
    assert facts["training data"]["rows"] == 64  # eight users, two of ten rows held out
    assert facts["training data"]["rows per user"] == 8
    assert "rows per user: 8" in " ".join(run("describe", table, "--protocol", "default").stdout.split())


def test_describe_with_names_and_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("who|what|kind\na|b|x\na||y\n")
    columns = "user=who,item=what,category=kind"
    with pytest.raises(DataError, match="line 3"):
        run("describe", path, "--columns", columns, "--separator", "|")
    done = run("describe", path, "--columns", columns, "--separator", "|", "--skip-bad", "--json")
    facts = json.loads(done.stdout)
    assert facts["rows"] == 1
    assert facts["categories"] == {"x": 1}
    assert facts["notes"] == ["t.txt: left out 1 bad row (empty item 1)."]
    assert "note: t.txt: left out 1 bad row" in done.stderr
    with pytest.raises(SettingError, match="--columns must be PART=NAME"):
        run("describe", path, "--columns", "who")


def test_split(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "split.npz"
    words: list[str | Path] = [
        "split",
        table,
        "--out",
        out,
        "--kind",
        "random",
        "-S",
        "seed=5",
        "-S",
        "validation=0.25",
    ]
    about = json.loads(run(*words, "--filter", "k-core=8", "--tables", tmp_path / "parts", "--json").stdout)
    data = apply_filters(load(table).interactions, [KCore(k=8)])
    split = load_split(out, data)
    assert about["name"] == split.name == "random(test=0.2, validation=0.25, seed=5)"
    assert (about["train"], about["validation"], about["test"]) == (48, 16, 16)
    sizes = {path.stem: len(load(path).interactions) for path in (tmp_path / "parts").iterdir()}
    assert sizes == {"train": 48, "validation": 16, "test": 16}


def test_wrong_words_for_split(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "split.npz"
    with pytest.raises(SettingError, match="there is no split 'newest'"):
        run("split", table, "--out", out, "--kind", "newest")
    with pytest.raises(SettingError, match=r"Did you mean 'test'\?"):
        run("split", table, "--out", out, "-S", "tests=0.2")
    with pytest.raises(SettingError, match="there is no filter 'core'"):
        run("split", table, "--out", out, "--filter", "core=3")
    with pytest.raises(SettingError, match="--filter must be NAME or NAME=N"):
        run("split", table, "--out", out, "--filter", "k-core=many")
    assert not out.exists()


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv"])
def test_convert_and_back(table: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    assert run("convert", table, out).stdout.strip() == str(out)
    assert load(out).interactions.fingerprint == load(table).interactions.fingerprint


def test_convert_writes_nothing_when_the_data_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("user,item\n1,\n")
    with pytest.raises(DataError):
        run("convert", path, tmp_path / "out.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["bad.csv"]


def test_synth(tmp_path: Path) -> None:
    out = tmp_path / "made.parquet"
    sizes = ["--users", "50", "--items", "40", "--interactions", "600", "--seed", "4"]
    run("synth", out, *sizes)
    data = load(out).interactions
    assert (len(data), data.n_users) == (600, 50)
    with pytest.raises(SettingError, match="must end in"):
        run("synth", tmp_path / "made.doc", *sizes)


def test_fetch_needs_a_folder_and_a_known_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MURMURA_DATA", raising=False)
    with pytest.raises(SettingError, match="set MURMURA_DATA or pass --data-dir"):
        run("fetch", "ml-1m")
    with pytest.raises(SettingError, match="did you mean 'ml-1m'"):
        run("fetch", "ml-1", "--data-dir", tmp_path)
    with pytest.raises(DataError, match=r"put dataset.tsv into"):
        run("fetch", "yahoo-movies", "--data-dir", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        ("user,item\n1,2\n1,\n", 3, "line 3: the item ('item') must be a text of 1 to 255 characters"),
        ("user,item\n1,2\n", 0, ""),
    ],
)
def test_exit_codes(tmp_path: Path, content: str, code: int, says: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    done = murmura("data", "describe", str(path), "--json", cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert bool(done.stdout) == (code == 0)
    assert "Traceback" not in done.stderr
