"""Counts, then pairs, over loopback HTTP by real processes: the bits and the lists of the simulation."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.core.codec import encode_model
from murmura.core.contract import FederationInfo
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import training_rows
from murmura.server.coordinator.setup import guarded
from tests.http.network import people
from tests.http.processes import get, served, write_table

pytestmark = pytest.mark.process

SEED, ALONE, TOP = 11, 2, 5
SUMS = {"least": 2, "k": 10, "power": 2.0, "pi": 0.5}


@pytest.mark.parametrize("users", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_processes_give_the_model_and_the_lists_of_the_simulation(tmp_path: Path, users: int) -> None:
    """Each device proves what it adds; the simulation leaves the arithmetic of proofs out."""
    table = write_table(people(users, 30), tmp_path / "likes.csv")
    settings = [word for key, value in SUMS.items() for word in ("-S", f"{key}={value}")]
    timing = ("--round-seconds", 600, "--hold", 0, "--spread", 0)
    begin = ("--wait-for", users, "--seed", SEED, "--start", "--tolerate", 0)
    with served(
        tmp_path, "--like", table, "--model", "fed-item-knn", *settings, *timing, *begin, "--exact"
    ) as here:
        own = ("--data", table, "--pi", SUMS["pi"], "--exact", "--json")
        for client, link in enumerate(here.invite(ALONE)):
            where = ("--state", tmp_path / f"device-{client}", "--simulate", f"{SEED}:{client}")
            words = ("--user", client, "--minimum", 10, "--top", TOP)
            here.processes.start(f"device-{client}", "join", link, *where, *own, *words)
        invited = ("--invitations", here.invite_file(users - ALONE))
        here.processes.start("fleet", "devices", here.url, "--first", ALONE, "--seed", SEED, *own, *invited)
        for name in ("device-0", "device-1", "fleet"):
            here.processes.wait(name)
        told = json.loads(get(f"{here.url}/federation"))
        published = get(f"{here.url}/m/{told['model']}")
        outs = [here.processes.out(f"device-{client}") for client in range(ALONE)]
        who = [here.processes.log(name).partition("agreed")[0] for name in ("coordinator", "seed", "vector")]
    assert (told["state"], told["rounds_done"]) == ("finished", 2)
    for name in ("coordinator", "seed", "vector", "device-0"):  # names and sizes of files are nobody else's
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700
    assert "who admits: an aggregator's operator, who with this server's could fill a sum;" in who[0]
    assert "who admits: this folder's owner, who with the coordinator's could fill a sum;" in who[1]
    assert "this aggregator admits nobody" in who[2]
    data = training_rows(str(table), "")
    asked = algorithm("fed-item-knn")(**SUMS, minimum_cohort=10)
    preset, _ = guarded(asked, FederationInfo.of(data), 0)
    plan = Plan(
        preset.algorithm(),
        data,
        preset.schedule(),
        consent=preset.consent(),
        channel=preset.channel_settings(),
        seed=SEED,
    )
    found = fit(plan, runtime=InProcess())
    publishes = found.plan.algorithm.publishes(found.plan.info)
    assert published == encode_model(found.model, publishes, found.plan.info.listed)
    events = [[json.loads(line) for line in out.splitlines()] for out in outs]
    for told_here in events:
        assert told_here[0]["event"] == "joined"
        assert told_here[0]["privacy"].startswith("everybody can read sums without noise; sums without noise")
    shown = [one["items"] for told_here in events for one in told_here if one["event"] == "recommended"]
    lists = found.recommend(np.arange(ALONE, dtype=np.int32), TOP).item
    assert shown == [data.items.labels[items].tolist() for items in lists]
