"""A real comparison from its data to its page, and back through the commands the page prints."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from murmura.cli import report as report_command
from murmura.core.catalogue import Dataset
from murmura.data.sources.registry import load
from murmura.report import build
from murmura.studies.compare import command as compare_command
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from tests.studies.worlds import small_world

pytestmark = pytest.mark.slow

MODELS: dict[str, dict[str, Any]] = {
    "mostpop": {},
    "near you": {"name": "user-knn", "k": 5},
    "ials": {"factors": 4, "epochs": 2},
}


def command_line() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command("compare")(compare_command.compare)
    app.command("report")(report_command.report)
    return app


def as_file(world: Dataset, path: Path) -> str:
    """The data set as a table anyone could have."""
    data = world.interactions
    assert data.time is not None
    rows = zip(data.users.labels[data.user], data.items.labels[data.item], data.time)
    path.write_text("user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, t in rows))
    return str(path)


def test_the_printed_commands_make_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = as_file(small_world(), tmp_path / "my data.csv")
    ready = plan(load(name), "default", MODELS, seeds=2, seed=3, cutoffs=(1, 10), source={"name": name})
    list(compare(ready, tmp_path / "first"))
    page = build(tmp_path / "first").read_text()
    script = unescape(page.split('id="reproduce"')[1].split("<pre>")[1].split("</pre>")[0])
    monkeypatch.chdir(tmp_path)
    for line in script.replace("\\\n", " ").splitlines():
        if not line.startswith("#"):
            done = CliRunner().invoke(command_line(), shlex.split(line)[1:], catch_exceptions=False)
            assert done.exit_code == 0, done.output
    assert (tmp_path / "again" / "report.html").is_file()
    runs = sorted(path.parent.name for path in (tmp_path / "first").glob("*/metrics.json"))
    assert len(runs) == 4, "mostpop and user-knn once, ials with two seeds"
    for run in runs:
        for part in ("metrics.json", "per_user.csv", "recommendations.tsv"):
            assert (tmp_path / "first" / run / part).read_bytes() == (
                tmp_path / "again" / run / part
            ).read_bytes()


def test_the_table_shows_the_means_compare_prints(tmp_path: Path) -> None:
    lines = list(compare(plan(small_world(), "default", MODELS, seeds=2), tmp_path / "c"))
    build(tmp_path / "c")
    rows = json.loads((tmp_path / "c" / "report-tables" / "results.json").read_text())["rows"]
    for line, row in zip(lines, rows, strict=True):
        assert row["model"] == line.label
        for key, value in line.values.items():
            shown = row[key]["value"] if isinstance(row[key], dict) else row[key]
            assert shown == pytest.approx(value, abs=1e-12)


def test_every_setting_is_shown(tmp_path: Path) -> None:
    list(compare(plan(small_world(), "default", {"near": {"name": "user-knn", "k": 5}}), tmp_path / "c"))
    settings = (tmp_path / "c" / "config.yaml").read_text()
    text = build(tmp_path / "c").read_text()
    shown = re.search(r'id="table-settings".*?</table>', text, re.DOTALL)
    assert shown is not None
    assert "k = 5" in shown.group()
    for key in re.findall(r"^ {4}(\w+):", settings.split("models:")[1], re.MULTILINE):
        assert key == "name" or f"{key} = " in shown.group(), "defaults too"
