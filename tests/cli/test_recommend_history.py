"""`murmura recommend --history`: someone unknown, with the times of her file where it has them."""

import json
from pathlib import Path

import pytest

from tests.cli.processes import Done, murmura, ratings

SETTINGS = ("knn=1", "least=1", "recency=2", "minimum_cohort=10")
DAY = 86_400


def fitted(folder: Path, *flags: str) -> None:
    """A model whose lists depend on which items are the newest."""
    words = [word for one in SETTINGS for word in ("-S", one)]
    made = murmura(
        "fit",
        "--model",
        "fed-item-knn",
        "--data",
        str(ratings(folder)),
        *words,
        *flags,
        "--out",
        "mine",
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr


def asked(folder: Path, lines: list[str], *flags: str) -> Done:
    (folder / "her.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return murmura("recommend", "mine", "--history", "her.csv", "--json", *flags, cwd=folder)


def items(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["item"] for line in done.stdout.splitlines()]


def test_the_times_of_a_file_count(tmp_path: Path) -> None:
    fitted(tmp_path)
    likes = ["m00", "m03", "m25", "m28"]
    forth = items(asked(tmp_path, ["user,item,time", *(f"me,{one},{n}" for n, one in enumerate(likes))]))
    back = items(asked(tmp_path, ["user,item,time", *(f"me,{one},{9 - n}" for n, one in enumerate(likes))]))
    assert forth != back
    assert not set(likes) & set(forth)
    alike = murmura("recommend", "mine", "--likes", ",".join(likes), "--json", cwd=tmp_path)
    without = items(asked(tmp_path, ["user,item", *(f"me,{one}" for one in likes)]))
    equal = items(asked(tmp_path, ["user,item,time", *(f"me,{one},7" for one in likes)]))
    assert items(alike) == without == equal
    of_two = ["user,item,time", *(f"a,{one},{n}" for n, one in enumerate(likes)), "b,m01,3"]
    assert items(asked(tmp_path, of_two, "--user", "a")) == forth


def test_the_order_inside_a_day_stays_hidden_where_the_run_hides_it(tmp_path: Path) -> None:
    fitted(tmp_path, "--protocol", "default:order=day")
    likes = ["m00", "m03", "m25", "m28"]
    lists = [
        items(
            asked(
                tmp_path, ["user,item,time", *(f"me,{one},{5 * DAY + n * step}" for n, one in enumerate(likes))]
            )
        )
        for step in (1, 2, DAY, -DAY)
    ]
    assert lists[0] == lists[1]
    assert lists[2] != lists[0]
    assert lists[3] != lists[2]


@pytest.mark.parametrize(
    ("lines", "code", "sentence"),
    [
        (["user,item", "a,m00", "a,elsewhere", "a,m03"], 0, "1 rows are of items the model does not know"),
        (
            ["user,item", "a,elsewhere"],
            3,
            "must have at least one of the 40 items of the run, but none of its 1 rows has",
        ),
        (
            ["user,item", "a,m00", "b,m00"],
            3,
            "must hold the rows of one person, but has 2; say whose with --user",
        ),
    ],
)
def test_what_a_file_must_hold(tmp_path: Path, lines: list[str], code: int, sentence: str) -> None:
    fitted(tmp_path)
    done = asked(tmp_path, lines)
    assert (done.returncode, sentence in done.stderr) == (code, True), done.stderr


def test_likes_and_a_history_are_too_much(tmp_path: Path) -> None:
    done = murmura("recommend", "mine", "--history", "her.csv", "--likes", "m00", cwd=tmp_path)
    assert (done.returncode, "give exactly one of them" in done.stderr) == (2, True)
