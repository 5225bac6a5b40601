"""`--cluster` and `murmura simulate` as a user meets them."""

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from murmura.data.populations import Rows, write_population
from murmura.testing import crowd
from tests.cli.processes import murmura

SETTINGS = ["-S", "clients=all", "-S", "rounds=3"]


@pytest.fixture
def population(tmp_path: Path) -> Path:
    rows = crowd(300, 30).by_user
    return write_population(tmp_path / "people", Rows(rows.start, rows.index), 30, 128).folder


def test_simulates_a_population_and_goes_on_in_its_folder(population: Path, tmp_path: Path) -> None:
    def simulated(out: str, *more: str) -> tuple[list[dict[str, Any]], bytes]:
        words = ["simulate", str(population), "--model", "cfpl", *SETTINGS, "--out", out, "--json", *more]
        done = murmura(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return lines, (tmp_path / out / "4" / "server.npz").read_bytes()

    lines, model = simulated("a")
    assert [line["rounds"] for line in lines] == [1, 2, 3, 4]  # the exchange of counts, then three rounds
    assert lines[-1]["visits"] == 300
    assert simulated("a") == ([], model)  # nothing is left to do
    assert simulated("b", "--shard", "77", "--checkpoint-every", "3") == (lines, model)
    other = murmura("simulate", str(population), "--model", "cfpl", "--out", "a", cwd=tmp_path)
    assert (other.returncode, "its schedule differ" in other.stderr) == (4, True), other.stderr


def test_refuses_what_is_no_population(tmp_path: Path) -> None:
    done = murmura("simulate", str(tmp_path), cwd=tmp_path)
    assert (done.returncode, "must hold a finished population" in done.stderr) == (3, True)


def test_refuses_a_method_without_sums_and_not_a_setting_nobody_gave(population: Path, tmp_path: Path) -> None:
    done = murmura("simulate", str(population), "--model", "fedsplit", cwd=tmp_path)
    assert (done.returncode, "train it in process" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "words", [["search"], ["sweep", "--data", "x", "--models", "sfpl"], ["reproduce", "run", "x"]]
)
def test_certificates_without_a_cluster_are_refused(words: list[str], tmp_path: Path) -> None:
    done = murmura(*words, "--cluster-tls", ".", cwd=tmp_path)
    assert (done.returncode, "needs a cluster" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--cluster", "local:0"], "must have a number of workers"),
        (["--cluster", "somewhere"], "must be 'local:' with a number of workers or the address"),
        (["--cluster-tls", "."], "needs a cluster"),
        (["--cluster", "tls://127.0.0.1:1", "--cluster-tls", "."], "lacks ca.pem, cert.pem, key.pem"),
    ],
)
def test_refuses_clusters_that_are_none(flags: list[str], said: str, population: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    done = murmura("simulate", str(population), *flags, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_without_the_extra_one_sentence_names_it(
    population: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any) -> Any:
        if name.split(".")[0] in ("dask", "distributed"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.delitem(sys.modules, "murmura.runtimes.dask", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    done = murmura("simulate", str(population), "--cluster", "local:2", cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert "pip install 'murmura[cluster]'" in done.stderr


@pytest.mark.process
@pytest.mark.slow
def test_compares_on_a_local_cluster_with_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    table = tmp_path / "rows.csv"
    data = crowd(200, 30)
    table.write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in zip(data.user, data.item)))
    found = []
    for out, more in (("here", []), ("there", ["--cluster", "local:2"])):
        words = ["compare", "--data", str(table), "--models", "mostpop,pfpl+", "-S", "pfpl+.rounds=2"]
        done = murmura(*words, "-S", "pfpl+.channel=secure-sum", "--out", out, "--json", *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1]
