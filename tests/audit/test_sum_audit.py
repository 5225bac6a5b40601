"""The audit of sums as a person runs it: the command, the folder, the report."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.engine.run_folder import Run
from murmura.lab.audits.audit import ATTACKS, read_audits

pytestmark = pytest.mark.slow

SETTINGS = ["-S", "rounds=6", "-S", "factors=3", "-S", "clients=20", "-S", "minimum_cohort=1"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("likes") / "likes.csv"
    rows = [
        f"{user},{item},{time}"
        for user in range(60)
        for time, item in enumerate(np.flatnonzero(random.random(90) < np.linspace(0.7, 0.25, 90)))
    ]
    path.write_text("\n".join(["user,item,time", *rows]) + "\n")
    return path


def audited(table: Path, out: Path, *words: str) -> dict[str, dict[str, float]]:
    given = ("audit", "--data", str(table), "--protocol", "fpl", *words, "--out", str(out), "--json")
    result = CliRunner().invoke(app, list(given))
    assert result.exit_code == 0, result.exception
    return {row["attack"]: row for row in map(json.loads, result.stdout.splitlines())}


def test_a_secure_sum_is_attacked_as_a_sum_and_the_report_shows_it(table: Path, tmp_path: Path) -> None:
    found = audited(table, tmp_path / "run", "--model", "cfpl", "-S", "channel=secure-sum", *SETTINGS)
    on_rounds = {name for name in ATTACKS if name.startswith("sum-")}
    wanted = on_rounds | {"sybil-residual", "model-membership", "canaries", "popularity", "random"}
    assert set(found) == wanted
    assert found["canaries"]["claimed epsilon"] is None
    assert 0 <= found["sum-tracing"]["TPR@0.1%"] <= 1
    (kept,) = read_audits(Run.open(tmp_path / "run")).values()
    assert kept.read_sums
    page = (tmp_path / "run" / "report.html").read_text()
    assert 'id="audit"' in page
    assert "Who was there" in page
    assert 'id="audit-roc"' in page
    assert (tmp_path / "run" / "report-tables" / "audit-presence.csv").exists()
    assert "sybil-residual" in page
    assert "nobody reads single updates" not in page


@pytest.mark.smoke
def test_noise_is_shown_with_its_claim(table: Path, tmp_path: Path) -> None:
    noisy = ["-S", "channel=secure-sum", "-S", "epsilon=2", "-S", "hopeless=true"]
    found = audited(table, tmp_path / "run", "--model", "cfpl", *noisy, *SETTINGS, "--attack", "canaries")
    assert found["canaries"]["claimed epsilon"] == 2
    assert found["canaries"]["epsilon at least"] < 2


def test_who_reads_updates_is_not_attacked_as_a_sum_unless_asked(table: Path, tmp_path: Path) -> None:
    found = audited(table, tmp_path / "one", "--model", "pfpl+", "-S", "rounds=2", "-S", "factors=3")
    assert {name for name in found if name.startswith("sum-")} == set()
    both = ["--attack", "fpl-signs", "--attack", "sum-tracing"]
    found = audited(table, tmp_path / "two", "--model", "pfpl+", "-S", "rounds=2", "-S", "factors=3", *both)
    assert {"fpl-signs", "sum-tracing"} < set(found)
    assert found["sum-tracing"]["AUC"] is None  # everyone is in every round


def test_readable_updates_are_attacked_singly_and_as_sums_where_that_is_asked_for(
    table: Path, tmp_path: Path
) -> None:
    words = "--model", "fcf", "-S", "rounds=4", "-S", "clients=20"
    found = audited(table, tmp_path / "run", *words)
    assert "canaries" not in found  # there is no channel that could hold them
    assert "fcf-items" in found
    assert "sum-participation" not in found  # who reads single updates has no use for their sums
    assert "sum-participation" in audited(table, tmp_path / "sums", *words, "--attack", "sum-participation")
