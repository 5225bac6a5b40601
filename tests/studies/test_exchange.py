"""Exporting a run and scoring it again gives the numbers of the run; a plain count of the files does too."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.engine.prepared import FILE as OPENED
from murmura.engine.run_folder import Run
from murmura.studies.evaluate.run import EvaluateConfig, ListsData, evaluate_lists, export_run
from tests.cli.processes import murmura, ratings

MODELS = (
    "compare",
    "--models",
    "mostpop,user-knn",
    "-S",
    "user-knn.k=3",
    "--data",
    "ratings.csv",
    "--out",
    "run",
)


def lists_of(data: Path) -> EvaluateConfig:
    """Lists made for this data."""
    return EvaluateConfig(data=ListsData(name=str(data)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exchange")
    ratings(folder)
    done = murmura(*MODELS, cwd=folder)
    assert done.returncode == 0, done.stderr
    config = folder / "run" / "config.yaml"
    config.write_text(config.read_text().replace("name: ratings.csv", f"name: {folder / 'ratings.csv'}"))
    return folder


@pytest.mark.parametrize("form", ["trec", "elliot", "warprec", "recbole"])
def test_scored_again_they_are_the_same(made: Path, tmp_path: Path, form: str) -> None:
    written = export_run(made / "run", form, tmp_path / "out")
    file = next(path for path in written if path.name.startswith("user-knn"))
    values = evaluate_lists(file, lists_of(made / "ratings.csv"), tmp_path / "again")
    assert values == Run(made / "run" / "user-knn-seed0").read("metrics.json")
    assert Run(tmp_path / "again").read(OPENED)["choice"]["lists"]["file"] == file.name


def test_a_plain_count_of_the_trec_files(made: Path, tmp_path: Path) -> None:
    """As any TREC tool would: sort by score, count the judged ones among the first ten."""
    export_run(made / "run", "trec", tmp_path)
    judged = defaultdict(set)
    for line in (tmp_path / "qrels.txt").read_text().splitlines():
        user, _, item, relevance = line.split()
        if int(relevance):
            judged[user].add(item)
    ranked = defaultdict(list)
    for line in (tmp_path / "user-knn-seed0.run").read_text().splitlines():
        user, _, item, _, score, _ = line.split()
        ranked[user].append((-float(score), item))
    hits = [len({item for _, item in sorted(ranked[user])[:10]} & judged[user]) / 10 for user in judged]
    expected = Run(made / "run" / "user-knn-seed0").read("metrics.json")["P@10"]
    assert sum(hits) / len(hits) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("form", ["elliot", "recbole"])
def test_the_split_that_went_out_gives_the_same_table_when_it_comes_in(
    made: Path, tmp_path: Path, form: str
) -> None:
    export_run(made / "run", form, tmp_path / "split")
    command = [*MODELS[:-3], str(made / "ratings.csv"), "--protocol", f"split:{tmp_path / 'split'}", "--json"]
    found = murmura(*command, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    for line in map(json.loads, found.stdout.splitlines()):
        kept = Run(made / "run" / f"{line['model']}-seed0").read("metrics.json")
        assert {key: line[key] for key in kept} == kept


def test_lists_alone_open_nothing(tmp_path: Path) -> None:
    ratings(tmp_path)
    assert (
        murmura("fit", "--model", "mostpop", "--data", "ratings.csv", "--out", "fit", cwd=tmp_path).returncode
        == 0
    )
    done = murmura("export", "fit", "--format", "elliot", "--lists-only", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["fit/export-elliot/fit.tsv"]
    assert not (tmp_path / "fit" / OPENED).exists()
    done = murmura("export", "fit", "--format", "elliot", cwd=tmp_path)
    assert (tmp_path / "fit" / OPENED).exists()  # the test rows went out: that is an opening
    assert len(done.stdout.split()) == 4


def test_another_file_needs_another_folder(made: Path, tmp_path: Path) -> None:
    first, second, *_ = export_run(made / "run", "trec", tmp_path / "out", parts=False)
    source = lists_of(made / "ratings.csv")
    evaluate_lists(first, source, tmp_path / "again")
    with pytest.raises(RunError, match="holds another"):
        evaluate_lists(second, source, tmp_path / "again")


def test_the_command_scores_a_strangers_file(made: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs.tsv").write_text("u00\tm01\t3\nu00\tm02\t2.5\nu01\tm21\t1\n")
    data = ["--data", str(made / "ratings.csv"), "--at", "1,2"]
    done = murmura("evaluate", "--lists", "theirs.tsv", *data, "--json", "--out", "x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 0 <= json.loads(done.stdout)["P@2"] <= 1
    for arguments, code, sentence in [
        (("evaluate",), 2, "a run folder, or --lists"),
        (("evaluate", "--lists", "theirs.tsv"), 2, "--lists needs --data"),
        (("evaluate", "--lists", "absent.tsv", *data), 3, "no such file"),
        (
            ("evaluate", "--lists", "theirs.tsv", "--data", str(made / "ratings.csv")),
            2,
            "at least as many places",
        ),
        (("export", "x"), 4, "must be the folder of a fit"),
    ]:
        done = murmura(*arguments, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
