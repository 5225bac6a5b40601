"""What stands on disk is read once into typed values, and a damaged part is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.engine.run_folder import Run
from murmura.lab.papers.reproduction_folder import ReproductionFolder, RowChoice
from murmura.studies.compare.comparison_plan import ComparisonEntry
from murmura.studies.compare.folder import ComparisonFolder, read_runs, run_name
from murmura.studies.scorer import open_folder
from murmura.studies.search.folder import SearchFolder, Trial, best
from tests.report.folders import Made, drawn, write_comparison


def one_sentence(error: pytest.ExceptionInfo[RunError], *said: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    for word in said:
        assert word in text


def searched(folder: Path) -> SearchFolder:
    run = Run.create(folder, {"search": "ease", "data": {"name": "d"}, "metric": "P@10", "seed": 3})
    lines = ["data,protocol,model,settings,metric,value,seconds"]
    lines += [f'd,default,ease,"{{""l2"": {n}}}",P@10,0.{n},1.5' for n in (1, 3, 2)]
    run.write("trials.csv", "\n".join([*lines, 'd,default,ease,"{""l2']))  # the last line cut short by a kill
    return SearchFolder.open(folder)


def reproduced(folder: Path) -> ReproductionFolder:
    run = Run.create(folder, {"experiment": {"name": "e", "metric": "P@10"}, "data": {"name": "d"}})
    found = ReproductionFolder(run)
    won = ComparisonEntry("row", "ease", {"l2": 3, "other": 1})
    found.write_choices([RowChoice("row", (won,)), RowChoice("x", (), "why")])
    for n in (1, 3):
        tried = Trial({"l2": n}, n / 10, 2.0, "ease", cpu=1.0, row="row")
        Run(folder / "trials").write_json(f"ease-{n}.json", tried.plain())
    sessions = [{"fits": 2, "cpu": 3.0, "wall": 4.0}, {"fits": 1, "cpu": 1.0, "wall": 1.0}]
    run.write_json("spent.json", {"sessions": sessions})
    return ReproductionFolder.open(folder)


def test_every_folder_is_known_by_its_configuration(tmp_path: Path) -> None:
    write_comparison(tmp_path / "c", [Made("a", [drawn(1, 0.2)])])
    Run.create(tmp_path / "fit", {"model": {"name": "ease", "l2": 5.0}, "seed": 7})
    searched(tmp_path / "s")
    reproduced(tmp_path / "r")
    kinds = [type(open_folder(tmp_path / name)) for name in ("c", "fit", "s", "r")]
    assert kinds == [ComparisonFolder, ComparisonFolder, SearchFolder, ReproductionFolder]
    Run.create(tmp_path / "lists", {"lists": {"file": "x"}})
    with pytest.raises(RunError) as refused:
        open_folder(tmp_path / "lists")
    one_sentence(refused, "must be the folder of a fit, comparison, sweep, search or reproduction")


def test_one_run_is_a_comparison_of_one_model(tmp_path: Path) -> None:
    Run.create(tmp_path, {"model": {"name": "ease", "l2": 5.0}, "seed": 7}).mark("fitted")
    found = read_runs(tmp_path)
    (model,) = found.models
    assert (found.kind, model.label, model.settings) == ("run", "ease", {"l2": 5.0})
    (part,) = model.parts
    assert (part.seed, part.status, part.done, part.metrics) == (7, "fitted", False, {})


def test_what_has_not_begun_is_missing(tmp_path: Path) -> None:
    path = write_comparison(tmp_path, [Made("a", [drawn(1, 0.2)]), Made("b", [])], seeds=2, status="running")
    done, waiting = read_runs(path).models
    assert [part.status for part in done.parts] == ["done", "missing"]
    assert [part.status for part in waiting.parts] == ["missing", "missing"]
    assert (len(done.done), done.finished, waiting.federated) == (1, False, False)


def test_a_part_is_read_once(tmp_path: Path) -> None:
    path = write_comparison(tmp_path, [Made("a", [drawn(1, 0.2)])])
    part = read_runs(path).models[0].parts[0]
    before = part.metrics
    (path / run_name("a", 0) / "metrics.json").unlink()
    assert part.metrics is before


def test_a_search_is_read_with_its_trials(tmp_path: Path) -> None:
    found = searched(tmp_path)
    assert (found.model, found.metric, found.seed, found.data) == ("ease", "P@10", 3, "d")
    assert [trial.settings["l2"] for trial in found.trials] == [1, 3, 2]
    assert best(found.trials, "P@10").settings == {"l2": 3}
    assert (found.choice, found.opened, found.tested.metrics) == (None, None, {})


def test_a_reproduction_knows_its_winners_and_what_it_cost(tmp_path: Path) -> None:
    found = reproduced(tmp_path)
    assert [(one.settings, one.seconds) for one in found.winners] == [({"l2": 3}, 2.0)]
    assert found.choices["x"].left_out == "why"
    assert vars(found.spent) == {"fits": 3.0, "cpu": 4.0, "wall": 5.0, "sessions": 2}
    with pytest.raises(RunError) as refused:
        _ = found.comparison
    one_sentence(refused, "must have come to its test part")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("choice.json", "{}"),
        ("choice.json", "[1]"),
        ("choice.json", '{"model": "a", "settings": 3}'),
        ("trials.csv", "a,b\n"),
    ],
)
def test_a_damaged_search_is_refused(tmp_path: Path, name: str, text: str) -> None:
    found = searched(tmp_path)
    found.run.write(name, text)
    with pytest.raises(RunError) as refused:
        _ = found.choice, found.trials
    one_sentence(refused, name)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("choices.json", '{"row": 3}', "choices.json is damaged"),
        ("choices.json", '{"row": {"entries": {"row": {}}, "left out": ""}}', "choices.json is damaged"),
        ("trials/ease-1.json", "{}", "has a damaged trial"),
        ("trials/ease-1.json", "{", "ease-1.json is damaged"),
    ],
)
def test_a_damaged_reproduction_is_refused(tmp_path: Path, name: str, text: str, says: str) -> None:
    found = reproduced(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(RunError) as refused:
        _ = found.choices, found.trials
    one_sentence(refused, says)


def test_lists_and_rows_of_items_are_read_by_their_columns(tmp_path: Path) -> None:
    path = write_comparison(tmp_path, [Made("a", [drawn(1, 0.2)])])
    part = read_runs(path).models[0].parts[0]
    part.write("recommendations.tsv", "rank\tuser\titem\tscore\n1\tu\ti\t0.5\n")
    part.write("item_rows.csv", "item,sent\ni,3\n")
    assert part.read_lists() == [("u", 1, "i", "0.5")]
    assert part.item_rows == {"i": 3}
    part.write("recommendations.tsv", "rank\tuser\titem\tscore\nfirst\tu\ti\t0.5\n")
    with pytest.raises(RunError) as refused:
        part.read_lists()
    one_sentence(refused, "recommendations.tsv is damaged", "run it again")


def test_a_typed_part_is_checked(tmp_path: Path) -> None:
    run = Run.create(tmp_path, {})
    assert run.read_typed("x.json", list[int], "entries", "make it again") is None
    run.write("x.json", json.dumps({"entries": [1, 2]}))
    assert run.read_typed("x.json", list[int], "entries", "make it again") == [1, 2]
    run.write("x.json", json.dumps({"entries": ["one"]}))
    with pytest.raises(RunError) as refused:
        run.read_typed("x.json", list[int], "entries", "make it again")
    one_sentence(refused, "x.json is damaged", "make it again")


def test_running_says_how_it_ended(tmp_path: Path) -> None:
    run = Run.create(tmp_path, {})
    with run.running(then="fitted"):
        assert run.status == "running"
    assert run.status == "fitted"
    with pytest.raises(ValueError, match="why"), run.running():
        raise ValueError("why")
    assert (run.status, run.read("status.json")["error"]) == ("failed", "why")
    with pytest.raises(KeyboardInterrupt), run.running():
        raise KeyboardInterrupt
    assert run.status == "interrupted"
