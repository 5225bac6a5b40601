"""Accuracy against bytes: the prices are those of the ledger, the front is what no other beats."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from murmura.report import build
from murmura.report.sections.metrics import front
from murmura.report.sections.traffic import (
    FINAL,
    PRICES,
    VISITS,
    device_traffic,
    priced,
    traffic_plot,
    traffic_table,
)
from murmura.report.summary import Results, summarise
from murmura.studies.compare.folder import read_runs
from tests.report.folders import Made, drawn, write_comparison

CLIENTS = 10


def made(label: str, level: float, up: int, down: int, final: int = 50_000, **more: Any) -> Made:
    """A federated model of ten clients that came 40 times in all; bytes are of all of them."""
    ledger = {"clients": CLIENTS, "visits": 40, "bytes_up": up, "bytes_down": down, "final_bytes_down": final}
    cost = {"disclosed": 1.0, "kB up/client": up / 1e4, "kB down/client": (down + final) / 1e4}
    return Made(label, [drawn(len(label), level)], 300, "cfpl", {}, cost, ledger={**ledger, **more})


def results(folder: Path, *models: Made) -> Results:
    central = [Made("mostpop", [drawn(1, 0.05)], 107, "mostpop"), Made("ease", [drawn(2, 0.6)], 499)]
    return summarise(read_runs(write_comparison(folder, [*central, *models])))


def three(folder: Path) -> Results:
    """Dear and good, cheap and bad, and one that is dearer than the cheap one and worse."""
    return results(
        folder,
        made("good", 0.5, up=800_000, down=4_000_000),
        made("cheap!", 0.3, up=80_000, down=400_000),
        made("beaten", 0.1, up=400_000, down=2_000_000),
    )


def test_prices_are_those_of_the_ledger(tmp_path: Path) -> None:
    found = {
        line.label: {name: one.mean for name, one in line.values.items()} for line in priced(three(tmp_path))
    }
    assert set(found) == {"good", "cheap!", "beaten"}  # centralised models have no price
    good = found["good"]
    assert [good[name] for name in ("kB up per device", "kB down per device")] == [80.0, 405.0]
    assert (good[FINAL], good[VISITS]) == (5.0, 4.0)
    assert [good[name] for name in ("kB up per visit", "kB down per visit")] == [
        20.0,
        100.0,
    ]  # without that model
    assert (good["kB per device"], good["kB per visit"]) == (485.0, 120.0)


def test_the_front_is_marked_in_the_table(tmp_path: Path) -> None:
    whole = three(tmp_path)
    for price in PRICES:
        assert [line.label for line in front(priced(whole), price, "P@10")] == ["cheap!", "good"]
    table = traffic_table(whole)
    assert table is not None
    marks = {row[0].text: {cell.mark for cell in row[2:8]} for row in table.rows}
    assert marks == {"good": {"∗"}, "cheap!": {"∗"}, "beaten": {""}}


@pytest.mark.slow
def test_the_page_has_picture_and_files(tmp_path: Path) -> None:
    three(tmp_path)
    page = build(tmp_path).read_text(encoding="utf-8")
    assert '<figure id="bytes">' in page
    assert "On the Pareto front of P@10 and kB per device: cheap!, good." in page
    assert "(mostpop not shown)" not in page
    place = tmp_path / "report-tables"
    with (place / "bytes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["model"] for row in rows] == ["good", "cheap!", "beaten"]
    assert [float(row["kB per device"]) for row in rows] == [485.0, 53.0, 245.0]
    assert [row["kB per device mark"] for row in rows] == ["∗", "∗", ""]
    read = json.loads((place / "bytes.json").read_text(encoding="utf-8"))
    assert read["rows"][0]["kB down per visit"] == {"value": 100.0, "mark": "∗"}
    assert r"$\ast$" in (place / "bytes.tex").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("ledger", [{"visits": 0}, {"visits": "many"}, {"clients": None}, {"clients": True}])
def test_without_visits_there_are_only_totals(tmp_path: Path, ledger: dict[str, Any]) -> None:
    """A folder may be anybody's: what is no number is not drawn."""
    whole = results(tmp_path, made("one", 0.5, 1000, 2000, **ledger), made("other", 0.4, 1000, 2000))
    one = device_traffic(next(line.model for line in whole.lines if line.label == "one"))
    assert one is not None
    assert one["kB up per device"] == 0.1
    assert math.isnan(one["kB up per visit"])
    table, picture = traffic_table(whole), traffic_plot(whole)
    assert table is not None
    assert picture is not None


def test_a_comparison_without_federated_models_has_neither(tmp_path: Path) -> None:
    whole = results(tmp_path)
    assert traffic_table(whole) is None
    assert traffic_plot(whole) is None
    assert 'id="bytes"' not in build(tmp_path).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_model_that_moves_nothing_up_is_no_trouble(tmp_path: Path) -> None:
    """An axis of powers of ten has no zero."""
    silent, other = made("silent", 0.2, 0, 0, 0), made("other", 0.4, 1000, 2000)
    assert traffic_plot(results(tmp_path, silent, other)) is not None
    assert traffic_plot(results(tmp_path / "alone", silent)) is not None
