"""The package's defaults exist, and each is the winner of the search that is kept beside it."""

import csv
import json
import math
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from murmura.core.errors import SettingError
from murmura.lab.blend.run import MODEL, Blend, choose
from murmura.lab.papers.experiments import experiment
from murmura.lab.papers.plan_file import read_plan
from murmura.studies.methods import defaults, method, model_and_pi, resolved_settings
from murmura.studies.search.folder import Trial, TrialHistory, name_of, side
from murmura.studies.search.grid import curve_of
from murmura.studies.search.tpe import Tpe

ROOT = Path(__file__).parents[2]
HISTORY = ROOT / "docs" / "results" / "searches.csv"
PLAN = ROOT / "experiments" / "defaults.yaml"
KEPT_TRIALS = ROOT / "docs" / "results" / "reproductions"
KEPT: dict[str, dict[str, dict[str, dict[str, Any]]]] = yaml.safe_load(
    resources.files("murmura.studies").joinpath("defaults.yaml").read_text("utf-8")
)
# a model, or a model at some pi: `fed-ease:pi=0.1`
ALL = [(p, d, m) for p, by_data in KEPT.items() for d, models in by_data.items() for m in models]
# a model -> its row in the kept trials of a paper's table, whose search is not made twice
ROWS = {"sfpl": "sFPL", "sfpl+": "sFPL+", "pfpl": "pFPL", "pfpl+": "pFPL+", "fcf": "FCF"}
TABLES = {"foursquare-italy": "fpl-table2"}  # elsewhere federank-table2
KEPT_PLAN = read_plan(PLAN)
GRIDS = KEPT_PLAN.grids
ENTRIES = [(p, d, m) for p, d, m in ALL if m != MODEL and m in GRIDS[p][d]]
REPRODUCED = [(p, d, m) for p, d, m in ALL if m != MODEL and m not in GRIDS[p][d]]
BLENDED = [entry for entry in ALL if entry[2] == MODEL]


@pytest.fixture(scope="module")
def trials() -> dict[tuple[str, str, str, str], float]:
    with HISTORY.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(r["protocol"], r["data"], r["model"], r["settings"]): float(r["value"]) for r in rows}


@pytest.mark.parametrize(("protocol", "data", "label"), ENTRIES)
def test_a_default_won_on_validation(
    protocol: str, data: str, label: str, trials: dict[tuple[str, str, str, str], float]
) -> None:
    model, pi = model_and_pi(label)
    chosen = defaults(protocol, data, model, pi)
    assert method(model, chosen).name == model
    plan = KEPT_PLAN
    each, patience = plan.candidates(label, plan.grids[protocol][data][label]), plan.patience.get(model)
    if not isinstance(each, list):  # what tpe asked for depends on the answers: what was tried is in the file
        log = TrialHistory(HISTORY, (data, protocol, model), plan.metric[protocol])
        tried = {name: trial.value for name, trial in log.known.items()}
        assert len(tried) == plan.trials[model]
    elif patience is None:
        tried = {name_of(one): trials[protocol, data, model, name_of(one)] for one in each}
    else:  # every epoch of every candidate, to where patience ended
        log = TrialHistory(HISTORY, (data, protocol, model), plan.metric[protocol])
        curves = [curve_of(log, one, patience) for one in each]
        tried = {name_of(trial.settings): trial.value for curve in curves for trial in curve or []}
        assert all(curves)
    first = max if side(plan.metric[protocol]) == "higher" else min
    assert tried[name_of(chosen)] == first(value for value in tried.values() if not math.isnan(value))


@pytest.mark.parametrize(("protocol", "data", "model"), REPRODUCED)
def test_a_default_without_a_grid_won_in_the_trials_of_a_table(protocol: str, data: str, model: str) -> None:
    name = TABLES.get(data, "federank-table2")
    assert experiment(name).protocol == protocol
    assert data in experiment(name).data
    with (KEPT_TRIALS / f"{name}-{data}-trials.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["row"] == ROWS[model]]
    tried = []
    for row in rows:
        settings = dict(part.rsplit(" ", 1) for part in row["settings"].split(", "))
        pi, disclosure = float(settings.pop("pi", 1)), settings.pop("disclosure", "per-triple")
        assert disclosure == "per-triple"  # which is no matter at pi = 1
        numbers = {key: float(value) for key, value in settings.items()}
        whole = resolved_settings(model, {**numbers, "epochs": int(row["best epoch"])})
        tried += [(float(row["P@10 on validation"]), whole)] if pi == 1 else []
    assert len(tried) >= 6
    assert resolved_settings(model, defaults(protocol, data, model)) == max(tried, key=lambda one: one[0])[1]


@pytest.mark.parametrize(("protocol", "data", "model"), BLENDED)
def test_a_blend_is_the_most_accurate_that_covers_enough(protocol: str, data: str, model: str) -> None:
    chosen = defaults(protocol, data, model)
    assert method(model, chosen).name == model
    with (ROOT / "docs" / "results" / "kgflex-blends.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["data"] == data]
    tried = [
        Blend(float(row["weight"]), float(row["discount"]), float(row["accuracy"]), int(row["coverage"]))
        for row in rows
    ]
    won = choose(tried, int(rows[0]["enough"]))
    settings = json.loads(rows[tried.index(won)]["settings"])
    assert chosen == {**settings, "weight": won.weight, "discount": won.discount}


def test_settings_are_those_of_the_nearest_pi() -> None:
    kept = KEPT["fpl:order=day"]["ml-1m"]
    of = {pi: defaults("fpl:order=day", "ml-1m", "fed-ease", pi) for pi in (0.0, 0.1, 0.3, 0.4, 1.0, "0.1")}
    assert of[0.0] == of[0.1] == of[0.3] == kept["fed-ease:pi=0.1"]
    assert of[0.4] == of[1.0] == of["0.1"] == kept["fed-ease"]
    with pytest.raises(SettingError, match="must be a number, but is 'half'"):
        model_and_pi("fed-ease:pi=half")


def test_unknown_names_have_no_defaults() -> None:
    assert defaults("fpl", "my-ratings.csv", "ease") == {}
    assert defaults("nowhere", "ml-1m", "ease") == {}


def test_a_plan_with_a_mistake_is_refused(tmp_path: Path) -> None:
    for text, sentence in [
        ("metric: {}\n", "grids must be given"),
        ("metric: {}\ngrids: {}\ngrid: 1\n", "unknown setting 'grid'. Did you mean 'grids'?"),
        ("metric: {}\ngrids: {fpl: {ml-1m: {ease: {rg: [1]}}}}\n", "unknown setting 'ease.rg'"),
        ("metric: {}\ngrids: {fpl: {ml-1m: {ease: {reg: []}}}}\n", "at least 1 item"),
        ("metric: {}\ngrids: {fpl: {ml-1m: {ease: {reg: '1:9:log'}}}}\n", "name ease under 'trials:'"),
        ("metric: {}\ntrials: {ease: 3}\ngrids: {fpl: {ml-1m: {ease: {reg: '0:9'}}}}\n", "greater than 0"),
        ("metric: {}\ngrids: {fpl: {ml-1m: {ease: {reg: [1]}}}}\n", "metric must name one for every protocol"),
        ("metric: [", "readable YAML"),
    ]:
        (tmp_path / "plan.yaml").write_text(text)
        with pytest.raises(SettingError) as refused:
            read_plan(tmp_path / "plan.yaml")
        assert sentence in str(refused.value), json.dumps(str(refused.value))


@pytest.mark.parametrize("trials", ["{}", "{fed-ease: 2}"])
def test_a_label_with_a_pi_is_searched_at_that_pi(trials: str, tmp_path: Path) -> None:
    """By a grid, and by tpe."""
    grids = "{fpl: {ml-1m: {'fed-ease:pi=0.1': {reg: [1, 2]}}}}"
    (tmp_path / "plan.yaml").write_text(f"metric: {{fpl: P@10}}\ntrials: {trials}\ngrids: {grids}\n")
    plan = read_plan(tmp_path / "plan.yaml")
    found = plan.candidates("fed-ease:pi=0.1", plan.grids["fpl"]["ml-1m"]["fed-ease:pi=0.1"])
    tried = found.corners() if isinstance(found, Tpe) else found
    assert {one["pi"] for one in tried} == {0.1}


def test_a_history_that_a_kill_left_empty_is_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "trials.csv"
    file.touch()
    key = ("data", "rules", "ease")
    TrialHistory(file, key, "P@10").add(Trial({"reg": 1.0}, 0.5))
    assert TrialHistory(file, key, "P@10").find({"reg": 1.0}) is not None
    assert file.read_text().startswith("data,")
