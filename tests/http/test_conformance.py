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
from murmura.core.federation import Public
from murmura.core.interactions import Interactions
from murmura.core.record import Letter
from murmura.core.rng import Rng, client_secrets
from murmura.engine.fit import fit
from murmura.engine.fitted import Fitted
from murmura.engine.plan import Plan
from murmura.runtimes.http.keeping import Memory
from murmura.runtimes.http.people import training_rows
from murmura.runtimes.inprocess import InProcess
from tests.http.network import people
from tests.http.processes import Served, get, served, write_table

pytestmark = pytest.mark.process

SEED, USERS, ALONE = 11, 24, 10  # ten devices are processes of their own, the others share one
METHODS = {
    "cfpl": {"rounds": 3, "clients": 20, "precision": "float64", "pi": 0.5},
    "fcf": {"rounds": 3, "precision": "float64"},
}


def simulated(
    name: str, data: Interactions, path: Literal["plain", "auto"], letters: list[Letter] | None = None
) -> Fitted:
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
        record=None if letters is None else letters.append,
    )


def run(name: str, table: Path, folder: Path) -> tuple[bytes, dict[str, object]]:
    """The final model as it is published, and what the coordinator says of itself."""
    settings = [word for key, value in METHODS[name].items() for word in ("-S", f"{key}={value}")]
    timing = ("--round-seconds", 600, "--hold", 0, "--spread", 0)
    begin = ("--wait-for", USERS, "--seed", SEED, "--start")
    with served(folder, "--like", table, "--model", name, *settings, *timing, *begin) as here:
        start_devices(here, table, METHODS[name].get("pi", 1.0))
        told = json.loads(get(f"{here.url}/federation"))
        return get(f"{here.url}/m/{told['model']}"), told


def start_devices(here: Served, table: Path, pi: object) -> None:
    names = []
    for client in range(ALONE):
        names.append(f"device-{client}")
        words = ("--data", table, "--user", client, "--minimum", 10, "--pi", pi, "--json")
        where = ("--state", here.folder / names[-1], "--simulate", f"{SEED}:{client}")
        here.processes.start(names[-1], "join", here.url, *where, *words)
    names.append("fleet")
    words = ("--data", table, "--first", ALONE, "--seed", SEED, "--pi", pi, "--json")
    here.processes.start("fleet", "devices", here.url, *words)
    for name in names:
        here.processes.wait(name)


@pytest.mark.parametrize("name", METHODS)
def test_three_ways_give_the_same_model_bit_for_bit(name: str, tmp_path: Path) -> None:
    table = write_table(people(USERS, 40), tmp_path / "likes.csv")
    published, told = run(name, table, tmp_path)
    data = training_rows(str(table), "")
    assert (told["state"], told["rounds_done"]) == ("finished", 3 + (name == "cfpl"))
    letters: list[Letter] = []
    ways: tuple[tuple[Literal["plain", "auto"], list[Letter] | None], ...] = (
        ("plain", letters),
        ("auto", None),
    )
    for path, record in ways:
        fitted = simulated(name, data, path, record)
        public = Public.of(data)
        made = encode_model(fitted.model, fitted.plan.algorithm.publishes(public), public.listed)
        assert published == made, f"the {path} path gives another model"
    keeps_what_it_learned(fitted, tmp_path)
    search_for_canaries(letters, fitted, tmp_path)


def keeps_what_it_learned(fitted: Fitted, folder: Path) -> None:
    """p_u of every device process is that of the simulation, to the rounding of two ways to add."""
    for client in range(ALONE):
        memory = Memory.decode((folder / f"device-{client}" / "memory.bin").read_bytes())
        assert memory.pending is None
        np.testing.assert_allclose(memory.state["p"], fitted.states["p"][client], rtol=1e-9)


def search_for_canaries(letters: list[Letter], fitted: Fitted, folder: Path) -> None:
    """Numbers of single updates, as doubles, floats, ring words and text, in everything that was written."""
    written = b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"coordinator at" in written
    secrets, looked_for = client_secrets(SEED, USERS), 0
    for letter in letters:
        if letter.phase != "train":  # ones for what is liked: no number of its own
            continue
        values = letter.update.tables["items"].values.ravel().astype(np.float64)
        vector = fitted.plan.chains["train"].device(
            letter.update, Rng(secrets[letter.client], letter.round), letter.round
        )
        told = np.flatnonzero(vector)[1:]
        places = told[:-2][(np.diff(told, n=2) == 0) & (np.diff(told)[:-1] == 1)][:5]
        canaries = [vector[place : place + 3].astype("<u4").tobytes() for place in places.tolist()]
        for value in values[np.abs(values) > 1e-6][:5].tolist():
            canaries += [struct.pack("<d", value), repr(value)[:12].encode()]
        for canary in canaries:
            assert canary not in written, (letter.client, letter.round)
        looked_for += len(canaries)
    assert looked_for > 500
    kept = Memory.decode((folder / "device-0" / "memory.bin").read_bytes()).state["p"]
    assert kept.astype("<f8").tobytes() in written  # what a device may keep is found by the same search
