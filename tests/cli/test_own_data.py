"""A stranger's own data on the command line: files of any shape, and refusals before anything is fitted."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from murmura.algorithms import ALGORITHMS
from murmura.baselines import BASELINES, baseline
from murmura.data.reading import READING_KEYS
from murmura.data.sources.synthetic import synth
from tests.cli.processes import Done, murmura

Row = tuple[int, int, float, int]
# of all methods: those that predict ratings; those of samples and of the extra `neural` have tests of their own
RATINGS = (
    "cnmf", "user-knn-ratings", "item-knn-ratings", "biased-mf", "svd++", "fedsplit", "cnmf-groups",
    "fedsplit-ridge", "fedsplit-svd", "co-statistics", "item-means", "fedmf",
)  # fmt: skip
NEURAL = [name for name in BASELINES if baseline(name).extra == "neural"]
LIKES = [name for name in (*BASELINES, *ALGORITHMS) if name not in (*RATINGS, *NEURAL, "fedavg")]
# of other authors: their settings are for many rounds, of which a few show whether a file fits
RIVALS = [name for name, path in ALGORITHMS.built_in.items() if "lab.rivals" in str(path)]
FEW = [word for name in RIVALS if name in LIKES for word in ("-S", f"{name}.rounds=2")]
KINDS = "article,kind\n" + "".join(f"{item},{'abcd'[item % 4]}\n" for item in range(30))


def rows(users: int, seed: int) -> list[Row]:
    made = synth(users, 30, 9 * users, groups=4, seed=seed).interactions
    columns = (made.user, made.item, made.value, made.time)
    return list(zip(*(column.tolist() for column in columns if column is not None)))


def day(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%d.%m.%Y %H:%M")


def other_names(u: int, i: int, v: float, t: int) -> list[str]:
    return [f"K{u:03d},{i},{v:g},{t}"]


def semicolons_and_dates(u: int, i: int, v: float, t: int) -> list[str]:
    return [f"{u};{i};{f'{v - 0.5:g}'.replace('.', ',')};{day(t)}"]


def repeats_and_negatives(u: int, i: int, v: float, t: int) -> list[str]:
    return [f"{u}\t{i}\t{1 if (u + i + again) % 4 else -1}\t{t + again}" for again in range(1 + (u + i) % 3)]


def milliseconds(u: int, i: int, v: float, t: int) -> list[str]:
    return [f"{u},{i},{1000 * t + 7}"]


# name, header, how a row is written, how many users, what is said of it
SHAPES: dict[str, tuple[str, Callable[[int, int, float, int], list[str]], int, list[str]]] = {
    "names.csv": (
        "customer,article,note,bought_at",
        other_names,
        40,
        ["user is 'customer', item is 'article', value is 'note', time is 'bought_at'", "every row is a like"],
    ),
    "dates.csv": (
        "user_id;item_id;rating;date",
        semicolons_and_dates,
        40,
        ["fields are separated by ';'", "the day first", "values have a decimal comma", "(1.5 to 4.5;"],
    ),
    "plays.tsv": (
        "user\titem\tvalue\ttime",
        repeats_and_negatives,
        40,
        ["rows repeat a pair of user and item", "values above 0 are likes, as some are negative"],
    ),
    "events.csv": ("userId,itemId,timestamp", milliseconds, 300, ["times are milliseconds since 1970"]),
}


def written(folder: Path, name: str) -> Path:
    header, form, users, _ = SHAPES[name]
    lines = [line for row in rows(users, len(name)) for line in form(*row)]
    (folder / name).write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    (folder / "kinds.csv").write_text(KINDS, encoding="utf-8")
    return folder / name


def sentence(done: Done) -> str:
    """What was refused; nothing else is there."""
    assert done.returncode, done.stdout
    return next(line for line in done.stderr.splitlines() if line.startswith("error: "))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.smoke if name == "names.csv" else ()) for name in SHAPES]
)
def test_a_file_of_any_shape_runs_with_all_methods_at_the_first_attempt(tmp_path: Path, name: str) -> None:
    written(tmp_path, name)
    how = (
        "compare",
        "--data",
        name,
        "--features",
        "kinds.csv",
        "--models",
        ",".join(LIKES),
        *FEW,
        "--out",
        "run",
    )
    done = murmura(*how, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for said in SHAPES[name][3]:
        assert said in done.stderr + done.stdout, said
    for label in LIKES:
        metrics = json.loads((tmp_path / "run" / f"{label}-seed0" / "metrics.json").read_text("utf-8"))
        assert 0 <= metrics["nDCG@10"] <= 1, label
    assert ("fewer than " in " ".join(done.stdout.split())) == (name != "events.csv")
    if name == "dates.csv":
        rated = murmura(
            "compare", "--data", name, "--protocol", "ratings", "--models", ",".join(RATINGS), "--out", "rated",
            cwd=tmp_path,
        )  # fmt: skip
        assert rated.returncode == 0, rated.stderr
        assert "values are predicted as they are (1.5 to 4.5)" in rated.stdout


def test_what_counts_as_a_like_stands_above_the_table_and_in_the_folder(tmp_path: Path) -> None:
    written(tmp_path, "names.csv")
    done = murmura(
        "compare", "--data", "names.csv", "--positive-from", "4", "--models", "mostpop,ease", "--out", "run",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    likes = [row for row in rows(40, len("names.csv")) if row[2] >= 4]
    share = f"values ≥ 4 are likes: {len(likes) / (9 * 40):.0%} of the rows".replace("%", " %")
    assert done.stdout.index(share) < done.stdout.index("mostpop")
    kept = json.loads((tmp_path / "run" / "data.json").read_text("utf-8"))
    assert kept["values"] == share
    assert kept["rows"] <= len(likes)
    again = murmura("compare", "--data", "names.csv", "--models", "mostpop,ease", "--out", "run", cwd=tmp_path)
    assert "another configuration" in sentence(again) or "other" in sentence(again)


def test_a_file_that_cannot_be_told_is_shown_with_the_option_to_give(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "a,b,c\n" + "".join(f"{n % 9},{n % 7},{n % 5}\n" for n in range(60)), "utf-8"
    )
    done = murmura("compare", "--data", "t.csv", "--models", "mostpop", cwd=tmp_path)
    assert done.returncode == 3
    assert "but the columns are 'a', 'b', 'c'; say it, perhaps with --columns user=a,item=b." in sentence(done)
    assert done.stderr.endswith("  1 | a,b,c\n  2 | 0,0,0\n  3 | 1,1,1\n")
    asked = ("compare", "--data", "t.csv", "--columns", "user=a,item=2", "--models", "mostpop", "--json")
    assert murmura(*asked, "--out", "run", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("content", "flags", "says"),
    [
        (
            "user,item\n" + "".join(f"1,{n}\n" for n in range(30)),
            (),
            "must leave at least two users to learn from",
        ),
        (
            "user,item\n" + "".join(f"{n},{n % 4}\n" for n in range(40)),
            (),
            "must leave at least one row, but left none",
        ),
        (
            "user,item\n" + "".join(f"{n % 4},{n}\n" for n in range(8)),
            ("--protocol", "kgflex"),
            "must leave at least one row",
        ),
        ("user,item,value\n1,2,3\n", ("--positive-from", "4"), "must have a value of at least 4"),
        (
            "user,item,time\n1,2,1e12\n1,3,5\n2,3,5\n",
            (),
            "line 2: the time ('time') must be seconds since 1970",
        ),
    ],
    ids=["one user", "no test item", "nothing left", "no like", "implausible"],
)
def test_hopeless_data_is_refused_before_anything_is_fitted(
    tmp_path: Path, content: str, flags: tuple[str, ...], says: str
) -> None:
    (tmp_path / "t.csv").write_text(content, "utf-8")
    done = murmura("compare", "--data", "t.csv", *flags, "--out", "run", cwd=tmp_path)
    assert done.returncode == 3
    assert says in sentence(done)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (
            ("-S", "mine.minimum_cohort=90"),
            "error: mine: clients per round must be at least the minimum cohort of 90",
        ),
        (("-S", "mine.epsilon=-1"), "error: mine: fed-mostpop.epsilon: input should be greater than 0"),
    ],
)
def test_all_settings_are_checked_before_the_first_fit_and_the_model_is_named(
    tmp_path: Path, flags: tuple[str, ...], says: str
) -> None:
    written(tmp_path, "names.csv")
    models = "mostpop,ease,fed-ease,mine=fed-mostpop"
    done = murmura("compare", "--data", "names.csv", "--models", models, *flags, "--out", "run", cwd=tmp_path)
    assert sentence(done).startswith(says)
    assert "done" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("model", "flag", "says"),
    [
        ("fed-ease", "features=0.1", "features=0.1 learns from features of items, but nothing"),
        ("ease", "memory_gb=1e-9", "ease.memory_gb must be at least"),
    ],
)
def test_a_model_that_refuses_the_data_is_a_row_with_the_reason(
    tmp_path: Path, model: str, flag: str, says: str
) -> None:
    written(tmp_path, "names.csv")
    flags = ("-S", f"{model}.{flag}", "--out", "run")
    done = murmura("compare", "--data", "names.csv", "--models", "mostpop,ease,fed-ease", *flags, cwd=tmp_path)
    assert done.returncode == 1
    assert f"{model}: failed: {says}" in done.stderr
    assert f"{model} failed: {says}" in done.stdout
    assert "mostpop: done" in done.stderr


def test_the_same_words_stand_in_yaml(tmp_path: Path) -> None:
    written(tmp_path, "plays.tsv")
    data = {"name": "plays.tsv", "columns": {"user": 1, "item": "item"}, "repeats": "sum", "positive_from": 2}
    models: dict[str, object] = {"mostpop": {}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"data": data, "models": models}), "utf-8")
    done = murmura("compare", "--config", "c.yaml", "--out", "file", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the values of a pair are added up" in done.stderr
    flags = ("--columns", "user=user,item=item", "--repeats", "sum", "--positive-from", "2")
    murmura("compare", "--data", "plays.tsv", *flags, "--models", "mostpop", "--out", "flags", cwd=tmp_path)
    one, other = (json.loads((tmp_path / run / "data.json").read_text("utf-8")) for run in ("file", "flags"))
    assert one == other
    (tmp_path / "bad.yaml").write_text("data: {name: plays.tsv, repeat: sum}\nmodels: {mostpop: {}}\n", "utf-8")
    bad = sentence(murmura("compare", "--config", "bad.yaml", cwd=tmp_path))
    assert "bad.yaml:1: unknown setting 'data.repeat'. Did you mean 'repeats'?" in bad


COMMANDS = [
    ("compare",), ("fit",), ("search",), ("sweep",), ("audit",), ("evaluate",), ("blend",), ("join",),
    ("devices",), ("serve",), ("groups", "tune"), ("groups", "central"), ("privacy", "plan"),
    ("data", "describe"), ("data", "features"), ("data", "split"), ("data", "convert"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_that_loads_data_takes_the_same_flags(tmp_path: Path, command: tuple[str, ...]) -> None:
    page = murmura(*command, "--help", cwd=tmp_path).stdout
    missing = [name for name in READING_KEYS if f"--{name.replace('_', '-')}" not in page]
    assert not missing


def test_the_other_commands_read_a_strangers_file(tmp_path: Path) -> None:
    written(tmp_path, "dates.csv")
    how = ("--positive-from", "2.5", "--item-names", "names.txt")
    (tmp_path / "names.txt").write_text("".join(f"{item};Thing {item}\n" for item in range(30)), "utf-8")
    described = murmura("data", "describe", "dates.csv", *how, "--json", cwd=tmp_path)
    assert described.returncode == 0, described.stderr
    assert json.loads(described.stdout)["items_with_names"] == 30
    converted = murmura("data", "convert", "dates.csv", "likes.csv", *how, cwd=tmp_path)
    assert converted.returncode == 0, converted.stderr
    values = [
        float(line.split(",")[2]) for line in (tmp_path / "likes.csv").read_text("utf-8").splitlines()[1:]
    ]
    assert min(values) == 2.5
    fitted = murmura("fit", "--model", "ease", "--data", "dates.csv", *how, "--out", "run", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    assert "the day first" in fitted.stderr
    assert "values ≥ 2.5 are likes: " in fitted.stderr
    somebody = (tmp_path / "run" / "recommendations.tsv").read_text("utf-8").splitlines()[1].split("\t")[0]
    told = murmura("recommend", "run", "--user", somebody, "--k", "2", cwd=tmp_path)
    assert "Thing " in told.stdout, told.stderr
    found = murmura(
        "search",
        "--model",
        "ease",
        "--grid",
        "reg=1,10",
        "--data",
        "dates.csv",
        *how,
        "--out",
        "s",
        cwd=tmp_path,
    )
    assert found.returncode == 0, found.stderr
    assert yaml.safe_load((tmp_path / "s" / "config.yaml").read_text("utf-8"))["data"]["positive_from"] == 2.5


def test_a_federated_search_among_few_people_works(tmp_path: Path) -> None:
    written(tmp_path, "names.csv")
    grid = ("--grid", "reg=1,10")
    done = murmura("search", "--model", "fed-ease", *grid, "--data", "names.csv", "--out", "s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load((tmp_path / "s" / "config.yaml").read_text("utf-8"))["fixed"] == {
        "minimum_cohort": 40
    }
    fitted = murmura("fit", "--model", "fed-ease", "--data", "names.csv", "--out", "f", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
