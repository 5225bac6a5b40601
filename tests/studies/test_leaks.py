"""The check for leaks: clean folders pass; a sampler that spares held-out items does not, however it knows."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from murmura.core.catalogue import TEST, TRAIN, Split
from murmura.core.errors import LeakError
from murmura.core.interactions import Interactions
from murmura.engine.prepared import Sealed
from murmura.engine.run_folder import Run
from murmura.lab.leaks.check import LeakCheck, chance_of, check_leaks
from murmura.lab.leaks.isolated_process import isolated
from murmura.lab.papers.experiments import read_experiment
from murmura.lab.papers.reproduce import ExperimentPlace, reproduce
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.evaluate.run import evaluate_run
from murmura.studies.methods import method
from murmura.studies.search.folder import TRIALS
from murmura.studies.search.run import search_run
from tests.cli.processes import murmura, ratings
from tests.engine.test_sealed import ready
from tests.hypothesis_profiles import examples
from tests.studies.experiment_files import check_ins, small
from tests.studies.test_search_folder import config

pytestmark = pytest.mark.slow

LEAKY = Path(__file__).with_name("leaky.py")
COMPARE = ("compare", "--models", "bpr-mf", "-S", "bpr-mf.epochs=3", "--out", "run", "--data")


def leaky(how: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LEAK": how, "LEAK_FILE": str(cwd / "ratings.csv"), "MURMURA_DATA": str(cwd)}
    command = [sys.executable, str(LEAKY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)


def verdicts(checks: list[LeakCheck]) -> dict[tuple[str, str], str]:
    return {(one.run, one.what): one.verdict for one in checks}


@pytest.mark.process
@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("load", "opens"),  # it loads the data again
        ("import", "opens"),  # it loaded them when it was imported
        ("quiet", "opens"),  # it reads the file and hides that it could not
        ("environment", "fails when the held-out rows are taken away"),  # it finds a copy by the environment
        ("copy", "drawn negatives are held out"),  # it reads a copy elsewhere: only its draws tell
        pytest.param("positive", "opens", marks=pytest.mark.smoke),  # it learns from them
    ],
)
def test_a_leaky_method_is_caught_by_the_command(tmp_path: Path, how: str, what: str) -> None:
    ratings(tmp_path)
    found = leaky(how, *COMPARE, "ratings.csv", "then", "check-leaks", "run", "--json", cwd=tmp_path)
    assert found.returncode == 7, found.stdout + found.stderr
    sentence = found.stderr.strip().splitlines()[-1]
    assert sentence.startswith("error: a held-out row was used: bpr-mf-seed0")
    assert what in sentence
    assert "Traceback" not in found.stderr


@pytest.mark.process
def test_the_honest_method_passes_where_the_leaky_one_was_caught(tmp_path: Path) -> None:
    ratings(tmp_path)
    assert leaky("copy", *COMPARE, "ratings.csv", cwd=tmp_path).returncode == 0
    found = murmura("check-leaks", "run", "--json", cwd=tmp_path)  # the kept lists are still the leaky ones
    assert found.returncode == 7
    assert "not what the training rows give" in found.stdout
    (tmp_path / "run").rename(tmp_path / "leaky")
    assert murmura(*COMPARE, "ratings.csv", cwd=tmp_path).returncode == 0
    found = murmura("check-leaks", "run", "--json", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert {line["check"] for line in lines} == {"data", "positives", "opening", "refit", "negatives"}
    assert {line["verdict"] for line in lines} == {"clean"}


@pytest.mark.process
def test_every_kind_of_folder_is_read(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    assert (
        murmura("fit", "--model", "item-knn", "--data", str(file), "--out", "fit", cwd=tmp_path).returncode == 0
    )
    assert set(verdicts(list(check_leaks(tmp_path / "fit"))).values()) == {"clean"}
    folder = tmp_path / "search"
    list(search_run(config(tmp_path), folder))
    before = verdicts(list(check_leaks(folder)))
    assert ("search", "selection") in before
    evaluate_run(folder)
    after = verdicts(list(check_leaks(folder, trials=1)))
    assert ("search", "refit") in after
    assert set(before.values()) | set(after.values()) == {"clean"}
    # a trial that was scored on something else than validation
    lines = (folder / TRIALS).read_text().splitlines()
    doctored = [lines[0], *(line.replace(",P@10,0.", ",P@10,0.9") for line in lines[1:])]
    (folder / TRIALS).write_text("\n".join(doctored) + "\n")
    found = verdicts(list(check_leaks(folder, trials=9)))
    assert [what for (_, what), verdict in found.items() if verdict == "leak"].count("trial") == 4
    assert found["search", "selection"] == "leak"  # the choice is not the best of what is kept now


@pytest.mark.process
def test_a_reproduction_is_read(tmp_path: Path) -> None:
    place = ExperimentPlace(read_experiment(small(tmp_path)), str(check_ins(tmp_path)), tmp_path / "out")
    reproduce(place, 1, lambda *_: None)
    found = verdicts(list(check_leaks(tmp_path / "out")))
    assert set(found.values()) == {"clean"}
    assert {what for _, what in found} == {
        "data", "positives", "opening", "refit", "negatives", "selection", "trial"
    }  # fmt: skip
    worst = min(
        (tmp_path / "out" / "trials").glob("user-knn-*.json"), key=lambda f: json.loads(f.read_text())["value"]
    )
    worst.write_text(json.dumps({**json.loads(worst.read_text()), "value": 0.99}))
    assert verdicts(list(check_leaks(tmp_path / "out", trials=0)))["runs", "selection"] == "leak"


def test_other_data_proves_nothing(tmp_path: Path) -> None:
    from tests.studies.worlds import small_world

    chosen = plan(small_world(), "default", {"user-knn": {"k": 5}}, source={"name": str(ratings(tmp_path))})
    list(compare(chosen, tmp_path / "c"))
    found = verdicts(list(check_leaks(tmp_path / "c")))  # the folder names other data than it was made of
    assert found == {("c", "data"): "unproven"}


def test_a_choice_after_the_opening_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "search"
    list(search_run(config(tmp_path), folder))
    evaluate_run(folder)
    opened = Run.open(folder).read("opened.json")
    opened["choice"]["model"]["k"] = 77
    (folder / "opened.json").write_text(json.dumps(opened))
    assert verdicts(list(check_leaks(folder, trials=0)))["search", "opening"] == "leak"


def test_the_seal_counts_without_opening() -> None:
    """Two users, items 0 to 4: by hand. User 0 holds 0 and 1, 2 is held out; user 1 holds 2, 3, 4, 0 is."""
    user, item = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 2, 2, 3, 4, 0])
    data = Interactions.of(user, item)
    part = np.array([TRAIN, TRAIN, TEST, TRAIN, TRAIN, TRAIN, TEST], np.uint8)
    sealed = Sealed(Split("by hand", data, part))
    who, drawn = np.array([0, 0, 0, 1], np.int32), np.array([2, 3, 2, 1], np.int32)
    hits, n, p = sealed.count(who, drawn)
    assert hits == 2
    assert n.tolist() == [3, 1]
    assert p.tolist() == [1 / 3, 1 / 2]
    assert sealed.overlap == 0
    assert not sealed.is_open
    again = Interactions.of(np.append(user, 0), np.append(item, 2))
    assert Sealed(Split("repeated", again, np.append(part, TRAIN).astype(np.uint8))).overlap == 1


@pytest.mark.parametrize(
    ("name", "settings"),
    [("bpr-mf", {}), ("bpr-mf", {"order": "uniform"}), ("mf", {}), ("sfpl+", {}), ("pfpl", {})],
)
def test_our_samplers_draw_held_out_items_as_chance_says(name: str, settings: dict[str, Any]) -> None:
    prepared = ready()
    train = prepared.split.train
    sampler = method(name, settings)
    hits, total, p = 0, np.zeros(train.n_users, np.int64), np.zeros(train.n_users)
    for epoch in range(1, 60):
        pairs = sampler.drawn_negatives(train, 3, epoch)
        assert pairs is not None
        who, drawn = pairs
        own = set(zip(train.user.tolist(), train.item.tolist()))
        assert not own & set(zip(who.tolist(), drawn.tolist()))
        found, n, p = prepared.sealed.count(who, drawn)
        hits, total = hits + found, total + n
    assert total @ p > 100
    assert chance_of(hits, total, p) > 1e-3
    assert chance_of(0, total, p) < 1e-12  # one that spares them would be seen


def test_methods_that_draw_nothing_say_so() -> None:
    assert method("ease", {}).drawn_negatives(ready().split.train, 0, 1) is None
    assert method("fcf", {}).drawn_negatives(ready().split.train, 0, 1) is None


@examples(0.6)
@given(st.integers(1, 60), st.floats(0.02, 0.98), st.data())
def test_the_bound_is_one(n: int, p: float, data: st.DataObject) -> None:
    """Against the exact binomial: never below it, and 1 at the mean."""
    hits = data.draw(st.integers(0, n))
    exact = binom.cdf(hits, n, p) if hits < n * p else binom.sf(hits - 1, n, p)
    bound = chance_of(hits, np.array([n]), np.array([p]))
    assert bound >= min(1.0, exact) * (1 - 1e-9)
    assert bound <= 1


def test_the_bound_is_sharp_where_it_matters() -> None:
    n, p = np.array([500, 1500]), np.array([0.02, 0.04])
    assert chance_of(0, n, p) == pytest.approx(2 * 0.98**500 * 0.96**1500, rel=1e-6)  # exact at none
    assert chance_of(70, n, p) == 1.0
    assert chance_of(140, n, p) < 1e-10  # twice as often as chance is a leak too


def _opens(path: str) -> str:
    return Path(path).read_text()


def _prints() -> int:
    print("words that are no answer")
    return 7


@pytest.mark.process
def test_the_process_without_held_out_rows(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    closed, free = tmp_path / "data" / "x.csv", tmp_path / "free.txt"
    closed.write_text("secret")
    free.write_text("free")
    with isolated([tmp_path / "data"]) as call:
        assert call(_prints).value == 7
        assert call(_opens, str(free)).value == "free"
        assert not call(_opens, str(free)).touched
        refused = call(_opens, str(closed))
        assert refused.value is None
        assert LeakError.__name__ in refused.error
        assert call(_prints).touched == (str(closed.resolve()),)  # remembered, whoever swallowed the error
