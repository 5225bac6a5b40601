"""Households over loopback HTTP: FedSPLIT in real processes has the bits of the simulation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.core.codec import encode_model
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.population import member_places
from murmura.core.settings import field_names
from murmura.device.enrolment import JoinRequest, known_positives
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import groups_of, training_rows
from murmura.server.coordinator.setup import ChannelMode, configured
from murmura.server.described import describe_items
from tests.http.processes import Processes, answers, get, served
from tests.ports import free_ports

SEED, PEOPLE, FILMS, ALONE = 3, 30, 24, 2  # two households are processes of their own
GIVEN = {"smallest": 3, "largest": 6, "factors": 2, "patterns": 4, "epochs": 60}
METHODS = ["fedsplit", "fedsplit-svd"]


def ratings() -> Interactions:
    rng = np.random.default_rng(8)
    rows = [
        (u, i, 1 + (u * i) % 5) for u in range(PEOPLE) for i in rng.choice(FILMS, 9, replace=False).tolist()
    ]
    user, item, value = np.array(rows).T
    return Interactions.of(user, item, value.astype(np.float64))


def write(data: Interactions, path: Path) -> Path:
    lines = [f"{data.users.labels[u]},{i},{v:g}" for u, i, v in zip(data.user, data.item, data.value)]
    path.write_text("\n".join(["user,item,rating", *lines]) + "\n", encoding="utf-8")
    return path


def given(name: str) -> dict[str, object]:
    return {key: GIVEN[key] for key in GIVEN if key in field_names(algorithm(name).settings)}


def words(name: str) -> list[object]:
    return [word for key, value in given(name).items() for word in ("-S", f"{key}={value}")]


def simulated(
    name: str, data: Interactions, groups: np.ndarray, mode: ChannelMode = "readable"
) -> FederatedModel:
    preset, channel = configured(name, given(name), mode, 2)
    schedule = preset.schedule()
    runtime = InProcess(path="plain")
    return fit(
        Plan(preset.algorithm(), data, schedule, groups=groups, channel=channel, seed=SEED), runtime=runtime
    )


def serve(processes: Processes, url: str, name: str, table: Path, clients: int) -> None:
    """A readable federation of so many households, open to everyone, once it answers."""
    where = ("--state", processes.folder / "coordinator", "--port", url.rpartition(":")[2])
    rules = (
        "--minimum",
        2,
        "--seed",
        SEED,
        "--model",
        name,
        "--like",
        table,
        "--readable",
        "--admission",
        "open",
    )
    times = ("--round-seconds", 600, "--hold", 0, "--spread", 0, "--wait-for", clients, "--start")
    processes.start("serve", "serve", *where, *rules, *words(name), *times)
    answers(url, processes, "serve")


def join_alone(processes: Processes, url: str, name: str, own: Path, *more: object) -> None:
    """A household, or someone by herself, in a process of its own."""
    me = ("--state", processes.folder / name, "--data", own, "--top", 3, "--json")
    processes.start(name, "join", url, *me, *more)


def all_take_part(processes: Processes, url: str, name: str, table: Path, groups: np.ndarray) -> None:
    """Two households alone, the others in one process; then they are done."""
    data = training_rows(str(table), "")
    for group in range(ALONE):
        own = write(data.rows(groups[data.user] == group), processes.folder / f"household-{group}.csv")
        together = ("--household", "--simulate", f"{SEED}:{group}", "--minimum", 2, "--readable")
        join_alone(processes, url, f"h{group}", own, *together)
    rest = ("--data", table, "--first", ALONE, "--seed", SEED, "--readable", *words(name))
    processes.start("fleet", "devices", url, *rest)
    for started in (*(f"h{group}" for group in range(ALONE)), "fleet"):
        processes.wait(started)


@pytest.mark.process
@pytest.mark.parametrize("name", METHODS)
def test_households_in_real_processes_have_the_bits_of_the_simulation(name: str, tmp_path: Path) -> None:
    table = write(ratings(), tmp_path / "ratings.csv")
    data, preset = training_rows(str(table), ""), algorithm(name)(**given(name))
    groups = groups_of(data, preset, SEED)
    assert groups is not None
    fitted = simulated(name, data, groups)
    info, processes = fitted.plan.info, Processes(tmp_path)
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    try:
        serve(processes, url, name, table, info.clients)
        all_take_part(processes, url, name, table, groups)
        told = json.loads(get(f"{url}/federation"))
        published = get(f"{url}/m/{told['model']}")
        join_alone(processes, url, "late", write(data.rows(data.user == 0), tmp_path / "late.csv"))
        processes.wait("late")
    finally:
        processes.stop()
    assert published == encode_model(fitted.model, fitted.plan.algorithm.publishes(info), info.listed)
    for group in range(ALONE):
        everyone_of_a_household_is_served(processes.out(f"h{group}"), fitted, data, groups, group)
    events = [json.loads(line) for line in processes.out("late").splitlines()]
    assert [event["event"] for event in events] == ["joined", "finished", "recommended"]
    assert len(events[-1]["items"]) == 3
    assert not list((tmp_path / "late").glob("journal.*"))  # nothing left her device


def everyone_of_a_household_is_served(
    out: str, fitted: FederatedModel, data: Interactions, groups: np.ndarray, group: int
) -> None:
    """The three films each of them is shown are those of the simulation."""
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["disclosed"] for event in events if event["event"] == "sent"] == [
        0.0,
        1.0,
    ]  # a mean, all rows
    shown = {event["for"]: event["items"] for event in events if "for" in event}
    members = np.flatnonzero(groups == group)
    assert shown.keys() == {str(data.users.labels[user]) for user in members}
    lists = fitted.recommend(members.astype(np.int32), 3)
    assert (member_places(groups)[members] == np.arange(len(members))).all()
    for user, items in zip(members.tolist(), lists.item.tolist()):
        assert shown[str(data.users.labels[user])] == data.items.labels[items].tolist()


@pytest.mark.process
@pytest.mark.parametrize("name", ["item-means", "co-statistics"])
def test_what_is_only_summed_needs_no_readable_letter(name: str, tmp_path: Path) -> None:
    table = write(ratings(), tmp_path / "ratings.csv")
    data, preset = training_rows(str(table), ""), algorithm(name)(**given(name))
    groups = groups_of(data, preset, SEED)
    assert groups is not None
    fitted = simulated(name, data, groups, "secure-sum")
    times = (
        "--round-seconds",
        600,
        "--hold",
        0,
        "--spread",
        0,
        "--wait-for",
        fitted.plan.info.clients,
        "--start",
    )
    with served(
        tmp_path, "--like", table, "--model", name, "--exact", "--seed", SEED, *words(name), *times, minimum=2
    ) as here:
        invited = ("--invitations", here.invite_file(fitted.plan.info.clients))
        fleet = ("--data", table, "--seed", SEED, "--exact", *words(name), *invited)
        here.processes.start("fleet", "devices", here.url, *fleet)
        here.processes.wait("fleet")
        told = json.loads(get(f"{here.url}/federation"))
        published = get(f"{here.url}/m/{told['model']}")
    info = fitted.plan.info
    assert (told["mode"], told["label"]) == ("secure-sum", "everybody can read sums without noise")
    assert published == encode_model(fitted.model, fitted.plan.algorithm.publishes(info), info.listed)


def test_a_household_too_large_for_the_federation_is_told_so(tmp_path: Path) -> None:
    items = tmp_path / "films.txt"
    items.write_text("".join(f"{n}\n" for n in range(FILMS)), encoding="utf-8")
    data = ratings()
    request = JoinRequest(
        "http://x",
        data.item,
        data.value,
        np.zeros(2, np.uint32),
        None,  # type: ignore[arg-type]
        person=data.user,
        people=tuple(map(str, range(PEOPLE))),
    )
    small = describe_items(items, algorithm("fedsplit")(largest=6), 10, 100)
    with pytest.raises(DataError, match="at most 6 people, but the data has 30"):
        known_positives(small, request)
    likes, foreign = known_positives(
        describe_items(items, algorithm("fedsplit")(), 10, 100), replace_keep_back(request)
    )
    kept = [sum(like.kept_back for like in likes if like.person == person) for person in range(PEOPLE)]
    assert (kept, foreign) == ([3] * PEOPLE, 0)  # a third of everybody's nine, not the last people's rows


def replace_keep_back(request: JoinRequest) -> JoinRequest:
    return JoinRequest(**{**vars(request), "keep_back": 0.34})
