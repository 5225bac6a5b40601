"""Equal bits: the plain loop, the compiled path, and real processes over loopback HTTP with two aggregators.

The same runs are searched for a canary: a number that only single updates hold must be in no file and no log.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.core.codec import encode_model
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, client_secrets
from murmura.core.update import SentUpdate
from murmura.device.storage import DeviceMemory
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import training_rows
from tests.http.network import people
from tests.http.processes import Served, get, served, write_table

pytestmark = pytest.mark.process

SEED, USERS, ALONE = 11, 24, 10  # ten devices are processes of their own, the others share one
METHODS = {
    "cfpl": {"rounds": 3, "clients": 20, "precision": "float64", "pi": 0.5},
    "fcf": {"rounds": 3, "precision": "float64"},
    "kgflex": {"rounds": 3, "clients": 20, "precision": "float64", "pi": 0.5, "factors": 4},
}


def simulated(
    name: str, data: Interactions, path: Literal["plain", "auto"], updates: list[SentUpdate] | None = None
) -> FederatedModel:
    """The same federation in one process, through the same channel; `letters` gets every update."""
    preset = algorithm(name)(**METHODS[name], channel="secure-sum", minimum_cohort=10)
    return fit(
        Plan(
            preset.algorithm(),
            data,
            preset.schedule(),
            consent=preset.consent(),
            channel=preset.channel_settings(),
            seed=SEED,
        ),
        runtime=InProcess(path=path),
        record=None if updates is None else updates.append,
    )


def write_features(path: Path) -> dict[str, object]:
    """Forty items in four colours and five sizes, as a file of features."""
    rows = [f"{item},{kind},{item % n}" for item in range(40) for kind, n in (("colour", 4), ("size", 5))]
    path.write_text("\n".join(["item,predicate,object", *rows]) + "\n", encoding="utf-8")
    return {"features": str(path), "feature_items": 2}


def run(name: str, table: Path, folder: Path) -> tuple[bytes, dict[str, object]]:
    """The final model as it is published, and what the coordinator says of itself."""
    settings = [word for key, value in METHODS[name].items() for word in ("-S", f"{key}={value}")]
    timing = ("--round-seconds", 600, "--hold", 0, "--spread", 0)
    begin = ("--wait-for", USERS, "--seed", SEED, "--start")
    known = ("--features", folder / "features.csv", "--feature-items", 2)
    with served(folder, "--like", table, "--model", name, *settings, *timing, *begin, *known) as here:
        start_devices(here, table, METHODS[name].get("pi", 1.0))
        told = json.loads(get(f"{here.url}/federation"))
        return get(f"{here.url}/m/{told['model']}"), told


def start_devices(here: Served, table: Path, pi: object) -> None:
    names, links = [], here.invite(ALONE)
    for client in range(ALONE):
        names.append(f"device-{client}")
        words = ("--data", table, "--user", client, "--minimum", 10, "--pi", pi, "--json")
        where = ("--state", here.folder / names[-1], "--simulate", f"{SEED}:{client}")
        here.processes.start(names[-1], "join", links[client], *where, *words)
    names.append("fleet")
    words = ("--data", table, "--first", ALONE, "--seed", SEED, "--pi", pi, "--json")
    invited = ("--invitations", here.invite_file(USERS - ALONE))
    here.processes.start("fleet", "devices", here.url, *words, *invited)
    for name in names:
        here.processes.wait(name)


@pytest.mark.parametrize("name", METHODS)
def test_three_ways_give_the_same_model_bit_for_bit(name: str, tmp_path: Path) -> None:
    table = write_table(people(USERS, 40), tmp_path / "likes.csv")
    features = write_features(tmp_path / "features.csv")
    published, told = run(name, table, tmp_path)
    data = training_rows(str(table), "", None, features)
    assert (told["state"], told["rounds_done"]) == ("finished", 3 + (name == "cfpl"))
    updates: list[SentUpdate] = []
    ways: tuple[tuple[Literal["plain", "auto"], list[SentUpdate] | None], ...] = (
        ("plain", updates),
        ("auto", None),
    )
    for path, record in ways:
        fitted = simulated(name, data, path, record)
        info = fitted.plan.info
        made = encode_model(fitted.model, fitted.plan.algorithm.publishes(info), info.listed)
        assert published == made, f"the {path} path gives another model"
    keeps_what_it_learned(fitted, tmp_path)
    search_for_canaries(updates, fitted, tmp_path)


def keeps_what_it_learned(fitted: FederatedModel, folder: Path) -> None:
    """What every device process keeps is that of the simulation, to the rounding of two ways to add."""
    for client in range(ALONE):
        memory = DeviceMemory.decode((folder / f"device-{client}" / "memory.bin").read_bytes())
        assert memory.pending is None
        for part in memory.state.keys() & {"p", "P", "k", "feature"}:
            np.testing.assert_allclose(memory.state[part], fitted.states[part][client], rtol=1e-9)


def search_for_canaries(updates: list[SentUpdate], fitted: FederatedModel, folder: Path) -> None:
    """Numbers of single updates, as doubles, floats, ring words and text, in everything that was written."""
    written = b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"coordinator at" in written
    secrets, looked_for = client_secrets(SEED, USERS), 0
    for sent_update in updates:
        if sent_update.phase != "train":  # ones for what is liked: no number of its own
            continue
        (table,) = sent_update.update.tables.values()
        values = table.values.ravel().astype(np.float64)
        vector = fitted.plan.chains["train"].device(
            sent_update.update, Rng(secrets[sent_update.client], sent_update.round), sent_update.round
        )
        told = np.flatnonzero(vector)[1:]
        places = told[:-2][(np.diff(told, n=2) == 0) & (np.diff(told)[:-1] == 1)][:5]
        found = [vector[place : place + 3].astype("<u4") for place in places.tolist()]
        # three words of a few steps each are anybody's: 1, -1, -1 stands in many a file
        canaries = [words.tobytes() for words in found if np.abs(words.astype(np.int32)).max() >= 256]
        for value in values[np.abs(values) > 1e-6][:5].tolist():
            canaries += [struct.pack("<d", value), repr(value)[:12].encode()]
        for canary in canaries:
            assert canary not in written, (sent_update.client, sent_update.round)
        looked_for += len(canaries)
    assert looked_for > 500
    state = DeviceMemory.decode((folder / "device-0" / "memory.bin").read_bytes()).state
    kept = state["p"] if "p" in state else state["P"]
    assert kept.astype("<f8").tobytes() in written  # what a device may keep is found by the same search
