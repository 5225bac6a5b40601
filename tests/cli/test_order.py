"""`--order`: what methods see of times, in the table, the JSON, the folder and the report."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from murmura.baselines import BASELINES
from murmura.report import build
from murmura.studies.compare.folder import read_runs
from tests.cli.processes import murmura
from tests.engine.last_seen import LastSeen
from tests.engine.test_order import people


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    data = people(8, users=20, items=30, each=20)
    assert data.time is not None
    lines = zip(data.user.tolist(), data.item.tolist(), data.time.tolist())
    (tmp_path / "ours.csv").write_text("user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, t in lines))
    (tmp_path / "plain.csv").write_text(
        "user,item\n" + "".join(f"{u},{u + i}\n" for u in "123" for i in "abcdef")
    )
    with BASELINES.also("last-seen", LastSeen):
        yield tmp_path


BOTH = ["compare", "--data", "ours.csv", "--protocol", "fpl", "--models", "mostpop,last-seen"]


def test_both_orders_side_by_side(place: Path) -> None:
    done = murmura(*BOTH, "--order", "real,day", "--out", "c", cwd=place)
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert "P@10 real" in shown
    assert "P@10 day" in shown
    assert "timestamps (last-seen)" in shown
    config = yaml.safe_load((place / "c" / "order-day" / "config.yaml").read_text())
    assert (config["protocol"]["name"], config["protocol"]["order"]) == ("fpl:order=day", "day")
    assert list(config["models"]) == ["last-seen"]  # to the other one both orders are one
    assert "order" not in yaml.safe_load((place / "c" / "config.yaml").read_text())["protocol"]
    assert json.loads((place / "c" / "order.json").read_text()) == {"order": "real", "used by": ["last-seen"]}
    parts = [json.loads((place / "c" / one / "data.json").read_text()) for one in ("", "order-day")]
    assert parts[0]["parts"] == parts[1]["parts"]
    assert parts[0]["fingerprint"] != parts[1]["fingerprint"]

    page = build(place / "c").read_text()
    assert "The order inside a day" in page
    assert "last-seen uses timestamps. The split is the same" in page
    assert "--order real,day" in page
    table = json.loads((place / "c" / "report-tables" / "order.json").read_text())
    assert "P@10, day" in json.dumps(table)
    assert read_runs(place / "c").by_days

    again = murmura(*BOTH, "--order", "real,day", "--out", "c", "--json", cwd=place)
    lines = [json.loads(line) for line in again.stdout.splitlines()]
    assert [(line["model"], line.get("order")) for line in lines] == [
        ("mostpop", None),
        ("last-seen", None),
        ("last-seen", "day"),
    ]


def test_one_order_for_all(place: Path) -> None:
    done = murmura(*BOTH, "--order", "day", "--out", "c", "--json", cwd=place)
    assert [json.loads(line)["order"] for line in done.stdout.splitlines()] == ["day", "day"]
    page = build(place / "c").read_text()
    assert (
        "timestamps, cut to whole days (UTC): the order inside a day was hidden from training and ranking"
        in page
    )
    assert "--protocol fpl:order=day" in page
    murmura(*BOTH, "--out", "r", cwd=place)
    page = build(place / "r").read_text()
    assert "last-seen uses timestamps. If users rated many items in one session" in page
    values = [json.loads((place / one / "mostpop-seed0" / "metrics.json").read_text()) for one in "cr"]
    assert values[0] == values[1]


def test_a_file_and_a_fit_take_the_same_words(place: Path) -> None:
    file = {"data": "ours.csv", "protocol": "fpl:order=day", "models": {"last-seen": {}}}
    (place / "c.yaml").write_text(yaml.safe_dump(file))
    murmura("compare", "--config", "c.yaml", "--out", "c", cwd=place)
    assert yaml.safe_load((place / "c" / "config.yaml").read_text())["protocol"]["order"] == "day"
    assert murmura("compare", "--config", "c.yaml", "--order", "real", "--out", "r", cwd=place).returncode == 0
    assert yaml.safe_load((place / "r" / "config.yaml").read_text())["protocol"]["name"] == "fpl"
    fit = ["fit", "--data", "ours.csv", "--protocol", "fpl", "--model", "last-seen", "--order", "day"]
    assert murmura(*fit, "--out", "f", cwd=place).returncode == 0
    assert yaml.safe_load((place / "f" / "config.yaml").read_text())["protocol"] == "fpl:order=day"
    assert json.loads((place / "f" / "order.json").read_text())["order"] == "day"
    assert murmura("evaluate", "f", cwd=place).returncode == 0
    grid = ["search", "--data", "ours.csv", "--protocol", "fpl", "--order", "day", "--model", "user-knn"]
    assert murmura(*grid, "--grid", "k=1,5", "--out", "s", cwd=place).returncode == 0
    assert yaml.safe_load((place / "s" / "config.yaml").read_text())["protocol"] == "fpl:order=day"


def test_what_cannot_be_is_one_sentence(place: Path) -> None:
    plain = ["compare", "--data", "plain.csv", "--models", "last-seen", "--out", "c"]
    refused = murmura(*plain, "--order", "day", cwd=place)
    assert refused.returncode == 3
    assert "order=day needs a time for every row, but this data has none" in " ".join(refused.stderr.split())
    assert not (place / "c").exists()
    wrong = murmura(*plain, "--order", "hour", cwd=place)
    assert wrong.returncode == 2
    assert "--order must be real, day or real,day, but it is 'hour'" in " ".join(wrong.stderr.split())
    both = murmura("fit", "--data", "ours.csv", "--order", "real,day", cwd=place)
    assert both.returncode == 2
    assert "must be real or day here" in " ".join(both.stderr.split())
    none = murmura(
        "compare", "--data", "ours.csv", "--models", "mostpop", "--order", "real,day", "--out", "n", cwd=place
    )
    assert "no model here uses the order of times" in " ".join(none.stderr.split())
    assert not (place / "n" / "order-day").exists()
