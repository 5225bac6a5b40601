"""Two commands in one folder: the second is refused, readers are not, and a killed one blocks nobody."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.core.locks import NAME, locked
from murmura.data.sources.registry import load
from murmura.engine.run_folder import Run
from murmura.lab.audits.audit import audit_folder, audit_run
from murmura.lab.groups.tuned_groups import Tuning, TuningRequest, tuned_table
from murmura.lab.papers.experiments import experiment, experiment_names
from murmura.lab.papers.reproduce import ExperimentPlace, reproduce
from murmura.lab.sweep.run import plan_sweep, sweep
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.configuration import DataConfig, FitConfig, check_config
from murmura.studies.evaluate.run import EvaluateConfig, ListsData, evaluate_lists, evaluate_run, export_run
from murmura.studies.fit.run import fit_run
from murmura.studies.search.run import SearchConfig, search_run
from tests.cli.processes import murmura, ratings
from tests.http.network import people
from tests.http.processes import MURMURA, PATIENCE, Processes, write_table
from tests.ports import free_ports
from tests.studies.worlds import small_world

MODELS = "mostpop,item-knn"
OPEN = ("--admission", "open")


def until(happened: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert process.poll() is None, "it ended before that"
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def at_work(folder: Path, pid: int) -> str:
    """How the sentence that refuses a second command begins."""
    return (
        f"error: {folder} must be used by one command at a time, but another is at work in it (process {pid},"
    )


@pytest.mark.process
def test_a_second_comparison_is_refused_and_a_killed_one_goes_on(tmp_path: Path) -> None:
    folder, words = tmp_path / "x", ("compare", "--data", str(ratings(tmp_path)), "--models", MODELS, "--out")
    assert murmura(*words, "whole", cwd=tmp_path).returncode == 0
    read, write = os.pipe()
    os.set_blocking(write, False)
    while True:  # a full pipe: the first comparison waits where it prints what its first model has found
        try:
            os.write(write, b".")
        except BlockingIOError:
            break
    os.set_blocking(write, True)
    printing = [*MURMURA, *words, str(folder), "--json"]
    with subprocess.Popen(printing, stderr=subprocess.DEVNULL, stdout=write, cwd=tmp_path) as first:
        try:
            until(lambda: Run(folder / "mostpop-seed0").status == "done", first)
            second = murmura(*words, str(folder), cwd=tmp_path)
            assert (second.returncode, second.stdout) == (4, "")
            said = second.stderr.splitlines()[-1]  # after how the data was understood
            assert said.startswith(at_work(folder, first.pid)), second.stderr
            assert re.search(r", since \S+ \S+ UTC\); wait for it, stop it, or choose .*\.$", said)
            assert murmura("export", str(folder), "--lists-only", cwd=tmp_path).returncode == 0
            assert murmura("report", str(folder), cwd=tmp_path).returncode == 0
        finally:
            first.kill()
    os.close(read)
    os.close(write)
    assert (folder / NAME).exists()
    assert Run(folder).status == "running"
    again = murmura(*words, str(folder), cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert not [path for path in folder.rglob("*") if path.name == NAME]
    for run in ("mostpop-seed0", "item-knn-seed0"):
        for name in ("metrics.json", "per_user.csv", "recommendations.tsv"):
            assert (folder / run / name).read_bytes() == (tmp_path / "whole" / run / name).read_bytes()


@pytest.mark.process
def test_a_second_device_or_server_is_refused_and_a_killed_one_goes_on(tmp_path: Path) -> None:
    table, (port, other) = write_table(people(), tmp_path / "likes.csv"), free_ports(2)
    processes, me, state = Processes(tmp_path), tmp_path / "me", tmp_path / "s"
    common = ("--readable", "--minimum", 10)
    serving = ("serve", "--state", state, "--like", table, "-S", "clients=12", *common, *OPEN, "--port")
    joining = ("join", f"http://127.0.0.1:{port}", "--state", me, "--data", table, "--user", 0, *common)
    try:
        served = processes.start("serve", *serving, port)
        until(lambda: "coordinator at" in processes.log("serve"), served)
        first = processes.start("first", *joining)
        until(lambda: "joined with" in processes.log("first"), first)
        for words, folder, pid in (
            (joining, me, first.pid),
            (("leave", "--state", me), me, first.pid),
            ((*serving, other), state, served.pid),
        ):
            second = murmura(*map(str, words), cwd=tmp_path)
            assert second.returncode == 4
            assert second.stderr.startswith(at_work(folder, pid)), second.stderr
        allowed = murmura("consent", "--state", str(me), "--pi", "0.5", cwd=tmp_path)
        assert json.loads(allowed.stdout)["pi"] == 0.5
        first.kill()
        served.kill()
        first.wait()
        served.wait()
        served = processes.start("serve", *serving, port)
        until(lambda: processes.log("serve").count("coordinator at") == 2, served)
        third = processes.start("third", *joining)
        until(lambda: f"process {third.pid}," in (me / NAME).read_text(), third)
        third.kill()
        third.wait()
        left = murmura("leave", "--state", str(me), cwd=tmp_path)
        assert left.returncode == 0, left.stderr
        assert not me.exists()
    finally:
        processes.stop()


def writers(folder: Path, table: Path) -> dict[str, Callable[[], object]]:
    """Everything that writes into a run folder."""
    fitting = check_config({"data": {"name": str(table)}, "protocol": "default", "model": {"name": "fcf"}})
    assert isinstance(fitting, FitConfig)
    searching = SearchConfig(data=DataConfig(name=str(table)), search="item-knn", space={"k": [2, 3]})
    swept = plan_sweep(small_world(), "default", {"sfpl": {"epochs": 1}}, "pi", [0.5])
    place = ExperimentPlace(experiment(experiment_names()[0]), str(table), folder)
    tuning = TuningRequest(1, Tuning(trials=1), 1)
    return {
        "fit": lambda: fit_run(fitting, folder),
        "evaluate": lambda: evaluate_run(folder),
        "audit": lambda: audit_run(folder),
        "export": lambda: export_run(folder, "trec"),
        "compare": lambda: list(compare(plan(small_world(), "default", {"mostpop": {}}), folder)),
        "sweep": lambda: list(sweep(*swept, folder)),
        "audit entries": lambda: audit_folder(folder),
        "search": lambda: list(search_run(searching, folder)),
        "evaluate search": lambda: evaluate_run(folder),
        "reproduce": lambda: reproduce(place, 1, lambda *heard: None),
        "groups tune": lambda: tuned_table(small_world(), tuning, folder, print, {}),
    }


def held(folder: Path, work: Callable[[], object]) -> None:
    """Refused while somebody else has the folder, and nothing in it is changed."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with locked(folder), pytest.raises(RunError, match="one command at a time"):
        work()
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_that_writes_into_a_run_folder_has_it_alone(tmp_path: Path) -> None:
    table = ratings(tmp_path)
    fitted = writers(tmp_path / "fitted", table)
    held(tmp_path / "fitted", fitted["fit"])
    fitted["fit"]()
    held(tmp_path / "fitted", fitted["evaluate"])
    fitted["evaluate"]()
    for name in ("audit", "export"):
        held(tmp_path / "fitted", fitted[name])
    for name in ("compare", "sweep", "search", "reproduce", "groups tune"):
        held(tmp_path / name, writers(tmp_path / name, table)[name])
    searched = writers(tmp_path / "search", table)
    searched["search"]()
    held(tmp_path / "search", searched["evaluate search"])
    compared = writers(tmp_path / "compare", table)
    list(
        compare(
            plan(load(str(table)), "default", {"fcf": {}}, source={"name": str(table)}), tmp_path / "compare"
        )
    )
    held(tmp_path / "compare", compared["audit entries"])
    shutil.copy(tmp_path / "fitted" / "recommendations.tsv", tmp_path)
    lists = EvaluateConfig(data=ListsData(name=str(table)))
    held(
        tmp_path / "lists",
        lambda: evaluate_lists(tmp_path / "recommendations.tsv", lists, tmp_path / "lists"),
    )
    assert not list(tmp_path.rglob(NAME))
