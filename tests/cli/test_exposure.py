"""A release without noise: the table and the report say how many people it tells on."""

from pathlib import Path

import numpy as np

from murmura.report import build
from murmura.studies.compare.section import exposure_sentence
from tests.cli.processes import murmura

NO_NOISE = "The release of fed-item-knn has no noise: who knows the rarest item in it of "


def table(folder: Path) -> Path:
    """Items 0 to 29 are everybody's; every fourth person has one more of her own, the first of them two."""
    rng, lines = np.random.default_rng(3), ["user,item,time"]
    for user in range(24):
        own = [100 + user] * (user % 4 == 0) + [200] * (user == 0)
        likes = [*own, *rng.choice(30, 22, replace=False).tolist()]
        lines += [f"u{user:02d},{item},{1000 + n}" for n, item in enumerate(likes)]
    (folder / "few.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "few.csv"


def test_below_five_owners_the_table_and_the_report_say_whom_a_release_tells_on(tmp_path: Path) -> None:
    """Her own items are her oldest, so they are in the training part: six owners, seven items."""
    flags = ("--protocol", "fpl", "--models", "mostpop,fed-item-knn", "-S", "fed-item-knn.minimum_cohort=10")
    words = ("compare", "--data", str(table(tmp_path)), *flags, "--out", "c")
    done = murmura(*words, "-S", "fed-item-knn.least=1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = (
        NO_NOISE
        + "any of 6 people learns another one for certain (items with fewer than 5 owners take part: 7)."
    )
    assert "people exposed without noise (fed-item-knn: 6)" in " ".join(done.stdout.split())
    assert said in build(tmp_path / "c").read_text()


def test_where_nobody_is_told_on_nothing_is_said(tmp_path: Path) -> None:
    flags = ("--protocol", "fpl", "--models", "mostpop,fed-item-knn", "-S", "fed-item-knn.minimum_cohort=10")
    done = murmura("compare", "--data", str(table(tmp_path)), *flags, "--out", "c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "people exposed without noise" not in done.stdout
    assert NO_NOISE not in build(tmp_path / "c").read_text()


def test_whom_a_release_tells_on_is_said_of_each_model() -> None:
    costs: dict[str, dict[str, float | None]] = {
        "a": {"exposed people": 1.0, "rare items": 3.0},
        "b": {"kB up/client": 3.0},
        "c": {"exposed people": 0.0, "rare items": 0.0},
        "d": {"exposed people": 102.5},
    }
    told = exposure_sentence(costs)
    assert "The release of a has no noise: who knows the rarest item in it of 1 person learns" in told
    assert "certain (items with fewer than 5 owners take part: 3)." in told
    assert told.endswith("the rarest item in it of any of 102.5 people learns another one for certain.")
    assert told.count("has no noise") == 2
