"""Federated averaging in real processes: the network on the devices is that of the simulation, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from murmura.core.codec import encode_model
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import training_rows
from murmura.server.coordinator.setup import configured
from tests.data.digits import write_digits
from tests.http.processes import get, served

pytestmark = pytest.mark.process

SEED, CLIENTS, RULES = 7, 12, "mnist-shards:clients=12,test_images=1"
NETWORK = {"filters": (), "hidden": 6, "rounds": 2, "clients": 10, "learning_rate": 0.5}
WEIGHTED = {"criteria": ("dataset_size", "label_diversity")}


@pytest.mark.parametrize("settings", [NETWORK, NETWORK | WEIGHTED], ids=["plain", "weighted"])
def test_classifiers_in_real_processes_have_the_bits_of_the_simulation(
    settings: dict[str, object], tmp_path: Path
) -> None:
    write_digits(tmp_path / "data" / "mnist")
    source = ("--protocol", RULES, "--data-dir", tmp_path / "data")
    words = [word for key, value in settings.items() for word in ("-S", f"{key}={_text(value)}")]
    timing = ("--round-seconds", 600, "--hold", 0, "--spread", 0, "--wait-for", CLIENTS, "--start")
    options = ("--like", "mnist", "--model", "fedavg", "--seed", SEED, *source, *words, *timing)
    with served(tmp_path, *options) as here:
        invited = ("--invitations", here.invite_file(CLIENTS))
        here.processes.start("fleet", "devices", here.url, "--data", "mnist", "--seed", SEED, *source, *invited)
        here.processes.wait("fleet")
        told = json.loads(get(f"{here.url}/federation"))
        published = get(f"{here.url}/m/{told['model']}")
    assert (told["state"], told["rounds_done"]) == ("finished", 2)
    preset, channel = configured("fedavg", settings, "secure-sum", 10)
    data = training_rows("mnist", RULES, tmp_path / "data")
    plan = Plan(preset.algorithm(), data, preset.schedule(), channel=channel, seed=SEED)
    fitted = fit(plan, runtime=InProcess(path="plain"))
    info = fitted.plan.info
    assert published == encode_model(fitted.model, fitted.plan.algorithm.publishes(info), info.listed)


def _text(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
