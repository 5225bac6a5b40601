"""`--metrics`, `--split` and `--candidates` as a stranger gives them, rightly and wrongly."""

import csv
import json
from pathlib import Path

import pytest

from tests.cli.processes import murmura


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty people with twelve of forty items each; u29 has one row alone."""
    made = tmp_path_factory.mktemp("flags")
    lines, bare = ["user,item,rating,time"], ["user,item"]
    for user in range(30):
        for step in range(12 if user < 29 else 1):
            item = (user * 7 + step * (1 + user % 3)) % 40
            lines.append(f"u{user:02d},i{item:02d},{1 + step % 5},{1000 + step}")
            bare.append(f"u{user:02d},i{item:02d}")
    (made / "r.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (made / "bare.csv").write_text("\n".join(bare) + "\n", encoding="utf-8")
    return made


def compared(place: Path, *flags: str, data: str = "r.csv", models: str = "mostpop") -> dict[str, object]:
    done = murmura("compare", "--data", data, "--models", models, "--json", *flags, cwd=place)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[0])
    return found


def refused(place: Path, *words: str) -> str:
    done = murmura(*words, cwd=place)
    assert done.returncode in (2, 3), done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert "Traceback" not in done.stderr
    return said


def test_metrics_are_chosen_by_name(place: Path) -> None:
    found = compared(place, "--metrics", "HR,MAP, Gini", "--at", "3,5")
    assert [key for key in found if "@" in key] == ["HR@3", "MAP@3", "Gini@3", "HR@5", "MAP@5", "Gini@5"]
    ratings = compared(place, "--protocol", "ratings", "--metrics", "RMSE", models="biased-mf")
    assert {key.split("/")[0] for key in ratings} == {"model", "seeds", "RMSE"}


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("ndcg", "did you mean 'nDCG'?"),
        ("recall", "did you mean 'R'?"),
        ("hit-rate", "did you mean 'HR'?"),
        ("nDCG@20", "write --metrics nDCG --at 20"),
        ("RMSE", "'RMSE' is of predicted ratings"),
        ("BD", "murmura analyse bias"),
        ("quality", "it is one of P, R,"),
    ],
)
def test_a_wrong_metric_is_answered_with_the_right_one(place: Path, asked: str, hint: str) -> None:
    assert hint in refused(place, "compare", "--data", "r.csv", "--models", "mostpop", "--metrics", asked)


@pytest.mark.parametrize("split", ["leave-one-out", "fixed-time", "random", "temporal"])
def test_a_split_by_name_and_drawn_candidates_beside_the_full_ranking(place: Path, split: str) -> None:
    out = f"runs/{split}"
    found = compared(place, "--split", split, "--candidates", "9", "--metrics", "HR,IC", "--out", out)
    assert [key for key in found if "@" in key] == ["HR@10", "IC@10", "HR/sampled@10"]
    assert (found["candidates"], found["draws"], found["draw seed"]) == (9, 10, 42)
    assert float(str(found["HR/sampled@10"])) >= float(str(found["HR@10"]))
    config = (place / out / "config.yaml").read_text(encoding="utf-8")
    assert f"default:split={split},candidates=9" in config
    assert "draw_seed: 42" in config
    with (place / out / "mostpop-seed0" / "per_user.csv").open(encoding="utf-8", newline="") as file:
        assert "HR/sampled@10" in next(csv.reader(file))


def test_the_table_says_what_is_sampled(place: Path) -> None:
    flags = ["--data", "r.csv", "--models", "mostpop,ease", "--metrics", "HR"]
    done = murmura("compare", *flags, "--split", "leave-one-out", "--candidates", "9", cwd=place)
    assert "HR/sampled@10" in done.stdout
    assert "sampled metrics (9 drawn items)" in done.stdout
    folder = next(line.split()[2] for line in done.stderr.splitlines() if line.startswith("run folder:"))
    assert murmura("report", folder, cwd=place).returncode == 0
    page = (place / folder / "report.html").read_text(encoding="utf-8")
    assert "ranked among 9 items drawn for each person" in page
    assert "mean of 10 draws (seed 42)" in page
    assert "HR/sampled@10" in page


def test_who_has_one_row_is_not_tested_and_stays_in_training(place: Path) -> None:
    compared(place, "--split", "leave-one-out", "--out", "runs/one")
    about = json.loads((place / "runs" / "one" / "data.json").read_text(encoding="utf-8"))
    assert about["test users"] == about["test rows"] == 29


def test_what_cannot_be_is_refused_before_anything_is_fitted(place: Path) -> None:
    base = ["compare", "--data", "r.csv", "--models", "mostpop"]
    assert "draw 28 or fewer" in refused(place, *base, "--split", "leave-one-out", "--candidates", "99")
    assert "did you mean 'leave-one-out'?" in refused(place, *base, "--split", "leave-one")
    bare = ["compare", "--data", "bare.csv", "--models", "mostpop"]
    assert "needs a time for every row" in refused(place, *bare, "--split", "fixed-time")
    wrong = refused(place, *base, "--protocol", "ratings", "--candidates", "9")
    assert "'ratings:candidates=9' has no lists" in wrong
    assert "unknown setting 'default.picked'" in refused(place, *base, "--protocol", "default:picked=newest")


def test_the_same_keys_in_a_file(place: Path) -> None:
    (place / "c.yaml").write_text(
        "data: r.csv\nsplit: leave-one-out\ncandidates: 9\nmetrics: [HR]\nmodels: {mostpop: {}}\n",
        encoding="utf-8",
    )
    done = murmura("compare", "--config", "c.yaml", "--json", cwd=place)
    flags = compared(place, "--split", "leave-one-out", "--candidates", "9", "--metrics", "HR")
    assert json.loads(done.stdout) == flags
    (place / "f.yaml").write_text(
        "data: r.csv\nsplit: leave-one-out\ncandidates: 9\nmetrics: [HR]\nmodel: {name: mostpop}\n",
        encoding="utf-8",
    )
    assert murmura("fit", "--config", "f.yaml", "--out", "fitted", cwd=place).returncode == 0
    scored = json.loads(murmura("evaluate", "fitted", "--json", cwd=place).stdout)
    assert scored["HR/sampled@10"] == flags["HR/sampled@10"]
    more = json.loads(murmura("evaluate", "fitted", "--metrics", "MRR", "--json", cwd=place).stdout)
    assert set(more) == {"run", "MRR@10", "MRR/sampled@10"}
    assert "how fitted is cut was decided" in refused(place, "evaluate", "fitted", "--split", "random")


def test_a_search_decides_by_a_sampled_metric_and_a_sweep_shows_it(place: Path) -> None:
    cut = ["--data", "r.csv", "--split", "leave-one-out", "--candidates", "9"]
    done = murmura(
        "search",
        "--model",
        "ease",
        "--grid",
        "reg=1,100",
        "--metric",
        "HR/sampled@5",
        *cut,
        "--json",
        cwd=place,
    )
    assert "HR/sampled@5" in json.loads(done.stdout)
    assert "write for example HR@10" in refused(
        place, "search", "--model", "ease", "--grid", "reg=1", "--metric", "HR", *cut
    )
    swept = murmura(
        "sweep", "--models", "ease", "--key", "reg", "--values", "1,100", "--protocol", "default",
        "--metrics", "HR", *cut, "--json", cwd=place,
    )  # fmt: skip
    assert all(
        "HR/sampled@10" in json.loads(line) for line in swept.stdout.splitlines() if line.startswith("{")
    )
    assert swept.returncode == 0, swept.stderr
