"""The table of a comparison: who can read what, who is below MostPop, kilobytes that can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.processes import murmura

LIKED = [(u, i) for u in range(40) for i in range(60) if (u + i * i) % (2 + i // 4) == 0]  # low numbers by most
RATINGS = "user,item\n" + "".join(f"u{u},i{i}\n" for u, i in LIKED)


def printed(folder: Path, models: str, *settings: str) -> list[str]:
    """The lines of the table that `murmura compare` prints."""
    (folder / "ratings.csv").write_text(RATINGS, encoding="utf-8")
    chosen = [word for setting in settings for word in ("-S", setting)]
    done = murmura("compare", "--data", "ratings.csv", "--models", models, *chosen, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "the server can read" not in done.stderr  # a column, and no line of its own
    return done.stdout.splitlines()


def row(lines: list[str], label: str) -> str:
    return next(line for line in lines if re.match(rf"\s*{label}\s", line))


def test_who_can_read_what_is_a_column(tmp_path: Path) -> None:
    secure = ("rounds=1", "channel=secure-sum", "minimum_cohort=2")
    lines = printed(
        tmp_path,
        "mostpop,open=sfpl+,secure=cfpl,readable=cfpl",
        "open.epochs=1",
        *(f"secure.{one}" for one in secure),
        *(f"readable.{one}" for one in (secure[0], "channel=readable", secure[2])),
    )
    assert next(line for line in lines if "model" in line).split("  ")[-2].strip() == "the server reads"
    said = {"mostpop": "all data", "open": "each update", "secure": "sums alone", "readable": "each update"}
    for label, what in said.items():
        assert row(lines, label).rstrip().endswith(what)


def test_centralised_models_need_no_such_column(tmp_path: Path) -> None:
    assert not any("the server reads" in line for line in printed(tmp_path, "mostpop,ease"))


@pytest.mark.parametrize("models", ["random,mostpop", "mostpop,random"])
def test_who_is_below_mostpop_is_marked(tmp_path: Path, models: str) -> None:
    lines = printed(tmp_path, f"{models},popular=mostpop")
    values = {label: float(row(lines, label).replace("▼", " ").split()[1]) for label in models.split(",")}
    assert values["random"] < values["mostpop"]
    assert "▼" in row(lines, "random")
    assert "▼" not in row(lines, "mostpop") + row(lines, "popular")  # as much is not less
    assert any(line.startswith("▼ below MostPop in P@10") for line in lines)


def test_without_mostpop_nothing_is_marked(tmp_path: Path) -> None:
    assert not any("▼" in line for line in printed(tmp_path, "random,ease"))


def test_kilobytes_have_one_digit_after_the_point(tmp_path: Path) -> None:
    cells = row(printed(tmp_path, "sfpl", "epochs=1"), "sfpl").split()
    assert all(re.fullmatch(r"[\d,]+\.\d", cell) for cell in cells[-4:-2]), cells
