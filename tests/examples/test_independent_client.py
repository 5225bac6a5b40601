"""A device that imports nothing of ours is counted like ours, and takes no part in what is forged."""

from __future__ import annotations

import ast
import base64
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from murmura.algorithms import algorithm
from murmura.core.codec import encode_model
from murmura.core.interactions import Interactions
from murmura.core.rng import client_secrets
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import training_rows
from tests.http.network import people
from tests.http.processes import PATIENCE, Served, get, served, write_table

EXAMPLE = Path(__file__).parents[2] / "examples" / "independent_client.py"
SEED, USERS, ROUNDS = 11, 10, 3
SETTINGS: dict[str, Any] = {"rounds": ROUNDS, "clients": USERS}
ALLOWED = {"cryptography", "numpy", *sys.stdlib_module_names}


def test_it_is_short_and_imports_nothing_of_ours() -> None:
    code = EXAMPLE.read_text(encoding="utf-8")
    assert len(code.splitlines()) <= 250
    nodes = list(ast.walk(ast.parse(code)))
    names = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} <= ALLOWED


def client(link: str, likes: Path, state: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-I", EXAMPLE, link, likes, state, USERS]
    return subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def finished(one: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = one.communicate(timeout=PATIENCE)
    finally:
        one.kill()
    return one.returncode, out, err


def positives_of(data: Interactions, user: int, path: Path) -> Path:
    path.write_text("".join(f"{data.items.labels[i]}\n" for i in data.item[data.user == user]), "utf-8")
    return path


def simulated(data: Interactions) -> bytes:
    """The final model of the same federation in one process, in which the tenth device is ours."""
    preset = algorithm("fcf")(**SETTINGS, channel="secure-sum", minimum_cohort=USERS)
    plan = Plan(
        preset.algorithm(),
        data,
        preset.schedule(),
        consent=preset.consent(),
        channel=preset.channel_settings(),
        seed=SEED,
    )
    fitted = fit(plan, runtime=InProcess(path="plain"))
    return encode_model(
        fitted.model, fitted.plan.algorithm.publishes(fitted.plan.info), fitted.plan.info.listed
    )


def federation(folder: Path, table: Path) -> Any:
    settings = [word for key, value in SETTINGS.items() for word in ("-S", f"{key}={value}")]
    timing = (
        "--round-seconds",
        600,
        "--hold",
        0,
        "--spread",
        0,
        "--wait-for",
        USERS,
        "--seed",
        SEED,
        "--start",
    )
    return served(folder, "--like", table, "--model", "fcf", *settings, *timing)


def start_nine(here: Served, table: Path) -> None:
    """Nine devices of ours, in the first nine places; the tenth is free when this returns."""
    words = ("--data", table, "--n", USERS - 1, "--seed", SEED, "--invitations", here.invite_file(USERS - 1))
    here.processes.start("fleet", "devices", here.url, *words)
    while told(here, "/status")["devices"] < USERS - 1:
        assert here.processes.running["fleet"].poll() is None, here.processes.log("fleet")
        time.sleep(0.1)


def told(here: Served, path: str) -> Any:
    token = (here.folder / "coordinator" / "operator.token").read_text(encoding="utf-8").strip()
    return json.loads(get(f"{here.url}{path}", {"authorization": f"Bearer {token}"}))


@pytest.mark.process
def test_it_is_counted_and_the_model_has_the_bits_of_the_simulation(tmp_path: Path) -> None:
    table = write_table(people(USERS, 30), tmp_path / "likes.csv")
    data = training_rows(str(table), "", None)
    tenth = positives_of(data, USERS - 1, tmp_path / "tenth.txt")
    state = tmp_path / "me.json"
    state.write_text(json.dumps({"secret": client_secrets(SEED, USERS)[-1].tolist()}), encoding="utf-8")
    with federation(tmp_path, table) as here:
        start_nine(here, table)
        (link,) = here.invite(1)
        code, out, err = finished(client(link, tenth, state))
        here.processes.wait("fleet")
        rounds = told(here, "/rounds")["rounds"]
        published = get(f"{here.url}/m/{told(here, '/federation')['model']}")
    assert (code, err) == (0, "")
    assert out.count("the receipt is good") == 2 * ROUNDS
    assert [(one["state"], one["reports"]) for one in rounds] == [("committed", USERS)] * ROUNDS
    assert published == simulated(data)


@pytest.mark.process
def test_it_takes_no_part_in_another_federation_or_in_another_past(tmp_path: Path) -> None:
    """The same address and admission under another fingerprint; then a log that is not the one seen before."""
    table = write_table(people(USERS, 30), tmp_path / "likes.csv")
    tenth = positives_of(people(USERS, 30), USERS - 1, tmp_path / "tenth.txt")
    with federation(tmp_path, table) as here:
        start_nine(here, table)
        (link,) = here.invite(1)
        url, admission = link.partition("#")[0], link.rpartition(".")[2]
        other = base64.urlsafe_b64encode(bytes(32)).decode().rstrip("=")
        one = client(f"{url}#2.{other}.{admission}", tenth, tmp_path / "a.json")
        refused(one, "the terms must be those of the invitation, but are others")
        assert not (tmp_path / "a.json").exists()
        assert told(here, "/status")["devices"] == USERS - 1

        (tmp_path / "b.json").write_text(json.dumps({"head": [1, "11" * 32]}), encoding="utf-8")
        refused(
            client(link, tenth, tmp_path / "b.json"), "the log must extend the one seen before, but does not"
        )


def refused(one: subprocess.Popen[str], why: str) -> None:
    code, out, err = finished(one)
    assert (code, out) == (1, ""), err
    assert err == f"{why}; take no part.\n"
