"""A noisy release by real processes, noise from a source of the test: the bits of the simulation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from murmura.algorithms import algorithm
from murmura.core.codec import encode_model
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import training_rows
from tests.http import processes
from tests.http.network import people
from tests.http.processes import get, served, write_table

pytestmark = pytest.mark.process

SEED, USERS = 11, 12
SETTINGS = {"epsilon": 6.0, "delta": 0.001, "hopeless": "true", "core_items": 20, "eigenvectors": 4}
# no option and no variable of a real aggregator gives it another source: only a test can, from inside
ENTRY = f"""
from murmura.channel.noise import simulated_noise
from murmura.cli.app import main
from murmura.server.aggregator.aggregator import Aggregator
Aggregator.__init__.__defaults__ = (*Aggregator.__init__.__defaults__[:-1], simulated_noise({SEED}))
main()
"""


def test_processes_give_the_model_of_the_simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MURMURA", [processes.MURMURA[0], "-c", ENTRY])
    table = write_table(people(USERS, 30), tmp_path / "likes.csv")
    settings = [word for key, value in SETTINGS.items() for word in ("-S", f"{key}={value}")]
    timing = ("--round-seconds", 600, "--hold", 0, "--spread", 0)
    begin = ("--wait-for", USERS, "--seed", SEED, "--start")
    with served(tmp_path, "--like", table, "--model", "fed-ease", *settings, *timing, *begin) as here:
        words = ("join", here.invite(1)[0], "--state", tmp_path / "device", "--simulate", f"{SEED}:0")
        own = ("--data", table, "--user", 0, "--minimum", 10, "--epsilon", 7, "--json")
        here.processes.start("device", *words, *own)
        invited = ("--invitations", here.invite_file(USERS - 1))
        fleet = ("devices", here.url, "--first", 1, "--seed", SEED, "--data", table, "--json", *invited)
        here.processes.start("fleet", *fleet)
        for name in ("device", "fleet"):
            here.processes.wait(name)
        told = json.loads(get(f"{here.url}/federation"))
        published = get(f"{here.url}/m/{told['model']}")
        events = [json.loads(line) for line in here.processes.out("device").splitlines()]
    assert (told["state"], told["rounds_done"]) == ("finished", 2)
    preset = algorithm("fed-ease")(**{**SETTINGS, "hopeless": True}, minimum_cohort=10)
    plan = Plan(
        preset.algorithm(),
        training_rows(str(table), ""),
        preset.schedule(),
        consent=preset.consent(),
        channel=preset.channel_settings(),
        seed=SEED,
    )
    found = fit(plan, runtime=InProcess())
    publishes = found.plan.algorithm.publishes(found.plan.info)
    assert published == encode_model(found.model, publishes, found.plan.info.listed)
    sent = [one["epsilon"] for one in events if one["event"] == "sent"]
    assert sent[-1] == pytest.approx(6.0)
    assert "one curious aggregator" in next(one["privacy"] for one in events if one["event"] == "joined")
