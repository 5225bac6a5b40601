"""`--cluster` and `murmura simulate` as a user meets them."""

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from murmura.core.files import read_archive
from murmura.core.progress import Progress
from murmura.data.populations import Rows, write_population
from murmura.studies.compare.run import Runner
from murmura.studies.scorer import Scorer
from murmura.testing import crowd
from tests.cli.processes import killed_at, murmura
from tests.studies.test_side_by_side import files

SETTINGS = ["-S", "clients=all", "-S", "rounds=3"]


@pytest.fixture
def population(tmp_path: Path) -> Path:
    rows = crowd(300, 30).by_user
    return write_population(tmp_path / "people", Rows(rows.start, rows.index), 30, 128).folder


def test_simulates_a_population_and_goes_on_in_its_folder(population: Path, tmp_path: Path) -> None:
    def simulated(out: str, *more: str) -> tuple[list[dict[str, Any]], Any]:
        words = ["simulate", str(population), "--model", "cfpl", *SETTINGS, "--out", out, "--json", *more]
        done = murmura(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        arrays, meta = read_archive(tmp_path / out / "checkpoint.npz")
        del meta["config"]  # which has the cut into shards
        return lines, ({name: array.tobytes() for name, array in arrays.items()}, meta)

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


@pytest.fixture
def table(tmp_path: Path) -> Path:
    data, path = crowd(200, 30), tmp_path / "rows.csv"
    path.write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in zip(data.user, data.item)))
    return path


@pytest.mark.process
@pytest.mark.slow
def test_compares_on_a_local_cluster_with_the_same_bytes(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds in shards go on as they do; centralised models and what has no shards are fitted whole there."""
    pytest.importorskip("distributed")
    finish, whole = Runner._finish, list[str]()

    def told(self: Runner, job: Scorer, progress: Progress, fitted: Any = None) -> Any:
        whole.extend([] if fitted is None else [job.label])
        return finish(self, job, progress, fitted)

    monkeypatch.setattr(Runner, "_finish", told)
    found = []
    for out, more in (("here", []), ("there", ["--cluster", "local:2"])):
        words = [
            "compare",
            "--data",
            str(table),
            "--models",
            "mostpop,ease,pfpl+,sfpl+",
            "-S",
            "pfpl+.rounds=2",
        ]
        words += ["-S", "pfpl+.channel=secure-sum", "-S", "sfpl+.epochs=1"]
        done = murmura(*words, "--out", out, "--json", *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found.append((done.stdout, files(tmp_path / out)))
    assert found[0] == found[1]
    assert sorted(whole) == ["ease", "mostpop", "sfpl+"]  # one client a round, whose update has no sum


@pytest.mark.process
@pytest.mark.slow
def test_shards_of_a_killed_driver_go_when_it_goes_on(table: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")

    def words(out: str) -> list[str]:
        method = ["--model", "pfpl+", "-S", "rounds=6", "-S", "channel=secure-sum", "-S", "minimum_cohort=2"]
        return ["fit", "--data", str(table), *method, "--cluster", "local:1", "--out", out]

    def shards() -> list[Path]:
        return list((tmp_path / "killed").glob(".murmura-shards-*"))

    killed_at("requests/4", 1, *words("killed"), cwd=tmp_path)
    assert shards()
    for out in ("killed", "whole"):
        done = murmura(*words(out), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert not shards()
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
