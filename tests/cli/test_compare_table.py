"""The table of a comparison: best first, marks and intervals, digits, sizes, and what a reader must know."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from murmura.studies.search.space import edges
from tests.cli.processes import murmura

LIKED = [(u, i) for u in range(40) for i in range(60) if (u + i * i) % (2 + i // 4) == 0]  # low numbers by most
RATINGS = "user,item\n" + "".join(f"u{u},i{i}\n" for u, i in LIKED)


def printed(folder: Path, models: str, *settings: str, flags: Sequence[str] = ()) -> list[str]:
    """The lines of the table that `murmura compare` prints."""
    (folder / "ratings.csv").write_text(RATINGS, encoding="utf-8")
    chosen = [word for setting in settings for word in ("-S", setting)]
    done = murmura("compare", "--data", "ratings.csv", "--models", models, *chosen, *flags, cwd=folder)
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
    heads = re.split(r"\s{2,}", next(line for line in lines if "model" in line).strip())
    assert "the server reads" in heads
    said = {
        "mostpop": "all data",
        "open": "each update",
        "secure": "sums without noise",
        "readable": "each update",
    }
    for label, what in said.items():
        assert row(lines, label).rstrip().endswith(what)


def test_centralised_models_need_no_such_column(tmp_path: Path) -> None:
    assert not any("the server reads" in line for line in printed(tmp_path, "mostpop,ease"))


@pytest.mark.parametrize("models", ["random,mostpop", "mostpop,random"])
def test_who_is_below_mostpop_is_marked(tmp_path: Path, models: str) -> None:
    lines = printed(tmp_path, f"{models},popular=mostpop")
    values = {label: float(row(lines, label).split("0.")[1].split()[0]) for label in models.split(",")}
    assert values["random"] < values["mostpop"]
    assert "▼" in row(lines, "random")
    assert "▼" not in row(lines, "mostpop") + row(lines, "popular")  # as much is not less
    assert any("▼ below MostPop" in line for line in lines)


def test_without_mostpop_nothing_is_marked(tmp_path: Path) -> None:
    assert not any("▼" in line for line in printed(tmp_path, "random,ease"))


def test_bytes_are_sizes_on_the_console_and_kilobytes_in_json(tmp_path: Path) -> None:
    lines = printed(tmp_path, "sfpl", "epochs=1", flags=("--out", "c"))
    heads = next(line for line in lines if "model" in line)
    assert "up/client" in heads
    assert "kB" not in heads
    sizes = re.findall(r"([\d,.]+) (k|M|G)?B ", row(lines, "sfpl"))
    again = murmura(
        "compare",
        "--data",
        "ratings.csv",
        "--models",
        "sfpl",
        "-S",
        "epochs=1",
        "--out",
        "c",
        "--json",
        cwd=tmp_path,
    )
    told = json.loads(again.stdout)
    units = {"": 0.001, "k": 1.0, "M": 1000.0, "G": 1e6}
    for (number, unit), key in zip(sizes, ("kB up/client", "kB down/client"), strict=True):
        assert float(number.replace(",", "")) * units[unit] == pytest.approx(told[key], rel=0.05)


def test_the_best_come_first_and_the_best_of_each_kind_has_a_star(tmp_path: Path) -> None:
    lines = printed(
        tmp_path, "random,mostpop,ease,federated=sfpl+,other=fcf", "federated.epochs=1", "other.rounds=1"
    )
    rows = [line for line in lines if re.match(r"\s+\S.*\s0\.\d{4,5}\s", line)]
    values = [float(re.findall(r"0\.\d+", line)[0]) for line in rows]
    assert len(values) == 5
    assert values == sorted(values, reverse=True)
    stars = [line.split()[0] for line in rows if "★" in line]
    kinds = ["federated" if line.split()[0] in ("federated", "other") else "central" for line in rows]
    assert stars == [rows[kinds.index(kind)].split()[0] for kind in dict.fromkeys(kinds)]


def test_where_lower_is_better_the_lowest_comes_first(tmp_path: Path) -> None:
    lines = printed(tmp_path, "random,mostpop", flags=("--metrics", "PopREO,nDCG"))
    rows = [line for line in lines if re.match(r"\s+(random|mostpop)\s", line)]
    first, second = (float(re.findall(r"\d\.\d+", line)[0]) for line in rows)
    assert first < second
    assert rows[0].split()[0] == "random"
    assert any("★ best of its kind in PopREO@10" in line for line in lines)


def test_intervals_hold_the_mean_and_a_difference_beyond_chance_is_marked(tmp_path: Path) -> None:
    lines = printed(tmp_path, "random,mostpop,ease")
    assert "95 %" in next(line for line in lines if "model" in line)
    for label in ("random", "mostpop", "ease"):
        mean, low, high = map(float, re.findall(r"\d\.\d+", row(lines, label))[:3])
        assert low < mean < high
    best = next(line for line in lines if "★" in line)
    assert "†" not in best
    assert "†" in row(lines, "random")
    assert any("† worse than the best (paired t-test, Holm, p < 0.05)" in line for line in lines)


@pytest.mark.slow
def test_the_note_has_at_most_two_lines_whatever_there_is_to_say(tmp_path: Path) -> None:
    models = "random,mostpop,item-knn,ease,fed-ease,fed-item-knn,pfpl+"
    flags = ("--data", "ml-latest-small-2016", "--models", models, "-S", "pfpl+.epochs=1", "--metrics", "P,HR")
    done = murmura("compare", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = done.stdout[done.stdout.rindex("the server reads") :]
    below = text[text.index("★ best of its kind") :].strip().splitlines()
    assert len(below) == 2, below
    assert "timestamps (fed-ease and 3 more)" in below[1]
    assert "people exposed without noise (fed-ease: " in below[1]
    said = [line for line in done.stderr.splitlines() if not line.endswith(": done")]
    costly = ("fed-ease", "fed-item-knn", "pfpl+")  # told before they are trained
    assert all(line.endswith(" MB in all.") for line in said[: len(costly)])
    assert [line.split(":")[0].split(" ")[0] for line in said] == [*costly, "kept", "run"]


@pytest.mark.parametrize(("protocol", "digits"), [("default", 4), ("fpl", 5)])
def test_five_digits_where_the_papers_of_a_protocol_have_five(
    tmp_path: Path, protocol: str, digits: int
) -> None:
    rows = "".join(f"u{u},i{(7 * u + 3 * n) % 60},{n}\n" for u in range(30) for n in range(20))
    (tmp_path / "r.csv").write_text("user,item,time\n" + rows, encoding="utf-8")
    flags = ("--data", "r.csv", "--protocol", protocol, "--models", "mostpop,random", "--metrics", "nDCG")
    done = murmura("compare", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    best = next(line for line in done.stdout.splitlines() if "★" in line)
    value = re.findall(r"0\.\d+", best)[0]
    assert float(value) >= 0.1
    assert len(value) == 2 + digits


def test_80_columns_hold_the_table_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(tmp_path, "mostpop,ease,sfpl+", "sfpl+.epochs=1")
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert sum("model" in line for line in lines) == 2  # both parts begin with the models
    rows = [line for line in lines if re.match(r"\s+(mostpop|ease|sfpl\+)\s", line)]
    assert len(rows) == 6  # no cell is broken over two lines


def test_given_settings_say_which_tuned_settings_stay(tmp_path: Path) -> None:
    flags = ("--data", "ml-latest-small-2016", "--models", "item-knn,mostpop", "-S", "item-knn.k=5")
    done = murmura("compare", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = next(line for line in done.stderr.splitlines() if line.startswith("item-knn: k=5 is yours"))
    assert re.search(r"asymmetry=\S+, shrink=\S+, power=\S+ stay as tuned for this data", said), said


def test_a_search_on_the_edge_of_its_grid_says_so(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(RATINGS, encoding="utf-8")
    flags = ("--data", "ratings.csv", "--model", "item-knn", "--grid", "k=1,2,3")
    done = murmura("search", *flags, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    k = json.loads(done.stdout)["settings"]["k"]
    assert ("the search ended on the edge" in done.stderr) == (k == 3)  # 1 neighbour is as few as there can be


def test_edges() -> None:
    grid: dict[str, list[Any] | str] = {
        "k": [5, 20, 50],
        "shrink": [0, 5, 10],
        "power": [1, 2],
        "asymmetry": "0.1:0.9",
    }
    on = edges("item-knn", {"k": 50, "shrink": 0, "power": 2, "asymmetry": 0.89}, grid)
    assert on == {
        "k": "k=50 is the highest of 5 to 50",
        "asymmetry": "asymmetry=0.89 is the highest of 0.1 to 0.9",
    }  # no shrinkage is below 0, and of two values each is an end
    assert not edges("item-knn", {"k": 20, "shrink": 5, "power": 1, "asymmetry": 0.5}, grid)
    assert edges("ease", {"reg": 10.5}, {"reg": "10:1000:log"})
    assert not edges("ease", {"reg": 100}, {"reg": "10:1000:log"})
