"""The rule from sizes: what it says, to whom, and that it was tried where it had not been fitted."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import SettingError
from murmura.lab.papers.plan_file import KnownTrials, fitted, known_trials, left_out, read_plan, setting_name
from murmura.report import build
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.compare.section import rule_sentence
from murmura.studies.methods import (
    EQUIVALENTS,
    LADDER,
    MANY,
    RULES,
    Sizes,
    by_rule,
    defaults,
    method,
    method_class,
    resolved_settings,
    rung,
)
from murmura.studies.search.folder import read_history
from tests.cli.processes import murmura
from tests.studies.worlds import small_world

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
FEW, LONG = Sizes(1_000, 500, 20_000, times=True), Sizes(1_000, 500, 100_000, times=True)

EVERYONE = np.arange(12, dtype=np.int32)


def kept_rows() -> list[dict[str, str]]:
    with (RESULTS / "rule.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def tried() -> dict[str, list[KnownTrials]]:
    """What is kept of every model the rule is for, the sizes as the check wrote them."""
    found: dict[str, list[KnownTrials]] = {}
    for row in kept_rows():
        has = [row[part] == "True" for part in ("times", "features")]
        sizes = Sizes(int(row["users"]), int(row["items"]), int(row["rows"]), *has)
        where = {key: row[key] for key in ("data", "protocol", "model", "metric")}
        trials = read_history(RESULTS / "searches.csv", **where)
        one = known_trials(row["model"], row["protocol"], row["data"], sizes, trials)
        found.setdefault(row["model"], []).append(one)
    return found


def test_reg_is_a_rung_and_grows_with_the_rows() -> None:
    assert [rung(reg) for reg in (1, 99, 172, 174, 400, 2_000, 1e9)] == [100, 100, 100, 300, 300, 3000, 10000]
    regs = [by_rule("ease", Sizes(10, 10, rows))["reg"] for rows in (1, 10_000, 100_000, 1_000_000, 10**9)]
    assert regs == sorted(regs)
    assert set(regs) <= set(LADDER)
    assert len(set(regs)) > 2


@pytest.mark.parametrize("model", sorted(RULES))
def test_every_setting_of_the_rule_is_one_of_the_model(model: str) -> None:
    for sizes in (FEW, LONG, replace(FEW, users=MANY), replace(LONG, times=False)):
        assert method(model, by_rule(model, sizes)).name == model


def test_what_needs_times_is_left_out_where_there_are_none() -> None:
    assert by_rule("fed-ease", FEW)["recency"] > 0
    assert "recency" not in by_rule("fed-ease", replace(FEW, times=False))
    assert by_rule("no-such-model", FEW) == {}


def test_times_count_only_where_the_newest_rows_are_held_out() -> None:
    data = replace(small_world(), name="own")
    for rules, timed in (("default", True), ("default:split=random", False)):
        (entry,) = plan(data, rules, {"fed-ease": {}}).entries
        assert (entry.settings["recency"] > 0) is timed


def test_a_rule_for_few_clients_is_none_for_many() -> None:
    assert by_rule("cfpl", replace(FEW, users=MANY - 1))["clients"] == 100
    assert by_rule("cfpl", replace(FEW, users=MANY)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(RULES))
def test_the_numbers_of_the_rule_are_those_that_did_best_on_all_kept_data(
    model: str, tried: dict[str, list[KnownTrials]]
) -> None:
    found = fitted(model, tried[model], tried[model])
    for one in tried[model]:
        ours, best = RULES[model].settings(one.sizes), found.settings(one.sizes)
        assert setting_name(model, ours) == setting_name(model, best)


@pytest.mark.parametrize("model", sorted(RULES))
def test_the_kept_check_is_what_the_trials_say(model: str, tried: dict[str, list[KnownTrials]]) -> None:
    kept = [row for row in kept_rows() if row["model"] == model]
    for row, made in zip(kept, left_out(model, tried[model]), strict=True):
        written = {key: "" if value is None else str(value) for key, value in made.items()}
        assert written == {key: row[key] for key in written}


@pytest.mark.parametrize("model", sorted(RULES))
def test_left_out_the_rule_is_better_than_the_settings_of_the_class(model: str) -> None:
    rows = [row for row in kept_rows() if row["model"] == model and row["share of class defaults"]]
    ruled, usual = (sum(float(row[f"share of {who}"]) for row in rows) for who in ("rule", "class defaults"))
    assert len({row["data"] for row in rows}) >= 4
    assert ruled > usual


def test_the_page_has_the_means_of_the_kept_check() -> None:
    page = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
    for model in RULES:
        rows = [row for row in kept_rows() if row["model"] == model]
        cells = [str(len(rows))]
        for who in ("rule", "class defaults"):
            shares = [float(row[f"share of {who}"]) for row in rows]
            cells += [f"{value:.3f}".lstrip("0") for value in (sum(shares) / len(shares), min(shares))]
        assert f"| {model} | {' | '.join(cells)} |" in page


@pytest.mark.slow
def test_what_is_left_out_has_no_say(tried: dict[str, list[KnownTrials]]) -> None:
    everywhere = tried["item-knn"]
    for at, one in enumerate(everywhere):
        upside_down = {name: 1.0 - value for name, value in one.values.items()}
        other = [*everywhere[:at], replace(one, values=upside_down), *everywhere[at + 1 :]]
        before, after = (list(left_out("item-knn", part))[at]["settings"] for part in (everywhere, other))
        assert before == after


def test_a_peeking_rule_would_be_seen(tried: dict[str, list[KnownTrials]]) -> None:
    """The property above is one that a rule fitted with the left-out data set does not have."""
    everywhere = tried["item-knn"]
    seen = False
    for at, one in enumerate(everywhere):
        low = dict.fromkeys(one.values, 1e-09)
        best = min(one.values, key=lambda name: one.values[name])
        doctored = replace(one, values={**low, best: 1.0})
        other = [*everywhere[:at], doctored, *everywhere[at + 1 :]]
        before, after = (fitted("item-knn", part, part).settings(one.sizes) for part in (everywhere, other))
        seen = seen or before != after
    assert seen


def test_all_of_movielens_is_left_out_together(tried: dict[str, list[KnownTrials]]) -> None:
    data = {one.data: one.family for one in tried["ease"]}
    assert len({data[name] for name in ("ml-latest-small-2016", "ml-latest-small", "ml-100k", "ml-1m")}) == 1
    assert len(set(data.values())) == 5


@pytest.mark.slow
def test_compare_takes_the_rule_where_nothing_is_kept_and_says_so(tmp_path: Path) -> None:
    models = {"mostpop": {}, "ease": {}, "mine": {"name": "item-knn", "k": 5}}
    ready = plan(small_world(), "default", models)
    sizes = Sizes.of(ready.prepared.split.train)
    by_label = {entry.label: entry for entry in ready.entries}
    assert by_label["ease"].settings == resolved_settings("ease", by_rule("ease", sizes))
    assert by_label["mine"].settings == resolved_settings("item-knn", {**by_rule("item-knn", sizes), "k": 5})
    assert ready.settings_source["by rule"] == ["ease", "mine"]
    list(compare(ready, tmp_path / "c"))
    kept = json.loads((tmp_path / "c" / "rule.json").read_text())
    assert kept["by rule"] == ["ease", "mine"]
    assert kept["sizes"] == {
        "users": 60,
        "items": sizes.items,
        "rows": len(ready.prepared.split.train),
        "times": True,
        "features": False,
    }
    page = build(tmp_path / "c").read_text(encoding="utf-8")
    assert rule_sentence(kept) in page
    assert "Settings by rule from sizes (60 users" in page


def test_settings_that_are_all_given_are_not_the_rules() -> None:
    given = {**by_rule("item-knn", FEW), "name": "item-knn", "k": 3}
    ready = plan(small_world(), "default", {"all": given, "mostpop": {}})
    assert "by rule" not in ready.settings_source
    assert rule_sentence({"by rule": []}) == ""
    assert rule_sentence({}) == ""


def test_rounds_that_are_given_leave_the_rule_no_epochs_to_set() -> None:
    given = {"name": "cfpl", "rounds": 3, "clients": 5, "alpha": 0.1, "factors": 2}
    ready = plan(small_world(), "default", {"a": given, "b": {**given, "rounds": None}})
    assert ready.settings_source["by rule"] == ["b"]


def test_kept_settings_come_before_the_rule() -> None:
    world = replace(small_world(), name="ml-100k")
    (entry,) = plan(world, "default", {"ease": {}}).entries
    assert entry.settings == resolved_settings("ease", defaults("default", "ml-100k", "ease"))
    assert not entry.from_size_rule


@pytest.mark.parametrize(("pooled", "federated"), sorted(EQUIVALENTS.items()))
def test_a_twin_takes_what_is_kept_for_its_other(pooled: str, federated: str) -> None:
    for protocol in ("fpl", "fpl:order=day", "default", "kgflex"):
        for data in ("ml-1m", "ml-100k", "yahoo-movies"):
            kept = defaults(protocol, data, federated)
            assert defaults(protocol, data, pooled) == kept
            assert method_class(pooled)(**kept).name == pooled
    ready = plan(small_world(), "default", {pooled: {}, federated: {}})
    ruled = by_rule(federated, Sizes.of(ready.prepared.split.train))
    for entry in ready.entries:
        assert {key: entry.settings[key] for key in ruled} == ruled


@pytest.mark.parametrize("name", ["sfpl", "pfpl+", "cfpl", "fcf"])
def test_clients_per_round_are_at_most_the_clients_there_are(name: str) -> None:
    train = plan(small_world(users=12), "default", {}).prepared.split.train
    lists = [
        method(name, {"epochs": 2, "rounds_per_epoch": 2, "clients": clients})
        .fit(train, 0)
        .recommend(EVERYONE, 5)
        for clients in (500, "all")
    ]
    assert np.array_equal(lists[0].item, lists[1].item)
    (entry,) = plan(small_world(users=12), "default", {name: {"epochs": 1}}).entries
    method(name, entry.settings).fit(train, 0)  # with what `compare` takes by default


def test_a_rule_file_needs_a_history(tmp_path: Path) -> None:
    done = murmura("reproduce", "search", "plan.yaml", "--rule", "rule.csv", cwd=tmp_path)
    assert done.returncode == SettingError.exit_code
    assert "--history" in done.stderr


def test_a_file_of_ones_own_is_checked_though_no_history_is_long(tmp_path: Path) -> None:
    rows = [f"u{user},i{(user * 7 + n * n) % 30},{n}" for user in range(30) for n in range(8)]
    (tmp_path / "own.csv").write_text("\n".join(["user,item,time", *rows]) + "\n", "utf-8")
    grid = "{default: {own.csv: {item-knn: {k: [5, 20], asymmetry: [0.3]}}}}"
    (tmp_path / "plan.yaml").write_text(f"metric: {{default: nDCG@10}}\ngrids: {grid}\n", "utf-8")
    flags = ("plan.yaml", "--history", "history.csv", "--rule", "rule.csv")
    done = murmura("reproduce", "search", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "rule.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["data"], row["model"]) == ("own", "item-knn")
    assert json.loads(row["settings"])["k"] in (5, 20)
    assert float(row["share of rule"]) <= 1


def test_settings_that_were_never_tried_together_make_no_rule() -> None:
    apart = [
        KnownTrials("default", data, FEW, {setting_name("item-knn", {"k": k}): 0.1})
        for data, k in (("one", 5), ("other", 20))
    ]
    with pytest.raises(SettingError, match="on each of one, other, but none was; give them a grid"):
        fitted("item-knn", apart[:1], apart)


def test_the_plan_of_the_check_has_every_model_the_rule_is_for() -> None:
    checked = read_plan(ROOT / "experiments" / "rule.yaml")
    models = {model for by_data in checked.grids.values() for found in by_data.values() for model in found}
    assert models == set(RULES)
