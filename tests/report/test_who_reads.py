"""The results table says who is below MostPop, and what the server reads of each model."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from murmura.core.channel import ChannelSettings
from murmura.report import build
from tests.report.folders import Made, write_comparison

COST = {"disclosed": 1.0, "kB up/client": 1.0, "kB down/client": 1.0}


def federated(label: str, level: float, channel: ChannelSettings | None) -> Made:
    ledger = {"visits": 1, **({} if channel is None else {"channel": channel.summary()})}
    return Made(label, [np.full(50, level)], 10, "cfpl", cost=COST, ledger=ledger)


def central(label: str, level: float, name: str = "") -> Made:
    return Made(label, [np.full(50, level)], 10, name or label)


def results(folder: Path) -> dict[str, dict[str, str]]:
    page = build(folder)
    with (page.parent / "report-tables" / "results.csv").open(encoding="utf-8") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def test_the_mark_and_the_column(tmp_path: Path) -> None:
    secure = ChannelSettings(channel="secure-sum")
    models = [
        central("popular", 0.2, "mostpop"),
        central("ease", 0.3),
        federated("summed", 0.25, secure),
        federated("level", 0.2, ChannelSettings(channel="readable")),
        federated("poor", 0.1, ChannelSettings()),
        federated("old", 0.15, None),
    ]
    found = results(write_comparison(tmp_path, models))
    below = {label for label, row in found.items() if "▼" in row["P@10 mark"]}
    assert below == {"poor", "old"}  # as much as MostPop is not less
    assert not any("▼" in row.get("R@10 mark", "") for row in found.values())  # one mark, by the primary metric
    assert {label: row["the server reads"] for label, row in found.items()} == {
        "popular": "all data",
        "ease": "all data",
        "summed": "sums without noise",
        "level": "each update",
        "poor": "each update",
        "old": "",
    }
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Below MostPop in P@10: old, poor." in text
    assert "▼ below MostPop in P@10." in text
    assert r"$\bigtriangledown$" in (tmp_path / "report-tables" / "results.tex").read_text(encoding="utf-8")


def test_nothing_is_said_without_mostpop_or_without_a_federation(tmp_path: Path) -> None:
    found = results(write_comparison(tmp_path, [central("ease", 0.3), central("random", 0.01)]))
    assert "the server reads" not in found["ease"]
    assert "MostPop" not in (tmp_path / "report.html").read_text(encoding="utf-8")
