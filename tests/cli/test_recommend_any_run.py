"""`murmura recommend` on whatever a command wrote, from anywhere, with contributions that add up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import Done, murmura, ratings
from tests.studies.experiment_files import EXPERIMENT, check_ins, small

MODELS = "mostpop,ease,near=item-knn,user-knn,mine=bpr-mf,sfpl+"
SMALL = ("-S", "mine.epochs=2", "-S", "sfpl+.epochs=1")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of data that is named as it is seen from here."""
    folder = tmp_path_factory.mktemp("place")
    ratings(folder)
    done = murmura(
        "compare", "--data", "ratings.csv", "--models", MODELS, *SMALL, "--seeds", "2", "--out", "c", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "kept 6 fitted models" in done.stderr
    return folder


def listed(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("model", ["ease", "near", "user-knn"])
@pytest.mark.parametrize("whom", [("--user", "u03"), ("--likes", "m01,m04"), ("--likes", "m21")], ids=str)
def test_the_terms_of_every_item_add_up_to_its_score(model: str, whom: tuple[str, str], place: Path) -> None:
    lines = listed(murmura("recommend", "c", "--model", model, *whom, "--why", "--json", cwd=place))
    assert len(lines) == 10
    plain = listed(murmura("recommend", "c", "--model", model, *whom, "--json", cwd=place))
    for line, without in zip(lines, plain, strict=True):
        assert line["item"] == without["item"]
        assert sum(term["term"] for term in line["terms"]) == pytest.approx(
            without["score"], rel=1e-5, abs=1e-6
        )
        assert [abs(term["term"]) for term in line["terms"]] == sorted(
            (abs(term["term"]) for term in line["terms"]), reverse=True
        )


def test_the_terms_are_named_as_a_person_names_them(place: Path) -> None:
    done = murmura("recommend", "c", "--model", "ease", "--user", "u03", "--why", "--k", "1", cwd=place)
    assert " = " in done.stdout
    assert any(f"m{item:02d} 0." in done.stdout for item in range(40))


def test_every_kept_model_gives_the_list_of_its_run(place: Path) -> None:
    for model in ("mostpop", "ease", "mine", "sfpl+"):
        seed = "" if model in ("mostpop", "ease") else "0"
        lists = (place / "c" / f"{model}-seed{seed or '0'}" / "recommendations.tsv").read_text(encoding="utf-8")
        kept = [line.split("\t")[2] for line in lists.splitlines() if line.startswith("u05\t")]
        lines = listed(murmura("recommend", "c", "--model", model, "--user", "u05", "--json", cwd=place))
        assert [line["item"] for line in lines] == kept[:10]


def test_a_model_that_was_not_kept_is_fitted_again(place: Path, tmp_path: Path) -> None:
    words = ("recommend", "--model", "mine", "--user", "u05", "--json")
    kept = murmura(words[0], "c", *words[1:], cwd=place)
    shutil.copytree(place / "c", tmp_path / "c")
    (tmp_path / "c" / "mine-seed0" / "model.npz").unlink()
    assert listed(murmura(words[0], str(tmp_path / "c"), *words[1:], cwd=place)) == listed(kept)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--user", "u03"),
            "holds several models; say which with --model: mostpop, ease, near, user-knn, mine",
        ),
        (("--model", "eese", "--user", "u03"), "did you mean 'ease'?"),
        (("--model", "zzz", "--user", "u03"), "it has mostpop, ease, near"),
        (("--model", "ease", "--user", "u3"), "user 'u3' is not among the 30 known ones; did you mean 'u"),
        (("--model", "ease", "--user", "nobody"), "check its spelling"),
        (("--model", "ease", "--likes", "m1"), "item 'm1' is not among"),
    ],
)
def test_what_is_not_there_is_named_with_what_was_meant(words: tuple[str, ...], said: str, place: Path) -> None:
    done = murmura("recommend", "c", *words, cwd=place)
    assert done.returncode in (3, 4)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_damaged_model_is_refused_in_one_sentence(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "c", tmp_path / "c")
    (tmp_path / "c" / "ease-seed0" / "model.npz").write_bytes(b"PK nonsense")
    done = murmura("recommend", str(tmp_path / "c"), "--model", "ease", "--user", "u03", cwd=place)
    assert done.returncode != 0
    assert "damaged or foreign; fit it again" in done.stderr
    (tmp_path / "c" / "config.yaml").write_text("[1,2", encoding="utf-8")
    unread = murmura("recommend", str(tmp_path / "c"), "--model", "ease", "--user", "u03", cwd=place)
    assert unread.returncode == 4
    assert "config.yaml cannot be read" in unread.stderr
    assert len(unread.stderr.splitlines()) == 1
    nothing = murmura("recommend", str(tmp_path), "--model", "ease", "--user", "u03", cwd=place)
    assert "no config.yaml" in nothing.stderr


def test_a_folder_finds_its_data_from_any_directory_and_after_a_move(place: Path, tmp_path: Path) -> None:
    words = ("--model", "ease", "--user", "u05", "--json")
    here = listed(murmura("recommend", "c", *words, cwd=place))
    assert listed(murmura("recommend", str(place / "c"), *words, cwd=tmp_path)) == here
    shutil.copytree(place / "c", tmp_path / "moved")
    assert listed(murmura("recommend", "moved", *words, cwd=tmp_path)) == here
    (tmp_path / "ratings.csv").write_text("user,item\nu05,m01\n", encoding="utf-8")  # another file of that name
    assert listed(murmura("recommend", "moved", *words, cwd=tmp_path)) == here


def test_a_folder_whose_data_is_gone_says_what_to_give(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place, tmp_path / "all")
    (tmp_path / "all" / "c" / "place.json").write_text("damaged", encoding="utf-8")
    words = ("recommend", str(tmp_path / "all" / "c"), "--model", "ease", "--user", "u05", "--json")
    lost = murmura(*words, cwd=tmp_path)
    assert lost.returncode == 4
    assert "ratings.csv is not in" in lost.stderr
    assert "give the folder that holds it with --data-dir" in lost.stderr
    assert listed(murmura(*words, "--data-dir", str(tmp_path / "all"), cwd=tmp_path))


def test_the_same_folder_goes_on_by_another_way_to_the_same_data_and_with_no_other(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    words = ("compare", "--models", "mostpop", "--out", "c")
    assert murmura(*words, "--data", "ratings.csv", cwd=tmp_path).returncode == 0
    assert murmura(*words, "--data", str(file), cwd=tmp_path).returncode == 0
    ratings(tmp_path, users=20)
    other = murmura(*words, "--data", "ratings.csv", cwd=tmp_path)
    assert other.returncode == 4
    assert "must go on with the data it began with" in other.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("keep", "kept"), [("none", set()), ("best", {"ease-seed0", "sfpl+-seed0"})])
def test_keep_says_which_models_stay(keep: str, kept: set[str], tmp_path: Path) -> None:
    models = "mostpop,ease,random,weak=sfpl+,sfpl+"
    words = ("--models", models, "-S", "weak.epochs=1", "-S", "weak.pi=0", "-S", "sfpl+.epochs=20")
    done = murmura(
        "compare", "--data", str(ratings(tmp_path)), *words, "--keep", keep, "--out", "c", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert {path.parent.name for path in (tmp_path / "c").glob("*/model.npz")} == kept
    assert ("fitted models" in done.stderr) == bool(kept)


@pytest.mark.slow
def test_fit_search_and_sweep_are_asked_alike(tmp_path: Path) -> None:
    data = ("--data", str(ratings(tmp_path)))
    assert murmura("fit", *data, "--model", "item-knn", "-S", "k=5", "--out", "f", cwd=tmp_path).returncode == 0
    grid = ("--grid", "k=5", "--model", "item-knn", "--out", "s")
    assert murmura("search", *data, *grid, cwd=tmp_path).returncode == 0
    swept = ("--models", "item-knn", "--key", "k", "--values", "5,6", "--protocol", "default", "--out", "w")
    assert murmura("sweep", *data, *swept, cwd=tmp_path).returncode == 0
    words = ("--user", "u07", "--why", "--json")
    fitted = listed(murmura("recommend", "f", *words, cwd=tmp_path))
    assert fitted[0]["terms"]
    assert listed(murmura("recommend", "s", *words, cwd=tmp_path)) == fitted
    assert listed(murmura("recommend", "w", "--model", "item-knn k=5", *words, cwd=tmp_path))[0]["terms"]


@pytest.mark.slow
def test_a_row_of_a_reproduction_is_asked_alike(tmp_path: Path) -> None:
    check_ins(tmp_path, users=30)
    rows = EXPERIMENT[: EXPERIMENT.index("  sFPL:")] + EXPERIMENT[EXPERIMENT.index("printed:") :]
    file = small(tmp_path, rows)
    words = ("reproduce", "run", str(file), "--data", "ratings.csv", "--out", "o", "--workers", "1")
    done = murmura(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (
        path for path in (tmp_path / "o").iterdir() if path.is_dir() and (path / "config.yaml").exists()
    )
    user = (tmp_path / "ratings.csv").read_text(encoding="utf-8").splitlines()[1].split(",")[0]
    lines = listed(
        murmura(
            "recommend", str(folder), "--model", "User-kNN", "--user", user, "--why", "--json", cwd=tmp_path
        )
    )
    assert lines[0]["terms"]
